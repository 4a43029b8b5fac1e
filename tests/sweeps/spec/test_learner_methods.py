"""Methods of a spec that name a learner: read, frozen, read again, and refused with the line."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulex.learners.code import read_code
from mulex.learners.run_config import LearnerConfig
from mulex.settings import digest
from sweeps.plan import Plan
from sweeps.spec import SpecError, differences, load_spec, parse_spec, write_yaml

MODULE = """
class Learner:
    version = "2"
    libraries = ["numpy"]
    hyperparameters = {"step": 1}
    def __init__(self, run): pass
    def iterate(self): return {"eval_return": 1.0}

def needs(run, speed): yield {"eval_return": speed}
"""
SPEC = """
name: any
worlds:
  pole: {id: CartPole-v1}
training: {iterations: 3, evaluation_episodes: 2}
search: {draws: 2, seeds: 2}
methods:
  mine:
    learner: spec_learners:Learner
    step: {int_uniform: [1, 5]}
    steps_per_iteration: {choice: [10, 20]}
  script:
    command: [python, x.py, "{seed}", "{rate}", "{world.id}"]
    rate: {log_uniform: [0.1, 1]}
  ppo:
    learner: sb3:PPO
    n_steps: {choice: [32, 64]}
    batch_size: 32
    policy_kwargs.net_arch: {choice: [8x8, 16x16]}
    use_sde: {choice: [true, false]}
execution: {code: CODE, iteration_timeout: 5min}
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "spec_learners.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield folder
    sys.modules.pop("spec_learners", None)


def test_a_spec_with_learners_is_planned(code: Path) -> None:
    spec = parse_spec(SPEC.replace("CODE", str(code)), "s.yaml")
    mine = spec.recipe("mine")
    assert isinstance(mine, LearnerConfig)
    assert (mine.version, list(mine.hyperparameters), list(mine.libraries)) == ("2", ["step"], ["numpy"])
    values = {
        method: [{key: d.bounds[0] if d.is_numeric else d.values[0] for key, d in spec.space(method).items()}]
        for method in spec.methods
    }
    plan = Plan(spec, values)
    runs = list(plan.runs())
    assert len({run.run_id for run in runs}) == 6
    for run in runs:
        config = plan.families[run.world, run.method].run(values[run.method][0], run.seed)
        assert config.run_id == run.run_id
    assert len(plan.packs(runs, 1)) == 6, "a learner takes one run at a time"
    assert [len(pack.runs) for pack in plan.packs(runs, 2)] == [2, 2, 2], "unless packs are asked for"
    mine_run = plan.families["pole", "mine"].run(values["mine"][0], 0)
    assert mine_run.training.steps_per_iteration == 10


def test_a_frozen_spec_is_read_without_the_code(code: Path) -> None:
    spec = parse_spec(SPEC.replace("CODE", str(code)), "s.yaml")
    text = write_yaml(spec.resolved())
    shutil.rmtree(code)
    sys.modules.pop("spec_learners")
    again = parse_spec(text, "spec.yaml")
    assert again == spec
    assert again.outcome_hash() == spec.outcome_hash()


