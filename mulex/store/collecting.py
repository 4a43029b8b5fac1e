"""Makes the two tables of a sweep, a part at a time, and makes again only what has changed.

`runs.parquet` is one file. So is `curves.parquet`, up to SINGLE_ROWS rows and SINGLE_RUNS runs. Above that it is a
folder of that name with files of up to PART_ROWS rows and PART_RUNS runs. pandas, pyarrow and DuckDB read it like one
table. Each of these parts has runs of one method in one world, in the order of the table. Its name ends in a hash of
the runs in it, so a part whose runs have not changed is kept. `runs.parquet` is written last and lists the parts.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pyarrow as pa

from mulex.store import checksum
from mulex.store.entry import RunEntry
from mulex.store.folder import Folder
from mulex.store.folding import fold, take_out
from mulex.store.layout import CURVES_TABLE, RUNS_TABLE
from mulex.store.run_store import RunStore
from mulex.store.table_rows import TableRows, joined_curves
from mulex.store.tables import MADE_OF, PARTS

SINGLE_ROWS = 2_000_000
SINGLE_RUNS = 5_000
"""Curves with more rows, or of more runs, are a folder of parts."""
PART_ROWS = 1_000_000
PART_RUNS = 1_024
"""Rows and runs of a part, at most, unless a single run has more rows."""
GROUP_ROWS = 2**18
"""Rows of a row group, about; so many are in memory at a time."""
_DIGITS = 16


@dataclass
class Collected:
    """What went into the two tables."""

    runs: int = 0
    rows: int = 0
    damaged: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    """Run files of no planned run, which are left out."""


def collect_tables(
    folder: Folder,
    belongs: Callable[[RunEntry], bool] | None = None,
    store: RunStore | None = None,
    check: Callable[[], None] = lambda: None,
) -> Collected:
    """Fold run files if there are many, and make both tables of the runs that are whole.

    Args:
        folder: The sweep's.
        belongs: Says whether a run is one of the sweep's; without it, every run is.
        store: The runs of the folder, where somebody has looked at them already.
        check: Is called before anything is written, and raises if this process may not write any more.

    Returns:
        The counts, and the names of damaged files and of strangers. Damaged runs are taken out of segments.
    """
    store = store or RunStore(folder)
    fold(store, check=check)
    damaged: list[str] = []
    while True:
        entries = sorted((e for e in store.entries.values() if belongs is None or belongs(e)), key=lambda e: e.key)
        made = _Making(store, entries, check)
        rows = made.write_curves()
        if not made.damaged:
            break
        damaged += made.damaged
        take_out(store, made.damaged, check)
        store.refresh()
    made.write_runs()
    planned = {entry.name for entry in entries}
    strangers = sorted(store.entries.keys() - planned)
    return Collected(len(entries), rows, [*store.damaged, *damaged], strangers)


@dataclass(frozen=True)
class _Part:
    """Runs whose curves are one file."""

    place: str
    entries: list[RunEntry]

    def name(self, columns: str, rows: int) -> str:
        return f"{CURVES_TABLE}/{self.place}-{rows}-{self.digits(columns)}.parquet"

    def digits(self, columns: str) -> str:
        checksums = {"columns": columns} | {entry.name: entry.checksum for entry in self.entries}
        return checksum.fingerprint(checksums).decode()[:_DIGITS]


class _Making:
    """One making of both tables."""

    def __init__(self, store: RunStore, entries: Sequence[RunEntry], check: Callable[[], None]) -> None:
        self.store, self.folder, self.entries, self.check = store, store.folder, entries, check
        self.rows = TableRows(store, entries)
        self.made_of = checksum.fingerprint({entry.name: entry.checksum for entry in entries})
        self.parts: list[str] = []
        self.damaged: list[str] = []

    def write_curves(self) -> int:
        """Write the curves, in one file or in parts; gives the number of rows. Damaged runs are only listed."""
        self.check()
        rows = sum(entry.iterations for entry in self.entries)
        if rows > SINGLE_ROWS or len(self.entries) > SINGLE_RUNS:
            return self._write_parts()
        content, rows = self._content(self.entries, {MADE_OF: self.made_of})
        if not self.damaged:
            self.folder.remove_many(self._there())
            self.folder.write(CURVES_TABLE, content)
        return rows

    def _write_parts(self) -> int:
        columns = str(self.rows.curves_schema)
        if self.folder.exists(CURVES_TABLE):
            self.folder.remove(CURVES_TABLE)
        there = {_place_and_digits(name): name for name in self._there()}
        for part in _parts(self.entries):
            known = there.get((part.place, part.digits(columns)))
            self.parts.append(known or self._write_part(part, columns))
        return sum(_rows(name) for name in self.parts)

    def _write_part(self, part: _Part, columns: str) -> str:
        content, rows = self._content(part.entries, {})
        name = part.name(columns, rows)
        if not self.damaged:
            self.check()
            self.folder.write(name, content)
        return name

    def _content(self, entries: Sequence[RunEntry], metadata: dict[bytes, bytes]) -> tuple[bytes, int]:
        """A file with the curves of some runs, and how many rows it has."""
        rows = 0

        def groups() -> Iterator[pa.Table]:
            nonlocal rows
            for some in _groups(entries):
                curves = joined_curves(self._curves(some), self.rows.curves_schema)
                rows += curves.num_rows
                yield curves

        return checksum.parquet_of_groups(groups(), self.rows.curves_schema, metadata), rows

    def _curves(self, entries: Sequence[RunEntry]) -> Iterator[pa.Table]:
        for name, run in self.store.read_many([entry.name for entry in entries]):
            if run is None:
                self.damaged.append(name)
            else:
                yield run.curve

    def _there(self) -> list[str]:
        """The files of parts that are there, of these tables or of earlier ones."""
        return [name for name in self.folder.list(f"{CURVES_TABLE}/") if name.startswith(f"{CURVES_TABLE}/")]

    def write_runs(self) -> None:
        """Write the table of runs, which says that both tables are there; parts of earlier ones go afterwards."""
        metadata = {MADE_OF: self.made_of, PARTS: json.dumps(self.parts).encode()}
        content = checksum.parquet_of_groups(self.rows.runs(), self.rows.runs_schema, metadata)
        self.check()
        self.folder.write(RUNS_TABLE, content)
        self.folder.remove_many([name for name in self._there() if name not in self.parts])


def _groups(entries: Sequence[RunEntry]) -> Iterator[Sequence[RunEntry]]:
    """Divide runs into those of one row group each; at least one group, which may be empty."""
    longest = max((entry.iterations for entry in entries), default=1)
    size = max(1, GROUP_ROWS // max(longest, 1))
    for start in range(0, max(len(entries), 1), size):
        yield entries[start : start + size]


def _parts(entries: Sequence[RunEntry]) -> Iterator[_Part]:
    """Divide runs into parts, so that more runs at the end of a method's leave its other parts as they are."""
    longest = max((entry.iterations for entry in entries), default=1)
    size = 1
    while 2 * size * longest <= PART_ROWS and 2 * size <= PART_RUNS:
        size *= 2
    for group, (_, of_group) in enumerate(groupby(entries, key=lambda entry: entry.key[:2])):
        runs = list(of_group)
        for start in range(0, len(runs), size):
            yield _Part(f"{group:04d}-{start // size:06d}", runs[start : start + size])


def _place_and_digits(name: str) -> tuple[str, str]:
    stem = name.rpartition("/")[2].removesuffix(".parquet")
    return stem.rpartition("-")[0].rpartition("-")[0], stem.rpartition("-")[2]


def _rows(name: str) -> int:
    return int(name.rpartition("-")[0].rpartition("-")[2])
