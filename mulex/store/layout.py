"""The name of every file in a sweep's folder, relative to that folder."""

SPEC = "spec.yaml"
"""The resolved spec, frozen at the first launch."""
CONFIRMATION = "confirm.json"
"""Which draws are trained with test seeds."""
RUNS_TABLE = "runs.parquet"
"""One row per run, made from the run files."""
CURVES_TABLE = "curves.parquet"
"""One row per iteration of a run, made from the run files."""
STARTS_TABLE = "starts.parquet"
"""How the kept policies do from every late start state."""
LEASES = "leases"
"""Which launcher has the sweep: one numbered file per launch."""
LEASE = "lease.json"
"""The one lease of earlier versions."""
REPORT = "report.html"

RUNS = "runs"
SEGMENTS = "segments"
"""Archives of many run files, each with an index beside it."""
PROGRESS = "progress"
CHECKPOINTS = "checkpoints"
KEPT = "kept"
"""The last checkpoints of finished packs, where a spec keeps them."""
POLICIES = "policies"
DAMAGED = "damaged"
DRAWS = "draws"
FIGURES = "figures"
LOGS = "logs"

PART = ".part"
"""Suffix of a file that is still being written."""


def run_name(method: str, run: str) -> str:
    """The file of one finished run."""
    return f"{RUNS}/{method}/{run}.parquet"


def is_run_name(name: str) -> bool:
    """Whether a name below `runs` can be a run file's."""
    file = name.rpartition("/")[2]
    return name.startswith(f"{RUNS}/") and file.endswith(".parquet") and not file.startswith(".")


def segment_name(number: int, digits: str) -> str:
    """A segment by its number and the first digits of its checksum."""
    return f"{SEGMENTS}/{number:08d}-{digits}.zip"


def index_name(segment: str) -> str:
    """The index of a segment."""
    return f"{segment.removesuffix('.zip')}.index.parquet"


def draws_name(method: str) -> str:
    """The draws of a method, for adaptive searches and for finite spaces."""
    return f"{DRAWS}/{method}.json"


def progress_name(pack: str) -> str:
    """What a pack is doing now."""
    return f"{PROGRESS}/{pack}.json"


def checkpoint_folder(pack: str, under: str = CHECKPOINTS) -> str:
    """The checkpoints of a pack that is not finished, or of a finished one that are kept."""
    return f"{under}/{pack}"


def pack_runs_name(pack: str, under: str = CHECKPOINTS) -> str:
    """The ids of a pack's runs, beside its checkpoints."""
    return f"{checkpoint_folder(pack, under)}/runs.json"


def policy_name(run: str) -> str:
    """The final weights of a run."""
    return f"{POLICIES}/{run}.pt"


def damaged_name(name: str) -> str:
    """Where a damaged file is kept, out of the way of its run."""
    return f"{DAMAGED}/{name.rpartition('/')[2]}"
