"""The rows of a run whose worker died: what its last checkpoint and its last progress file say."""

from typing import Any

from mulex.errors import UserError
from mulex.store.checkpoints import load_checkpoint
from mulex.store.folder import Folder
from mulex.store.progress import read_progress

Row = dict[str, Any]


def rows_so_far(folder: Folder, pack: str, ideal: float | None) -> list[Row]:
    """Return the rows of a pack of one run: whole ones up to its checkpoint, later ones with the return alone.

    Progress is written every two seconds, so the rows of the last moments before a death may be missing.
    """
    rows = _of_checkpoint(folder, pack)
    for said in read_progress(folder):
        curves = said.get("curves") if said["pack"] == pack else None
        if not curves or not curves["eval_return"]:
            continue
        ends, returns = curves["iteration"], curves["eval_return"][0]
        if ends == list(range(1, len(ends) + 1)):  # in longer curves a point is a mean of several iterations
            rows += [_row(i, value, ideal) for i, value in zip(ends, returns, strict=True) if i > len(rows)]
    return rows


def _of_checkpoint(folder: Folder, pack: str) -> list[Row]:
    try:
        found = load_checkpoint(folder, pack)
    except UserError:
        return []
    return list(found.about["curves"][0]) if found and found.arrays else []


def _row(iteration: int, value: float | None, ideal: float | None) -> Row:
    share = value / ideal if ideal and value is not None else None
    known = {"iteration": iteration, "eval_return": value, "normalised_return": share}
    return known | {"env_steps": None, "seconds": None}
