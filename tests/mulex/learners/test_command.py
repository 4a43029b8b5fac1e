"""Commands as learners: real processes that print rows, fail, hang, and go on from their checkpoints."""

import os
import sys
import time
from pathlib import Path

import pytest

from mulex.errors import UserError
from mulex.learners.failures import LearnerFailed
from mulex.learners.names import LearnerName
from mulex.learners.registry import check_program_here
from tests.mulex.learners.support import command_engine, make_run, rows_of, script

EXAMPLE = Path(__file__).parents[3] / "examples" / "script.py"


def test_rows_are_read_from_what_is_printed(tmp_path: Path) -> None:
    code = """
import json, sys
print("starting", {"not": "a row"})
for i in range(4):
    print(json.dumps({"eval_return": i + float(sys.argv[1]), "name": sys.argv[2]}))
"""
    run = make_run(tmp_path / "a", {"learning_rate": 0.5})
    engine = command_engine([*script(tmp_path, code), "{learning_rate}", "{world.id}-{{x}}-{seed}"], run)
    rows = rows_of(engine, 4)
    assert [row["eval_return"] for row in rows] == [0.5, 1.5, 2.5, 3.5]
    assert rows[0]["name"] == "CartPole-v1-{x}-0"
    assert rows[3]["normalised_return"] == 3.5 / 500
    engine.close()
    assert not (tmp_path / "a").exists()


def test_rows_are_read_from_a_file_also_in_pieces(tmp_path: Path) -> None:
    code = """
import sys, time
print('{"eval_return": 99}')
with open(sys.argv[1], "a") as file:
    for part in ('{"eval_re', 'turn": 1}\\n{"eval_', 'return": 2}\\n{"eval_return": 3}\\n', '{"eval_return": 4}'):
        file.write(part); file.flush(); time.sleep(0.1)
"""
    engine = command_engine([*script(tmp_path, code), "{rows}"], make_run(tmp_path / "a"))
    assert [row["eval_return"] for row in rows_of(engine, 4)] == [1.0, 2.0, 3.0, 4.0]
    engine.close()


def test_a_config_file_tells_everything(tmp_path: Path) -> None:
    code = """
import json, sys
config = json.load(open(sys.argv[1]))
print(json.dumps({"eval_return": config["values"]["x"], "total": config["iterations"]}))
"""
    engine = command_engine([*script(tmp_path, code), "{config}"], make_run(tmp_path / "a", {"x": 2}))
    assert rows_of(engine, 1)[0]["total"] == 4
    engine.close()


