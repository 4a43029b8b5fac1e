"""A learner that leaks is stopped with a clear message, and its memory is measured as its process has it."""

import gc
import mmap
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mulex.learners.failures import LearnerFailed
from mulex.learners.memory import resident, resident_of_group
from tests.mulex.learners.support import command_engine, make_run, python_engine, rows_of, script

LEAKING = """
class Leaks:
    def __init__(self, run): self.kept = []
    def iterate(self):
        self.kept.append(b"x" * 30_000_000)
        return {"eval_return": 1.0}

class Spills(Leaks):
    def iterate(self):
        try:
            while True:
                self.kept.append(b"x" * 1_000_000)
        except Exception:
            pass
"""
LIMIT = 100_000_000


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "leaking_learners.py").write_text(LEAKING)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "leaking_learners"


def test_a_leak_over_iterations_is_stopped_with_the_rows_so_far(tmp_path: Path, module: str) -> None:
    run = make_run(tmp_path / "a", iterations=1000)
    engine = python_engine(f"{module}:Leaks", run, memory=LIMIT)
    rows = []
    with pytest.raises(LearnerFailed) as failed:
        for _ in range(1000):
            rows += rows_of(engine, 1)
    engine.close()
    assert 0 < len(rows) < 20  # 30 MB a row; a test process that frees memory meanwhile gains a few rows
    assert failed.value.kind == "grown"
    said = "its process grew by more than 0.10 GB, which execution.memory_limit allows"
    assert failed.value.summary == f"row {len(rows) + 1}: {said}"


def test_a_leak_within_an_iteration_is_stopped_where_it_is(tmp_path: Path, module: str) -> None:
    engine = python_engine(f"{module}:Spills", make_run(tmp_path / "a"), memory=LIMIT)
    with pytest.raises(LearnerFailed) as failed:
        engine.iterate()
    engine.close()
    assert failed.value.kind == "grown" and "in iterate\n" in failed.value.details


def test_a_command_is_measured_with_its_children_and_killed(tmp_path: Path) -> None:
    child = f"import time; x = b'x' * {LIMIT + 50_000_000}; time.sleep(60)"
    code = f"""
    import subprocess, sys
    print('{{"eval_return": 1}}', flush=True)
    process = subprocess.Popen([sys.executable, "-c", {child!r}])
    print("child", process.pid, file=sys.stderr, flush=True)
    process.wait()
    """
    engine = command_engine(script(tmp_path, textwrap.dedent(code)), make_run(tmp_path / "a"), memory=LIMIT)
    engine.iterate()
    with pytest.raises(LearnerFailed) as failed:
        engine.iterate()
    engine.close()
    assert failed.value.kind == "grown"
    assert "the command and its children took 0." in failed.value.summary
    assert "more than 0.10 GB, which execution.memory_limit allows" in failed.value.summary
    pid = int(failed.value.details.split("child ")[1].split()[0])
    assert resident(pid) == 0, "the child is gone"


def test_code_that_cannot_be_interrupted_ends_its_process(tmp_path: Path) -> None:
    code = """
        import sys, time
        from mulex.learners.memory import memory_limit, resident
        with memory_limit(50_000_000, resident(), sys.stderr, grace=0.2):
            x = b"x" * 100_000_000
            time.sleep(60)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "line 6 in <module>" in done.stderr


def test_memory_is_what_the_system_says() -> None:
    gc.collect()
    before = resident()
    with mmap.mmap(-1, 50_000_000) as fresh:
        fresh.write(b"x" * 50_000_000)
        assert 45_000_000 < resident() - before < 120_000_000
        assert resident_of_group(os.getpgid(0)) >= resident() - 1_000_000
