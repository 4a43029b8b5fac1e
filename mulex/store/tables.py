"""The two tables of a sweep, runs.parquet and curves.parquet: read and checked. collecting.py makes them."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from mulex.errors import UserError
from mulex.store import checksum
from mulex.store.folder import Folder, StorageError
from mulex.store.index import row_of
from mulex.store.layout import CURVES_TABLE, RUNS_TABLE
from mulex.store.run_store import RunStore

MADE_OF = b"mulex.made_of"
"""The metadata key of the fingerprint of the runs that a table was made of."""
PARTS = b"mulex.parts"
"""The metadata key, in runs.parquet, of the names of the files of the curves where they are several."""
SMALL = 2**26
"""Bytes of a table that is read whole to see whether it is damaged, wherever it is only asked what it was made of."""


class DamagedTable(Exception):  # noqa: N818
    """A table that cannot be read, or whose checksum does not fit its content; it can be made again."""


@dataclass(frozen=True)
class Table:
    """A table of a sweep as it was read."""

    content: pa.Table
    made_of: bytes
    """The fingerprint of the run files that it was made of; empty where an earlier version did not write it."""

    def is_of(self, checksums: Mapping[str, str]) -> bool:
        """Whether it was made of the run files with these names and checksums, and of no others."""
        return self.made_of == checksum.fingerprint(checksums)


Wanted = Callable[[str], bool]
"""Whether a column is wanted."""


def read_table(folder: Folder, name: str, wanted: Wanted = lambda column: True) -> Table:
    """Read the wanted columns of a table; raise FileNotFoundError or DamagedTable.

    Tables of earlier versions have no checksum and are read as they are.
    """
    if name == CURVES_TABLE and (parts := curve_parts(folder)):
        pieces = [_read_part(folder, part, wanted) for part in parts]
        return Table(pa.concat_tables(pieces), _metadata(folder, RUNS_TABLE).get(MADE_OF, b""))
    with folder.open_file(name) as opened, _parquet(folder, name):
        file = _whole(folder, name, opened)
        columns = [column for column in file.schema_arrow.names if wanted(column)]
        return Table(checksum.read_parquet(file, columns), (file.metadata.metadata or {}).get(MADE_OF, b""))


def _whole(folder: Folder, name: str, opened: IO[bytes]) -> pq.ParquetFile:
    """An open table, or raise DamagedTable if its checksum does not fit its content."""
    file = pq.ParquetFile(opened, read_dictionary=["run"])
    is_whole = checksum.is_whole_file(opened)
    if is_whole is False or (is_whole is None and checksum.KEY in (file.metadata.metadata or {})):
        raise DamagedTable(f"{folder.url}/{name}: damaged, its checksum does not fit its content")
    return file


def curve_pieces(folder: Folder, wanted: Wanted = lambda column: True) -> Iterator[pa.Table]:
    """The curves a piece at a time, where they are several files; raises what `read_table` does."""
    parts = curve_parts(folder)
    if not parts:
        yield read_table(folder, CURVES_TABLE, wanted).content
    for part in parts:
        yield _read_part(folder, part, wanted)


def curve_parts(folder: Folder) -> list[str]:
    """The files of the curves where they are several: those that runs.parquet lists, or else those that are there."""
    there = _parts_there(folder)
    if not there:
        return []
    try:
        return _listed(_metadata(folder, RUNS_TABLE)) or there
    except (FileNotFoundError, DamagedTable):
        return there


def _parts_there(folder: Folder) -> list[str]:
    return [name for name in folder.list(f"{CURVES_TABLE}/") if name.startswith(f"{CURVES_TABLE}/")]


def _listed(metadata: Mapping[bytes, bytes]) -> list[str]:
    """The files of the curves that the metadata of runs.parquet lists."""
    listed: list[str] = json.loads(metadata.get(PARTS, b"[]"))
    return listed


def _read_part(folder: Folder, name: str, wanted: Wanted) -> pa.Table:
    """Read columns of a part; every page that is read is checked."""
    try:
        with folder.open_file(name) as opened, _parquet(folder, name):
            file = pq.ParquetFile(opened, read_dictionary=["run"], page_checksum_verification=True)
            columns = [column for column in file.schema_arrow.names if wanted(column)]
            return checksum.read_parquet(file, columns)
    except FileNotFoundError:
        raise DamagedTable(f"{folder.url}/{name}: is missing") from None


def _metadata(folder: Folder, name: str) -> dict[bytes, bytes]:
    """What the end of a table says about it; raise FileNotFoundError or DamagedTable."""
    with folder.open_file(name) as opened, _parquet(folder, name):
        return pq.read_metadata(opened).metadata or {}


@contextmanager
def _parquet(folder: Folder, name: str) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DamagedTable(f"{folder.url}/{name}: cannot be read as Parquet ({reason})") from None


def read_runs(folder: Folder) -> list[dict[str, Any]]:
    """The rows of `runs`: of the table, or of the runs themselves where the table is missing or damaged."""
    try:
        return read_table(folder, RUNS_TABLE).content.to_pylist()
    except FileNotFoundError:
        problem = f"{folder.url}: no {RUNS_TABLE} and no run files here; name a sweep's folder"
    except DamagedTable as error:
        problem = f"{error}, and there are no run files to make it again"
    store = RunStore(folder).refresh()
    if not store.entries:
        raise UserError(problem)
    return [row_of(store.details(n).row) if store.is_folded(n) else store.note(n).row for n in store.entries]


def damaged_tables(folder: Folder) -> list[str]:
    """The names of the tables that are there and damaged."""
    damaged = []
    for name in (RUNS_TABLE, CURVES_TABLE):
        try:
            read_table(folder, name, lambda column: column == "run")
        except FileNotFoundError:
            continue
        except DamagedTable:
            damaged.append(name)
    return damaged + [part for part in curve_parts(folder) if not _is_whole(folder, part)]


def _is_whole(folder: Folder, part: str) -> bool:
    try:
        with folder.open_file(part) as opened:
            return checksum.is_whole_file(opened) is True
    except FileNotFoundError:
        return False


def tables_are_of(folder: Folder, checksums: Mapping[str, str]) -> bool:
    """Whether both tables were made of the run files with these names and checksums alone.

    A table of up to SMALL bytes is read to see that it is whole; of a larger one only the end is read.
    """
    made_of = checksum.fingerprint(checksums)
    try:
        runs = _checked_metadata(folder, RUNS_TABLE)
        if runs.get(MADE_OF, b"") != made_of:
            return False
        if there := _parts_there(folder):
            return set(there) >= set(_listed(runs))
        return _checked_metadata(folder, CURVES_TABLE).get(MADE_OF, b"") in (made_of, b"")
    except (FileNotFoundError, DamagedTable):
        return False


def _checked_metadata(folder: Folder, name: str) -> dict[bytes, bytes]:
    """What the end of a table says about it; raise DamagedTable if it is small and not whole."""
    with folder.open_file(name) as opened, _parquet(folder, name):
        is_small = opened.seek(0, io.SEEK_END) <= SMALL
        opened.seek(0)
        file = _whole(folder, name, opened) if is_small else pq.ParquetFile(opened)
        if is_small:
            checksum.read_parquet(file, ["run"] if "run" in file.schema_arrow.names else [])
        return file.metadata.metadata or {}
