"""A relaunch of finished runs on a disk, and in a bucket that answers after 30 ms."""

import tempfile
from collections.abc import Iterator

from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder, open_folder
from mulex.store.folding import fold
from mulex.store.run_store import RunStore
from sweeps.inventory import freeze_spec
from sweeps.plan import make_plan
from tests.scale.costs import Cost, mulex
from tests.scale.synthetic import fill, spec_of
from tests.support.s3_server import S3Server, found_by_clients

LATENCY = 0.03
"""Seconds before the bucket answers."""
LOOSE = 2_000
"""Runs of which the loose files are looked at."""


def bucket_costs(runs: int) -> Iterator[tuple[str, Cost]]:
    """Yield the cost of a look at loose runs, and of a relaunch of folded ones; the bucket has copies of the disk's."""
    server = S3Server()
    with found_by_clients(server), tempfile.TemporaryDirectory(prefix="mulex-scale-") as place:
        for size, loose in ((min(LOOSE, runs), True), (runs, False)):
            disk, url = f"{place}/{size}-{loose}", f"s3://{server.make_bucket()}/sweep"
            _make(open_folder(disk), size, loose)
            _copy(open_folder(disk), open_folder(url))
            what = f"status of {size:,} loose runs" if loose else f"relaunch of {size:,} finished runs"
            yield f"{what}, disk", mulex("status" if loose else "resume", disk)
            server.latency = lambda method, path: LATENCY
            before = server.requests
            yield f"{what}, bucket", mulex("status" if loose else "resume", url)
            print(f"{server.requests - before:,} requests", flush=True)
            server.latency = lambda method, path: 0.0
    server.close()


def _make(folder: Folder, runs: int, loose: bool) -> None:
    spec = spec_of(runs, 20)
    plan = make_plan(spec, open_folder("/nonexistent"))
    freeze_spec(folder, spec)
    fill(folder, plan, plan.runs(), loose=loose)
    if not loose:
        fold(RunStore(folder), at_least=1)
        collect_tables(folder, plan.has)


def _copy(source: Folder, target: Folder) -> None:
    names = source.list("")
    for start in range(0, len(names), 500):
        target.write_many(source.read_many(names[start : start + 500]))
