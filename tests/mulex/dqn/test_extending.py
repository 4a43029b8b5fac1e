"""The examples of docs/extending.md, as they are printed there: registered, trained, saved, restored and described."""

import re
import sys
import types
from pathlib import Path

import pytest
import torch

from mulex.config import ActingConfig, HeadConfig, MethodConfig, TrainingConfig
from mulex.learners.dqn.acting.registry import RULES
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.dqn.engines import choose_engine
from mulex.learners.dqn.td_losses import LOSSES
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import MULEX
from tests.support.agents import Case, assert_same_arrays, member_state, more, train

PAGE = Path(__file__).parents[3] / "docs" / "extending.md"


@pytest.fixture
def example(request, monkeypatch):
    """A module with the code of a section of the page; what it registers is taken back."""
    before = [(registry, dict(registry)) for registry in (BONUSES, RULES, LOSSES)]
    section = PAGE.read_text().split(f"\n## {request.param}\n")[1].split("\n## ")[0]
    module = types.ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    exec("\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL)), module.__dict__)
    yield module
    for registry, entries in before:
        registry.clear()
        registry.update(entries)


def check(case):
    """A member of a pack is the same run alone, and goes on exactly from a checkpoint; auto takes torch for it."""
    runs = case.members(3)
    pack, rows = train(runs, 2)
    alone, alone_rows = train(runs[1:2], 2)
    assert [row[1] for row in rows] == [row[0] for row in alone_rows]
    assert_same_arrays(member_state(pack, 1), member_state(alone, 0))
    first, early = train(runs, 1)
    second = TorchEngine(runs)
    second.load(first.save())
    assert early + more(second, 1) == rows
    return pack, choose_engine("auto", "cpu", runs[0])


@pytest.mark.parametrize("example", ["A bonus"], indirect=True)
def test_a_bonus(example):
    pack, chosen = check(Case("mulex", bonus="edges"))
    assert isinstance(pack.bonuses[0], example.EdgesBonus)
    assert pack.bonuses[0].brightest.min(axis=0).max() > 0
    assert chosen == ("torch", "native cannot: it does not have the bonus edges")
    with pytest.raises(ValueError, match="did you mean 'edges'"):
        MethodConfig.model_validate(MULEX.model_dump() | {"heads": {"task": HeadConfig(reward={"edgse": 1.0})}})


@pytest.mark.parametrize("example", ["An acting rule"], indirect=True)
def test_an_acting_rule(example):
    acting = ActingConfig(rule="every_nth", parameters={"every": 2.0})
    recipe = {"acting": acting, "hyperparameters": {"learning_rate": 1e-3, "epsilon": 0.1}}
    case = Case("mulex", composed=MethodConfig.model_validate(MULEX.model_dump() | recipe))
    pack, chosen = check(case)
    assert pack.rule.episode.min() >= 3
    assert chosen == ("torch", "native cannot: it does not have the acting rule every_nth")
    assert "every_nth" in ActingConfig.model_json_schema()["properties"]["rule"]["enum"]


@pytest.mark.parametrize("example", ["A loss"], indirect=True)
def test_a_loss(example):
    pack, chosen = check(Case("mulex", training={"loss": "log_cosh"}))
    error = torch.tensor([[0.5, -3.0]], requires_grad=True)
    pack.learner.heads[0].of_error(error).sum().backward()
    torch.testing.assert_close(error.grad, torch.tanh(error.detach()))
    assert chosen == ("torch", "native cannot: it does not have the loss log_cosh")
    assert TrainingConfig.model_json_schema()["properties"]["loss"]["enum"] == ["squared", "huber", "log_cosh"]
