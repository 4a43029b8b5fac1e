"""A spec as frozen, typed values: what is trained, in which worlds, searched how, and how it is carried out."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, WithJsonSchema, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mulex.config import (
    GridWorldConfig,
    GymWorldConfig,
    MethodConfig,
    Settings,
    TrainingConfig,
    WorldConfig,
    digest,
)
from mulex.engines import ENGINES
from sweeps.distributions import KINDS, Distribution
from sweeps.spec_problems import shown

NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}")
NAME_ALLOWED = "letters, digits, '_', '-' and '.', at most 100 and no '.' first"
BONUSES = ("oracle", "simhash")
MOST_RUNS = 10_000_000

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION_ALLOWED = "seconds above 0, as a number or as 30s, 5min or 2h"
_CORES_ALLOWED = "a number from 0.001 to 1, or a whole number up to 1,000,000"
_AMOUNT_ALLOWED = f"0, {_CORES_ALLOWED}"
_NAME_SCHEMA = {"type": "string", "pattern": f"^{NAME.pattern}$", "allowed": NAME_ALLOWED}


def _seconds(value: Any) -> float:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    seconds = float(found[1]) * _SECONDS[found[2]] if found else value
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < float("inf"):
        raise ValueError(f"got {shown(value)}, allowed is {_DURATION_ALLOWED}")
    return float(seconds)


def _ray_amount(least: float, words: str) -> Callable[[float], float]:
    """A check for what Ray can give out."""

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


Name = Annotated[str, WithJsonSchema(_NAME_SCHEMA)]
Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    WithJsonSchema({"type": ["number", "string"], "allowed": _DURATION_ALLOWED}),
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
Overrides = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "allowed": "a mapping with keys of training"})]


class Search(Settings):
    """Which draws, and how many runs of each."""

    algorithm: Literal["random", "sobol", "tpe"] = Field(
        default="random",
        description="How draws are made: independent, evenly spread, or by Optuna from earlier results.",
    )
    draws: int = Field(default=200, description="Draws of each method.", ge=1, le=1_000_000)
    seeds: int = Field(
        default=5, description="Runs of each draw in each world, which differ by chance alone.", ge=1, le=10_000
    )
    seed: int = Field(default=0, description="Another number gives other draws.", ge=0)
    first_seed: int = Field(default=0, description="The seeds are this and those after it.", ge=0, le=2**53)


class Execution(Settings):
    """How the runs are carried out; all of it may change when a sweep is continued."""

    engine: str = Field(
        default="auto",
        description="What trains; auto is the fastest that can.",
        json_schema_extra={"enum": list(ENGINES)},
    )
    device: str = Field(
        default="cpu",
        description="Where the torch engine computes.",
        json_schema_extra={"allowed": "cpu, cuda, or a device of torch such as cuda:1"},
        pattern=r"^[a-z]{1,20}(:[0-9]{1,3})?$",
    )
    draws_per_pack: int = Field(
        default=1, description="Draws whose seeds one worker trains together; hundreds suit a GPU.", ge=1, le=10_000
    )
    cpus_per_pack: Cores = Field(default=1.0, description="Cores of a worker.")
    gpus_per_pack: Amount = Field(default=0.0, description="GPUs of a worker; below 1, several share one.")
    resources: dict[Annotated[str, AfterValidator(_resource_name)], Amount] = Field(
        default={}, description="Other Ray resources of a worker, by name."
    )
    placement: dict[str, str] = Field(
        default={}, description="Labels that a worker's node must have, such as ray.io/market-type: spot."
    )
    max_concurrent: int | None = Field(
        default=None, description="Most packs at a time; as many as fit unless set.", ge=1
    )
    max_failures: int = Field(default=3, description="How often a pack that died is tried again.", ge=0, le=1000)
    checkpoint_every: Seconds = Field(default=300.0, description="Time between two snapshots of a pack.")
    keep_policies: bool = Field(default=False, description="Whether the final weights of every run are kept.")
    scheduler: Literal["asha", "median_stopping"] | None = Field(
        default=None,
        description="Ray Tune's scheduler, if set: it stops packs that are behind others of their method and world.",
    )
    callbacks: list[Literal["tensorboard", "json", "csv", "mlflow", "wandb"]] = Field(
        default=[], description="Ray Tune's loggers to use besides the tables."
    )

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, engine: str) -> str:
        if engine not in ENGINES:
            raise ValueError(f"got {engine!r}, allowed is one of {', '.join(ENGINES)}")
        return engine


class GridWorldSpec(GridWorldConfig):
    """A grid world of a sweep."""

    training: Overrides = Field(default={}, description="Training settings that differ in this world.")


class GymWorldSpec(GymWorldConfig):
    """A Gymnasium world of a sweep."""

    training: Overrides = Field(default={}, description="Training settings that differ in this world.")


WorldSpec = GridWorldSpec | GymWorldSpec


class MethodSpec(Settings):
    """A method of a sweep: its recipe, and what each of its hyperparameters is drawn from, in the recipe's order."""

    recipe: MethodConfig = Field(description="Heads, rewards and acting.")
    space: dict[str, Distribution] = Field(description="Every hyperparameter.")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """As it is written: hyperparameters by name, beside `bonus` and `recipe`."""
        own = handler.resolve_ref_schema(handler(core_schema))
        several: dict[str, Any] = {"type": "array", "items": {"type": "number"}, "minItems": 1}
        kinds = dict.fromkeys(KINDS, several | {"minItems": 2, "maxItems": 2})
        kinds |= {"choice": several, "constant": {"type": "number"}}
        one_kind = {"type": "object", "properties": kinds, "additionalProperties": False, "maxProperties": 1}
        return {
            "type": "object",
            "description": cls.__doc__,
            "properties": {"bonus": {"enum": list(BONUSES)}, "recipe": own["properties"]["recipe"]},
            "additionalProperties": {"anyOf": [{"type": "number"}, {**one_kind, "minProperties": 1}]},
        }


