"""The placeholders of a command: which there are, what each becomes, and which hyperparameters nothing mentions."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mulex.errors import UserError
from mulex.learners.contract import Run
from mulex.messages import nearest, shown

ROWS, CHECKPOINT, CONFIG, VALUES, ROWS_WANTED = "rows", "checkpoint", "config", "values", "rows_wanted"
ALWAYS = ("seed", "key", "run", "iterations", ROWS_WANTED, "device", "scratch", ROWS, CHECKPOINT, CONFIG, VALUES)
"""Placeholders that every command may use, besides hyperparameters, {world.KEY} and {training.KEY}."""

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_.]*)\}")


def names_in(command: Sequence[str]) -> set[str]:
    """Every placeholder of a command."""
    return {found[1] for part in command for found in _PLACEHOLDER.finditer(part) if found[1]}


def check_command(command: Any) -> None:
    """Refuse what is no command: it is a list of texts, the program first."""
    if not isinstance(command, list | tuple) or not command or not all(isinstance(part, str) for part in command):
        raise UserError(f"command: got {shown(command)}, needed is a list of texts, the program first")


def known_names(
    values: Mapping[str, Any] | Sequence[str], world: Mapping[str, Any], training: Mapping[str, Any]
) -> list[str]:
    """Every placeholder that has a value."""
    inner = [f"world.{key}" for key in _paths(world)] + [f"training.{key}" for key in _paths(training)]
    return [*values, *ALWAYS, *inner]


def check_placeholders(
    command: Sequence[str],
    values: Mapping[str, Any] | Sequence[str],
    world: Mapping[str, Any],
    training: Mapping[str, Any],
) -> None:
    """Refuse a placeholder without a value, and a hyperparameter that the command never sees."""
    known, used = known_names(values, world, training), names_in(command)
    for name in sorted(used):
        if name not in known:
            raise UserError(
                f"command: {{{name}}} has no value, there are {', '.join(known)}{nearest(name, known)} "
                f"(write {{{{{name}}}}} for a brace of its own)"
            )
    if used & {CONFIG, VALUES}:
        return
    for name in values:
        if name not in used:
            raise UserError(f"{name}: the command has no {{{name}}}, so nothing reads it; add it, or use {{values}}")


def filled(command: Sequence[str], run: Run) -> list[str]:
    """The command with the values of a run; {config} and {checkpoint} are paths in its scratch folder."""
    check_placeholders(command, run.values, run.world, run.training)
    paths = {name: str(run.scratch / file) for name, file in FILES.items()}
    known: dict[str, Any] = {
        **{f"world.{key}": value for key, value in _paths(run.world).items()},
        **{f"training.{key}": value for key, value in _paths(run.training).items()},
        **about(run),
        VALUES: dict(run.values),
        **paths,
        **run.values,
    }

    def value(found: re.Match[str]) -> str:
        return text_of(known[found[1]]) if found[1] else found[0][0]

    return [_PLACEHOLDER.sub(value, part) for part in command]


FILES = {ROWS: "rows.jsonl", CHECKPOINT: "checkpoint", CONFIG: "config.json"}
"""Names in the scratch folder of the files that a command may be given."""


def about(run: Run) -> dict[str, Any]:
    """The placeholders that every run has a value for."""
    return {
        "run": run.run_id,
        "seed": run.seed,
        "key": run.key,
        "iterations": run.iterations,
        ROWS_WANTED: run.rows_wanted,
        "device": run.device,
        "scratch": str(run.scratch),
    }


def config_text(run: Run) -> str:
    """What {config} holds: everything about a run, as JSON."""
    plain = {**about(run), "values": dict(run.values), "world": run.world, "training": run.training}
    return json.dumps(plain, indent=1)


def text_of(value: Any) -> str:
    """A value as a command's argument: a whole number without a point, what is nested as JSON, None as nothing."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _paths(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Every value of nested data by its dotted path, the nested ones included."""
    found: dict[str, Any] = {}
    for key, value in plain.items():
        found[key] = value
        if isinstance(value, Mapping):
            found |= {f"{key}.{inner}": deeper for inner, deeper in _paths(value).items()}
    return found
