"""Steps to the exit from every late start state."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner

from mulex.commands.starts import starts
from mulex.config import GridWorldConfig, TrainingConfig
from mulex.errors import UserError
from mulex.learners.dqn.policy import Policy
from mulex.learners.dqn.start_states import steps_to_exit
from mulex.methods import make_run
from mulex.worlds.shortest_paths import optimal_actions
from mulex.worlds.world import build_world
from sweeps.commands.train import train

WORLD = GridWorldConfig(map="two_rooms", room_size=3)


def a_policy(run_world: GridWorldConfig = WORLD) -> Policy:
    """One with untrained weights; tests say what it does."""
    return Policy(make_run(run_world, "mulex", TrainingConfig()))


def test_a_perfect_policy_goes_straight_and_a_stubborn_one_never_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = a_policy()
    best = optimal_actions(build_world("two_rooms", 3).tables)
    monkeypatch.setattr(policy, "actions", lambda stacks: best[stacks[:, -1, 0]])
    rows = steps_to_exit(policy)
    assert len(rows) == 9 + 1 + 9 - 1  # both rooms and the door, without the exit
    for row in rows:
        door = 0 if row["col"] >= 4 else abs(row["row"] - 2) + 4 - row["col"]
        place = (row["row"], row["col"]) if row["col"] >= 4 else (2, 4)
        assert row["steps"] == door + (3 - place[0]) + (7 - place[1])
    monkeypatch.setattr(policy, "actions", lambda stacks: np.zeros(len(stacks), dtype=np.int64))
    assert {row["steps"] for row in steps_to_exit(policy)} == {None}


def test_many_stacks_at_once_get_the_actions_of_each_alone() -> None:
    torch.manual_seed(0)
    policy = a_policy()
    stacks = np.random.default_rng(0).integers(0, 26, (12, 4, 1)).astype(np.uint16)
    together = policy.actions(stacks)
    assert together.tolist() == [policy.actions(stack[None])[0] for stack in stacks]


def test_the_command_writes_the_table(tmp_path: Path) -> None:
    tiny = ["--map", "two_rooms", "--room-size", "3", "--iterations", "2", "--seeds", "3"]
    tiny += ["--set", "steps_per_iteration=60", "--set", "warm_up=10", "--out", str(tmp_path)]
    CliRunner().invoke(train, tiny, catch_exceptions=False)
    result = CliRunner().invoke(starts, [str(tmp_path), "--runs", "2"], catch_exceptions=False)
    assert result.output.startswith("2 policies measured")
    table = pq.read_table(tmp_path / "starts.parquet").to_pydict()
    assert len(set(table["run"])) == 2
    assert len(table["steps"]) == 2 * 18
    again = CliRunner().invoke(starts, [str(tmp_path), "--runs", "2", "--json"], catch_exceptions=False)
    assert json.loads(again.stdout) == {"policies": 2, "table": f"{tmp_path}/starts.parquet", "warnings": []}
    for path in (tmp_path / "policies").iterdir():
        path.unlink()
    with pytest.raises(UserError, match="no policies were kept"):
        CliRunner().invoke(starts, [str(tmp_path)], catch_exceptions=False)


def test_test_runs_are_measured_too_but_are_not_among_the_best(tmp_path: Path) -> None:
    """Else the best ten could be ten seeds of one draw."""
    tiny = ["--map", "two_rooms", "--room-size", "3", "--iterations", "2", "--seeds", "3"]
    tiny += ["--set", "steps_per_iteration=60", "--set", "warm_up=10", "--out", str(tmp_path)]
    CliRunner().invoke(train, tiny, catch_exceptions=False)
    runs = pd.read_parquet(tmp_path / "runs.parquet").assign(normalised_auc=[0.1, 0.9, 0.5], role="tune")
    runs.loc[1, "role"] = "test"
    runs.to_parquet(tmp_path / "runs.parquet")
    CliRunner().invoke(starts, [str(tmp_path), "--runs", "1"], catch_exceptions=False)
    measured = set(pd.read_parquet(tmp_path / "starts.parquet")["run"])
    assert measured == {runs.loc[2, "run"], runs.loc[1, "run"]}


def test_runs_whose_policies_are_gone_keep_their_rows(tmp_path: Path) -> None:
    """Tables are published without policies; a sweep that goes on from them must not forget what was measured."""
    tiny = ["--map", "two_rooms", "--room-size", "3", "--iterations", "2", "--seeds", "3"]
    tiny += ["--set", "steps_per_iteration=60", "--set", "warm_up=10", "--out", str(tmp_path)]
    CliRunner().invoke(train, tiny, catch_exceptions=False)
    CliRunner().invoke(starts, [str(tmp_path), "--runs", "2"], catch_exceptions=False)
    before = pd.read_parquet(tmp_path / "starts.parquet")
    runs = pd.read_parquet(tmp_path / "runs.parquet")
    third = (set(runs["run"]) - set(before["run"])).pop()
    for path in (tmp_path / "policies").iterdir():
        if path.stem != third:
            path.unlink()
    result = CliRunner().invoke(starts, [str(tmp_path)], catch_exceptions=False)
    assert result.output.startswith("1 policies measured")
    after = pd.read_parquet(tmp_path / "starts.parquet")
    assert set(after["run"]) == set(runs["run"])
    pd.testing.assert_frame_equal(after[after["run"] != third].reset_index(drop=True), before)


def test_where_it_cannot_be_measured_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="without ghosts"):
        steps_to_exit(a_policy(GridWorldConfig(map="two_rooms", room_size=3, ghosts=1)))
    with pytest.raises(UserError, match=r"no runs\.parquet"):
        CliRunner().invoke(starts, [str(tmp_path)], catch_exceptions=False)
