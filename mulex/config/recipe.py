"""What a method of our own DQN consists of: heads with their rewards, an acting rule, hyperparameters."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from mulex.config.training import ValueLimit, check_value_limit
from mulex.learners.dqn.acting.registry import RANDOM_ACTIONS, RULES
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.dqn.head_kinds import HEAD_KINDS
from mulex.learners.dqn.registry import NameIn
from mulex.messages import nearest
from mulex.settings import Settings, chosen, drop_defaults, given

LIMITS: dict[str, tuple[float, float]] = {
    "learning_rate": (0.0, 10.0),
    "epsilon": (0.0, 1.0),
    "beta": (0.0, 1e6),
    "p_task": (0.0, 1.0),
    "p_1": (0.0, 1.0),
    "gamma_steps": (0.0, 1.0 - 1e-9),
}
"""The least and the largest value of a hyperparameter, by its name, in every method that has it."""

RESERVED_NAMES = (
    *(
        "run",
        "sweep",
        "world",
        "method",
        "draw",
        "seed",
        "role",
        "auc",
        "normalised_auc",
        "final_return",
        "best_return",
    ),
    *("iterations_to_ideal", "iterations", "env_steps", "updates", "seconds", "engine", "status", "error"),
    *("started_at", "finished_at", "host", "package_version", "git_commit", "spec_hash", "schema_version"),
    *("score", "score_name"),
)
"""Columns of `runs` that a hyperparameter must not hide. A test compares them with the schema, which needs pyarrow."""


class HeadConfig(Settings):
    """One Q-function and its reward signal."""

    reward: dict[str, float | str] = Field(
        description="Weight of each signal (task, oracle, simhash): a number or a hyperparameter's name.", min_length=1
    )
    flavour: Annotated[str, NameIn(HEAD_KINDS, "training")] = chosen(
        "training", "The kind of the head: one of its own, or the training's flavour."
    )
    value_limit: ValueLimit | None = chosen(None, "The value limit of a Rainbow head, if not the training's.")

    @model_validator(mode="after")
    def _value_limit_in_range(self) -> "HeadConfig":
        check_value_limit(self.value_limit)
        return self


class ActingConfig(Settings):
    """Which head acts. By the paper's rule a head is drawn and followed for a geometric number of steps."""

    rule: Annotated[str, NameIn(RULES)] = chosen("steps", "When another head is drawn, and which.")
    parameters: dict[str, float | str] = chosen(
        {}, "Parameters of the rule: numbers or hyperparameters' names; those that are not named have their defaults."
    )
    random: Annotated[str, NameIn(RANDOM_ACTIONS)] = chosen("single", "What a random action is.")
    probabilities: dict[str, float | str] = chosen(
        {}, "Probability of each head: a number or a hyperparameter's name; unnamed heads share the rest equally."
    )
    gamma_steps: float | str = given(0.0, "Probability that the acting head keeps acting for another step.")


class MethodConfig(Settings):
    """A method: its heads with their rewards, its acting rule and its hyperparameters."""

    heads: dict[str, HeadConfig] = Field(description="The heads by name, in order.", min_length=1, max_length=64)
    acting: ActingConfig = chosen(ActingConfig(), "The acting rule.")
    evaluate: list[str] = Field(description="The heads whose greedy return is measured; the first one gives the score.")
    hyperparameters: dict[str, float] = Field(description="The hyperparameters with their defaults.")

    @model_validator(mode="after")
    def _names_exist(self) -> "MethodConfig":
        for name, head in self.heads.items():
            for signal, weight in head.reward.items():
                self._known("signal", signal, ("task", *BONUSES), f"heads.{name}.reward")
                self._known_weight(weight, f"heads.{name}.reward.{signal}")
        for name in (*self.evaluate, *self.acting.probabilities):
            self._known("head", name, self.heads, "evaluate or acting.probabilities")
        if not self.evaluate:
            raise ValueError("evaluate: got no head, at least one is needed")
        for weight in (*self.acting.probabilities.values(), self.acting.gamma_steps):
            self._known_weight(weight, "acting")
        self._rule_fits()
        for name in self.hyperparameters:
            if name in RESERVED_NAMES or not name.isidentifier():
                raise ValueError(
                    f"hyperparameters: {name!r} is a column of the tables or not an identifier; use another name"
                )
        for name in ("learning_rate", "epsilon"):
            self._known("hyperparameter", name, self.hyperparameters, "hyperparameters (always needed)")
        return self

    def _rule_fits(self) -> None:
        """Check the parameters of the acting rule, and that there are the heads that it chooses between."""
        acting, rule = self.acting, RULES[self.acting.rule]
        for name, value in acting.parameters.items():
            self._known(f"parameter of {acting.rule}", name, rule.parameters, f"acting.parameters.{name}")
            self._known_weight(value, f"acting.parameters.{name}")
            if not isinstance(value, str) and not (limits := rule.parameters[name]).low <= value <= limits.high:
                raise ValueError(f"acting.parameters.{name}: got {value!r}, allowed is {limits.range}")
        for name, parameter in rule.parameters.items():
            if parameter.default is None and name not in acting.parameters:
                raise ValueError(f"acting.rule: {acting.rule} needs acting.parameters.{name}: {parameter.description}")
        for key, read in (("gamma_steps", rule.reads_gamma_steps), ("probabilities", rule.reads_probabilities)):
            if not read and getattr(acting, key) != ActingConfig.model_fields[key].default:
                raise ValueError(f"acting.{key}: the rule {acting.rule} does not read it; leave it out")
        if rule.needs_explorer and len(set(self.explorers)) < 2:
            raise ValueError(
                f"acting.rule: {acting.rule} chooses between heads with and without the task's reward; add the others"
            )

    def _known_weight(self, weight: float | str, where: str) -> None:
        if isinstance(weight, str):
            self._known("hyperparameter", weight, self.hyperparameters, where)

    def _known(self, what: str, name: str, among: Any, where: str) -> None:
        if name not in among:
            there = f"there are {', '.join(among)}" if among else "there are none"
            raise ValueError(f"{where}: no {what} {name!r}, {there}{nearest(name, among)}")

    @property
    def signals(self) -> tuple[str, ...]:
        """The bonuses that at least one head learns from, in a fixed order."""
        used = {signal for head in self.heads.values() for signal in head.reward}
        return tuple(signal for signal in BONUSES if signal in used)

    @property
    def explorers(self) -> tuple[bool, ...]:
        """For each head, whether it learns from bonuses alone."""
        return tuple("task" not in head.reward for head in self.heads.values())

    def limits(self, hyperparameter: str) -> tuple[float, float]:
        """Return the least and the largest value of a hyperparameter, by its name and by what the acting rule reads."""
        low, high = LIMITS.get(hyperparameter, (-float("inf"), float("inf")))
        for name, parameter in RULES[self.acting.rule].parameters.items():
            if self.acting.parameters.get(name) == hyperparameter:
                low, high = max(low, parameter.low), min(high, parameter.high)
        return low, high

    def canonical(self) -> dict[str, Any]:
        """Return plain data to hash, without later settings that have their defaults: they change no earlier id."""
        plain = self.model_dump(mode="json")
        drop_defaults(plain["acting"], ActingConfig, ("rule", "parameters", "random"))
        for head in plain["heads"].values():
            drop_defaults(head, HeadConfig, ("value_limit",))
        return plain
