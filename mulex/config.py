"""What decides the outcome of a run, as frozen, typed values. Imports no torch.

Every field has a description and an origin: `given` by the paper, or `chosen` by us where the paper is silent. The
upper limits are generous; they keep numbers within what the engines can count and a machine can hold.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mulex.learners.dqn.acting.registry import RANDOM_ACTIONS, RULES
from mulex.learners.dqn.bodies import BODIES
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.dqn.head_kinds import HEAD_KINDS
from mulex.learners.dqn.optimisers import OPTIMISERS
from mulex.learners.dqn.registry import NameIn
from mulex.learners.dqn.td_losses import LOSSES
from mulex.messages import nearest, shown
from mulex.settings import Settings, chosen, digest, given
from mulex.worlds.maps import LARGEST_ROOM, LONGEST_EPISODE, MOST_GHOSTS, SMALLEST_ROOM

ENGINES = ("auto", "native", "torch")
"""The engines that can be asked for; `auto` is the fastest that can train a run."""


class PerMember:
    """Marks a field of a run whose value may differ among the runs of a pack. All other fields must agree."""


class GridWorldConfig(Settings):
    """One of our own grid worlds."""

    map: Literal["montezuminha", "two_rooms", "corridor"] = given("montezuminha", "The map.")
    room_size: int = given(5, "Cells along each side of a room.", ge=SMALLEST_ROOM, le=LARGEST_ROOM)
    hard: bool = given(False, "Touching a wall teleports to a parallel world.")
    ghosts: int = given(0, "Ghosts that begin in the start room.", ge=0, le=MOST_GHOSTS)
    textured: bool = given(False, "Each cell is drawn as 8 x 8 pixels.")
    time_limit: int | None = given(
        None, "Steps an episode may take; 100 x room_size unless set.", ge=1, le=LONGEST_EPISODE
    )

    @model_validator(mode="after")
    def _map_fits(self) -> "GridWorldConfig":
        if self.hard and self.map == "corridor":
            raise ValueError("hard: got True, but the corridor has no parallel world; use montezuminha or two_rooms")
        return self


def _wrapper(value: Any) -> Any:
    name = value.get("name") if isinstance(value, dict) else value
    if not isinstance(name, str) or not name.rpartition(":")[2].isidentifier():
        raise ValueError(f"got {shown(value)}, allowed is a name such as TimeLimit or module:Class, or {{name: ...}}")
    return value


Wrapper = Annotated[Any, AfterValidator(_wrapper)]
"""A wrapper's name, or a mapping of its `name` and its arguments."""


