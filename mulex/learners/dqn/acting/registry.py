"""The acting rules that a spec can name, with their parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mulex.learners.dqn.registry import Entry, Registry


@dataclass(frozen=True)
class Parameter:
    """A number that an acting rule reads."""

    description: str
    default: float | None  # None: the recipe must give it
    low: float
    high: float

    @property
    def range(self) -> str:
        """The values that it may have, as a message says it."""
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class RuleEntry(Entry):
    """An acting rule; its implementation is a class that takes the runs of a pack."""

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    reads_gamma_steps: bool = False
    reads_probabilities: bool = True
    needs_explorer: bool = False  # whether it chooses between heads with and without the task's reward


_MODULE = "mulex.learners.dqn.acting"

RULES: Registry[RuleEntry] = Registry(
    "acting rule",
    {
        "steps": RuleEntry(
            "A head is drawn and acts for a geometric number of steps; the paper's rule.",
            "",  # it needs nothing of what happens, so schedule.py draws it in advance
            native=True,
            reads_gamma_steps=True,
        ),
        "episode": RuleEntry("A head is drawn at the start of an episode.", f"{_MODULE}.episode:EpisodeRule", True),
        "novelty": RuleEntry(
            "The explorer acts where the state has few visits, the task's head elsewhere.",
            f"{_MODULE}.novelty:NoveltyRule",
            native=True,
            parameters={
                "visits": Parameter("The most visits of a state in which the explorer acts.", None, 1.0, 1e9),
            },
            needs_explorer=True,
        ),
        "surprise": RuleEntry(
            "Explorer and task's head take turns; a switch is likelier where returns differ from the predicted value.",
            f"{_MODULE}.surprise:SurpriseRule",
            native=True,
            parameters={
                "rate": Parameter("The mean number of switches per step.", 0.01, 1e-6, 1.0),
                "steps": Parameter("The number of steps that a promise is compared over.", 5.0, 1.0, 1000.0),
            },
            needs_explorer=True,
        ),
        "bandit": RuleEntry(
            "The probability of the task's head is chosen for each episode by the returns of earlier ones.",
            f"{_MODULE}.bandit:BanditRule",
            native=True,
            parameters={
                "arms": Parameter("The number of probabilities to choose from.", 5.0, 2.0, 100.0),
                "window": Parameter("The number of episodes whose returns count.", 90.0, 1.0, 1e6),
                "exploration": Parameter("The weight of arms that were chosen rarely.", 1.0, 0.0, 1e6),
                "random": Parameter("The probability that an arm is drawn at random.", 0.5, 0.0, 1.0),
            },
            reads_gamma_steps=True,
            reads_probabilities=False,
            needs_explorer=True,
        ),
    },
)
"""Every acting rule by its name."""

RANDOM_ACTIONS: Registry[Entry] = Registry(
    "random action",
    {
        "single": Entry("One step, as in epsilon-greedy.", "", native=True),
        "repeat": Entry("An action for a zeta-distributed number of steps, as in epsilon-z-greedy.", "", native=True),
    },
)
"""What a random action may be; schedule.py draws both in advance."""
