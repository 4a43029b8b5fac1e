"""A run: everything that decides its outcome, and the id that follows from it."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from mulex.config.recipe import MethodConfig
from mulex.config.training import TrainingConfig
from mulex.config.worlds import GridWorldConfig, WorldConfig
from mulex.learners.dqn.acting.registry import RULES
from mulex.settings import Settings, digest


class PerMember:
    """Marks a field of a run whose value may differ among the runs of a pack. All other fields must agree."""


class RunConfig(Settings):
    """Everything that decides a run's outcome; its id is a hash of it."""

    world: WorldConfig = Field(description="The world it is trained in.")
    method: str = Field(description="The method's name.")
    recipe: MethodConfig = Field(description="The method itself.")
    training: TrainingConfig = Field(description="How it is trained.")
    values: Annotated[dict[str, float | bool | str | None], PerMember()] = Field(
        description="The values of hyperparameters and of searched training settings; null is the default."
    )
    seed: Annotated[int, PerMember()] = Field(
        0, description="The repeat: runs that differ only in it differ by chance alone.", ge=0, le=2**62
    )

    @model_validator(mode="after")
    def _values_fit(self) -> "RunConfig":
        known = self.recipe.hyperparameters
        for name, value in self.values.items():
            if name not in known and name in TrainingConfig.model_fields:
                if value is not None and value != (set_to := getattr(self.training, name)):
                    raise ValueError(f"{name}: got {value!r}, but the run is trained with {set_to!r}")
                continue
            if name not in known:
                raise ValueError(f"{name}: {self.method} has no such hyperparameter, it has {', '.join(known)}")
            if value is None:
                continue
            if isinstance(value, bool | str):
                raise ValueError(f"{name}: got {value!r}, allowed is a number")
            low, high = self.recipe.limits(name)
            if not low <= value <= high:
                raise ValueError(f"{name}: got {value!r}, allowed is a number from {low:g} to {high:.10g}")
        if missing := set(known) - set(self.values):
            raise ValueError(f"values: no value for {', '.join(sorted(missing))}")
        named = [self.weight(value) for value in self.recipe.acting.probabilities.values()]
        if min(named, default=0.0) < 0 or sum(named) > 1:
            raise ValueError(f"acting.probabilities: got {named}, allowed is from 0 up with a sum of at most 1")
        for name, parameter in RULES[self.recipe.acting.rule].parameters.items():
            if not parameter.low <= (value := self.rule_parameter(name)) <= parameter.high:
                raise ValueError(f"acting.parameters.{name}: got {value!r}, allowed is {parameter.range}")
        if not 0 <= (stay := self.weight(self.recipe.acting.gamma_steps)) < 1:
            raise ValueError(f"acting.gamma_steps: got {stay!r}, allowed is a number from 0 to below 1")
        return self

    def weight(self, value: float | str) -> float:
        """Look up a weight: a number is itself, a name is the value of that hyperparameter."""
        if not isinstance(value, str):
            return value
        drawn = self.values[value]
        return float(self.recipe.hyperparameters[value] if drawn is None else drawn)

    def rule_parameter(self, name: str) -> float:
        """Return a parameter of the acting rule: as the recipe has it, or its default."""
        acting = self.recipe.acting
        parameter = RULES[acting.rule].parameters[name]
        assert name in acting.parameters or parameter.default is not None
        return self.weight(acting.parameters.get(name, parameter.default or 0.0))

    @property
    def steps_per_iteration(self) -> int:
        """Training steps in an iteration. The paper has 2500, 5000 and 7500 for room sizes 5, 10 and 15."""
        return self.training.steps_per_iteration or 500 * (
            self.world.room_size if isinstance(self.world, GridWorldConfig) else 5
        )

    @property
    def evaluation_steps(self) -> int:
        """Least evaluation steps in an iteration. The paper has 1250 for room size 5."""
        return self.training.evaluation_steps or max(1, self.steps_per_iteration // 2)

    @property
    def discount(self) -> float:
        """The discount as a number."""
        if isinstance(self.training.discount, float):
            return self.training.discount
        return 1 - 0.15 / self.world.room_size if isinstance(self.world, GridWorldConfig) else 0.99

    def canonical(self) -> dict[str, Any]:
        """Return plain data to hash. Only the order of heads decides the outcome, so heads become a list."""
        plain = self.model_dump(mode="json")
        recipe = self.recipe.canonical()
        plain["recipe"] = recipe | {"heads": list(recipe["heads"].items())}
        plain["training"] = self.training.canonical()
        return plain

    @property
    def run_id(self) -> str:
        """A hash of the configuration that does not depend on the order of its keys."""
        return digest(self.canonical())

    @property
    def stream_id(self) -> str:
        """The owner of the run's random streams: its id, or the one it had before its sweep was made longer."""
        return self.as_first_planned.run_id

    @property
    def as_first_planned(self) -> Self:
        """The run itself, or the shorter one that it was before its sweep was made longer."""
        first = self.training.grown_from
        if first is None:
            return self
        shorter = self.training.model_copy(update={"iterations": first, "grown_from": None})
        return self.model_copy(update={"training": shorter})

    @property
    def shape(self) -> str:
        """A hash of all fields that are not marked `PerMember`; runs of equal shape can be packed together."""
        plain = self.canonical()
        for name, field in type(self).model_fields.items():
            if any(isinstance(mark, PerMember) for mark in field.metadata):
                del plain[name]
        return digest(plain)
