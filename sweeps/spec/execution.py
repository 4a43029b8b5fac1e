"""What a spec may say under `execution`: how its runs are carried out, where they are sent, and when a launch stops."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
)

from mulex.config import ENGINES
from mulex.messages import nearest, shown
from mulex.settings import Settings

TRACKERS = ("tensorboard", "mlflow", "wandb", "csv", "json")
EXPORTS = (*TRACKERS, "optuna", "rliable")
"""Where runs can be sent while a sweep runs, and afterwards by `mulex export`."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION_ALLOWED = "seconds above 0, as a number or as 30s, 5min or 2h"
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(MB|GB)")
_BYTES = {"MB": 1e6, "GB": 1e9}
_SIZE_ALLOWED = "bytes, at least 1 MB, as a number or as 500MB or 2GB"
_MOMENT_ALLOWED = "a date and time such as 2026-12-01T08:00 or 2026-12-01T08:00+01:00"
_CORES_ALLOWED = "a number from 0.001 to 1, or a whole number up to 1,000,000"
_AMOUNT_ALLOWED = f"0, {_CORES_ALLOWED}"
_TRACKER_ALLOWED = f"one of {', '.join(TRACKERS)}; a place may follow, as in tensorboard:DIR or mlflow:URI"
_WEBHOOK = re.compile(r"https?://[^\s/]+\S*|\$[A-Za-z_][A-Za-z0-9_]*")
_WEBHOOK_ALLOWED = "an address such as https://host/path, or $NAME for an environment variable that has one"


def _seconds(value: Any) -> float:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    seconds = float(found[1]) * _SECONDS[found[2]] if found else value
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < float("inf"):
        raise ValueError(f"got {shown(value)}, allowed is {_DURATION_ALLOWED}")
    return float(seconds)


def _bytes(value: Any) -> float:
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    count = float(found[1]) * _BYTES[found[2]] if found else value
    if not isinstance(count, int | float) or isinstance(count, bool) or not 1e6 <= count < float("inf"):
        raise ValueError(f"got {shown(value)}, allowed is {_SIZE_ALLOWED}")
    return float(count)


def _ray_amount(least: float, words: str) -> Callable[[float], float]:
    """Return a check that Ray can allocate an amount of a resource."""

    def check(amount: float) -> float:
        whole = amount.is_integer() and amount <= 1_000_000
        if amount < least or not (whole or 0.001 <= amount <= 1):
            raise ValueError(f"got {shown(amount)}, allowed is {words}")
        return amount

    return check


def _resource_name(name: str) -> str:
    if name in ("CPU", "GPU", "memory", "object_store_memory", ""):
        raise ValueError(f"got {name!r}, allowed are custom resources; see cpus_per_pack and gpus_per_pack")
    return name


def _tracker(target: str) -> str:
    name = target.partition(":")[0]
    if name not in TRACKERS:
        raise ValueError(f"got {shown(target)}, allowed is {_TRACKER_ALLOWED}{nearest(name, TRACKERS)}")
    return target


def _webhook(url: str) -> str:
    if not _WEBHOOK.fullmatch(url):
        raise ValueError(f"got {shown(url)}, allowed is {_WEBHOOK_ALLOWED}")
    return url


Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    WithJsonSchema({"type": ["number", "string"], "allowed": _DURATION_ALLOWED}),
]
Bytes = Annotated[
    float,
    BeforeValidator(_bytes),
    WithJsonSchema({"type": ["number", "string"], "allowed": _SIZE_ALLOWED}),
]
Cores = Annotated[
    float,
    AfterValidator(_ray_amount(0.001, _CORES_ALLOWED)),
    WithJsonSchema({"type": "number", "allowed": _CORES_ALLOWED}),
]
Amount = Annotated[
    float,
    AfterValidator(_ray_amount(0, _AMOUNT_ALLOWED)),
    WithJsonSchema({"type": "number", "allowed": _AMOUNT_ALLOWED}),
]
Tracker = Annotated[
    str,
    AfterValidator(_tracker),
    WithJsonSchema(
        {"type": "string", "pattern": f"^({'|'.join(TRACKERS)})(:.*)?$", "allowed": _TRACKER_ALLOWED},
    ),
]
Webhook = Annotated[str, AfterValidator(_webhook), WithJsonSchema({"type": "string", "allowed": _WEBHOOK_ALLOWED})]


class Notify(Settings):
    """Who is told how a launch ended."""

    webhook: Webhook = Field(description="The address that gets a short JSON by POST.")
    on: list[Literal["done", "failed", "stopped"]] = Field(
        default=["done", "failed", "stopped"],
        description="When: every run is done, some failed or diverged, or the launch ended before all were trained.",
    )


class Scheduler(Settings):
    """What stops packs that are behind at a rung, which is a number of iterations."""

    name: Literal["asha", "hyperband", "median_stopping"] = Field(
        description="asha stops packs that are not in the best 1/factor so far, hyperband does so from different first "
        "rungs on, median_stopping stops those below the median."
    )
    grace: int | None = Field(
        default=None, description="The iterations at the first rung; a tenth of all iterations unless set.", ge=1
    )
    factor: float = Field(
        default=4.0, description="How many times as many iterations the next rung has.", gt=1, le=1000
    )
    rungs: int | None = Field(
        default=None, description="The most rungs; as many as fit before the last iteration unless set.", ge=1, le=100
    )

    def first(self, iterations: int) -> int:
        """Return the first rung of runs with so many iterations."""
        return self.grace or max(1, iterations // 10)

    def rungs_of(self, iterations: int) -> tuple[int, ...]:
        """Return the rungs of runs with so many iterations, all below their end."""
        rungs: list[int] = []
        at = float(self.first(iterations))
        while int(at) < iterations and (self.rungs is None or len(rungs) < self.rungs):
            if not rungs or int(at) > rungs[-1]:
                rungs.append(int(at))
            at *= self.factor
        return tuple(rungs)


def _moment(value: Any) -> str:
    try:
        read = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"got {shown(value)}, allowed is {_MOMENT_ALLOWED}") from None
    return read.isoformat(timespec="minutes")


