"""Builds the native engine. Where that cannot be, the install goes on without it, and runs train in torch."""

import os
import platform
from pathlib import Path

from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup
from setuptools.command.build_ext import build_ext

FOLDER = "mulex/learners/dqn/native"
INSTRUCTIONS = {"avx2.cpp": ["-mavx2", "-mfma"], "avx512.cpp": ["-mavx512f", "-mavx2", "-mfma"]}
ON_X86 = platform.machine() in ("x86_64", "AMD64")
SOURCES = ["module.cpp", "rules.cpp", "plain.cpp", *(INSTRUCTIONS if ON_X86 else [])]
ROUNDED = {"rules.cpp": ["-ffp-contract=off"]}  # every operation is rounded, as in NumPy
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g", "-O1"]


class BuildEachFileItsWay(build_ext):
    """The same code is compiled for several kinds of processor, each file with flags of its own."""

    def build_extension(self, ext):
        compile_one = self.compiler._compile

        def compile_with_instructions(obj, src, ext_name, cc_args, extra, pp_opts):
            own = (INSTRUCTIONS | ROUNDED).get(Path(src).name, [])
            return compile_one(obj, src, ext_name, cc_args, [*extra, *own], pp_opts)

        self.compiler._compile = compile_with_instructions
        try:
            super().build_extension(ext)
        finally:
            self.compiler._compile = compile_one


def native() -> Pybind11Extension:
    sanitized = SANITIZED if os.environ.get("MULEX_SANITIZE") else []
    macros = [("MULEX_X86", "1")] if ON_X86 else []
    if sanitized:  # code for wide registers is put together from narrower ones, so that it runs on more processors
        INSTRUCTIONS["avx512.cpp"] = INSTRUCTIONS["avx2.cpp"]
        macros.append(("MULEX_WIDE_ON_AVX2", "1"))
    return Pybind11Extension(
        "mulex.learners.dqn.native._native",
        [f"{FOLDER}/{name}" for name in SOURCES],
        cxx_std=17,
        define_macros=macros,
        extra_compile_args=["-O3", "-Wall", "-Wextra", "-Wno-maybe-uninitialized", *sanitized],
        extra_link_args=sanitized,
        depends=sorted(str(path) for path in Path(FOLDER).iterdir() if path.suffix in (".cpp", ".hpp", ".inc")),
        optional=True,
    )


setup(ext_modules=[native()], cmdclass={"build_ext": BuildEachFileItsWay})
