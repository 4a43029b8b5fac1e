"""What decides the outcome of a run, as frozen, typed values. Imports no torch.

Every field has one sentence and an origin: `given` by the paper or `chosen` by us where it is silent. *Shape* fields
must agree among the runs of a pack; *member* values may differ and become (P,) tensors.
"""

import hashlib
import json
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mulex.errors import UserError

T = TypeVar("T")


class Role(Enum):
    """Whether a value must agree within a pack or may differ by member."""

    SHAPE = "shape"
    MEMBER = "member"


Shape = Annotated[T, Role.SHAPE]
Member = Annotated[T, Role.MEMBER]


def given(default: Any, says: str, **limits: Any) -> Any:
    """A value that the paper states."""
    return Field(default, description=says, json_schema_extra={"origin": "given"}, **limits)


def chosen(default: Any, says: str, **limits: Any) -> Any:
    """A value that we chose where the paper is silent."""
    return Field(default, description=says, json_schema_extra={"origin": "chosen"}, **limits)


class Settings(BaseModel):
    """Frozen, strict, and closed: a wrong or unknown key is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, values: dict[str, Any]) -> "Settings":
        """Make it from plain data, or say which field, what it got and what is allowed."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise UserError("\n".join(_explain(problem) for problem in error.errors())) from None


