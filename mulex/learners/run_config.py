"""A run of an external learner, as frozen, typed values: the counterpart of `MethodConfig` and `RunConfig`."""

from typing import Any

from pydantic import Field, model_validator

from mulex.config import RunConfig, TrainingConfig
from mulex.learners.names import TRAINING_SETTINGS, LearnerName
from mulex.settings import Settings

Plain = float | bool | str | None | list[Any] | dict[str, Any]


class LearnerConfig(Settings):
    """A learner, with everything about it that decides an outcome."""

    learner: str = Field(description="sb3:ALGORITHM, package.module:name, or command.")
    command: list[str] = Field(default=[], description="The command with its placeholders, if it is one.")
    version: str | None = Field(default=None, description="The version that the learner declares.")
    code: str | None = Field(default=None, description="The checksum of execution.code, which is kept in code/.")
    libraries: dict[str, str | None] = Field(default={}, description="The versions of the libraries that it names.")
    hyperparameters: dict[str, Plain] = Field(default={}, description="The hyperparameters with their defaults.")

    @property
    def name(self) -> LearnerName:
        """The learner as the registry knows it."""
        return LearnerName.of(None if self.command else self.learner, self.command or None)

    @property
    def signals(self) -> tuple[str, ...]:
        """A learner of somebody else's has none of our bonuses."""
        return ()


class LearnerRun(RunConfig):
    """Everything that decides the outcome of a learner's run."""

    recipe: LearnerConfig = Field(description="The learner.")  # type: ignore[assignment]
    values: dict[str, Plain] = Field(description="The values of hyperparameters; null is the default.")  # type: ignore[assignment]

    @model_validator(mode="after")
    def _values_fit(self) -> "LearnerRun":
        known = self.recipe.hyperparameters
        for name, value in self.values.items():
            if name not in known and name not in TRAINING_SETTINGS:
                raise ValueError(f"{name}: {self.method} has no such hyperparameter, it has {', '.join(known)}")
            if name not in known and value is not None and value != (set_to := getattr(self.training, name)):
                raise ValueError(f"{name}: got {value!r}, but the run is trained with {set_to!r}")
        return self

    def canonical(self) -> dict[str, Any]:
        """Return plain data to hash."""
        plain = self.model_dump(mode="json")
        score = {} if self.training.score == "auc" else {"score": plain["training"]["score"]}
        first = {} if self.training.grown_from is None else {"grown_from": self.training.grown_from}
        return plain | {"training": known_training(self.training) | score | first}

    @property
    def given(self) -> dict[str, Any]:
        """The hyperparameters that the learner is given.

        One whose condition does not hold is left to its default; a command, which has no defaults, is given nothing
        in its place.
        """
        own = {name: value for name, value in self.values.items() if name in self.recipe.hyperparameters}
        return own if self.recipe.command else {name: value for name, value in own.items() if value is not None}


def known_training(training: TrainingConfig) -> dict[str, Any]:
    """The training settings that an external learner is given, or that count its rows."""
    plain = training.model_dump(mode="json")
    return {name: plain[name] for name in TRAINING_SETTINGS if plain.get(name) is not None}
