"""The user's own code that a spec needs: in execution.code, or in a module or script beside the spec."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mulex.errors import UserError
from mulex.learners.code import Code, code_files, code_root, read_code, use_code
from sweeps.spec.settings_reader import Problems

Plain = dict[str, Any]
_CODE = ("execution", "code")


def locate_code(plain: Plain, problems: Problems) -> None:
    """Set execution.code to a path that does not depend on the current folder.

    A relative path in a spec's file is meant from that file's folder. Without execution.code it is the one module or
    script beside the spec that worlds, learners or commands name, if there is one.
    """
    folder, execution = problems.tree.folder, plain.get("execution", {})
    if folder is None or problems.tree.frozen or not isinstance(execution, dict):
        return
    named = execution.get("code")
    if named is None:
        named = _code_beside(folder, plain, problems)
    elif isinstance(named, str) and problems.tree.location(_CODE).source == problems.tree.source:
        named = str(folder / Path(named).expanduser())
    if named is not None:
        plain["execution"] = {**execution, "code": named}


def _code_beside(folder: Path, plain: Plain, problems: Problems) -> str | None:
    """Return the module or script beside the spec that the spec names; more than that needs a folder of its own."""
    modules = (_file_of(folder, module) for module in _modules(plain))
    found = list(dict.fromkeys(path for path in (*modules, *_scripts(folder, plain)) if path))
    if len(found) == 1:
        found += _imported_beside(folder, found[0])
    if len(found) > 1:
        names = " and ".join(path.relative_to(folder).as_posix() for path in found)
        problems.key(_CODE, f"missing: {names} are beside the spec; name the folder that holds them, such as `code: .`")
    return str(found[0]) if len(found) == 1 else None


def read_code_folder(execution: Any, problems: Problems) -> Code | None:
    """Look at execution.code, and let this process import from it."""
    named = execution.get("code") if isinstance(execution, dict) else None
    if not isinstance(named, str):
        return None
    try:
        code = read_code(Path(named))
    except UserError as error:
        problems.value(_CODE, str(error).removeprefix("execution.code: "))
        return None
    use_code(code.folder)
    return code


def code_of_world(modules: list[str], code: Code | None) -> str | None:
    """Return the checksum of the code if one of these modules is in it."""
    return code.checksum if code and any(_file_of(code_root(code.folder), module) for module in modules) else None


def modules_in(names: list[Any]) -> list[str]:
    """Return the modules of names such as `my_module:Env-v0`, or of mappings with such a `name`."""
    texts = [name.get("name") if isinstance(name, dict) else name for name in names]
    return [text.rpartition(":")[0] for text in texts if isinstance(text, str) and ":" in text]


def _modules(plain: Plain) -> Iterator[str]:
    """Yield the modules that worlds and learners name; whatever is no name is reported elsewhere."""
    for section, keys in (("worlds", ("id", "wrappers")), ("methods", ("learner",))):
        for named in _named(plain, section, keys):
            yield from modules_in(named if isinstance(named, list) else [named])


def _scripts(folder: Path, plain: Plain) -> Iterator[Path]:
    """Yield the files beside the spec that commands name."""
    for command in _named(plain, "methods", ("command",)):
        for word in command if isinstance(command, list) else ():
            if isinstance(word, str) and "{" not in word and not Path(word).is_absolute() and (folder / word).is_file():
                yield folder / word


def _named(plain: Plain, section: str, keys: tuple[str, ...]) -> Iterator[Any]:
    entries = plain.get(section)
    for entry in entries.values() if isinstance(entries, dict) else ():
        yield from (entry.get(key) for key in keys if isinstance(entry, dict))


def _imported_beside(folder: Path, code: Path) -> list[Path]:
    """Return the other modules beside the spec that this code imports."""
    found: dict[Path, None] = {}
    for path in code_files(code):
        for module in _imports(path) if path.suffix == ".py" else ():
            other = _file_of(folder, module)
            if other and other != code:
                found[other] = None
    return list(found)


def _imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports by their whole names; code that cannot be parsed fails when imported."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _file_of(folder: Path, module: str) -> Path | None:
    """Return the file of a module's first part in a folder, if it is there; of a package it is its __init__.py."""
    first = module.partition(".")[0]
    for path in (folder / f"{first}.py", folder / first / "__init__.py"):
        if first.isidentifier() and path.is_file():
            return path
    return None
