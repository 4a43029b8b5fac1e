"""A thousand damaged specs: each is refused with lines that say where, or loads and can be written out."""

import copy
import os
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeps.plan import Family
from sweeps.search.space import conditional
from sweeps.spec import SpecError, parse_spec, write_yaml
from sweeps.spec.yaml_reader import read_yaml
from tests.support.spec_texts import WITH_OWN_METHOD

RIGHT = """\
name: a
worlds: {w5: {room_size: 5, training: {warm_up: 10}}}
training: {iterations: 40, discount: scaled}
search: {draws: 20, seeds: 3}
methods:
  mulex: {p_task: {uniform: [0.5, 0.9]}, bonus: simhash}
  additive:
    beta: 2
execution: {checkpoint_every: 30s, callbacks: [csv]}
"""
TOKENS = re.compile(r"[\w.]+|\s+|.")
ODD = [
    "",
    "null",
    "true",
    "-1",
    "0",
    "1",
    "1e-5",
    "1e999",
    ".nan",
    "9" * 30,
    "0x1F",
    "x",
    "'5'",
    '"\\ud800"',
    "é",
    "\u2028",
]
ODD += [
    "[]",
    "{}",
    "[1, 2]",
    "{a: b}",
    "*x",
    "&x",
    "!t",
    "!!int 5",
    "|",
    ">",
    "#",
    ":",
    "- ",
    "? ",
    "%",
    "@",
    "`",
    "\t",
    "\x00",
]
ODD += [
    "\n",
    "\n---\n",
    "  ",
    "\ufeff",
    "id",
    "CartPole-v1",
    "uniform",
    "choice",
    "recipe",
    "bonus",
    "training",
    "oracle",
]
WORDS = st.sampled_from(ODD) | st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**54) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
RIGHT_DATA = read_yaml(WITH_OWN_METHOD, "s.yaml").plain
EXAMPLES = int(os.environ.get("MULEX_MUTATIONS", "500"))  # of each of the two kinds
MUTATIONS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def check(text):
    """A spec is refused with problems that say where, or it loads, can be written out, and its draws make runs."""
    try:
        spec = parse_spec(text, "s.yaml")
    except SpecError as error:
        assert error.problems
        assert all(re.match(r"s\.yaml:\d+: .", line) for line in str(error).split("\n")[1:101])
        return
    again = parse_spec(write_yaml(spec.resolved()), "again.yaml")
    assert again == spec
    assert again.outcome_hash() == spec.outcome_hash()
    for method in spec.methods:
        values = {name: distribution.at(0.37) for name, distribution in spec.space(method).items()}
        for world in spec.worlds:
            family = Family(world, spec.world(world), method, spec.recipe(method), spec.training_in(world))
            family.run(conditional(spec.space(method), values), 0)


@st.composite
def damaged_texts(draw):
    """Lines and tokens taken out, doubled, swapped, indented otherwise, or exchanged for odd ones."""
    lines = RIGHT.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 3))):
        i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        tokens = TOKENS.findall(lines[i]) or [""]
        k = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(["replace", "replace", "insert", "drop", "line", "double", "swap", "indent"])):
            case "replace":
                lines[i] = "".join([*tokens[:k], draw(WORDS), *tokens[k + 1 :]])
            case "insert":
                lines[i] = "".join([*tokens[:k], draw(WORDS), *tokens[k:]])
            case "drop":
                lines[i] = "".join(tokens[:k] + tokens[k + 1 :])
            case "line":
                lines[i] = ""
            case "double":
                lines.insert(j, lines[i])
            case "swap":
                lines[i], lines[j] = lines[j], lines[i]
            case "indent":
                lines[i] = " " * draw(st.integers(0, 6)) + lines[i].lstrip(" ")
    return "".join(lines)


def paths(plain, start=()):
    """Every path in plain data."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    return [start, *(path for key, value in items for path in paths(value, (*start, key)))]


@st.composite
def damaged_data(draw):
    """Right YAML whose values or keys are wrong: what the parser cannot catch."""
    plain = copy.deepcopy(RIGHT_DATA)
    for _ in range(draw(st.integers(1, 2))):
        *outside, last = draw(st.sampled_from(paths(plain)[1:]))
        holder = plain
        for key in outside:
            holder = holder[key]
        value = holder[last]
        match draw(st.sampled_from(["value", "value", "key", "number", "drop"])):
            case "value":
                holder[last] = draw(VALUES)
            case "number" if isinstance(value, int | float):
                holder[last] = value * draw(st.sampled_from([-1, 0, 0.5, 2, 1000, 1e300]))
            case "key" if isinstance(holder, dict):
                holder[draw(WORDS)] = holder.pop(last)
            case _:
                del holder[last]
    return plain


@MUTATIONS
@given(damaged_texts())
def test_damaged_text_is_refused_or_loads(text):
    check(text)


@MUTATIONS
@given(damaged_data())
def test_damaged_data_is_refused_or_loads(plain):
    check(write_yaml(plain))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.text(max_size=20) | st.builds("{}={}".format, st.sampled_from(["search.draws", "worlds", "name"]), WORDS)
    )
)
def test_any_override_is_refused_or_loads(overrides):
    try:
        parse_spec(RIGHT, "s.yaml", overrides)
    except SpecError as error:
        assert all(line.startswith(("s.yaml:", "--set ")) for line in map(str, error.problems))
