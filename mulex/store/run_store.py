"""The finished runs of a sweep, wherever they are: loose, one file a run, or folded into segments.

Workers write loose files. Once there are many of them, a launch or `mulex collect` folds them (folding.py). A reader
then reads a few indexes and the loose files that came since, so its cost grows with what is new. A loose file counts
before a folded one of the same run, and a newer segment before an older one, so a run that is in several places counts
once. All readers of runs go through this one class.
"""

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator

from mulex.store.checksum import FOOTER_BYTES, checksum_in
from mulex.store.entry import RunEntry, entry_of
from mulex.store.folder import Folder
from mulex.store.index import Details, Index, UnfitIndex, index_content, parse_details, parse_index
from mulex.store.layout import RUNS, SEGMENTS, index_name, is_run_name
from mulex.store.run_file import DamagedRunFile, RunFile, RunNote, parse_run_file, parse_run_note
from mulex.store.segments import check_version, scan, segment_number

AT_ONCE = 500
"""Run files that are asked for together."""
_KEPT_DETAILS = 40_000
"""Runs whose details are kept in memory, at least those of one segment."""


class RunStore:
    """Reads the finished runs of a folder again and again; what has not changed is read once.

    Attributes:
        entries: Every whole run by the name of its file, as of the last `refresh`.
        damaged: The names of loose files that are not whole.
        others: The names of files among the loose ones that are no run files.
        problems: What is wrong with segments and indexes, in words.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.entries: dict[str, RunEntry] = {}
        self.damaged: list[str] = []
        self.others: list[str] = []
        self.problems: list[str] = []
        self.indexes: dict[str, Index] = {}
        """The index of each segment that counts, older ones first."""
        self.made: dict[str, bytes] = {}
        """Indexes that are missing or unfit in the folder, as they were made again from their segments."""
        self.orphans: list[str] = []
        """Indexes whose segment is not there."""
        self.loose: dict[str, tuple[str, RunEntry | None]] = {}
        """The stamp of every loose file, and its entry if it is whole."""
        self._folded: dict[str, RunEntry] = {}
        self._segment: dict[str, str] = {}
        self._details: OrderedDict[str, dict[str, Details]] = OrderedDict()
        self._lock = threading.RLock()

    def refresh(self) -> "RunStore":
        """Look at what is new.

        Loose files are listed before segments: one that is folded in between is then found in its segment.
        """
        with self._lock:
            self._refresh()
        return self

    def _refresh(self) -> None:
        found = self.folder.stamps(RUNS)
        stamps = {name: stamp for name, stamp in found.items() if is_run_name(name)}
        self.others = [name for name in found if name not in stamps]
        self._refresh_segments()
        self._refresh_loose(stamps)
        if len(self.loose) < len(stamps):  # some were folded, or removed, in the meantime
            self._refresh_segments()
        known = {name: entry for name, (_, entry) in self.loose.items() if entry is not None}
        self.entries = {**self._folded, **known} if known else self._folded
        self.damaged = [name for name, (_, entry) in self.loose.items() if entry is None]

    def _refresh_loose(self, stamps: dict[str, str]) -> None:
        self.loose = {name: found for name, found in self.loose.items() if stamps.get(name) == found[0]}
        new = [name for name in stamps if name not in self.loose]
        for start in range(0, len(new), AT_ONCE):
            for name, content in self.folder.read_many(new[start : start + AT_ONCE]).items():
                try:
                    entry: RunEntry | None = entry_of(name, parse_run_note(content, name, self.folder.url))
                except DamagedRunFile:
                    entry = None
                self.loose[name] = stamps[name], entry

    def _refresh_segments(self) -> None:
        sizes = self.folder.sizes(SEGMENTS)
        segments = sorted((name for name in sizes if name.endswith(".zip")), key=lambda n: (segment_number(n), n))
        self.orphans = _without_segment(sizes)
        orphans = [f"{name}: its segment is missing" for name in self.orphans]
        new = [name for name in segments if name not in self.indexes]
        if not new and len(segments) == len(self.indexes):
            self.problems = [*orphans, *(said for said in self.problems if said not in orphans)]
            return
        self.problems = orphans
        self.indexes = {name: self.indexes[name] for name in segments if name in self.indexes}
        contents = self.folder.read_many([index_name(name) for name in new if index_name(name) in sizes])
        for name in new:
            found = self._index(name, contents.get(index_name(name)), sizes[name])
            if found is not None:
                self.indexes[name] = found
        self._count([name for name in segments if name in self.indexes])

    def _index(self, segment: str, content: bytes | None, size: int) -> Index | None:
        """The index of a segment; made from the segment itself where there is none that fits."""
        try:
            if content is None:
                raise UnfitIndex("it is missing")
            return parse_index(content, segment, size)
        except UnfitIndex as problem:
            self.problems.append(f"{index_name(segment)}: unusable, {problem}; the segment itself is read")
        try:
            archive = self.folder.read(segment)
        except FileNotFoundError:  # replaced by another one meanwhile
            return None
        check_version(archive, segment, self.folder.url)
        runs, damaged = scan(archive, self.folder.url)
        self.problems += [f"{segment}: damaged: {name}" for name in damaged]
        self.made[segment] = index_content(runs, segment, size, [])
        return parse_index(self.made[segment], segment, size)

    def _count(self, segments: list[str]) -> None:
        """Let the newest segment of a run count, and none that another one stands for."""
        replaced = {name for segment in segments for name in self.indexes[segment].replaces}
        self.indexes = {name: self.indexes[name] for name in segments if name not in replaced}
        self.made = {name: content for name, content in self.made.items() if name in self.indexes}
        self._folded, self._segment = {}, {}
        for segment, index in self.indexes.items():
            for entry in index.entries:
                self._folded[entry.name] = entry
                self._segment[entry.name] = segment

    def is_folded(self, name: str) -> bool:
        """Whether what counts of a run is in a segment."""
        return self.loose.get(name, ("", None))[1] is None and name in self._folded

    def folded_names(self) -> list[str]:
        """The names of all runs of which the folded copy counts, in the order of the segments."""
        return [name for name in self._folded if self.is_folded(name)]

    def segment_of(self, name: str) -> str:
        """The segment that holds the folded copy of a run."""
        return self._segment[name]

    def folded(self, name: str) -> RunEntry | None:
        """The entry of the folded copy of a run, whether or not there is a loose one."""
        return self._folded.get(name)

    def read(self, name: str) -> RunFile:
        """Read a run, or raise FileNotFoundError or DamagedRunFile."""
        return parse_run_file(self._content(name), name, self.folder.url)

    def note(self, name: str) -> RunNote:
        """Read a run without its curve, or raise FileNotFoundError or DamagedRunFile."""
        return parse_run_note(self._content(name), name, self.folder.url)

    def _content(self, name: str) -> bytes:
        contents = self.contents([name])
        if name not in contents:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self.folder.url}/{name}")
        return contents[name]

    def contents(self, names: Collection[str]) -> dict[str, bytes]:
        """The bytes of run files; those that are nowhere are left out."""
        loose = [name for name in names if not self.is_folded(name)]
        found = self.folder.read_many(loose)
        if len(found) < len(loose):  # folded since the last look, or not there
            with self._lock:
                self._refresh_segments()
        return found | self.folded_contents([name for name in names if name not in found])

    def folded_contents(self, names: Collection[str]) -> dict[str, bytes]:
        """The bytes of run files in segments; those that are in none are left out."""
        there = [name for name in names if name in self._segment]
        return dict(zip(there, self.folder.read_ranges([self._range(name) for name in there]), strict=True))

    def _range(self, name: str) -> tuple[str, int, int]:
        details = self.details(name)
        return self._segment[name], details.start, details.size

    def read_many(self, names: Collection[str]) -> Iterator[tuple[str, RunFile | None]]:
        """Read runs in order, many at a time; None stands for a damaged one, and one that is nowhere is left out."""
        wanted = list(names)
        for start in range(0, len(wanted), AT_ONCE):
            contents = self.contents(wanted[start : start + AT_ONCE])
            for name in filter(contents.__contains__, wanted[start : start + AT_ONCE]):
                try:
                    yield name, parse_run_file(contents[name], name, self.folder.url)
                except DamagedRunFile:
                    yield name, None

    def details(self, name: str) -> Details:
        """What the index of its segment says of a folded run."""
        with self._lock:
            segment = self._segment[name]
            if segment not in self._details:
                content = self.made.get(segment) or self.folder.read(index_name(segment))
                self._details[segment] = parse_details(content)
                while len(self._details) > 1 and sum(map(len, self._details.values())) > _KEPT_DETAILS:
                    self._details.popitem(last=False)
            self._details.move_to_end(segment)
            return self._details[segment][name]

    def checksums(self) -> dict[str, str]:
        """The checksum of every run, as its loose file or the index says; only the ends of loose files are read."""
        loose = [name for name in self.folder.list(RUNS) if is_run_name(name)]
        ends = self.folder.read_many(loose, last=FOOTER_BYTES)
        with self._lock:
            self._refresh_segments()
            folded = {name: entry.checksum for name, entry in self._folded.items()}
        return folded | {name: checksum_in(end) for name, end in ends.items()}


def _without_segment(sizes: dict[str, int]) -> list[str]:
    """The indexes whose segment is not there."""
    segments = {index_name(name) for name in sizes if name.endswith(".zip")}
    return [name for name in sizes if name.endswith(".index.parquet") and name not in segments]


def has_run_files(folder: Folder) -> bool:
    """Whether a folder has any run, loose or folded; one with tables alone has none."""
    return any(map(is_run_name, folder.list(RUNS))) or bool(folder.list(SEGMENTS))


def read_run(folder: Folder, name: str) -> RunFile:
    """Read one run, loose or folded, or raise FileNotFoundError or DamagedRunFile."""
    return RunStore(folder).read(name)


def read_note(folder: Folder, name: str) -> RunNote:
    """The same without the curve."""
    return RunStore(folder).note(name)