Moment = Annotated[str, BeforeValidator(_moment), WithJsonSchema({"type": "string", "allowed": _MOMENT_ALLOWED})]


class Budget(Settings):
    """When a launch stops by itself."""

    core_hours: float | None = Field(
        default=None, description="The worker time that the whole sweep may use, over all its launches.", gt=0, le=1e9
    )
    until: Moment | None = Field(
        default=None, description="The moment after which nothing is trained; in UTC unless it names an offset."
    )

    @property
    def moment(self) -> datetime | None:
        """The end as a moment."""
        if self.until is None:
            return None
        read = datetime.fromisoformat(self.until)
        return read if read.tzinfo else read.replace(tzinfo=UTC)


class Execution(Settings):
    """How the runs are carried out; every setting may change when a sweep is continued."""

    engine: str = Field(
        default="auto",
        description="What trains the runs; auto is the fastest engine that can.",
        json_schema_extra={"enum": list(ENGINES)},
    )
    device: str = Field(
        default="cpu",
        description="The device that the torch engine uses.",
        json_schema_extra={"allowed": "cpu, cuda, or a device of torch such as cuda:1"},
        pattern=r"^[a-z]{1,20}(:[0-9]{1,3})?$",
    )
    draws_per_pack: int = Field(
        default=1,
        description="How many draws one worker trains together, with all their seeds; hundreds suit a GPU.",
        ge=1,
        le=10_000,
    )
    cpus_per_pack: Cores = Field(default=1.0, description="The number of cores of a worker.")
    gpus_per_pack: Amount = Field(
        default=0.0, description="The number of GPUs of a worker; below 1, several workers share one."
    )
    resources: dict[Annotated[str, AfterValidator(_resource_name)], Amount] = Field(
        default={}, description="Other Ray resources of a worker, by name."
    )
    placement: dict[str, str] = Field(
        default={}, description="Labels that a worker's node must have, such as ray.io/market-type: spot."
    )
    max_concurrent: int | None = Field(
        default=None, description="The most packs that are trained at the same time; as many as fit unless set.", ge=1
    )
    max_failures: int = Field(
        default=3, description="How often a pack is tried again after its worker died.", ge=0, le=1000
    )
    checkpoint_every: Seconds = Field(default=300.0, description="The time between two checkpoints of a pack.")
    silence_limit: Seconds | None = Field(
        default=None,
        description="How long a pack may report nothing before its worker is killed and the pack is tried again; "
        "from the pace of the reports, and at least 10 min, unless set.",
    )
    code: str | None = Field(
        default=None,
        description="The folder with your own learners and environments, from the spec's own folder on; it is kept in "
        "the sweep's folder.",
    )
    iteration_timeout: Seconds | None = Field(
        default=None, description="How long an iteration of a learner of your own may take; no limit unless set."
    )
    memory_limit: Bytes | None = Field(
        default=None,
        description="By how much the process of a learner of your own may grow, or how much a command and its children "
        "may take; no limit unless set.",
    )
    keep_checkpoints: bool = Field(
        default=False,
        description="Whether the last checkpoint of every finished pack is kept, so that `training.iterations` can "
        "grow later.",
    )
    keep_policies: bool = Field(default=False, description="Whether the final weights of every run are kept.")
    scheduler: Literal["asha", "hyperband", "median_stopping"] | Scheduler | None = Field(
        default=None,
        description="What stops packs that are behind others of their method and world after the same number of "
        "iterations, if set.",
        json_schema_extra={
            "allowed": "one of asha, hyperband, median_stopping, {name: NAME, grace: N, factor: X, rungs: N}, or null"
        },
    )
    budget: Budget | None = Field(
        default=None, description="When a launch stops by itself, with checkpoints; no limit unless set."
    )
    trackers: list[Tracker] = Field(
        default=[], description="Where every run is sent while the sweep runs; see [trackers](trackers.md)."
    )
    callbacks: list[Literal["tensorboard", "json", "csv", "mlflow", "wandb"]] = Field(
        default=[], description="An older name of `trackers`; both lists are used."
    )
    notify: Notify | None = Field(default=None, description="Who is told how a launch ended; nobody unless set.")

    @property
    def scheduling(self) -> Scheduler | None:
        """The scheduler with all its settings."""
        return Scheduler(name=self.scheduler) if isinstance(self.scheduler, str) else self.scheduler

    @property
    def all_trackers(self) -> list[str]:
        """The trackers under their two names, each once."""
        return list(dict.fromkeys([*self.trackers, *self.callbacks]))

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, engine: str) -> str:
        if engine not in ENGINES:
            raise ValueError(f"got {engine!r}, allowed is one of {', '.join(ENGINES)}")
        return engine
