"""Policy files: damage is found, earlier files are still read, and no environment is imported without consent."""

import io
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from mulex.api import train
from mulex.commands.play import play
from mulex.commands.play_run import trained_policy
from mulex.commands.starts import starts
from mulex.config import GymWorldConfig, RunConfig, TrainingConfig
from mulex.errors import UserError
from mulex.learners.dqn.engines import make_engine
from mulex.learners.dqn.policy import read_policy, save_policy
from mulex.methods import make_run
from mulex.store.folder import open_folder
from mulex.store.layout import policy_name

SHORT = {"iterations": 1, "steps_per_iteration": 60, "warm_up": 10}
ENV = "tests.support.imported_env:Imported-v0"
MODULE = "tests.support.imported_env"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunConfig]:
    folder = tmp_path_factory.mktemp("trained")
    return folder, train("mulex", {"map": "two_rooms", "room_size": 3}, SHORT, folder=folder).configs[0]


def weights_in(content: bytes) -> dict[str, torch.Tensor]:
    return read_policy(content, "x.pt").weights


def test_a_policy_comes_back_as_it_was_saved(trained: tuple[Path, RunConfig], tmp_path: Path) -> None:
    _, run = trained
    engine = make_engine("auto", "cpu", [run])
    save_policy(open_folder(tmp_path), run, engine.weights(0))
    file = read_policy((tmp_path / policy_name(run.run_id)).read_bytes(), "x.pt")
    assert file.run == run
    assert file.warning is None
    assert file.weights.keys() == engine.weights(0).keys()
    for name, weight in engine.weights(0).items():
        np.testing.assert_array_equal(file.weights[name].numpy(), weight)


def test_no_flipped_bit_loads_with_other_weights(trained: tuple[Path, RunConfig]) -> None:
    folder, run = trained
    content = (folder / policy_name(run.run_id)).read_bytes()
    good, rng, refused = weights_in(content), random.Random(0), 0
    for _ in range(200):
        at = rng.randrange(len(content))
        flipped = content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
        try:
            file = read_policy(flipped, "x.pt")
        except UserError as error:
            refused += 1
            assert "damaged" in str(error)
            continue
        assert file.run == run
        assert file.weights.keys() == good.keys()
        assert all(torch.equal(file.weights[name], weight) for name, weight in good.items())
    assert refused > 100


def test_a_file_cut_short_is_refused(trained: tuple[Path, RunConfig]) -> None:
    folder, run = trained
    content = (folder / policy_name(run.run_id)).read_bytes()
    for length in (0, 1, len(content) // 2, len(content) - 1):
        with pytest.raises(UserError, match="damaged"):
            read_policy(content[:length], "x.pt")


def without_checksum(content: bytes, **changes: object) -> bytes:
    plain = torch.load(io.BytesIO(content), weights_only=True)
    del plain["checksum"]
    file = io.BytesIO()
    torch.save(plain | changes, file)
    return file.getvalue()


def test_a_file_of_an_earlier_version_is_read_with_a_warning(trained: tuple[Path, RunConfig], tmp_path: Path) -> None:
    folder, run = trained
    path = tmp_path / policy_name(run.run_id)
    path.parent.mkdir()
    path.write_bytes(without_checksum((folder / policy_name(run.run_id)).read_bytes()))
    assert trained_policy(path)[1] is not None
    shown = CliRunner().invoke(play, ["--run", str(path)], catch_exceptions=False)
    assert shown.exit_code == 0
    assert "without a checksum" in shown.stderr
    assert "steps" in shown.stdout
    damaged = without_checksum((folder / policy_name(run.run_id)).read_bytes(), chebksum="0" * 64)
    with pytest.raises(UserError, match="damaged"):
        read_policy(damaged, "x.pt")


def test_a_network_that_the_weights_do_not_fill_is_refused_before_it_is_made(
    trained: tuple[Path, RunConfig], tmp_path: Path
) -> None:
    """Its hidden layer would take hundreds of gigabytes."""
    _, run = trained
    large = run.model_copy(
        update={
            "training": run.training.model_copy(update={"hidden": 65_536}),
            "world": run.world.model_copy(update={"room_size": 50}),
        }
    )
    save_policy(open_folder(tmp_path), large, make_engine("auto", "cpu", [run]).weights(0))
    with pytest.raises(UserError, match="weights do not fit the network"):
        trained_policy(tmp_path / policy_name(large.run_id))


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A policy whose environment's id names a module."""
    run = make_run(GymWorldConfig(id=ENV), "epsilon_greedy", TrainingConfig())
    save_policy(open_folder(tmp_path), run, {})
    sys.modules.pop(MODULE, None)
    return tmp_path / policy_name(run.run_id)


def test_playing_a_policy_imports_no_module_without_consent(foreign: Path) -> None:
    with pytest.raises(UserError, match=rf"would import the module {MODULE}.*--trust"):
        CliRunner().invoke(play, ["--run", str(foreign)], catch_exceptions=False)
    assert MODULE not in sys.modules


def test_consent_or_the_sweeps_own_spec_let_it(tmp_path: Path) -> None:
    """The run plays in its environment, whose episodes have three steps of reward 1."""
    configs = train("epsilon_greedy", {"id": ENV}, SHORT, folder=tmp_path).configs
    path = tmp_path / policy_name(configs[0].run_id)
    sys.modules.pop(MODULE, None)
    shown = CliRunner().invoke(play, ["--run", str(path), "--trust", "--episodes", "2"], catch_exceptions=False)
    assert shown.output.splitlines() == ["return 3 in 3 steps: terminated"] * 2
    assert sys.modules.pop(MODULE)
    spec = tmp_path / "spec.yaml"
    spec.write_text("worlds:\n  other: {id: CartPole-v1}\n")
    with pytest.raises(UserError, match="--trust"):
        CliRunner().invoke(play, ["--run", str(path)], catch_exceptions=False)
    assert MODULE not in sys.modules
    spec.write_text(f"worlds:\n  grid: {{room_size: 5}}\n  mine: {{id: '{ENV}'}}\n")
    shown = CliRunner().invoke(play, ["--run", str(path)], catch_exceptions=False)
    assert shown.output.splitlines() == ["return 3 in 3 steps: terminated"]
    with pytest.raises(UserError, match="--gif: this run was trained in a Gymnasium environment"):
        CliRunner().invoke(play, ["--run", str(path), "--gif", "x.gif"], catch_exceptions=False)


def test_measuring_starts_imports_no_module_without_consent(trained: tuple[Path, RunConfig], tmp_path: Path) -> None:
    """A policy file of a grid world's run that was exchanged for one of a foreign environment."""
    folder, run = trained
    for path in folder.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    other = make_run(GymWorldConfig(id=ENV), "epsilon_greedy", TrainingConfig())
    save_policy(open_folder(tmp_path), other, {})
    (tmp_path / policy_name(other.run_id)).rename(tmp_path / policy_name(run.run_id))
    sys.modules.pop(MODULE, None)
    with pytest.raises(UserError, match="--trust"):
        CliRunner().invoke(starts, [str(tmp_path)], catch_exceptions=False)
    assert MODULE not in sys.modules
    with pytest.raises(UserError, match="weights do not fit the network"):
        CliRunner().invoke(starts, [str(tmp_path), "--trust"], catch_exceptions=False)
    assert MODULE in sys.modules
