"""A segment: many run files in one uncompressed ZIP archive, each with the bytes that it had as a file of its own.

So a folded run has the same checksum as before, damage is limited to the runs that it hits, and `unzip` gives the files
back. A segment is never changed. Its name has a number and the first digits of its SHA-256; of two segments with the
same run, the one with the higher number counts. Beside a segment is its index (index.py), which most readers read
instead.
"""

import hashlib
import io
import struct
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from mulex.errors import UserError
from mulex.store.index import VERSION, about_run
from mulex.store.layout import SEGMENTS, is_run_name
from mulex.store.run_file import DamagedRunFile, parse_run_note

LARGEST = 2**26
"""Bytes of run files in a segment, at most; a single larger run has a segment of its own."""
MOST_RUNS = 4000
_COMMENT = "mulex segment, version "
_DATE = (1980, 1, 1, 0, 0, 0)  # of every file in a segment, so that equal runs give equal bytes
_HEADER = struct.Struct("<4s2xHHHH4sIIHH")  # of a file inside a ZIP archive
_MARK = b"PK\x03\x04"
_END = b"PK\x05\x06"


def segment_number(name: str) -> int:
    """The number of a segment or index; 0 for any other file."""
    digits = name.rpartition("/")[2].partition("-")[0]
    return int(digits) if name.startswith(f"{SEGMENTS}/") and digits.isascii() and digits.isdigit() else 0


def content_digits(content: bytes) -> str:
    """The part of a segment's name that tells its content."""
    return hashlib.sha256(content).hexdigest()[:16]


def segment_content(files: Mapping[str, bytes]) -> bytes:
    """The archive of these files, by their names."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        file.comment = f"{_COMMENT}{VERSION}".encode()
        for name, content in files.items():
            file.writestr(zipfile.ZipInfo(name, _DATE), content)
    return archive.getvalue()


def check_version(content: bytes, name: str, url: str) -> None:
    """Refuse a segment of a later version of this package; a damaged one passes."""
    start = content.rfind(_END)
    comment = content[start + 22 :].decode(errors="replace") if start >= 0 else ""
    version = comment.removeprefix(_COMMENT)
    if comment.startswith(_COMMENT) and version.isdigit() and int(version) > VERSION:
        raise UserError(
            f"{url}/{name}: a segment of version {version}, this package reads version {VERSION}; nothing is lost, "
            "use the version of mulex that wrote it, or a later one"
        )


def scan(content: bytes, url: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Find the run files in a segment without its index, and without its table of contents.

    Returns:
        What an index says of each run file that is whole, and the names of the others.
    """
    whole, damaged = [], []
    for name, start, size in _files(content):
        part = content[start : start + size]
        try:
            whole.append(about_run(name, part, parse_run_note(part, name, url), start))
        except DamagedRunFile:
            damaged.append(name)
    return whole, damaged


def _files(content: bytes) -> Iterator[tuple[str, int, int]]:
    """The name, the first byte and the length of everything that looks like a run file in an archive."""
    at = content.find(_MARK)
    while 0 <= at <= len(content) - _HEADER.size:
        *_, size, letters, extra = _HEADER.unpack_from(content, at)
        start = at + _HEADER.size + letters + extra
        name = content[at + _HEADER.size : at + _HEADER.size + letters].decode(errors="replace")
        is_file = is_run_name(name)
        if is_file:
            yield name, start, size
        following = start + size
        is_followed = is_file and content[following : following + 2] == b"PK"
        at = content.find(_MARK, following if is_followed else at + 1)