@pytest.mark.parametrize(
    ("arguments", "values", "says"),
    [
        (["{learning_rat}"], {"learning_rate": 1}, r"\{learning_rat\} has no value.*did you mean 'learning_rate'"),
        (["{world.name}"], {}, r"\{world.name\} has no value"),
        (["{seed}"], {"gamma": 1}, r"gamma: the command has no \{gamma\}, so nothing reads it"),
    ],
)
def test_placeholders_are_held_to_the_values(
    tmp_path: Path, arguments: list[str], values: dict[str, int], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        command_engine([*script(tmp_path, "pass"), *arguments], make_run(tmp_path / "a", values)).iterate()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program"], "there is no program 'no-such-program' on this machine's PATH"),
        (["./no_such_script"], "there is no program './no_such_script' in "),
        (["./plain.txt"], "may not be executed; chmod"),
    ],
)
def test_a_program_that_cannot_be_started_is_refused(
    tmp_path: Path, command: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.txt").write_text("words")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=says):
        command_engine(command, make_run(tmp_path / "a")).iterate()
    with pytest.raises(UserError, match=says):
        check_program_here(LearnerName.of(command=command), tmp_path)


@pytest.mark.parametrize("command", [["./train.sh"], ["python", "train.py", "{seed}"]])
def test_a_program_or_script_is_looked_for_in_the_code(tmp_path: Path, command: list[str]) -> None:
    learner = LearnerName.of(command=command)
    with pytest.raises(UserError, match=r"there is no (program|script) .*beside the spec; name its folder"):
        check_program_here(learner, None)
    with pytest.raises(UserError, match=rf"there is no (program|script) .* in {tmp_path}"):
        check_program_here(learner, tmp_path)
    path = tmp_path / command[-1].replace("{seed}", "train.py")
    path.write_text("")
    path.chmod(0o700)
    check_program_here(learner, tmp_path)


@pytest.mark.parametrize(
    ("code", "rows", "kind", "summary", "details"),
    [
        ('raise ValueError("too small")', 0, "exited", "exited with code 1 after 0 of 4 rows", "ValueError: too small"),
        ("print('{\"eval_return\": 1}')", 1, "ended", "exited with code 0 after 1 of 4 rows", ""),
        ("import os; os.kill(os.getpid(), 9)", 0, "exited", "was killed by SIGKILL after 0 of 4 rows", ""),
        ("print({'eval_return': 1})", 0, "ended", "looks like a row and is no JSON: {'eval_return': 1}", ""),
        ("print('{\"reward\": 1}')", 0, "bad row", "there is no 'eval_return'", ""),
        ('print(\'{"iteration": 0, "eval_return": 1}\')', 0, "bad row", "iteration 0, expected is 1", ""),
    ],
)
def test_failures_keep_the_output(tmp_path: Path, code: str, rows: int, kind: str, summary: str, details: str) -> None:
    engine = command_engine(script(tmp_path, code), make_run(tmp_path / "a"))
    assert len(rows_of(engine, rows)) == rows
    with pytest.raises(LearnerFailed) as failure:
        engine.iterate()
    assert failure.value.kind == kind
    assert summary in failure.value.summary
    assert details in failure.value.details
    engine.close()


def test_a_bad_line_in_the_rows_file_is_refused(tmp_path: Path) -> None:
    command = [*script(tmp_path, "import sys; open(sys.argv[1], 'w').write('reward 3\\n')"), "{rows}"]
    engine = command_engine(command, make_run(tmp_path / "a"))
    with pytest.raises(LearnerFailed, match="a line is no JSON object: reward 3"):
        engine.iterate()
    engine.close()


def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    code = f"""
import subprocess, sys, time, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
open({str(tmp_path / "pids")!r}, "w").write(str(child.pid))
print("waiting for nothing", file=sys.stderr, flush=True)
time.sleep(300)
"""
    engine = command_engine(script(tmp_path, code), make_run(tmp_path / "a"), timeout=3)
    with pytest.raises(LearnerFailed, match="gave no row for 3 seconds") as failure:
        engine.iterate()
    assert failure.value.kind == "hung"
    assert "waiting for nothing" in failure.value.details
    assert _gone(int((tmp_path / "pids").read_text()))
    engine.close()


def test_closing_kills_a_command_that_goes_on(tmp_path: Path) -> None:
    code = """
import json, os, time
n = 0
while True:
    n += 1
    print(json.dumps({"eval_return": n, "pid": os.getpid()}), flush=True)
    time.sleep(0.01)
"""
    engine = command_engine(script(tmp_path, code), make_run(tmp_path / "a"))
    rows = rows_of(engine, 4)
    assert [row["eval_return"] for row in rows] == [1.0, 2.0, 3.0, 4.0]
    engine.close()
    assert isinstance(rows[0]["pid"], float)
    assert _gone(int(rows[0]["pid"]))


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("rows_before", [1, 3])
def test_a_command_with_a_checkpoint_goes_on(tmp_path: Path, rows_before: int) -> None:
    command = [sys.executable, str(EXAMPLE), "--seed", "{key}", "--step-size", "{step_size}"]
    command += ["--iterations", "{iterations}", "--checkpoint", "{checkpoint}"]
    undisturbed, stopped, resumed = (
        command_engine(command, make_run(tmp_path / name, {"step_size": 0.2}, iterations=40)) for name in "abc"
    )
    rows = rows_of(undisturbed, 40)
    assert rows_of(stopped, rows_before) == rows[:rows_before]
    time.sleep(0.3)  # the command runs ahead of the rows that were asked for
    state = stopped.save()
    stopped.close()
    resumed.load(state)
    assert resumed.iterations == rows_before
    assert rows_of(resumed, 40 - rows_before) == rows[rows_before:]
    undisturbed.close()
    resumed.close()


def test_without_a_checkpoint_folder_a_command_begins_again(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), "--seed", "{key}", "--iterations", "{iterations}"]
    stopped, resumed = (command_engine(command, make_run(tmp_path / name)) for name in "ab")
    first = rows_of(stopped, 2)
    resumed.load(stopped.save())
    assert resumed.iterations == 0
    assert rows_of(resumed, 2) == first
    stopped.close()
    resumed.close()


def test_a_resumable_command_numbers_its_rows(tmp_path: Path) -> None:
    command = [*script(tmp_path, "print('{\"eval_return\": 1}')"), "{checkpoint}"]
    engine = command_engine(command, make_run(tmp_path / "a"))
    with pytest.raises(LearnerFailed, match=r"has no \"iteration\"; a command with \{checkpoint\} numbers its rows"):
        engine.iterate()
    engine.close()


@pytest.mark.parametrize("command", [[], "python x.py", ["python", 3], None])
def test_what_is_no_command_is_refused(command: object) -> None:
    if command is None:
        assert LearnerName.of(None, command).kind == "dqn"
        return
    with pytest.raises(UserError, match="needed is a list of texts"):
        LearnerName.of(command=command)
