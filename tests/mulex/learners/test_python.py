"""Classes and generator functions of users: found, checked, trained, resumed, and failing."""

import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import ray._private.worker

from mulex.errors import UserError
from mulex.learners.engine import LearnerEngine
from mulex.learners.failures import LearnerFailed
from mulex.learners.python import load_learner
from tests.mulex.learners.support import FROZEN_LAKE, make_run, python_engine, rows_of

MODULE = """
import random, time, sys
import numpy as np

class Counts:
    version = 3
    libraries = ["numpy", "no-such-package"]
    def __init__(self, run):
        self.run, self.n, self.step = run, 0, run.values["step"]
    def iterate(self):
        self.n += self.step
        return {"eval_return": self.n + random.random() + np.random.rand() + self.run.rng().random()}
    def save(self):
        return {"n": self.n}
    def load(self, state):
        self.n = int(state["n"])

class NoSave:
    hyperparameters = {"step": 1}
    def __init__(self, run): self.n = 0
    def iterate(self):
        self.n += 1
        return {"eval_return": float(self.n)}

class Half(NoSave):
    def save(self): return b""

class Bytes(NoSave):
    def save(self): return bytes([self.n])
    def load(self, state): self.n = state[0]

class Objects(NoSave):
    def save(self): return {"n": object()}
    def load(self, state): pass

class Raises(NoSave):
    def iterate(self):
        if self.n == 2:
            raise ZeroDivisionError("too little")
        return super().iterate()

class Exits(NoSave):
    def iterate(self): sys.exit(3)

class Sleeps(NoSave):
    def iterate(self):
        time.sleep(60)

class Spins(NoSave):
    def iterate(self):
        while True:
            try:
                self.n += 1
            except Exception:
                pass

class Nothing(NoSave):
    def iterate(self): return None

class Diverges(NoSave):
    def iterate(self): return {"eval_return": float("nan")}

class ClosesBadly(NoSave):
    def close(self): raise RuntimeError("stuck")

class NoIterate:
    def __init__(self, run): pass

class NoRun:
    def __init__(self): pass
    def iterate(self): return {}

def generator(run, step=1, *, unit="m"):
    state = run.restore()
    n = int(state["n"]) if state else 0
    rng = run.rng()
    while n < run.iterations:
        n += 1
        row = {"eval_return": n * step + rng.random() + random.random(), "unit": unit}
        if n % 2 == 0:
            run.checkpoint({"n": np.array(n)})
        yield row

def short(run):
    yield {"eval_return": 1.0}

def needs(run, step): yield {"eval_return": step}

def anything(run, **values): yield {"eval_return": float(len(values))}

def plain(run): return {"eval_return": 1.0}

number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "user_learners.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "user_learners"
    sys.modules.pop("user_learners", None)


def test_a_class_is_trained_and_resumed_exactly(module: str, tmp_path: Path) -> None:
    def engine(scratch: str) -> LearnerEngine:
        return python_engine(f"{module}:Counts", make_run(tmp_path / scratch, {"step": 2}))

    undisturbed, stopped, resumed = engine("a"), engine("b"), engine("c")
    rows = rows_of(undisturbed, 4)
    assert rows_of(stopped, 2) == rows[:2]
    resumed.load(stopped.save())
    assert resumed.iterations == 2
    assert rows_of(resumed, 2) == rows[2:]
    assert rows_of(stopped, 2) == rows[2:]


def test_equal_ids_agree_and_other_ids_differ(module: str, tmp_path: Path) -> None:
    def rows(run_id: str, scratch: str) -> list[object]:
        run = make_run(tmp_path / scratch, {"step": 2}, run_id)
        return [*rows_of(python_engine(f"{module}:Counts", run), 3)]

    assert rows("one", "a") == rows("one", "b")
    assert rows("one", "c") != rows("two", "d")


def test_learning_leaves_the_global_generators_alone(module: str, tmp_path: Path) -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.rand()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    rows_of(python_engine(f"{module}:Counts", make_run(tmp_path / "a", {"step": 2})), 2)
    assert np.random.rand() == expected  # noqa: NPY002


def test_bytes_are_a_state_too(module: str, tmp_path: Path) -> None:
    engine, resumed = (python_engine(f"{module}:Bytes", make_run(tmp_path / name)) for name in "ab")
    rows_of(engine, 3)
    resumed.load(engine.save())
    assert rows_of(resumed, 1)[0]["eval_return"] == 4.0


def test_without_save_a_run_begins_again(module: str, tmp_path: Path) -> None:
    engine, resumed = (python_engine(f"{module}:NoSave", make_run(tmp_path / name)) for name in "ab")
    rows_of(engine, 3)
    resumed.load(engine.save())
    assert resumed.iterations == 0
    assert rows_of(resumed, 1)[0]["eval_return"] == 1.0


@pytest.mark.parametrize(("rows_before", "goes_on_after"), [(1, 0), (2, 2), (3, 2)])
def test_a_generator_goes_on_from_its_last_checkpoint(
    module: str, tmp_path: Path, rows_before: int, goes_on_after: int
) -> None:
    undisturbed, stopped, resumed = (
        python_engine(f"{module}:generator", make_run(tmp_path / name, {"step": 2, "unit": "cm"})) for name in "abc"
    )
    rows = rows_of(undisturbed, 4)
    assert rows[0]["unit"] == "cm"
    assert rows_of(stopped, rows_before) == rows[:rows_before]
    resumed.load(stopped.save())
    assert resumed.iterations == goes_on_after
    assert rows_of(resumed, 4 - goes_on_after) == rows[goes_on_after:]


def test_what_a_learner_declares_is_found(module: str) -> None:
    counts = load_learner(f"{module}:Counts")
    assert (counts.version, counts.libraries, counts.resumable) == ("3", ("numpy", "no-such-package"), True)
    assert counts.hyperparameters.open
    generator = load_learner(f"{module}:generator")
    assert generator.hyperparameters.defaults == {"step": 1, "unit": "m"}
    assert generator.resumable
    assert not load_learner(f"{module}:short").resumable
    assert not load_learner(f"{module}:NoSave").resumable


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Count", "has no 'Count', it has .*did you mean 'Counts'"),
        ("number", "is int, needed is a class or a generator function"),
        ("plain", "does not yield"),
        ("NoIterate", r"has no method iterate\(\)"),
        ("NoRun", "takes no `run`"),
        ("Half", r"has save\(\) but no load\(\)"),
    ],
)
def test_what_is_no_learner_is_refused(module: str, name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        load_learner(f"{module}:{name}")


@pytest.mark.parametrize(
    ("learner", "values", "says"),
    [
        ("generator", {"stepp": 1}, "stepp: .*has no such hyperparameter, it has step, unit; did you mean 'step'"),
        ("NoSave", {"speed": 1}, "speed: .*has no such hyperparameter, it has step"),
        ("needs", {}, "step: .*needs a value"),
        ("Counts", {"step": 1, "speed": 2}, "speed: .*has not read it when its first row came"),
    ],
)
def test_hyperparameters_are_held_to_what_is_declared(
    module: str, tmp_path: Path, learner: str, values: dict[str, int], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        rows_of(python_engine(f"{module}:{learner}", make_run(tmp_path / "a", values)), 1)


def test_keyword_arguments_take_any_name(module: str, tmp_path: Path) -> None:
    engine = python_engine(f"{module}:anything", make_run(tmp_path / "a", {"one": 1, "two": 2}))
    assert rows_of(engine, 1)[0]["eval_return"] == 2.0


def test_a_module_that_cannot_be_imported_is_shown_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_learner.py").write_text("def inner():\n    import no_such_library\n\ninner()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UserError) as error:
        load_learner("broken_learner:train")
    text = str(error.value)
    assert "line 4, in <module>" in text
    assert "No module named 'no_such_library'" in text
    with pytest.raises(UserError, match=r"there is no module 'no_such_module' here.*execution\.code"):
        load_learner("no_such_module.inner:train")


@pytest.mark.parametrize(
    ("learner", "rows", "kind", "summary", "details"),
    [
        ("Raises", 2, "raised", "row 3: ZeroDivisionError: too little", "raise ZeroDivisionError"),
        ("Exits", 0, "raised", "row 1: SystemExit: 3", "sys.exit(3)"),
        ("Nothing", 0, "no row", "row 1: got None", ""),
        ("short", 1, "ended", "returned before its last row", ""),
        ("Sleeps", 0, "hung", "row 1: took longer than 0.2 seconds", "time.sleep(60)"),
        ("Spins", 0, "hung", "row 1: took longer than 0.2 seconds", "in iterate"),
    ],
)
def test_failures_keep_the_whole_story(
    module: str, tmp_path: Path, learner: str, rows: int, kind: str, summary: str, details: str
) -> None:
    limit = 0.2 if kind == "hung" else 60.0
    engine = python_engine(f"{module}:{learner}", make_run(tmp_path / "a"), timeout=limit)
    assert len(rows_of(engine, rows)) == engine.iterations == rows
    started = time.monotonic()
    with pytest.raises(LearnerFailed) as failure:
        engine.iterate()
    assert time.monotonic() - started < 20
    assert failure.value.kind == kind
    assert summary in failure.value.summary
    assert details in failure.value.details


def test_a_worker_that_is_ended_is_no_failure_of_its_learner(module: str, tmp_path: Path) -> None:
    """Ray ends a worker by raising SystemExit in whatever it is doing."""

    def sigterm_handler(*_: object) -> None:
        sys.exit(1)

    assert "def sigterm_handler(" in inspect.getsource(ray._private.worker), "as Ray calls it"
    before = signal.signal(signal.SIGTERM, sigterm_handler)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
    try:
        timer.start()
        with pytest.raises(SystemExit):
            python_engine(f"{module}:Sleeps", make_run(tmp_path / "a")).iterate()
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)


def test_a_learner_that_spins_in_another_thread_is_interrupted(module: str, tmp_path: Path) -> None:
    failures: list[LearnerFailed] = []

    def work() -> None:
        try:
            python_engine(f"{module}:Spins", make_run(tmp_path / "a"), timeout=0.2).iterate()
        except LearnerFailed as failure:
            failures.append(failure)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert [failure.kind for failure in failures] == ["hung"]


def test_a_learner_stuck_in_compiled_code_ends_its_process(tmp_path: Path) -> None:
    code = """
        import threading, time, sys
        from mulex.learners.time_limit import time_limit
        def work():
            with time_limit(0.2, sys.stderr, grace=0.2):
                time.sleep(60)
        thread = threading.Thread(target=work); thread.start(); thread.join()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "Timeout" in done.stderr
    assert "in work" in done.stderr


