"""Wrong specs: every problem at once, each with its line, its key, what was found and what is allowed."""

from pathlib import Path

import pytest

from sweeps.spec import SpecError, parse_spec
from sweeps.spec.models import NAME_ALLOWED
from tests.support.spec_texts import SMALL, WITH_OWN_METHOD

MAPPING = "allowed is a mapping with name, worlds, training, search, methods, execution"


def edits():
    """Blocks of wrong_specs.txt: what is replaced in a right spec, by what, and the problems; ... is any ending."""
    for block in (Path(__file__).parent / "wrong_specs.txt").read_text().split("\n\n"):
        old, new, *problems = block.strip("\n").split("\n")
        yield pytest.param(*(part[2:].replace("\\n", "\n") for part in (old, new)), problems, id=new[2:50])


def refusal(text):
    """The lines of a refused spec's problems."""
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "s.yaml")
    count, *lines = str(refused.value).splitlines()
    assert count == f"s.yaml has {len(lines)} problem{'' if len(lines) == 1 else 's'}"
    return lines


@pytest.mark.parametrize(("old", "new", "problems"), list(edits()))
def test_a_problem_has_its_line_its_key_and_what_is_allowed(old, new, problems):
    assert WITH_OWN_METHOD.count(old) == 1
    found = refusal(WITH_OWN_METHOD.replace(old, new))
    for problem, expected in zip(found, problems, strict=True):
        whole = f"s.yaml:{expected}"
        assert problem == whole or (whole.endswith("...") and problem.startswith(whole[:-3]))


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", [f"s.yaml:1: got null, {MAPPING}"]),
        ("- a", [f"s.yaml:1: got ['a'], {MAPPING}"]),
        ("5", [f"s.yaml:1: got 5, {MAPPING}"]),
        (
            "training: {}",
            [
                f"s.yaml:1: name: missing, needed is a name of {NAME_ALLOWED}",
                "s.yaml:1: worlds: missing, needed is at least one",
                "s.yaml:1: methods: missing, needed is at least one",
            ],
        ),
        (
            "name: a\nworlds: {}\nmethods: [mulex]",
            [
                "s.yaml:2: worlds: got {}, allowed is a mapping of names, at least one",
                "s.yaml:3: methods: got ['mulex'], allowed is a mapping of names, at least one",
            ],
        ),
    ],
)
def test_a_spec_that_is_hardly_one(text, problems):
    assert refusal(text) == problems


def test_all_problems_are_listed_at_once_in_the_order_of_the_file():
    text = SMALL.replace("room_size: 5", "room_size: x").replace("iterations: 40", "iteration: 40")
    text = text.replace("[0.5, 0.9]", "[0.9, 0.5]").replace("beta: 2", "beta: .nan").replace("30s", "soon")
    found = refusal(text)
    assert [problem.split(":")[1] for problem in found] == ["3", "7", "12", "14", "15"]


def test_unreadable_yaml_is_said_alone():
    (found,) = refusal("name: a\nworlds: {w: [}\nmethods: 5\n")
    assert found.startswith("s.yaml:2: this is not YAML: ")


def test_very_many_problems_are_cut_short():
    with pytest.raises(SpecError) as refused:
        parse_spec("name: a\n" + "".join(f"k{i}: 1\n" for i in range(500)), "s.yaml")
    lines = str(refused.value).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (102, "s.yaml has 502 problems", "and 402 more")
