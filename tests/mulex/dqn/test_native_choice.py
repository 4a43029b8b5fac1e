"""Where the native engine is built and taken, and what happens where it cannot be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mulex.config import ENGINES, GridWorldConfig, GymWorldConfig
from mulex.errors import UserError
from mulex.learners.dqn.engines import choose_engine, make_engine
from mulex.learners.dqn.native import engine as native_engine
from mulex.learners.dqn.native.engine import NativeEngine, instruction_sets
from mulex.learners.dqn.torch.engine import TorchEngine
from tests.support.agents import Case
from tests.support.slow import SLOW

pytestmark = pytest.mark.skipif(native_engine.native is None, reason="the native engine is not built here")

ROOT = Path(__file__).parents[3]


class TestChoice:
    """auto takes native where it serves, and says why where not."""

    def test_auto_takes_native(self):
        run = Case("mulex").run()
        assert choose_engine("auto", "cpu", run) == ("native", f"with {instruction_sets()[0]} code")
        assert isinstance(make_engine("auto", "cpu", [run]), NativeEngine)
        assert isinstance(make_engine("torch", "cpu", [run]), TorchEngine)

    @pytest.mark.parametrize(
        ("case", "device", "reason"),
        [
            (Case("epsilon_greedy", GymWorldConfig(id="CartPole-v1")), "cpu", "grid worlds only"),
            (Case("mulex", GridWorldConfig(ghosts=1), "simhash"), "cpu", "does not hash frames with ghosts"),
            (Case("mulex"), "cuda", "runs on the cpu, not on cuda"),
            (Case("mulex", bonus="rnd"), "cpu", "does not have the bonus rnd"),
            (
                Case("mulex", GridWorldConfig(room_size=50, textured=True), training={"batch_size": 4096}),
                "cpu",
                "large",
            ),
        ],
    )
    def test_elsewhere_auto_takes_torch_and_native_is_refused(self, case, device, reason):
        name, why = choose_engine("auto", device, case.run())
        assert name == "torch"
        assert reason in why
        with pytest.raises(UserError, match=reason):
            choose_engine("native", device, case.run())

    def test_a_sweep_that_asks_for_what_cannot_be_is_refused_before_anything_is_written(self, tmp_path):
        spec = tmp_path / "spec.yaml"
        spec.write_text("name: x\nworlds: {a: {id: CartPole-v1}}\nmethods: {epsilon_greedy: {}}\n")
        command = [sys.executable, "-m", "cluster.cli", "sweep", spec, "--out", tmp_path / "out"]
        asked = [*command, "--set", "execution.engine=native"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "engine: native cannot train epsilon_greedy in this world: it serves grid worlds only" in done.stderr
        assert not (tmp_path / "out").exists()

    def test_without_the_module_torch_trains(self, monkeypatch):
        monkeypatch.setattr(native_engine, "native", None)
        run = Case("mulex").run()
        assert isinstance(make_engine("auto", "cpu", [run]), TorchEngine)
        with pytest.raises(UserError, match="C\\+\\+ compiler"):
            make_engine("native", "cpu", [run])
        assert "native" in ENGINES

    def test_native_needs_no_torch(self):
        code = (
            "import sys; from mulex.config import *; from mulex.methods import make_run\n"
            "from mulex.learners.dqn.engines import make_engine\n"
            "run = make_run(GridWorldConfig(map='two_rooms', room_size=3), 'mulex', TrainingConfig(replay_size=100))\n"
            "make_engine('auto', 'cpu', [run]).iterate(); sys.exit('torch' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestBuild:
    """What an install does with a compiler and without."""

    def test_without_a_compiler_the_build_goes_on(self, tmp_path):
        env = os.environ | {"CC": "/bin/false", "CXX": "/bin/false"}
        command = [sys.executable, "setup.py", "build_ext", "--build-lib", tmp_path, "--build-temp", tmp_path / "t"]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not list(tmp_path.rglob("*.so"))

    @SLOW
    def test_code_for_one_processor_never_stands_in_for_another(self, tmp_path):
        """Functions that the linker could merge over the differently compiled files would be weak symbols."""
        flags = {"plain": [], "avx2": ["-mavx2", "-mfma"], "avx512": ["-mavx512f", "-mavx2", "-mfma"]}
        if "avx2" not in instruction_sets():
            flags = {"plain": []}
        for name, own in flags.items():
            source, out = ROOT / "mulex/learners/dqn/native" / f"{name}.cpp", tmp_path / f"{name}.o"
            subprocess.run(["g++", "-O3", "-std=c++17", "-fPIC", *own, "-c", source, "-o", out], check=True)
            symbols = subprocess.run(["nm", "-C", out], check=True, capture_output=True, text=True).stdout
            weak = [line for line in symbols.splitlines() if line.split()[-2 if len(line.split()) < 3 else 1] in "WwVu"]
            assert [line for line in weak if "typeinfo" not in line and "personality" not in line] == []