class Spec(Settings):
    """A sweep."""

    name: Name = Field(description="The sweep's name.")
    worlds: dict[str, WorldSpec] = Field(description="Every method meets every world with the same draws.")
    training: TrainingConfig = Field(default=TrainingConfig(), description="How runs are trained.")
    search: Search = Field(default=Search(), description="Which draws, and how many runs of each.")
    methods: dict[str, MethodSpec] = Field(description="What is compared.")
    execution: Execution = Field(default=Execution(), description="How the runs are carried out.")

    def world(self, name: str) -> WorldConfig:
        """One of its worlds, as a run has it."""
        spec = self.worlds[name]
        kind = GridWorldConfig if isinstance(spec, GridWorldConfig) else GymWorldConfig
        return kind.model_validate(spec.model_dump(exclude={"training"}))

    def training_in(self, world: str) -> TrainingConfig:
        """The training with what differs in that world."""
        return TrainingConfig.model_validate({**self.training.model_dump(), **self.worlds[world].training})

    def recipe(self, method: str) -> MethodConfig:
        """What a method is, with its bonus."""
        return self.methods[method].recipe

    def space(self, method: str) -> dict[str, Distribution]:
        """What each hyperparameter of a method is drawn from, in the recipe's order."""
        return dict(self.methods[method].space)

    @property
    def run_count(self) -> int:
        """How many runs it plans."""
        return len(self.methods) * len(self.worlds) * self.search.draws * self.search.seeds

    def resolved(self) -> dict[str, Any]:
        """As plain data that leaves nothing to defaults; read again, it gives an equal spec."""
        plain = self.model_dump(mode="json", exclude={"methods"})
        methods = {name: self._resolved_method(name) for name in self.methods}
        return {key: methods if key == "methods" else plain[key] for key in type(self).model_fields}

    def _resolved_method(self, name: str) -> dict[str, Any]:
        values = {key: distribution.plain() for key, distribution in self.space(name).items()}
        return {"recipe": self.recipe(name).model_dump(mode="json"), **values}

    def outcome_hash(self) -> str:
        """The same for specs whose runs, where they have the same draw and seed, are the same."""
        worlds = {
            name: [self.world(name).model_dump(mode="json"), self.training_in(name).model_dump(mode="json")]
            for name in self.worlds
        }
        methods = {name: self._resolved_method(name) for name in self.methods}
        return digest([worlds, methods, self.search.algorithm, self.search.seed])
