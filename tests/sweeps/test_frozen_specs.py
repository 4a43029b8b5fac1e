"""The spec in a sweep's folder: what earlier versions accepted still loads, resumes and is drawn."""

from pathlib import Path

import pytest

import sweeps
from mulex.methods import EPSILON_GREEDY
from mulex.store.collecting import collect_tables
from mulex.store.folder import open_folder
from sweeps.inventory import frozen_spec
from sweeps.plan import make_plan
from sweeps.spec import SpecError, parse_spec, write_yaml
from tests.support.sweeps import mulex, tiny, train_run

UNREAD = {
    "recipe": {
        **EPSILON_GREEDY.model_dump(mode="json"),
        "hyperparameters": {**EPSILON_GREEDY.hyperparameters, "batch_size": 32.0, "discount": 0.9},
    },
    "batch_size": {"int_uniform": [16, 64]},
}
"""A recipe with two hyperparameters that nothing reads."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A sweep as an earlier version launched it, with all runs but the last."""
    folder = open_folder(tmp_path / "old")
    folder.write("spec.yaml", write_yaml(tiny(methods={"unread": UNREAD})).encode())
    plan = make_plan(frozen_spec(folder), folder)
    for run in list(plan.runs())[:-1]:
        train_run(plan, run, folder)
    collect_tables(folder)
    return tmp_path / "old"


def test_new_specs_with_such_hyperparameters_are_refused(old: Path) -> None:
    with pytest.raises(SpecError, match=r"methods\.unread.recipe.hyperparameters.batch_size: no head and no acting"):
        parse_spec((old / "spec.yaml").read_text(), "new.yaml")
    with pytest.raises(SpecError, match=r"hyperparameters\.discount"):
        sweeps.load_spec(old / "spec.yaml")


def test_the_frozen_spec_loads_and_its_sweep_goes_on(old: Path) -> None:
    """A launch freezes the spec anew, so that is read back, too."""
    assert mulex("verify", str(old)).text.splitlines()[-1] == "3 done, 0 diverged, 0 failed, 1 missing, 0 damaged"
    assert sweeps.status(old).count("pending") == 1
    assert mulex("stats", str(old)).code == 0
    assert mulex("plot", str(old), "--figure", "violins", "--out", str(old / "figures")).code == 0
    folder = open_folder(old)
    plan = make_plan(frozen_spec(folder), folder)
    train_run(plan, list(plan.runs())[-1], folder)
    answer = mulex("resume", str(old))
    assert answer.code == 0, answer.text
    assert sweeps.status(old).count("done") == 4
    assert frozen_spec(folder) == plan.spec