class GymWorldConfig(Settings):
    """Any Gymnasium environment; our DQN needs discrete actions and an array observation."""

    id: str = chosen(..., "The id that gymnasium.make takes.", min_length=1, max_length=1000)
    kwargs: dict[str, Any] = chosen({}, "Further arguments of gymnasium.make.")
    ideal_return: float | None = chosen(None, "The return that counts as 1 when normalised.", gt=0)
    wrappers: list[Wrapper] = Field(
        default=[],
        description="Wrappers, the first one innermost: names of gymnasium.wrappers or module:Class.",
        json_schema_extra={"origin": "chosen", "allowed": "a list, each a name or {name: NAME, ARGUMENT: VALUE, ...}"},
    )
    code: str | None = chosen(
        None, "The checksum of execution.code if the environment is in it; filled in when a spec is read."
    )

    @model_serializer(mode="wrap")
    def _without_later_settings(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not given: these settings are newer than many sweeps, whose run ids stay."""
        plain: dict[str, Any] = write(self)
        return {key: value for key, value in plain.items() if value or key not in ("wrappers", "code")}


WorldConfig = GridWorldConfig | GymWorldConfig


class LastReturns(Settings):
    """A score: the mean of a run's last evaluations."""

    last: int = chosen(..., "How many evaluations, counted from the last one back.", ge=1, le=1_000_000)


ValueLimit = float | Literal["auto"]


def _check_value_limit(limit: float | str | None) -> None:
    if isinstance(limit, float) and not 0 < limit <= 1e9:
        raise ValueError(f"value_limit: got {limit!r}, allowed is a number above 0 and at most 1e9, or 'auto'")


LATER_SETTINGS = ("evaluation_episodes", "score", "share_body", "bonus_decay_steps", "grown_from")
"""Training settings that are newer than many sweeps, whose run ids stay."""


class TrainingConfig(Settings):
    """How a run is trained."""

    iterations: int = given(800, "Number of iterations; each trains and then evaluates.", ge=1, le=1_000_000)
    grown_from: int | None = chosen(
        None,
        "The iterations that the runs were first planned with; filled in when a sweep is made longer. Their random "
        "numbers stay those of runs of that length.",
        ge=1,
        le=1_000_000,
    )
    steps_per_iteration: int | None = given(
        None,
        "Training steps in an iteration; 500 x room_size unless set (2500 in Gymnasium worlds).",
        ge=1,
        le=10_000_000,
    )
    evaluation_steps: int | None = given(
        None, "Least evaluation steps in an iteration; half the training steps unless set.", ge=1, le=10_000_000
    )
    evaluation_episodes: int | None = chosen(
        None, "Evaluation episodes in an iteration of an external learner; 10 unless set.", ge=1, le=1_000_000
    )
    score: Literal["auc", "final", "best"] | LastReturns = Field(
        default="auc",
        description="Which number of its evaluation curve a run is compared by.",
        json_schema_extra={"origin": "chosen", "allowed": "auc, final, best or {last: N}"},
    )
    update_every: int = given(4, "Training steps between two updates.", ge=1, le=1_000_000_000)
    batch_size: int = given(32, "Transitions in a mini-batch.", ge=1, le=4096)
    stack: int | None = given(None, "Frames the agent sees; 4 unless set, 1 with a flat observation.", ge=1, le=4)
    loss: Annotated[str, NameIn(LOSSES)] = given("squared", "The loss of a TD error.")
    flavour: Annotated[str, NameIn(HEAD_KINDS)] = given("dqn", "How the heads on the task's reward learn.")
    hidden: int = given(64, "Hidden units of each head.", ge=1, le=65_536)
    body: Annotated[str, NameIn(BODIES, "auto")] = chosen(
        "auto", "The layers that all heads share; auto chooses by the observation."
    )
    share_body: bool = chosen(True, "Whether all heads share one body; otherwise each head has its own.")
    padding: Literal["none", "same"] = chosen("none", "Padding of the convolutions.")
    initialisation: Literal["xavier", "torch"] = chosen("xavier", "How weights are initialised (Dopamine: Xavier).")
    input_scale: float = chosen(4 / 255, "The factor that pixels are multiplied by.", gt=0, le=1e6)
    discount: float | Literal["scaled"] = chosen(
        "scaled", "The discount; scaled is 1 - 0.15 / room_size (0.99 in Gymnasium worlds)."
    )
    replay_size: int = chosen(1_000_000, "Transitions the replay holds.", ge=100, le=100_000_000)
    warm_up: int = chosen(1_000, "Random steps before the first update.", ge=0, le=1_000_000_000)
    target_period: int = chosen(500, "Training steps between two copies to the target network.", ge=1, le=1_000_000_000)
    epsilon_decay_steps: int = chosen(
        0, "Steps over which epsilon falls from 1 to its value; 0 disables the decay.", ge=0, le=1_000_000_000
    )
    bootstrap_at_time_limit: bool = chosen(False, "Bootstrap through time limits.")
    reward_clip: float | None = chosen(None, "Clip rewards to plus or minus this value, if set.", gt=0, le=1e9)
    optimiser: Annotated[str, NameIn(OPTIMISERS, "auto")] = given(
        "auto", "The optimiser; auto is RMSProp, and Adam for the Rainbow flavour."
    )
    rmsprop_decay: float = chosen(0.95, "Decay of RMSProp's averages.", gt=0, lt=1)
    rmsprop_epsilon: float = chosen(1e-8, "RMSProp's epsilon, inside the square root.", gt=0)
    adam_epsilon: float = chosen(1.5e-4, "Adam's epsilon.", gt=0)
    bonus_of: Literal["left", "entered"] = chosen(
        "left", "Which state of a transition the bonus is for: the one left or the one entered."
    )
    bonus_at: Literal["collection", "replay"] = chosen(
        "collection", "When the bonus is computed from the counts: when a step is taken, or when it is replayed."
    )
    bonus_decay_steps: int = chosen(
        0,
        "Training steps over which the weights of all bonuses fall to 0, once an iteration; 0 disables the decay.",
        ge=0,
        le=1_000_000_000,
    )
    n_step: int = chosen(3, "Steps of a Rainbow head's returns.", ge=1, le=100)
    atoms: int = chosen(51, "Atoms of a Rainbow head's distribution.", ge=2, le=10_000)
    value_limit: ValueLimit = chosen(
        10.0,
        "A Rainbow head's atoms lie between plus and minus this value; auto takes the bounds of the rewards.",
    )

    @property
    def optimiser_name(self) -> str:
        """The name of the optimiser: what auto stands for is RMSProp, and Adam for the Rainbow flavour."""
        automatic = "adam" if self.flavour == "rainbow" else "rmsprop"
        return automatic if self.optimiser == "auto" else self.optimiser

    def canonical(self) -> dict[str, Any]:
        """Return plain data to hash, without later settings that have their defaults: they change no earlier id."""
        plain = self.model_dump(mode="json")
        _drop_defaults(plain, TrainingConfig, LATER_SETTINGS)
        return plain

    @model_validator(mode="after")
    def _grows(self) -> "TrainingConfig":
        if self.grown_from is not None and self.grown_from >= self.iterations:
            raise ValueError(f"grown_from: got {self.grown_from}, allowed is less than {self.iterations} (iterations)")
        return self

    @model_validator(mode="after")
    def _discount_in_range(self) -> "TrainingConfig":
        if isinstance(self.discount, float) and not 0 <= self.discount < 1:
            raise ValueError(f"discount: got {self.discount!r}, allowed is a number from 0 to below 1, or 'scaled'")
        return self

    @model_validator(mode="after")
    def _value_limit_in_range(self) -> "TrainingConfig":
        _check_value_limit(self.value_limit)
        return self

    @model_validator(mode="after")
    def _score_fits(self) -> "TrainingConfig":
        if isinstance(self.score, LastReturns) and self.score.last > self.iterations:
            raise ValueError(f"score.last: got {self.score.last}, allowed is at most the {self.iterations} iterations")
        return self

    @model_validator(mode="after")
    def _replay_holds_a_return(self) -> "TrainingConfig":
        # A full ring cannot sample its 3 oldest slots, which only serve stacks, nor its last n_step - 1.
        least = self.n_step + 3
        if self.replay_size < least:
            raise ValueError(
                f"replay_size: got {self.replay_size!r}, allowed with n_step {self.n_step} is {least} or more"
            )
        return self


def _drop_defaults(plain: dict[str, Any], model: type[Settings], names: tuple[str, ...]) -> None:
    """Delete the settings that have their defaults."""
    for name in names:
        if plain[name] == model.model_fields[name].default:
            del plain[name]


ADAM_DECAYS = 0.9, 0.999
"""The decays of Adam's means of the gradient and of its square; they are the same in every run."""


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
        _check_value_limit(self.value_limit)
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
        _drop_defaults(plain["acting"], ActingConfig, ("rule", "parameters", "random"))
        for head in plain["heads"].values():
            _drop_defaults(head, HeadConfig, ("value_limit",))
        return plain


LIMITS: dict[str, tuple[float, float]] = {
    "learning_rate": (0.0, 10.0),
    "epsilon": (0.0, 1.0),
    "beta": (0.0, 1e6),
    "p_task": (0.0, 1.0),
    "p_1": (0.0, 1.0),
    "gamma_steps": (0.0, 1.0 - 1e-9),
}
"""The least and the largest value of a hyperparameter, by its name, in every method that has it."""


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
