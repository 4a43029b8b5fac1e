"""YAML in: plain data with lines, and nothing but plain data. YAML out: what reads back exactly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.spec.yaml_reader import (
    DEEPEST,
    LARGEST_TEXT,
    LARGEST_WHOLE,
    LONGEST_KEY,
    LONGEST_LINE,
    MOST_VALUES,
    read_yaml,
)
from sweeps.spec.yaml_writer import write_yaml


def problems(text):
    return [str(problem) for problem in read_yaml(text, "f.yaml").problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("1e5", 100000.0),
        ("-1.5E+3", -1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+7", 7),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        (str(LARGEST_WHOLE), LARGEST_WHOLE),
        ("1e-999", 0.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        # words in YAML 1.2, whatever they were in 1.1
        ("yes", "yes"),
        ("on", "on"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("nan", "nan"),
        ("<<", "<<"),
        ("'1e-5'", "1e-5"),
        ('"null"', "null"),
        ('"\\U0001f600"', "\U0001f600"),
        ("٣", "٣"),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(text, value):
    tree = read_yaml(f"a: {text}", "f.yaml")
    assert not tree.problems
    assert repr(tree.plain["a"]) == repr(value)


def test_every_value_knows_its_line():
    tree = read_yaml("# a comment\na:\n  b: [1,\n    2]\n  c:\n    d: {e: 5,\n      f: 6}\n", "f.yaml")
    lines = {path: location.line for path, location in tree.locations.items()}
    assert lines == {
        ("a",): 2,
        ("a", "b"): 3,
        ("a", "b", 0): 3,
        ("a", "b", 1): 4,
        ("a", "c"): 5,
        ("a", "c", "d"): 6,
        ("a", "c", "d", "e"): 6,
        ("a", "c", "d", "f"): 7,
    }
    assert str(tree.location(("a", "c", "d", "missing"))) == "f.yaml:6"
    assert str(tree.location(("missing",))) == "f.yaml:1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3: a: a second time, allowed is once; the first is in line 1"),
        ("a: {b: 1,\n b: 2}", "f.yaml:2: a.b: a second time, allowed is once; the first is in line 1"),
        ("a:\n  b: !!python/object:os.system x", "f.yaml:2: a.b: the tag tag:yaml.org,2002:python/object:os.system"),
        ("a: !x {b: 1}", "f.yaml:1: a: the tag !x, allowed are plain values"),
        ("a: &x [1]\nb: *x", "f.yaml:2: b: the alias *x, allowed are plain values; write it out"),
        ("a: &x 1", "f.yaml:1: a: the anchor &x, allowed are plain values"),
        ("&x a: 1", "f.yaml:1: '?': the anchor &x, allowed are plain values"),
        ("a:\n - .nan", "f.yaml:2: a.0: got .nan, allowed are finite numbers"),
        ("a: -.inf", "f.yaml:1: a: got -.inf, allowed are finite numbers"),
        ("a: 1e999", "f.yaml:1: a: got '1e999': too large"),
        (
            "a: 9007199254740993",
            "f.yaml:1: a: got '9007199254740993', allowed are whole numbers up to 9007199254740992",
        ),
        (f"a: {'9' * 900}", "f.yaml:1: a: got '99999999999999999999"),
        ('a: "\\ud800"', "f.yaml:1: a: half of a character (a lone surrogate), allowed is whole text"),
        ("a: 1\n5: 2", "f.yaml:2: the key 5, allowed are words; write '5' in quotes"),
        ("a:\n  null: 2", "f.yaml:2: a: the key null, allowed are words; write 'null' in quotes"),
        ("? [a]\n: b", "f.yaml:1: a key that is not a word, allowed are words"),
        (f"a: 1\n{'k' * (LONGEST_KEY + 1)}: 2", f"f.yaml:2: a key of {LONGEST_KEY + 1} characters, allowed are"),
        ("%YAML 1.1\n---\na: yes", "f.yaml:2: a % directive, allowed is none: specs are YAML 1.2"),
        ("a: 1\n---\nb: 2", "f.yaml:2: another document begins here, allowed is one"),
        ("a: [1", "f.yaml:1: this is not YAML: while parsing a flow sequence"),
        ("a: 1\n b: 2", "f.yaml:2: this is not YAML: "),
        ("a: b: c", "f.yaml:1: this is not YAML: mapping values are not allowed here"),
        ("a:\n\t- b", "f.yaml:2: this is not YAML: while scanning for the next token: found character '\\t'"),
        ("a: 1\nb: \x00", "f.yaml:2: the character '\\x00' is not allowed in YAML"),
        ('a: "\\UFFFFFFFF"', "f.yaml:1: this is not YAML: "),
        ("[" * 1000, f"f.yaml:1: nested too deeply, allowed are {DEEPEST} levels"),
        ("- " * 1000, f"f.yaml:1: nested too deeply, allowed are {DEEPEST} levels"),
        ("- 1\n" * (MOST_VALUES + 1), f"f.yaml:{MOST_VALUES}: too many values, allowed are {MOST_VALUES}"),
        (
            f"a: 1\n#{' ' * LONGEST_LINE}",
            f"f.yaml:2: a line of {LONGEST_LINE + 1} characters, allowed are {LONGEST_LINE}",
        ),
        (f"a: {'x' * 5000}", "f.yaml:1: a: text of 5000 characters, allowed are 1000"),
        ("a: !" + "!" * 9000, "f.yaml:1: "),
        (" " * (LARGEST_TEXT + 1), f"f.yaml:1: {LARGEST_TEXT + 1} characters, allowed are {LARGEST_TEXT}"),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_not_plain_data_is_a_problem_with_its_line(text, says):
    found = problems(text)
    assert any(problem.startswith(says) for problem in found), found
    assert all("\n" not in problem and len(problem) < 300 for problem in found)


def test_a_bomb_of_aliases_is_not_unfolded():
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 9)]
    tree = read_yaml("\n".join(["l0: &l0 lol", *levels]), "f.yaml")
    assert len(tree.problems) == 9 + 8 * 9
    assert tree.plain["l8"] == [None] * 9


def test_all_such_problems_are_found_at_once():
    found = problems("a: .nan\nb: !x 1\nb: *y\n1: 2\n")
    assert [problem.split(":")[1] for problem in found] == ["1", "2", "3", "3", "4"]


def test_a_byte_order_mark_and_windows_lines_are_harmless():
    tree = read_yaml("\ufeffa: 1\r\nb:\r\n  c: x\r\n", "f.yaml")
    assert not tree.problems
    assert tree.plain == {"a": 1, "b": {"c": "x"}}
    assert tree.location(("b", "c")).line == 3


ODD_WORDS = [
    "1e-5",
    "null",
    "~",
    "",
    "true",
    "0o17",
    ".5",
    "5.",
    "<<",
    "=",
    "-",
    "? a",
    "?0",
    "- b",
    "a: b",
    "#",
    "a #b",
]
ODD_WORDS += [
    "\ufeff",
    "\x85",
    "\u2028",
    "\x7f",
    "%",
    "@",
    "!x",
    "&a",
    "*a",
    "'",
    '"',
    "\\",
    "+1",
    "0777",
    "a\n\nb ",
    " a",
]
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(ODD_WORDS)
NUMBERS = st.integers(-LARGEST_WHOLE, LARGEST_WHOLE) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(PLAIN)
def test_what_is_written_reads_back_exactly(plain):
    tree = read_yaml(write_yaml(plain), "f.yaml")
    assert not tree.problems
    assert repr(tree.plain) == repr(plain)  # types and order too


@settings(max_examples=500, deadline=None)
@given(st.text(st.characters() | st.sampled_from(":-[]{}#&*!|>%@`'\",? \n\t"), max_size=60))
def test_any_text_gives_data_or_problems(text):
    tree = read_yaml(text, "f.yaml")
    assert tree.problems or not tree.unreadable


@pytest.mark.parametrize(
    "plain",
    [
        {"a": {"choice": [i / 7 for i in range(5000)]}},
        {"a": ["\U0001f600" * 900, {"b": ["x" * 900] * 50, "c": [[], [[0.1] * 900]]}]},
        [["x" * 90, {"k" * 90: {"l" * 90: 1, "m" * 90: []}}] * 9],
    ],
)
def test_long_lists_and_words_read_back_too(plain):
    assert read_yaml(write_yaml(plain), "f.yaml").plain == plain


def test_written_yaml_is_laid_out_for_people():
    plain = {"name": "x", "methods": {"mulex": {"p_task": {"uniform": [0.5, 0.9]}, "epsilon": 1e-05}}, "empty": {}}
    assert write_yaml(plain) == (
        "name: x\nmethods:\n  mulex: {p_task: {uniform: [0.5, 0.9]}, epsilon: 1e-05}\nempty: {}\n"
    )