def test_changed_code_is_a_changed_spec(code: Path) -> None:
    text = SPEC.replace("CODE", str(code))
    spec = parse_spec(text, "s.yaml")
    (code / "more.py").write_text("x = 1\n")
    added, changed = differences(spec, parse_spec(text, "s.yaml"))
    assert not added
    assert [line.partition(":")[0] for line in changed] == [f"methods.{name}.recipe.code" for name in spec.methods]
    assert digest(spec.resolved()) != digest(parse_spec(text, "s.yaml").resolved())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("spec_learners:Learner", "spec_learners:Lerner", "s.yaml:9: methods.mine.learner: .*did you mean 'Learner'"),
        ("spec_learners:Learner", "no_such:Learner", "s.yaml:9: methods.mine.learner: .*there is no module 'no_such'"),
        ("spec_learners:Learner", "learner", "s.yaml:9: methods.mine.learner: got 'learner', allowed is dqn, sb3:"),
        ("    step: {", "    engine: {", "s.yaml:10: methods.mine.engine: is a column of the tables"),
        ("    step: {", "    stepp: {", "s.yaml:10: methods.mine.stepp: .*no such hyperparameter, it has step"),
        ("spec_learners:Learner", "spec_learners:needs", "s.yaml:8: methods.mine: .* needs a value for speed"),
        ('"{rate}"', '"{rat}"', r"s.yaml:13: methods.script.command: \{rat\} has no value.*did you mean 'rate'"),
        ('"{rate}", ', "", r"s.yaml:14: methods.script.rate: the command has no \{rate\}, so nothing reads it"),
        (
            '[python, x.py, "{seed}", "{rate}", "{world.id}"]',
            "python x.py",
            "s.yaml:13: methods.script.command: got 'py",
        ),
        ("sb3:PPO", "sb3:PPPO", "s.yaml:16: methods.ppo.learner: .*did you mean 'PPO'"),
        ("    n_steps", "    n_step", "s.yaml:17: methods.ppo.n_step: sb3:PPO has no such argument"),
        ("iterations: 3,", "iterations: 3, hidden: 3,", "s.yaml:5: training.hidden: no learner of this spec reads it"),
        (
            "iterations: 3,",
            "iterations: 3, score: fianl,",
            "s.yaml:5: training.score: got 'fianl', allowed is auc, final",
        ),
        ("iterations: 3,", "iterations: 3, score: {last: 4},", "s.yaml:5: training.score.last: got 4, allowed is at m"),
        (
            "iterations: 3,",
            "iterations: 3, score: {last: 0},",
            "s.yaml:5: training.score: got {last: 0}, allowed is auc",
        ),
        ("    step: {", "    score: {", "s.yaml:10: methods.mine.score: methods are compared by one score"),
        (
            "code: CODE",
            "keep_policies: true, code: CODE",
            "s.yaml:21: execution.keep_policies: mine is trained by another",
        ),
        ("CODE", "/no/such/folder", "s.yaml:21: execution.code: /no/such/folder is not a folder"),
    ],
)
def test_every_mistake_has_its_line(code: Path, old: str, new: str, says: str) -> None:
    text = SPEC.replace(old, new).replace("CODE", str(code))
    with pytest.raises(SpecError, match=says):
        parse_spec(text, "s.yaml")


def written(folder: Path, method: str, execution: str = "{}") -> Path:
    """Write a spec with one method."""
    text = f"name: s\nworlds: {{w: {{id: CartPole-v1}}}}\nmethods: {{m: {method}}}\nexecution: {execution}\n"
    (folder / "s.yaml").write_text(text)
    return folder / "s.yaml"


def test_code_is_found_from_the_specs_folder_and_an_option_from_the_current_one(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(code.parent, "{learner: 'spec_learners:Learner'}", "{code: code}")
    monkeypatch.chdir("/")
    spec = load_spec(path)
    assert spec.execution.code == str(code)
    assert load_spec(path, [f"execution.code={str(code)[1:]}"]).methods == spec.methods


def test_a_script_beside_the_spec_is_brought(tmp_path: Path) -> None:
    path = written(tmp_path, "{command: [bash, train.sh, '{seed}']}")
    assert load_spec(path).execution.code is None
    (tmp_path / "train.sh").write_text("echo {}\n")
    spec = load_spec(path)
    assert spec.execution.code == str(tmp_path / "train.sh")
    recipe = spec.recipe("m")
    assert isinstance(recipe, LearnerConfig) and recipe.code == read_code(tmp_path / "train.sh").checksum


def test_a_script_that_imports_what_is_beside_it_needs_a_folder(tmp_path: Path) -> None:
    path = written(tmp_path, "{command: [python, train.py, '{seed}']}")
    (tmp_path / "train.py").write_text("import json\nfrom parts.inner import x\n")
    assert load_spec(path).execution.code == str(tmp_path / "train.py")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    with pytest.raises(
        SpecError, match=r"s.yaml:4: execution.code: missing: train.py and parts/__init__.py are beside"
    ):
        load_spec(path)
    written(tmp_path, "{command: [python, train.py, '{seed}']}", "{code: .}")
    assert load_spec(path).execution.code == str(tmp_path)
