"""`check_learner` on learners that keep the contract and on ones that break it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulex.learners.check import Trial, check_learner
from mulex.learners.names import LearnerName
from tests.mulex.learners.support import FROZEN_LAKE

MODULE = """
import itertools, random

class Base:
    def __init__(self, run): self.run, self.n = run, 0
    def iterate(self):
        self.n += 1
        return {"eval_return": self.n + self.run.rng().random()}
    def save(self): return {"n": self.n}
    def load(self, state): self.n = int(state["n"])

class Unseeded(Base):
    def iterate(self): return {"eval_return": random.SystemRandom().random()}

class IgnoresSeed(Base):
    def iterate(self):
        self.n += 1
        return {"eval_return": float(self.n)}

class Forgets(Base):
    def load(self, state): pass

class Diverges(Base):
    def iterate(self): return {"eval_return": float("nan"), "noise": self.run.rng().random()}

class Raises(Base):
    def iterate(self): raise ValueError("no such thing")

def plain(run):
    rng = run.rng()
    while True:
        yield {"eval_return": rng.random()}
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "checked_learners.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "checked_learners"
    sys.modules.pop("checked_learners", None)


def outcomes(name: str, **settings: object) -> dict[str, str]:
    trial = Trial(LearnerName.of(name), FROZEN_LAKE, {}, {}, **settings)  # type: ignore[arg-type]
    return {point.name: f"{point.outcome}: {point.text}" for point in check_learner(trial)}


def test_a_learner_that_keeps_the_contract_passes_every_point(module: str) -> None:
    found = outcomes(f"{module}:Base")
    assert len(found) == 7
    assert all(text.startswith("passed") for text in found.values()), found


@pytest.mark.parametrize(
    ("learner", "point", "says"),
    [
        ("Unseeded", "same seed, same rows", "failed: row 1: eval_return is"),
        ("IgnoresSeed", "other seed, other rows", "failed: runs of two seeds agree in every cell"),
        ("Forgets", "stopped and resumed", "failed: row 3: eval_return is"),
        ("Diverges", "finite rows", "failed: NaN or infinite in eval_return"),
        ("Raises", "rows", "failed: row 1: ValueError: no such thing"),
        ("plain", "stopped and resumed", "skipped: saves nothing after 2 rows"),
        ("Missing", "importable", "failed: learner checked_learners:Missing"),
    ],
)
def test_what_breaks_the_contract_is_named(module: str, learner: str, point: str, says: str) -> None:
    found = outcomes(f"{module}:{learner}")
    assert found[point].startswith(says)
    others = [text for name, text in found.items() if name != point]
    failing = {"Unseeded": 1, "Diverges": 0}.get(learner, 0)
    assert sum(text.startswith("failed") for text in others) <= failing


def test_the_example_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))
    found = outcomes("examples.q_learning:QLearning")
    assert all(text.startswith("passed") for text in found.values()), found
