"""`mulex validate` and `mulex sweep` refuse the same: each problem with its line, and nothing is written."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from mulex.errors import UserError
from sweeps.engine_check import check_engines
from tests.support.sweeps import as_spec, mulex, tiny, write_spec

SPEC = """\
name: bad
worlds:
  w: {WORLD}
training: {TRAINING}
search: {SEARCH}
methods:
  m: {METHOD}
execution: {EXECUTION}
"""
CARTPOLE = "{id: CartPole-v1}"
VALUES = "{learning_rate: 0.1, epsilon: 0}"
OURS = f"{{recipe: {{heads: {{task: {{reward: {{task: 1}}}}}}, evaluate: [task], hyperparameters: {VALUES}}}}}"
TRAIN = 'learner: "preflight_learners:train"'
RANGE = "{int_uniform: [1, 3163]}"
WORLD, TRAINING, METHOD, EXECUTION = 3, 4, 7, 8  # the lines

LEARNERS = """
    number = 3

    def train(run, rate=0.1, size=1):
        yield {"eval_return": rate}
"""
PARTS = "from preflight_learners import train\n"


def written(
    folder: Path,
    world: str = CARTPOLE,
    training: str = "{}",
    search: str = "{draws: 2, seeds: 1}",
    method: str = OURS,
    execution: str = "{}",
) -> str:
    """Write a spec, and beside it modules with learners, and a folder that is too large for code."""
    text = SPEC
    parts = {"WORLD": world, "TRAINING": training, "SEARCH": search, "METHOD": method, "EXECUTION": execution}
    for name, value in parts.items():
        text = text.replace(f"{{{name}}}", value)
    (folder / "bad.yaml").write_text(text)
    (folder / "preflight_learners.py").write_text(textwrap.dedent(LEARNERS))
    (folder / "preflight_parts.py").write_text(PARTS)
    (folder / "huge").mkdir()
    with (folder / "huge" / "weights.bin").open("wb") as file:
        file.truncate(100_000_001)
    return str(folder / "bad.yaml")


HUGE = "{replay_size: 100000000, iterations: 1000000}"
CASES: list[tuple[dict[str, Any], int, str]] = [
    ({"world": "{id: NoSuch-v0}"}, WORLD, "worlds.w.id: gymnasium.make refused it: Environment `NoSuch` doesn't exist"),
    ({"world": '{id: "nomod:X-v0"}'}, WORLD, "worlds.w.id: gymnasium.make refused it: ModuleNotFoundError: No module"),
    ({"world": "{id: Pendulum-v1}"}, WORLD, "worlds.w.id: its actions are Box"),
    (
        {"world": "{id: CartPole-v1, wrappers: [TimeLimt]}"},
        WORLD,
        "worlds.w.wrappers: there is no wrapper TimeLimt",
    ),
    (
        {"world": "{id: CartPole-v1, wrappers: [{name: TimeLimit, steps: 3}]}"},
        WORLD,
        "worlds.w.wrappers: wrapper TimeLimit refused: TypeError",
    ),
    (
        {"world": "{room_size: 3}", "training": "{body: textured}"},
        TRAINING,
        "training.body: a picture of 6 x 5 is too small",
    ),
    (
        {"training": HUGE, "execution": "{draws_per_pack: 2}"},
        TRAINING,
        "training.replay_size: this pack of 2 runs needs",
    ),
    (
        {"world": "{room_size: 5, training: {replay_size: 100}}", "method": OURS[:-1] + ", n_step: 100}"},
        WORLD,
        "worlds.w.training.replay_size: got 100, allowed with n_step 100 is 103 or more (for m)",
    ),
    ({"method": '{learner: "nomod:f"}'}, METHOD, "methods.m.learner: nomod:f: there is no module 'nomod' here"),
    (
        {"method": '{learner: "preflight_learners:none"}'},
        METHOD,
        "methods.m.learner: preflight_learners:none: preflight",
    ),
    ({"method": '{learner: "preflight_learners:number"}'}, METHOD, "number: is int, needed is a class or a generator"),
    (
        {"method": '{learner: "preflight_learners:train", rat: 3}'},
        METHOD,
        "methods.m.rat: preflight_learners:train has no such hyperparameter, it has rate, size; did you mean 'rate'?",
    ),
    (
        {"method": '{learner: "preflight_learners:train"}', "world": "{id: NoSuch-v0}"},
        WORLD,
        "worlds.w.id: gymnasium.make refused it",
    ),
    (
        {"method": '{command: [nosuchprogram, "{seed}"]}'},
        METHOD,
        "methods.m.command: there is no program 'nosuchprogram'",
    ),
    ({"method": '{command: [python, "{sed}"]}'}, METHOD, "methods.m.command: {sed} has no value"),
    ({"method": '{command: [python, "{world.map}"]}'}, METHOD, "methods.m.command: {world.map} has no value"),
    (
        {"method": '{command: [python, nosuch.py, "{seed}"]}'},
        METHOD,
        "methods.m.command: there is no script 'nosuch.py' beside the spec; name its folder in execution.code",
    ),
    (
        {"method": '{learner: "sb3:PPO", policy_kwargs.net_arch: {choice: [8x8, wide]}}'},
        METHOD,
        "methods.m.policy_kwargs.net_arch: got ['wide'], allowed is a list such as [64, 64]",
    ),
    (
        {"method": '{learner: "sb3:PPO", batch_size: {choice: [1, 8]}}'},
        METHOD,
        "methods.m: learner sb3:PPO: refused by Stable-Baselines3: `batch_size` must be greater than 1",
    ),
    (
        {"method": f"{{{TRAIN}, rate: {{uniform: [0, 1], when: {{rate: 1}}}}}}"},
        METHOD,
        "methods.m.rate.when.rate: a condition on itself",
    ),
    (
        {"method": f"{{{TRAIN}, rate: {{uniform: [0, 1], when: {{ratio: 1}}}}}}"},
        METHOD,
        "methods.m.rate.when.ratio: no such hyperparameter",
    ),
    (
        {"method": f"{{{TRAIN}, rate: {{choice: [1, one]}}}}"},
        METHOD,
        "methods.m.rate.choice: got [1, 'one'], which mixes a number and a text",
    ),
    (
        {"method": f"{{{TRAIN}, rate: {{uniform: [0, 1]}}}}", "search": "{algorithm: grid}"},
        METHOD,
        "methods.m.rate: a grid cannot have all values of a continuous range",
    ),
    (
        {"method": f"{{{TRAIN}, rate: {{uniform: [0, 1], step: 1.0e-7}}}}", "search": "{algorithm: grid}"},
        METHOD,
        "methods.m.rate.step: got 1e-07, which gives more than 1,000,000 values",
    ),
    (
        {
            "method": f"{{{TRAIN}, rate: {RANGE}, size: {RANGE}}}",
            "search": "{algorithm: grid}",
        },
        METHOD,
        "methods.m: the grid has more than 1,000,000 points",
    ),
    ({"method": f"{{{TRAIN}}}", "execution": "{code: huge}"}, EXECUTION, "holds more than 100 MB"),
    ({"method": f"{{{TRAIN}}}", "execution": "{code: gone}"}, EXECUTION, "gone is not a folder"),
    (
        {"method": '{learner: "preflight_parts:train"}'},
        EXECUTION,
        "execution.code: missing: preflight_parts.py and preflight_learners.py are beside the spec; name the folder",
    ),
]


@pytest.mark.parametrize(("parts", "line", "says"), CASES, ids=[case[2][:40] for case in CASES])
def test_every_problem_has_its_line(
    parts: dict[str, Any], line: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mulex.learners.dqn.memory.machine_memory", lambda: 4_000_000_000)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = written(tmp_path, **parts)
    files = sorted(tmp_path.iterdir())
    for command in (["validate", path], ["sweep", path, "--out", str(tmp_path / "out")]):
        answer = mulex(*command)
        assert answer.code == 2, answer.text
        found = [row for row in answer.text.replace("\n", " ").split(f"{path}:") if row.startswith(f"{line}: ")]
        assert any(says in row for row in found), answer.text
    assert [file for file in sorted(tmp_path.iterdir()) if file.name != "__pycache__"] == files


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    plain = tiny(worlds={"a": {"id": "NoSuch-v0"}, "b": {"id": "Pendulum-v1"}}, methods={"epsilon_greedy": {}})
    answer = mulex("validate", write_spec(tmp_path, plain))
    assert "has 2 problems" in answer.text
    assert "worlds.a.id" in answer.text and "worlds.b.id" in answer.text


def test_an_oversized_replay_is_refused_before_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mulex.learners.dqn.memory.machine_memory", lambda: 100_000_000)
    check_engines(as_spec(tiny()))
    with pytest.raises(UserError, match=r"training\.replay_size: this pack of 2 runs needs about"):
        check_engines(
            as_spec(tiny(training={"replay_size": 10_000_000, "iterations": 1000, "steps_per_iteration": 10_000}))
        )


def test_a_plain_spec_is_checked_without_torch(tmp_path: Path) -> None:
    path = write_spec(tmp_path, tiny())
    code = f"""
import json, sys
from sweeps.commands.validate import validate
validate.main([{path!r}], standalone_mode=False)
print(json.dumps([name for name in sys.modules if name in ("torch", "ray")]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []
