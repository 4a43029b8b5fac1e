"""`python -m sweeps.spec_docs` writes docs/spec.md and the JSON schema for editors, both from the models."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mulex.config import ActingConfig, HeadConfig, MethodConfig, TrainingConfig
from mulex.methods import METHODS
from sweeps.allowed import Schema, allowed, schema_of
from sweeps.distributions import KINDS
from sweeps.spec import Execution, Search, Spec, SpecError, load_spec
from sweeps.spec_models import GridWorldSpec, GymWorldSpec
from sweeps.spec_problems import shown

SPECS = Path(__file__).parent / "specs"
SCHEMA = SPECS / "schema.json"
PAGE = Path(__file__).parents[1] / "docs" / "spec.md"
_NOT_IN_THE_SCHEMA = ("allowed", "origin", "title")  # for our own messages and pages

_OPENING = """\
# A spec
Made from the models by `python -m sweeps.spec_docs`; a test holds it fresh.

A spec is a YAML file that says what is trained, in which worlds, over which hyperparameters, and how it is carried
out. `mulex validate SPEC` checks it, `mulex sweep SPEC --out DIR` trains it. The paper's main comparison in full:

```yaml
{example}```

## Rules
- YAML 1.2: `1e-5` is a number, `yes` is a word. No tags, no anchors, one document, and no key twice.
- Types are strict: `draws: 8.0` and `draws: "8"` are refused, `draws: 8` is right. Where a number may have a
  fraction, a whole one will do.
- Every problem is listed at once, each as `FILE:LINE: key.path: what was found, what is allowed`:

```
{errors}
```

- `--set path=value` changes one value for one command, for example `--set search.draws=8` or
  `--set 'methods.mulex.p_task={{uniform: [0.5, 0.9]}}'`. Sections that the file lacks are made.
- Names of sweeps, worlds and methods become file names: letters, digits, `_`, `-` and `.`, no `.` first.
- A sweep may grow: more draws or seeds, another method or world train the new runs only. `execution` and `name` may
  change at any time. Any other change needs another folder.
- For an editor that knows JSON schemas, begin the file with
  `# yaml-language-server: $schema=PATH/sweeps/specs/schema.json`.

## Shipped
In `sweeps/specs/`; a command takes their names in place of a path.

"""
_METHODS = """
## methods
A method is an entry of its name, with what its hyperparameters are drawn from. One that is not named keeps the
recipe's default, so `mulex: {}` is MuleX with every default.

| key | meaning |
| --- | --- |
| a hyperparameter | a number, or a distribution |
| `bonus` | `simhash` (counts on hashes of frames) in place of the recipe's `oracle` (counts on grid worlds' states) |
| `recipe` | what the method is; needed if it is none of those below |

"""
_RECIPE = """
### recipe
A method without code: heads with their rewards, and who acts. MuleX with two exploration heads, one on each bonus:

```yaml
{example}```
"""
EXAMPLE_RECIPE = """\
methods:
  mulex_two_explorers:
    learning_rate: {log_uniform: [1e-5, 1e-3]}
    p_task: {uniform: [0.5, 0.9]}
    recipe:
      heads:
        task: {reward: {task: 1}}
        states: {reward: {oracle: 1}, flavour: dqn}
        frames: {reward: {simhash: 1}, flavour: dqn}
      acting: {probabilities: {task: p_task}, gamma_steps: gamma_steps}
      evaluate: [task]
      hyperparameters: {learning_rate: 2.5e-4, epsilon: 0.01, p_task: 0.7, gamma_steps: 0.9}
"""
_WRONG = "name: main\nworlds: {w5: {room_size: two}}\nmethods: {mulex: {p_tsk: 0.7}}\nsearch: {draws: 0}\n"


def page() -> str:
    """All of docs/spec.md."""
    opening = _OPENING.format(example=(SPECS / "main.yaml").read_text(), errors=_errors())
    parts = [opening, _shipped(), "\n## Sections\n", _table(Spec)]
    parts += ["\n## worlds\nA grid world of ours:\n\n", _table(GridWorldSpec)]
    parts += [
        "\nOr any Gymnasium environment with discrete actions and an array observation:\n\n",
        _table(GymWorldSpec),
    ]
    parts += ["\n## training\n`given` by the paper, or `chosen` where it is silent.\n\n", _table(TrainingConfig)]
    parts += ["\n## search\n", _table(Search), _METHODS, _method_table(), "\n### Distributions\n", _kinds()]
    parts += [
        _RECIPE.format(example=EXAMPLE_RECIPE),
        "\n",
        _table(MethodConfig),
        "\nEach head:\n\n",
        _table(HeadConfig),
    ]
    parts += ["\nActing:\n\n", _table(ActingConfig), "\n## execution\n", _table(Execution)]
    return "".join(parts)


def _errors() -> str:
    try:
        load_spec(_WRONG, "wrong.yaml")
    except SpecError as error:
        return str(error)
    raise AssertionError("the example is right")


def _shipped() -> str:
    rows = []
    for path in sorted(SPECS.glob("*.yaml")):
        text = path.read_text()
        about = text.splitlines()[0].removeprefix("# ")
        rows.append((f"`{path.stem}`", about, f"{load_spec(text, path.name).run_count:,}"))
    return _rows(("name", "what it is", "runs"), rows)


def _table(model: type[BaseModel]) -> str:
    """A row for each field: the name, the default, what is allowed, what it means."""
    rows: list[tuple[str, ...]] = []
    for name, field in model.model_fields.items():
        schema = schema_of(model)["properties"][name]
        section = model is Spec and name != "name"
        default = "needed" if field.is_required() else "" if "$ref" in schema else f"`{shown(schema['default'])}`"
        rows.append(
            (f"`{name}`", default, f"see below: {name}" if section else allowed(schema), field.description or "")
        )
        if model is TrainingConfig:
            rows[-1] = (*rows[-1], schema["origin"])
    heads = ("key", "default", "allowed", "meaning", "origin")
    return _rows(heads[: len(rows[0])], rows)


def _method_table() -> str:
    rows = [
        (f"`{name}`", ", ".join(recipe.heads), ", ".join(f"`{k}` {v:g}" for k, v in recipe.hyperparameters.items()))
        for name, recipe in METHODS.items()
    ]
    return _rows(("method", "heads", "hyperparameters and their defaults"), rows)


def _kinds() -> str:
    return _rows(("kind", "values", "gives"), [(f"`{kind}`", *about) for kind, about in KINDS.items()])


def _rows(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def schema() -> Schema:
    """The JSON schema of a spec, with the hyperparameters of the built-in methods to complete."""
    plain: Schema = _bare(Spec.model_json_schema())
    for world in ("GridWorldSpec", "GymWorldSpec"):
        plain["$defs"][world]["properties"]["training"] = {"$ref": "#/$defs/TrainingConfig"}
    sections = plain["properties"]
    for section in sections.values():
        if "$ref" in section:
            section.pop("default")
    for section in (sections["worlds"], sections["methods"]):
        section |= {"minProperties": 1, "propertyNames": {"pattern": sections["name"]["pattern"]}}
    sections["methods"]["properties"] = {
        name: {"$ref": "#/$defs/MethodSpec", "properties": {key: {} for key in recipe.hyperparameters}}
        for name, recipe in METHODS.items()
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A mulex spec", **plain}


def _bare(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _bare(value) for key, value in plain.items() if key not in _NOT_IN_THE_SCHEMA}
    return [_bare(value) for value in plain] if isinstance(plain, list) else plain


def main() -> None:
    """Write both."""
    SCHEMA.write_text(json.dumps(schema(), indent=1) + "\n")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
