"""How a run is trained."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from mulex.learners.dqn.bodies import BODIES
from mulex.learners.dqn.head_kinds import HEAD_KINDS
from mulex.learners.dqn.optimisers import OPTIMISERS
from mulex.learners.dqn.registry import NameIn
from mulex.learners.dqn.td_losses import LOSSES
from mulex.settings import Settings, chosen, drop_defaults, given

ENGINES = ("auto", "native", "torch")
"""The engines that can be asked for; `auto` is the fastest that can train a run."""

ADAM_DECAYS = 0.9, 0.999
"""The decays of Adam's means of the gradient and of its square; they are the same in every run."""

LATER_SETTINGS = ("evaluation_episodes", "score", "share_body", "bonus_decay_steps", "grown_from")
"""Training settings that are newer than many sweeps, whose run ids stay."""

ValueLimit = float | Literal["auto"]


def check_value_limit(limit: float | str | None) -> None:
    if isinstance(limit, float) and not 0 < limit <= 1e9:
        raise ValueError(f"value_limit: got {limit!r}, allowed is a number above 0 and at most 1e9, or 'auto'")


class LastReturns(Settings):
    """A score: the mean of a run's last evaluations."""

    last: int = chosen(..., "How many evaluations, counted from the last one back.", ge=1, le=1_000_000)


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
        drop_defaults(plain, TrainingConfig, LATER_SETTINGS)
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
        check_value_limit(self.value_limit)
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