def _explain(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"]) or "settings"
    if problem["type"] == "missing":
        return f"{where}: missing, but required"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    if problem["type"] == "extra_forbidden":
        return f"{where}: got {problem['input']!r}, but there is no such key"
    return f"{where}: got {problem['input']!r}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


class GridWorldConfig(Settings):
    """A grid world of ours."""

    map: Shape[Literal["montezuminha", "two_rooms", "corridor"]] = given("montezuminha", "The map.")
    room_size: Shape[int] = given(5, "Cells inside a room, along each side.", ge=3, le=50)
    hard: Shape[bool] = given(False, "Whether walls teleport to a parallel world.")
    ghosts: Shape[int] = given(0, "Ghosts that begin in the start room.", ge=0, le=16)
    textured: Shape[bool] = given(False, "Whether each cell is drawn as 8 x 8 pixels.")
    time_limit: Shape[int | None] = given(None, "Steps an episode may take; 100 x room_size unless set.", ge=1)

    @model_validator(mode="after")
    def _map_fits(self) -> "GridWorldConfig":
        if self.hard and self.map == "corridor":
            raise ValueError("hard: got True, but the corridor has no parallel world; use montezuminha or two_rooms")
        return self


class GymWorldConfig(Settings):
    """Any Gymnasium environment with discrete actions and an array observation."""

    id: Shape[str] = chosen(..., "The id that gymnasium.make takes.", min_length=1)
    kwargs: Shape[dict[str, Any]] = chosen({}, "Further arguments of gymnasium.make.")
    ideal_return: Shape[float | None] = chosen(None, "The return that counts as 1 when normalised.", gt=0)


WorldConfig = GridWorldConfig | GymWorldConfig


class TrainingConfig(Settings):
    """How a run is trained; all of it is shape."""

    iterations: Shape[int] = given(800, "Iterations, each some training and then an evaluation.", ge=1)
    steps_per_iteration: Shape[int | None] = given(
        None, "Training steps an iteration; 500 x room_size unless set (2500 in other worlds).", ge=1
    )
    evaluation_steps: Shape[int | None] = given(
        None, "Least evaluation steps an iteration; half the training steps unless set.", ge=1
    )
    update_every: Shape[int] = given(4, "Training steps between two updates.", ge=1)
    batch_size: Shape[int] = given(32, "Transitions in a mini-batch.", ge=1, le=4096)
    stack: Shape[int | None] = given(
        None, "Frames the agent sees; 4 unless set, 1 with a flat observation.", ge=1, le=4
    )
    loss: Shape[Literal["squared", "huber"]] = given("squared", "The loss of a TD error.")
    flavour: Shape[Literal["dqn", "rainbow"]] = given("dqn", "How the heads on the task's reward learn.")
    hidden: Shape[int] = given(64, "Hidden units of each head.", ge=1)
    body: Shape[Literal["auto", "conv", "textured", "mlp"]] = chosen(
        "auto", "The layers that all heads share; auto goes by the observation."
    )
    padding: Shape[Literal["none", "same"]] = chosen("none", "Padding of the convolutions.")
    initialisation: Shape[Literal["xavier", "torch"]] = chosen("xavier", "How weights start (Dopamine: Xavier).")
    input_scale: Shape[float] = chosen(4 / 255, "What pixels are multiplied by.", gt=0)
    discount: Shape[float | Literal["scaled"]] = chosen(
        "scaled", "The discount; scaled is 1 - 0.15 / room_size (0.99 in other worlds)."
    )
    replay_size: Shape[int] = chosen(1_000_000, "Transitions the replay holds.", ge=100)
    warm_up: Shape[int] = chosen(1_000, "Random steps before the first update.", ge=0)
    target_period: Shape[int] = chosen(500, "Training steps between two copies to the target network.", ge=1)
    epsilon_decay_steps: Shape[int] = chosen(0, "Steps in which epsilon falls from 1 to its value; 0 is none.", ge=0)
    bootstrap_at_time_limit: Shape[bool] = chosen(False, "Whether a time limit is no terminal for the targets.")
    reward_clip: Shape[float | None] = chosen(None, "Rewards are clipped to plus or minus this, if set.", gt=0)
    optimiser: Shape[Literal["auto", "rmsprop", "adam"]] = given(
        "auto", "RMSProp, and Adam for the Rainbow flavour, unless set."
    )
    rmsprop_decay: Shape[float] = chosen(0.95, "Decay of RMSProp's averages.", gt=0, lt=1)
    rmsprop_epsilon: Shape[float] = chosen(1e-8, "RMSProp's epsilon, inside the square root.", gt=0)
    adam_epsilon: Shape[float] = chosen(1.5e-4, "Adam's epsilon.", gt=0)
    bonus_of: Shape[Literal["left", "entered"]] = chosen("left", "Which state of a transition the bonus is of.")
    bonus_at: Shape[Literal["collection", "replay"]] = chosen("collection", "When the bonus is taken from the counts.")
    n_step: Shape[int] = chosen(3, "Steps of a Rainbow head's returns.", ge=1, le=100)
    atoms: Shape[int] = chosen(51, "Atoms of a Rainbow head's distribution.", ge=2)
    value_limit: Shape[float] = chosen(10.0, "A Rainbow head's atoms lie between plus and minus this.", gt=0)

    @model_validator(mode="after")
    def _discount_in_range(self) -> "TrainingConfig":
        if isinstance(self.discount, float) and not 0 <= self.discount < 1:
            raise ValueError(f"discount: got {self.discount!r}, allowed is a number from 0 to below 1, or 'scaled'")
        return self

    @model_validator(mode="after")
    def _replay_holds_a_return(self) -> "TrainingConfig":
        least = self.n_step + 3  # a full ring without the oldest frames, which only stacks use, and the last returns
        if self.replay_size < least:
            raise ValueError(
                f"replay_size: got {self.replay_size!r}, allowed with n_step {self.n_step} is {least} or more"
            )
        return self


class HeadConfig(Settings):
    """One Q-function and its reward signal."""

    reward: Shape[dict[str, float | str]] = Field(
        description="Weight of each signal (task, oracle, simhash): a number or a hyperparameter's name.", min_length=1
    )
    flavour: Shape[Literal["training", "dqn"]] = chosen(
        "training", "dqn always, or whatever the training's flavour is."
    )


class ActingConfig(Settings):
    """Who acts: a head is drawn, acts greedily for a geometric number of steps, and another is drawn."""

    probabilities: Shape[dict[str, float | str]] = chosen(
        {}, "Probability of each head: a number or a hyperparameter's name; the others share what is left."
    )
    gamma_steps: Shape[float | str] = given(0.0, "Probability that the acting head goes on for another step.")


SIGNALS = ("task", "oracle", "simhash")
RESERVED_NAMES = (
    *("run", "sweep", "world", "method", "draw", "seed", "auc", "normalised_auc", "final_return", "best_return"),
    *("iterations_to_ideal", "iterations", "env_steps", "updates", "seconds", "engine", "status", "error"),
    *("started_at", "finished_at", "host", "package_version", "git_commit", "spec_hash", "schema_version"),
)
"""Columns of `runs` that a hyperparameter would hide; a test holds this to the schema, which needs pyarrow."""


class MethodConfig(Settings):
    """Heads, rewards and acting, put together from data."""

    heads: Shape[dict[str, HeadConfig]] = Field(description="The heads by name, in order.", min_length=1)
    acting: Shape[ActingConfig] = chosen(ActingConfig(), "Who acts.")
    evaluate: Shape[list[str]] = Field(description="The heads whose greedy return is measured; the first counts.")
    hyperparameters: Shape[dict[str, float]] = Field(description="The values it takes, with a default for each.")

    @model_validator(mode="after")
    def _names_exist(self) -> "MethodConfig":
        for name, head in self.heads.items():
            for signal, weight in head.reward.items():
                self._known("signal", signal, SIGNALS, f"heads.{name}.reward")
                self._known_weight(weight, f"heads.{name}.reward.{signal}")
        for name in (*self.evaluate, *self.acting.probabilities):
            self._known("head", name, self.heads, "evaluate or acting.probabilities")
        if not self.evaluate:
            raise ValueError("evaluate: got no head, at least one is needed")
        for weight in (*self.acting.probabilities.values(), self.acting.gamma_steps):
            self._known_weight(weight, "acting")
        for name in self.hyperparameters:
            if name in RESERVED_NAMES or not name.isidentifier():
                raise ValueError(f"hyperparameters: {name!r} is a column of the tables or no word; take another name")
        for name in ("learning_rate", "epsilon"):
            self._known("hyperparameter", name, self.hyperparameters, "hyperparameters (always needed)")
        return self

    def _known_weight(self, weight: float | str, where: str) -> None:
        if isinstance(weight, str):
            self._known("hyperparameter", weight, self.hyperparameters, where)

    def _known(self, what: str, name: str, among: Any, where: str) -> None:
        if name not in among:
            raise ValueError(f"{where}: no {what} {name!r}, there are {', '.join(among)}")

    @property
    def signals(self) -> tuple[str, ...]:
        """The bonuses that some head learns from, in a fixed order."""
        used = {signal for head in self.heads.values() for signal in head.reward}
        return tuple(signal for signal in SIGNALS[1:] if signal in used)


# What a value of that name may be, wherever a method uses the name.
LIMITS: dict[str, tuple[float, float]] = {
    "learning_rate": (0.0, 10.0),
    "epsilon": (0.0, 1.0),
    "beta": (0.0, 1e6),
    "p_task": (0.0, 1.0),
    "p_1": (0.0, 1.0),
    "gamma_steps": (0.0, 1.0 - 1e-9),
}


class RunConfig(Settings):
    """Everything that decides a run's outcome; its id is a hash of it."""

    world: WorldConfig = Field(description="Where it is trained.")
    method: str = Field(description="The method's name.")
    recipe: MethodConfig = Field(description="The method itself.")
    training: TrainingConfig = Field(description="How it is trained.")
    values: dict[str, float] = Field(description="The value of each hyperparameter.")
    seed: Member[int] = Field(0, description="The repeat: runs that differ in it alone differ by chance alone.", ge=0)

    @model_validator(mode="after")
    def _values_fit(self) -> "RunConfig":
        known = self.recipe.hyperparameters
        for name, value in self.values.items():
            if name not in known:
                raise ValueError(f"{name}: {self.method} has no such hyperparameter, it has {', '.join(known)}")
            low, high = LIMITS.get(name, (-float("inf"), float("inf")))
            if not low <= value <= high:
                raise ValueError(f"{name}: got {value!r}, allowed is a number from {low:g} to {high:.10g}")
        if missing := set(known) - set(self.values):
            raise ValueError(f"values: no value for {', '.join(sorted(missing))}")
        named = [self.weight(value) for value in self.recipe.acting.probabilities.values()]
        if min(named, default=0.0) < 0 or sum(named) > 1:
            raise ValueError(f"acting.probabilities: got {named}, allowed is from 0 up with a sum of at most 1")
        if not 0 <= (stay := self.weight(self.recipe.acting.gamma_steps)) < 1:
            raise ValueError(f"acting.gamma_steps: got {stay!r}, allowed is a number from 0 to below 1")
        return self

    def weight(self, value: float | str) -> float:
        """A number, or the value of the hyperparameter of that name."""
        return self.values[value] if isinstance(value, str) else value

    @property
    def steps_per_iteration(self) -> int:
        """Given: 2500, 5000 and 7500 for w = 5, 10, 15."""
        return self.training.steps_per_iteration or 500 * (
            self.world.room_size if isinstance(self.world, GridWorldConfig) else 5
        )

    @property
    def evaluation_steps(self) -> int:
        """Given for w = 5: 1250."""
        return self.training.evaluation_steps or max(1, self.steps_per_iteration // 2)

    @property
    def discount(self) -> float:
        """As a number."""
        if isinstance(self.training.discount, float):
            return self.training.discount
        return 1 - 0.15 / self.world.room_size if isinstance(self.world, GridWorldConfig) else 0.99

    def canonical(self) -> dict[str, Any]:
        """Plain data in which only what decides the outcome has an order: the heads have one, keys have none."""
        plain = self.model_dump(mode="json")
        plain["recipe"]["heads"] = list(plain["recipe"]["heads"].items())
        return plain

    @property
    def run_id(self) -> str:
        """The same for equal configurations, whatever the order of their keys."""
        return digest(self.canonical())

    @property
    def shape(self) -> str:
        """Runs of equal shape can be packed together."""
        return digest({key: part for key, part in self.canonical().items() if key not in ("values", "seed")})


def digest(plain: Any) -> str:
    """A short name for plain data that does not depend on the order of keys."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
