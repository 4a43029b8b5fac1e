"""A spec from a file, from the name of a shipped one, or from plain data."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mulex.errors import UserError
from mulex.messages import nearest, short
from sweeps.spec.models import Spec
from sweeps.spec.overrides import put_option, put_override
from sweeps.spec.plain_reader import read_plain
from sweeps.spec.reader import read_tree
from sweeps.spec.yaml_reader import LARGEST_TEXT, Tree, read_yaml

SPECS = Path(__file__).parents[1] / "specs"
_SUFFIXES = (".yaml", ".yml", ".json")


def load_spec(
    source: str | Path | Mapping[str, Any], overrides: Mapping[str, Any] | Sequence[str] | None = None
) -> Spec:
    """Load and check the spec of a sweep.

    Args:
        source: The path of a YAML file, the name of a shipped spec such as `main`, or the spec itself as a dict.
        overrides: Values to change, by their dotted path: a mapping such as `{"search.draws": 8}`, or texts as the
            command's `--set` takes them, such as `["search.draws=8"]`. Sections that the spec lacks are added.

    Returns:
        The spec, checked and frozen.

    Raises:
        SpecError: The spec has problems; the error's text lists all of them, each with its line and what is allowed.
        UserError: There is no such file, or it cannot be read.

    Example:
        >>> spec = load_spec("main", {"search.draws": 8, "search.seeds": 1})
        >>> spec.run_count
        24
    """
    return read_tree(read_source(source, overrides))


def read_source(
    source: str | Path | Mapping[str, Any], overrides: Mapping[str, Any] | Sequence[str] | None = None
) -> Tree:
    """Return the tree of a spec, which knows the line of every value; the arguments are those of `load_spec`."""
    if isinstance(source, Mapping):
        return _overridden(read_plain(source, "spec"), overrides)
    path = _find(source)
    tree = read_yaml(_text(path), str(path))
    tree.folder = path.resolve().parent
    return _overridden(tree, overrides)


def parse_spec(text: str, source: str, overrides: Mapping[str, Any] | Sequence[str] | None = None) -> Spec:
    """Return the spec that a YAML text describes; `source` is what messages call the text."""
    return read_tree(_overridden(read_yaml(text, source), overrides))


def parse_frozen(text: str, source: str) -> Spec:
    """Return the spec that a sweep was launched with.

    Earlier versions accepted hyperparameters that nothing reads. They are part of the run ids, so they are kept here.
    """
    tree = read_yaml(text, source)
    tree.frozen = True
    return read_tree(tree)


def _overridden(tree: Tree, overrides: Mapping[str, Any] | Sequence[str] | None) -> Tree:
    if isinstance(tree.plain, dict):
        if isinstance(overrides, Mapping):
            for key, value in overrides.items():
                put_override(tree, str(key), read_plain(value, f"override {key}"))
        else:
            for option in overrides or ():
                put_option(tree, option)
    return tree


def shipped_names() -> list[str]:
    """Return the names of the specs that come with the package."""
    return sorted(path.stem for path in SPECS.glob("*.yaml"))


def _find(source: str | Path) -> Path:
    """Return the path of a spec; a shipped one may be given by its name."""
    name, path = str(source), Path(source)
    try:
        there = path.exists()
    except (OSError, ValueError) as error:  # too long, or with a null character
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{short(name)}: cannot be read as a spec ({reason})") from None
    if name in shipped_names() and (not there or path.is_dir()):
        return SPECS / f"{name}.yaml"
    if there:
        return path
    if os.sep in name or path.suffix in _SUFFIXES:
        raise UserError(f"{name}: there is no such file")
    names = shipped_names()
    listed = f"{name}: there is no such file, and no such shipped spec; shipped are {', '.join(names)}"
    raise UserError(listed + nearest(name, names))


def _text(path: Path) -> str:
    """Read a spec's file; whatever is not an ordinary file of a spec's size is refused unread."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise UserError(f"{path}: is {kind}; a spec is a YAML file")
        with path.open("rb") as file:
            content = file.read(4 * LARGEST_TEXT + 1)  # a character has at most four bytes
        if len(content) > 4 * LARGEST_TEXT:
            raise UserError(f"{path}: is too large for a spec, allowed are {LARGEST_TEXT:,} characters")
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        text = f"is not UTF-8 text (byte {error.start}: {error.reason})"
        raise UserError(f"{path}: {text}; a spec is a YAML file, save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read as a spec ({error.strerror or error})") from None
