"""The paper's claims, each measured on the sweep that its experiment is named after."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from analysis.errors import AnalysisError
from analysis.study import comparisons, reaching, speed
from analysis.study.evidence import TOO_FEW, TURN, Evidence, Need, judge
from analysis.study.samples import ITERATIONS, Sweeps, first_world, largest_rooms, may_yet_move, room_worlds
from analysis.tables import Tables


@dataclass(frozen=True)
class Claim:
    """What the paper says of one of its experiments, and how that is measured."""

    experiment: str
    says: str
    measure: Callable[[Tables, Sweeps], list[Evidence]]
    worlds: Callable[[Tables], list[str]] = first_world
    """Returns the worlds of a sweep in which the claim is measured."""


@dataclass(frozen=True)
class Finding:
    """A claim, measured on a sweep."""

    sweep: str
    claim: Claim
    evidence: list[Evidence]
    runs: str
    iterations: int
    runs_a_draw: int = 1
    """How many runs one more draw of each method has, over all seeds and worlds."""

    @property
    def verdict(self) -> str:
        return judge(self.evidence)

    @cached_property
    def need(self) -> Need | None:
        """The draws that would be expected to decide an open claim, None if it is decided or that cannot be said."""
        if self.verdict != TOO_FEW:
            return None
        needs = [one.need for one in self.evidence if one.verdict == TOO_FEW]
        known = [need for need in needs if need is not None]
        return max(known) if len(known) == len(needs) else None

    def plain(self) -> dict[str, Any]:
        """Return it for JSON, with null for what is not finite."""
        numbers = [
            {
                "what": one.what,
                **one.estimate.plain(),
                "boundary": one.boundary,
                "above": one.above,
                "verdict": one.verdict,
            }
            for one in self.evidence
        ]
        return {
            "sweep": self.sweep,
            "claim": self.claim.says,
            "verdict": self.verdict,
            "draws_x_seeds": self.runs,
            "iterations": self.iterations,
            "numbers": numbers,
            "draws_needed": self.need.draws if self.need else None,
            "runs_needed": self.need.draws * self.runs_a_draw if self.need else None,
            "needed_by": self.need.method if self.need else None,
        }

    @property
    def scope(self) -> str:
        """The iterations that the verdict is about, where runs are shorter than the paper's."""
        return f" (first {self.iterations} iterations)" if self.iterations < ITERATIONS else ""


def experiment_of(sweep: str) -> str:
    """Return the experiment that a sweep repeats: `main-discount-0.99` is another `main`."""
    return sweep.partition("-")[0]


def check_claims(loaded: Sequence[Tables]) -> list[Finding]:
    """Measure every claim on every one of these sweeps that it is about.

    Raises:
        AnalysisError: Two sweeps have the same name, or no claim is about any of them.
    """
    names = [tables.sweeps[0].name for tables in loaded]
    if twice := {name for name in names if names.count(name) > 1}:
        raise AnalysisError(
            f"{', '.join(sorted(twice))}: several sweeps have this name, but claims are matched to sweeps by name"
        )
    found = list(findings(dict(zip(names, loaded, strict=True))))
    if not found:
        known = ", ".join(dict.fromkeys(claim.experiment for claim in CLAIMS))
        about = f"they are about {known}, in worlds with an ideal return"
        raise AnalysisError(f"no claim of the paper is about {', '.join(names)}; {about}")
    return found


def findings(sweeps: Sweeps) -> Iterator[Finding]:
    """Measure every claim on every sweep that it is about and that has the runs it needs; sweeps are given by name."""
    for claim in CLAIMS:
        for name, whole in sweeps.items():
            if experiment_of(name) == claim.experiment and (worlds := claim.worlds(whole)):
                tables = whole.only(worlds)
                if evidence := claim.measure(tables, sweeps):
                    judged = [replace(one, may_yet=one.may_yet or may_yet_move(tables, TURN)) for one in evidence]
                    a_draw = sum(int(runs["seed"].nunique()) for _, _, runs in tables.groups())
                    yield Finding(name, claim, judged, _runs(tables), tables.iterations, a_draw)


def _runs(tables: Tables) -> str:
    groups = [runs for _, _, runs in tables.groups()]
    return " or ".join(sorted({_size(len(runs), runs["draw"].nunique(), runs["seed"].nunique()) for runs in groups}))


def _size(runs: int, draws: int, seeds: int) -> str:
    """Return draws x seeds, and how many of these runs there are if some are missing."""
    return ("" if runs == draws * seeds else f"{runs} of ") + f"{draws} x {seeds}"


NEVER_ACTS = "A head that never acts learns badly"
STRAIGHT = "From everywhere MuleX goes straight to the exit, and Additive does not"
CLAIMS = (
    Claim("main", "MuleX's best ten runs reach the top about twice as fast as Additive's", speed.speed_of_the_best),
    Claim("main", "MuleX's best 1 %, 5 % and 10 % of runs reach the top faster than Additive's", speed.speed_by_share),
    Claim(
        "main",
        "With seeds that no tuning saw, MuleX's best draw reaches the top faster than Additive's",
        speed.speed_of_the_confirmed,
    ),
    Claim("main", "The mean over all MuleX runs is higher than Additive's", comparisons.higher_mean),
    Claim("main", "MuleX's scores are clearly higher than those of the others", comparisons.beats_the_others),
    Claim("main", "MuleX's scores are tighter than Additive's", comparisons.tighter),
    Claim("main", STRAIGHT, reaching.straight_to_the_exit),
    Claim("start_states", STRAIGHT, reaching.straight_to_the_exit),
    Claim("acting", NEVER_ACTS, reaching.a_head_must_act),
    Claim("tandem", NEVER_ACTS, reaching.a_head_must_act),
    Claim(
        "rooms", "Over ε-greedy, MuleX's median improves as rooms grow", comparisons.better_in_larger_rooms, room_worlds
    ),
    Claim("rooms", "At w = 15 MuleX is well ahead of Additive", comparisons.ahead_in_the_largest_rooms, largest_rooms),
    Claim("hard", "ε-greedy fails where walls teleport", reaching.epsilon_greedy_fails),
    Claim("hard", "There MuleX beats Additive, and reaches the top", reaching.beats_additive_and_gets_there),
    Claim("ghost", "With a ghost MuleX is best", comparisons.beats_the_others),
    Claim("ghost", "With a ghost all struggle", comparisons.all_struggle),
    Claim(
        "textured",
        "With textures MuleX reaches the top for nearly any draw, Additive for fewer",
        reaching.nearly_any_draw,
    ),
    Claim("rainbow", "All methods gain by Rainbow", comparisons.all_gain),
    Claim("rainbow", "By Rainbow MuleX's worst runs gain most", comparisons.the_worst_gain_most),
)
