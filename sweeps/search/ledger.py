"""The ledger of an adaptive search: draws/<method>.json lists every draw of a method, in the order it was chosen.

A ledger decides which runs a sweep has, so one that does not fit its spec is refused. A lost ledger is rebuilt from the
run files, each of which holds the values of its draw.
"""

import json
from collections.abc import Sequence
from typing import Any

from mulex.errors import UserError
from mulex.messages import shown
from mulex.store.folder import Folder
from mulex.store.layout import RUNS, draws_name
from mulex.store.run_store import RunStore
from sweeps.search.space import Space, Values, is_draw_of

_WAY_OUT = "restore the file, or move it away to rebuild it from the run files"


def read_ledger(folder: Folder, method: str, space: Space, draws: int) -> list[Values]:
    """Return the draws of a method so far.

    Raises:
        UserError: The ledger is damaged, belongs to another spec, or has more draws than the spec asks for.
    """
    name = draws_name(method)
    if not folder.exists(name):
        return _rebuild(folder, method, space)
    try:
        listed = json.loads(folder.read(name))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{folder.url}/{name}: is not JSON ({error}); {_WAY_OUT}") from None
    if problem := _problem(listed, space, draws):
        raise UserError(f"{folder.url}/{name}: {problem}; {_WAY_OUT}")
    return list(listed)


def write_ledger(folder: Folder, method: str, drawn: Sequence[Values]) -> None:
    """Replace the ledger of a method; readers see the old file or the new one."""
    folder.write(draws_name(method), json.dumps(list(drawn)).encode())


def _problem(listed: Any, space: Space, draws: int) -> str:
    """Say what is wrong with the content of a ledger; an empty text if nothing is."""
    if not isinstance(listed, list):
        return f"got {shown(listed)}, needed is a list of draws"
    if len(listed) > draws:
        return f"has {len(listed):,} draws, but search.draws is {draws:,}"
    for index, values in enumerate(listed):
        if not isinstance(values, dict) or values.keys() != space.keys():
            return f"draw {index} is {shown(values)}, needed is a value for each of {', '.join(space)}"
        if (key := is_draw_of(space, values)) is not None:
            drawn_from = shown(space[key].plain())
            return f"draw {index} has {shown(values[key])} as {key}, which the spec draws from {drawn_from}"
    return ""


def _rebuild(folder: Folder, method: str, space: Space) -> list[Values]:
    """Return the draws that a method's run files hold; draws without a finished run have left nothing to lose."""
    drawn: dict[int, Values] = {}
    store = RunStore(folder).refresh()
    for name, entry in store.entries.items():
        if entry.method == method:
            row = store.note(name).row
            drawn[int(row["draw"])] = {key: row.get(key) for key in space}
    for index in range(len(drawn)):
        if index not in drawn:
            text = f"{folder.url}/{draws_name(method)}: is missing, and no run file has the values of draw {index}"
            raise UserError(f"{text}; restore the file, or use another folder")
    listed = [drawn[index] for index in range(len(drawn))]
    if problem := _problem(listed, space, len(listed)):
        raise UserError(f"{folder.url}/{RUNS}/{method}: the run files do not fit the spec: {problem}")
    return listed
