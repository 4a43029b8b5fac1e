"""The models of a spec: frozen, typed values with a description of every field."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mulex.config import (
    GridWorldConfig,
    GymWorldConfig,
    MethodConfig,
    TrainingConfig,
    WorldConfig,
)
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.run_config import LearnerConfig
from mulex.messages import nearest
from mulex.settings import Settings, digest
from sweeps.search import SEARCHES
from sweeps.search.distributions import KINDS, Distribution
from sweeps.spec.execution import Execution

NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}")
NAME_ALLOWED = "letters, digits, '_', '-' and '.', at most 100 and no '.' first"
MOST_RUNS = 10_000_000

_NAME_SCHEMA = {"type": "string", "pattern": f"^{NAME.pattern}$", "allowed": NAME_ALLOWED}


Name = Annotated[str, WithJsonSchema(_NAME_SCHEMA)]
Overrides = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "allowed": "a mapping with keys of training"})]


class Until(Settings):
    """How long draws are added: until the interval of a measure is narrow enough for every method in every world."""

    measure: Literal["median", "mean", "iqm"] = Field(default="median", description="The measure of a method's scores.")
    width: float = Field(description="The width that an interval may have, from its low end to its high end.", gt=0)
    max_draws: int = Field(description="The most draws of each method.", ge=2, le=1_000_000)
    first: int | None = Field(
        default=None, description="The draws at the first look; filled in when a sweep is launched.", ge=1
    )


class Search(Settings):
    """Which draws, and how many runs of each."""

    algorithm: str = Field(
        default="random",
        description="How the draws of each method are chosen.",
        json_schema_extra={"enum": list(SEARCHES)},
    )
    draws: int = Field(
        default=200, description="The number of draws of each method; a grid counts its own points.", ge=1, le=1_000_000
    )
    seeds: int = Field(
        default=5,
        description="The number of runs of each draw in each world; they differ by chance alone.",
        ge=1,
        le=10_000,
    )
    seed: int = Field(default=0, description="The seed of the draws: another number gives other draws.", ge=0)
    first_seed: int = Field(default=0, description="The first seed of the runs; the others follow it.", ge=0, le=2**53)
    until: Until | None = Field(
        default=None,
        description="When draws are added, beginning with `draws` and doubling; `draws` alone are trained unless set.",
    )

    @model_validator(mode="after")
    def _until_fits(self) -> "Search":
        if self.until is None:
            return self
        if self.algorithm not in ("random", "sobol"):
            raise ValueError(f"until: {self.algorithm} draws are no independent samples; use random or sobol")
        if self.until.max_draws < self.draws:
            raise ValueError(f"until: max_draws is {self.until.max_draws}, allowed is at least the {self.draws} draws")
        return self

    @field_validator("algorithm")
    @classmethod
    def _known_algorithm(cls, algorithm: str) -> str:
        if algorithm not in SEARCHES:
            listed = f"got {algorithm!r}, allowed is one of {', '.join(SEARCHES)}"
            raise ValueError(listed + nearest(algorithm, SEARCHES))
        return algorithm


class GridWorldSpec(GridWorldConfig):
    """A grid world of a sweep."""

    training: Overrides = Field(default={}, description="Training settings that differ in this world.")


class GymWorldSpec(GymWorldConfig):
    """A Gymnasium world of a sweep."""

    training: Overrides = Field(default={}, description="Training settings that differ in this world.")


WorldSpec = GridWorldSpec | GymWorldSpec


def as_setting(name: str, value: Any) -> Any:
    """Return a drawn value as a training setting has it: numbers are drawn as floats, and some settings are whole."""
    annotation = TrainingConfig.model_fields[name].annotation
    whole = annotation is int or int in get_args(annotation)
    return int(value) if whole and isinstance(value, float) and value.is_integer() else value


class MethodSpec(Settings):
    """A method of a sweep: its recipe, and what its hyperparameters and its own training settings are drawn from."""

    recipe: MethodConfig | LearnerConfig = Field(description="Heads, rewards and acting; or a learner of its own.")
    space: dict[str, Distribution] = Field(
        description="Every hyperparameter in the recipe's order, then the training settings of this method."
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe a method as it is written: hyperparameters by name, beside `bonus` and `recipe`."""
        own = handler.resolve_ref_schema(handler(core_schema))
        value: dict[str, Any] = {"type": ["number", "string", "boolean"]}
        several: dict[str, Any] = {"type": "array", "items": value, "minItems": 1}
        pair: dict[str, Any] = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
        kinds: dict[str, Any] = dict.fromkeys(KINDS, pair) | {"choice": several, "constant": value}
        condition = {"anyOf": [value, several]}
        options = {
            "step": {"type": "number", "exclusiveMinimum": 0},
            "when": {"type": "object", "minProperties": 1, "additionalProperties": condition},
        }
        one_kind = {
            "type": "object",
            "properties": kinds | options,
            "additionalProperties": False,
            "oneOf": [{"required": [kind]} for kind in KINDS],
        }
        return {
            "type": "object",
            "description": cls.__doc__,
            "properties": {
                "bonus": {"enum": list(BONUSES)},
                "recipe": own["properties"]["recipe"],
                "learner": {"type": "string", "allowed": "dqn, sb3:ALGORITHM or package.module:name"},
                "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            },
            "additionalProperties": {"anyOf": [value, one_kind]},
        }


class Spec(Settings):
    """A sweep."""

    name: Name = Field(description="The sweep's name.")
    worlds: dict[str, WorldSpec] = Field(description="The worlds by name; a method has the same draws in all of them.")
    training: TrainingConfig = Field(default=TrainingConfig(), description="How the runs are trained.")
    search: Search = Field(default=Search(), description="Which draws, and how many runs of each.")
    methods: dict[str, MethodSpec] = Field(description="The methods that are compared, by name.")
    execution: Execution = Field(default=Execution(), description="How the runs are carried out.")

    def world(self, name: str) -> WorldConfig:
        """Return one of the worlds, as a run has it."""
        spec = self.worlds[name]
        kind = GridWorldConfig if isinstance(spec, GridWorldConfig) else GymWorldConfig
        return kind.model_validate(spec.model_dump(exclude={"training"}))

    def training_in(self, world: str) -> TrainingConfig:
        """Return the training settings, with those that differ in a world."""
        return TrainingConfig.model_validate({**self.training.model_dump(), **self.worlds[world].training})

    def recipe(self, method: str) -> MethodConfig | LearnerConfig:
        """Return the recipe of a method, with its bonus."""
        return self.methods[method].recipe

    def space(self, method: str) -> dict[str, Distribution]:
        """Return what each hyperparameter and each training setting of a method is drawn from."""
        return dict(self.methods[method].space)

    def draws(self, method: str) -> int:
        """Return how many draws a method has; the grids of methods may differ in size."""
        return SEARCHES[self.search.algorithm].size(self.space(method), self.search.draws)

    @property
    def run_count(self) -> int:
        """The number of runs that the spec plans."""
        return sum(self.draws(method) for method in self.methods) * len(self.worlds) * self.search.seeds

    def resolved(self) -> dict[str, Any]:
        """Return the spec as plain data that leaves nothing to defaults; reading it gives an equal spec."""
        plain = self.model_dump(mode="json", exclude={"methods"})
        methods = {name: self._resolved_method(name) for name in self.methods}
        return {key: methods if key == "methods" else plain[key] for key in type(self).model_fields}

    def _resolved_method(self, name: str) -> dict[str, Any]:
        values = {key: distribution.plain() for key, distribution in self.space(name).items()}
        return {"recipe": self.recipe(name).model_dump(mode="json"), **values}

    def outcome_hash(self) -> str:
        """Return a hash that is equal for specs whose runs of equal draws and seeds are the same."""
        worlds = {
            name: [self.world(name).model_dump(mode="json"), self.training_in(name).canonical()] for name in self.worlds
        }
        methods = {name: self._resolved_method(name) for name in self.methods}
        for name, plain in methods.items():
            if isinstance(recipe := self.recipe(name), MethodConfig):
                plain["recipe"] = recipe.canonical()
        return digest([worlds, methods, self.search.algorithm, self.search.seed])
