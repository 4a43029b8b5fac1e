"""Columns of `runs` for settings of `training` that differ between the runs of a sweep, by world or by method."""

from collections.abc import Iterable, Sequence
from typing import Any

from mulex.config import RESERVED_NAMES
from mulex.store.run_file import RunFile

LEARNER_SETTINGS = ("iterations", "steps_per_iteration", "evaluation_episodes")
"""The settings that an external learner is given. A test compares them with the learners', which need more."""

Row = dict[str, Any]


def settings_of(config: Row) -> Row:
    """Return the training settings that apply to a run."""
    training: Row = config.get("training", {})
    if "learner" in config.get("recipe", {}):
        return {name: training[name] for name in LEARNER_SETTINGS if name in training}
    return training


class TrainingColumns:
    """The settings that get a column of `runs`: those that are not the same in all runs."""

    def __init__(self, settings: Iterable[Row]) -> None:
        """Compare the settings of runs; equal ones need to be given only once."""
        values: dict[str, set[Any]] = {}
        for own in settings:
            for name, value in own.items():
                if name not in RESERVED_NAMES:
                    values.setdefault(name, set()).add(value)
        self.names = [name for name, found in values.items() if len(found) > 1]
        self._texts = {name for name in self.names if any(isinstance(value, str) for value in values[name])}

    def of(self, own: Row) -> Row:
        """Return the columns of a run by its settings; a setting that it does not have is null."""
        return {name: _as_text(own.get(name)) if name in self._texts else own.get(name) for name in self.names}


def with_training_columns(finished: Sequence[RunFile]) -> list[Row]:
    """Return the rows of `runs`, with a value for every training setting that is not the same in all of them.

    A value that a row already has, as that of a searched setting, is kept.
    """
    settings = [settings_of(run.config) for run in finished]
    columns = TrainingColumns(settings)
    return [{**columns.of(own), **run.row} for run, own in zip(finished, settings, strict=True)]


def _as_text(value: Any) -> str | None:
    """Return a value of a column that also holds texts, such as the discount's `scaled`."""
    return None if value is None else str(value)
