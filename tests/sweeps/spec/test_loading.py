"""Loading a spec: a path, a shipped name or a dict, with overrides; and files that are no specs."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from mulex.errors import UserError
from sweeps.spec import SpecError, load_spec, parse_spec
from sweeps.spec.loading import shipped_names
from sweeps.spec.yaml_reader import read_yaml
from tests.support.spec_texts import SMALL, WITH_OWN_METHOD
from tests.sweeps.spec.test_problems import edits

RIGHT = read_yaml(SMALL, "s.yaml").plain


def test_a_path_a_name_and_a_dict(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    spec = parse_spec(SMALL, "s.yaml")
    assert load_spec(path) == load_spec(str(path)) == load_spec(RIGHT) == spec
    assert [load_spec(name).name for name in shipped_names()] == shipped_names()


def test_a_dict_is_copied() -> None:
    """Overrides change the spec, not the caller's dict; tuples and numbers of numpy's float type are plain enough."""
    given = read_yaml(SMALL, "s.yaml").plain
    given["methods"]["mulex"]["p_task"] = {"uniform": (0.5, 0.9)}
    load_spec(given, {"search.draws": 3, "training.warm_up": 7})
    assert given["search"] == RIGHT["search"]
    assert "warm_up" not in given["training"]
    assert given["methods"]["mulex"]["p_task"] == {"uniform": (0.5, 0.9)}


def test_overrides_as_a_mapping_and_as_texts() -> None:
    as_mapping = load_spec("main", {"search.draws": 8, "methods.mulex.p_task": {"uniform": [0.5, 0.9]}})
    as_texts = load_spec("main", ["search.draws=8", "methods.mulex.p_task={uniform: [0.5, 0.9]}"])
    assert as_mapping == as_texts
    assert as_mapping.search.draws == 8
    assert load_spec("main", {"search.draws": 8, "search.seeds": 1}).run_count == 24  # as its docstring says
    assert load_spec("main", {}) == load_spec("main", []) == load_spec("main")


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"search.draws": 0}, "override search.draws: search.draws: got 0, allowed is a whole number from 1 to"),
        ({"search.draw": 5}, "override search.draw: search.draw: no such key, there are algorithm, draws,"),
        ({"name.x": 5}, "override name.x: name.x: name is 'study', so there is no key in it"),
        ({"search.": 5}, "override search.: allowed is PATH=VALUE, for example search.draws=8"),
        ({"search.draws": object}, "override search.draws: search.draws: got <class 'object'>, allowed are mappings,"),
        (["search.draws=0"], "--set search.draws=0: search.draws: got 0, allowed is a whole number from 1 to"),
    ],
)
def test_wrong_overrides(overrides: dict[str, object] | list[str], says: str) -> None:
    with pytest.raises(SpecError) as refused:
        load_spec(RIGHT, overrides)
    (problem,) = refused.value.problems
    assert str(problem).startswith(says)


WRONG_DATA = [
    text
    for old, new, _ in (edit.values for edit in edits())
    if not read_yaml(text := WITH_OWN_METHOD.replace(old, new), "s.yaml").problems
]


@pytest.mark.parametrize("text", WRONG_DATA, ids=range(len(WRONG_DATA)))
def test_the_problems_of_a_dict_have_the_same_texts_without_lines(text: str) -> None:
    with pytest.raises(SpecError) as refused:
        load_spec(read_yaml(text, "s.yaml").plain)
    with pytest.raises(SpecError) as in_text:
        parse_spec(text, "s.yaml")
    texts = {(problem.path, problem.text) for problem in in_text.value.problems}
    assert {(problem.path, problem.text) for problem in refused.value.problems} == texts
    assert all(str(problem).startswith("spec: ") for problem in refused.value.problems)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({1: 2}, "the key 1, allowed are texts"),
        (
            {"name": {1, 2}},
            "name: got {1, 2}, allowed are mappings, lists, texts, finite numbers, true, false and null",
        ),
        ({"search": {"draws": float("nan")}}, "search.draws: got nan, allowed are mappings"),
        ({"search": {"seed": 2**60}}, "search.seed: allowed are whole numbers up to"),
    ],
)
def test_data_that_is_not_plain(data: dict[object, object], says: str) -> None:
    with pytest.raises(SpecError) as refused:
        load_spec({**RIGHT, **data})  # type: ignore[dict-item]
    assert says in str(refused.value)


def test_a_dict_inside_itself_is_refused() -> None:
    endless: dict[str, object] = dict(RIGHT)
    endless["worlds"] = endless
    with pytest.raises(SpecError, match="nested too deeply"):
        load_spec(endless)


def refused(*arguments: str) -> str:
    """The last words of `mulex validate` in a process that may use 600 MB."""
    limited = subprocess.run(
        [sys.executable, "-m", "cluster.cli", "validate", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (600 * 2**20, 600 * 2**20)),
    )
    assert limited.returncode == 2, limited.stderr
    lines = (limited.stdout + limited.stderr).strip().splitlines()
    assert not [line for line in lines if "Traceback" in line]
    return lines[-1]


def test_names_that_are_nearly_right() -> None:
    with pytest.raises(UserError) as error:
        load_spec("mian")
    listed = f"mian: there is no such file, and no such shipped spec; shipped are {', '.join(shipped_names())}"
    assert str(error.value) == f"{listed}; did you mean 'main'?"
    for path in ("some/path.yaml", "main.yaml", "some/main"):
        with pytest.raises(UserError, match=f"^{path}: there is no such file$"):
            load_spec(path)


def test_a_folder_of_a_shipped_name_does_not_hide_the_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main").mkdir()
    (tmp_path / "other").mkdir()
    assert load_spec("main").name == "main"
    with pytest.raises(UserError, match="other: is a folder; a spec is a YAML file"):
        load_spec("other")


def test_files_that_are_no_specs(tmp_path: Path) -> None:
    """Endless, huge, binary, in another encoding: one line, at once, with little memory."""
    fifo, huge, binary, wide, empty = (tmp_path / name for name in ("fifo", "huge", "binary", "wide", "empty"))
    os.mkfifo(fifo)
    with huge.open("wb") as file:
        file.truncate(2**30)
    binary.write_bytes(bytes(range(256)) * 10)
    wide.write_bytes(SMALL.encode("utf-16"))
    empty.touch()
    assert refused("/dev/zero") == "Error: /dev/zero: is not a regular file; a spec is a YAML file"
    assert refused(str(fifo)) == f"Error: {fifo}: is not a regular file; a spec is a YAML file"
    assert refused(str(huge)) == f"Error: {huge}: is too large for a spec, allowed are 1,000,000 characters"
    assert "is not UTF-8 text (byte 128: invalid start byte); a spec is a YAML file" in refused(str(binary))
    assert "is not UTF-8 text" in refused(str(wide))
    assert "got null, allowed is a mapping with name" in refused(str(empty))
    assert "cannot be read as a spec" in refused("x" * 5000)
