"""Values that a command's `--set` or a mapping of overrides puts into the tree of a spec."""

from typing import Any

from mulex.messages import Path, dotted, shown
from sweeps.spec.problems import Location, Problem
from sweeps.spec.yaml_reader import Tree, read_yaml


def put_option(tree: Tree, option: str) -> None:
    """Set one value as `path=value`, the value written as in YAML."""
    source = f"--set {option}"
    key, equals, text = option.partition("=")
    if not equals:
        tree.problems.append(Problem(Location(source), (), "allowed is PATH=VALUE, for example search.draws=8"))
        return
    put_override(tree, key, read_yaml(text, source))


def put_override(tree: Tree, key: str, value: Tree) -> None:
    """Set the value at a dotted path; sections that the spec lacks are added."""
    location = Location(value.source)
    if not all(key.split(".")):
        tree.problems.append(Problem(location, (), "allowed is PATH=VALUE, for example search.draws=8"))
        return
    path = _path(tree.plain, key)
    section = tree.plain
    for length, part in enumerate(path[:-1], start=1):
        section = section.setdefault(part, {})
        if not isinstance(section, dict):
            found = f"{dotted(path[:length])} is {shown(section)}, so there is no key in it"
            tree.problems.append(Problem(location, path, found))
            return
    section[path[-1]] = _graft(tree, path, location, value)


def _path(plain: Any, key: str) -> Path:
    """Split a key at its dots, except inside a name of the spec that has dots itself."""
    parts = key.split(".")
    path: Path = ()
    while parts:
        known = plain if isinstance(plain, dict) else {}
        lengths = [n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in known]
        length = lengths[0] if lengths else 1
        name = ".".join(parts[:length])
        path, parts, plain = (*path, name), parts[length:], known.get(name)
    return path


def _graft(tree: Tree, path: Path, location: Location, value: Tree) -> Any:
    """Return a value for the tree, whose locations and problems replace those that the tree had at the path."""
    for old in [old for old in tree.locations if old[: len(path)] == path]:
        del tree.locations[old]
    tree.unreadable = {old for old in tree.unreadable if old[: len(path)] != path}
    tree.unreadable |= {(*path, *inside) for inside in value.unreadable}
    tree.locations[path] = location
    tree.problems += [Problem(location, (*path, *problem.path), problem.text) for problem in value.problems]
    return value.plain
