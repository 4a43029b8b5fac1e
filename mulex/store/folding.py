"""Folds loose run files into segments, and mends segments.

A segment is written first, then its index, and only then are the loose files removed. A process that is killed in
between leaves runs in two places, which count once, and the next folding goes on from there. Runs that failed stay
loose: they will be trained again, and a file that may change is not copied.
"""

from collections.abc import Callable, Collection, Iterator

from mulex.store.checksum import checksum_in, is_whole
from mulex.store.entry import RunEntry
from mulex.store.folder import Folder
from mulex.store.index import index_content
from mulex.store.layout import SEGMENTS, damaged_name, index_name, segment_name
from mulex.store.run_store import AT_ONCE, RunStore
from mulex.store.segments import LARGEST, MOST_RUNS, content_digits, scan, segment_content, segment_number

FOLD_AT = 1000
"""Fewer loose files stay as they are, so that a small sweep has one file a run."""
FOLD_SHARE = 0.01
"""And fewer than this share of what is folded: the number of segments grows slowly."""


def fold(store: RunStore, at_least: int | None = None, check: Callable[[], None] = lambda: None) -> int:
    """Fold the loose files of finished runs, and remove what an interrupted folding left.

    Args:
        store: The runs; they are looked at again before and afterwards.
        at_least: Fewer loose files stay as they are.
        check: Is called before anything is written, and raises if this process may not write any more.

    Returns:
        How many runs were folded.
    """
    mend(store, check)
    names = _foldable(store)
    enough = at_least if at_least is not None else max(FOLD_AT, int(FOLD_SHARE * len(store.entries)))
    if len(names) < max(enough, 1):
        return 0
    for files in _batches(store.folder, names):
        check()
        _remove_loose(store.folder, write_segment(store, files), files)
    store.refresh()
    return len(names)


def mend(store: RunStore, check: Callable[[], None] = lambda: None) -> None:
    """Finish what an interrupted folding left: write indexes that are missing, remove loose copies of folded runs."""
    store.refresh()
    copies, replaced = _copies(store), _replaced(store)
    if not copies and not replaced and not store.made and not store.orphans:
        return
    check()
    store.folder.write_many({index_name(segment): content for segment, content in store.made.items()})
    for orphan in store.orphans:
        store.folder.move(orphan, damaged_name(orphan))
    store.made, store.problems = {}, []
    store.folder.remove_many([*copies, *replaced])
    store.refresh()


def set_aside(store: RunStore, names: Collection[str], check: Callable[[], None] = lambda: None) -> None:
    """Move damaged run files to `damaged`, for whoever wants to look at them; their runs are missing then."""
    loose = [name for name in names if name in store.loose]
    for name in loose:
        store.folder.move(name, damaged_name(name))
    take_out(store, [name for name in names if name not in loose], check)


def take_out(store: RunStore, names: Collection[str], check: Callable[[], None] = lambda: None) -> None:
    """Take damaged runs out of their segments, so that they count as missing; their bytes go to `damaged`.

    A new segment takes the place of each old one. It says so in its index, so the old one does not count from then on.
    """
    wanted = {name for name in names if store.is_folded(name)}
    held = {segment: wanted & {entry.name for entry in index.entries} for segment, index in store.indexes.items()}
    by_segment = {segment: out for segment, out in held.items() if out}  # older copies too, or they would count again
    for segment, out in by_segment.items():
        check()
        index = store.indexes[segment]
        contents = store.contents([entry.name for entry in index.entries if store.segment_of(entry.name) == segment])
        store.folder.write_many({damaged_name(name): contents.pop(name) for name in out if name in contents})
        write_segment(store, contents, [segment, *index.replaces])  # a killed process may have left those in place
        store.folder.remove_many([index_name(segment), segment])
        store.refresh()


def write_segment(store: RunStore, files: dict[str, bytes], replaces: Collection[str] = ()) -> dict[str, RunEntry]:
    """Write a segment and then its index; gives the runs that are whole in it."""
    content = segment_content(files)
    numbers = [segment_number(name) for name in (*store.indexes, *replaces)]
    number = max(numbers, default=0) + 1
    segment = segment_name(number, content_digits(content))
    runs, _ = scan(content, store.folder.url)
    store.folder.write(segment, content)
    store.folder.write(index_name(segment), index_content(runs, segment, len(content), list(replaces)))
    store.refresh()
    return {entry.name: entry for entry in store.indexes[segment].entries}


def _foldable(store: RunStore) -> list[str]:
    """The loose files that will not change any more and have a curve, in the order of the tables."""
    there = [entry for _, entry in store.loose.values() if entry and not entry.needs_training]
    return [entry.name for entry in sorted(there, key=lambda entry: entry.key)]


def _batches(folder: Folder, names: list[str]) -> Iterator[dict[str, bytes]]:
    """The content of files, as much at a time as fits a segment."""
    batch: dict[str, bytes] = {}
    size = 0
    for start in range(0, len(names), AT_ONCE):
        contents = folder.read_many(names[start : start + AT_ONCE])
        for name, content in contents.items():
            if batch and (size + len(content) > LARGEST or len(batch) >= MOST_RUNS):
                yield batch
                batch, size = {}, 0
            batch[name] = content
            size += len(content)
    if batch:
        yield batch


def _remove_loose(folder: Folder, folded: dict[str, RunEntry], files: dict[str, bytes]) -> None:
    """Remove the loose files whose content is in a segment now."""
    there = [
        name for name, content in files.items() if name in folded and checksum_in(content) == folded[name].checksum
    ]
    folder.remove_many(there)


def _copies(store: RunStore) -> list[str]:
    """The loose files that a segment has, too; its copies are read to be sure that they are whole."""
    both = []
    for name, (_, entry) in store.loose.items():
        folded = store.folded(name)
        if entry is not None and folded is not None and entry.checksum == folded.checksum:
            both.append(name)
    return [name for name, content in store.folded_contents(both).items() if is_whole(content)]


def _replaced(store: RunStore) -> list[str]:
    """The files of segments that others stand for, as an interrupted `take_out` leaves them."""
    replaced = {name for index in store.indexes.values() for name in index.replaces}
    there = set(store.folder.list(SEGMENTS)) if replaced else set()
    return [name for segment in replaced for name in (index_name(segment), segment) if name in there]
