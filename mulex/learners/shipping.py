"""The user's code in the sweep's own folder: every worker that reaches the folder reaches the code.

It is kept as code/<checksum>.zip, with the commit that it was part of beside it. So resuming needs neither the original
folder nor the same machine, and what trained a run can be read years later.
"""

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path

from mulex.errors import UserError
from mulex.learners.code import Code, checksum, code_files, code_root, use_code
from mulex.store.folder import Folder

CODE = "code"
"""The folder of a sweep's folder that holds the code."""
_DATE = (1980, 1, 1, 0, 0, 0)  # of every file in the archive, so that equal code gives equal bytes


def code_name(code: str) -> str:
    """The name of a sweep's file that holds this code."""
    return f"{CODE}/{code}.zip"


def ship_code(folder: Folder, code: Code) -> None:
    """Put code into a sweep's folder, unless it is there."""
    if folder.exists(code_name(code.checksum)):
        return
    about = json.dumps(code.plain(), indent=1).encode()
    folder.write(code_name(code.checksum).replace(".zip", ".json"), about)
    folder.write(code_name(code.checksum), _zipped(Path(code.folder)))


def copy_code(code: str | Path, to: Path) -> None:
    """Copy code, as it would be shipped, to a fresh folder; its checksum stays the same."""
    with zipfile.ZipFile(io.BytesIO(_zipped(Path(code).expanduser().resolve()))) as archive:
        archive.extractall(to)


def _zipped(folder: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in code_files(folder):
            entry = zipfile.ZipInfo(path.relative_to(code_root(folder)).as_posix(), _DATE)
            entry.external_attr = (path.stat().st_mode & 0xFFFF) << 16  # scripts stay executable
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return file.getvalue()


def fetch_code(folder: Folder, code: str) -> Path:
    """Unpack a sweep's code on this machine, once for all workers, and let this process import it."""
    path = Path(tempfile.gettempdir()) / f"mulex-code-{os.getuid()}" / code
    if not path.is_dir() or checksum(path) != code:
        try:
            content = folder.read(code_name(code))
        except FileNotFoundError:
            raise UserError(f"{folder.url}/{code_name(code)}: missing; launch again with execution.code") from None
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path = _unpacked(content, path)
        if checksum(path) != code:
            raise UserError(f"{folder.url}/{code_name(code)}: damaged; remove it, and launch with execution.code")
    use_code(path)
    return path


def _unpacked(content: bytes, path: Path) -> Path:
    """Unpack beside the path and rename, so that nobody sees half of it; a name that is taken is left alone."""
    fresh = Path(tempfile.mkdtemp(dir=path.parent))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(fresh)
        for entry in archive.infolist():
            (fresh / entry.filename).chmod((entry.external_attr >> 16) & 0o777 or 0o600)
    try:
        return fresh.rename(path)
    except OSError:  # another worker was first, or what is there was changed
        return path if path.is_dir() and checksum(path) == path.name else fresh