def test_divergence_is_noted_and_rows_go_on(module: str, tmp_path: Path) -> None:
    engine = python_engine(f"{module}:Diverges", make_run(tmp_path / "a"))
    rows_of(engine, 2)
    assert engine.diverged == "eval_return is NaN or infinite in iteration 1"


def test_a_state_of_objects_is_refused(module: str, tmp_path: Path) -> None:
    engine = python_engine(f"{module}:Objects", make_run(tmp_path / "a"))
    rows_of(engine, 1)
    with pytest.raises(UserError, match="'n' holds Python objects"):
        engine.save()


def test_closing_removes_the_scratch_folder_whatever_the_learner_does(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = python_engine(f"{module}:ClosesBadly", make_run(tmp_path / "a"))
    rows_of(engine, 1)
    assert (tmp_path / "a").exists()
    engine.close()
    assert not (tmp_path / "a").exists()
    assert "stuck" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["examples.q_learning:QLearning", "examples.generator:train"])
def test_the_examples_are_resumed_exactly(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))
    world = {"world": FROZEN_LAKE} if "q_learning" in name else {}
    undisturbed, stopped, resumed = (python_engine(name, make_run(tmp_path / n, **world)) for n in "abc")
    rows = rows_of(undisturbed, 4)
    rows_of(stopped, 2)
    resumed.load(stopped.save())
    assert rows_of(resumed, 2) == rows[2:]
    assert all(isinstance(row["normalised_return"], float) for row in rows)
    for engine in (undisturbed, stopped, resumed):
        engine.close()
