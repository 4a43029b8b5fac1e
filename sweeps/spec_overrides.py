"""Values of `--set path=value`, put into the tree of a spec."""

from typing import Any

from sweeps.spec_problems import Path, Place, Problem, dotted, shown
from sweeps.yaml_tree import Tree, read_yaml


def put_override(tree: Tree, option: str) -> None:
    """Set one value, written as in YAML; sections that the spec lacks are made."""
    place = Place(f"--set {option}")
    key, equals, text = option.partition("=")
    if not equals or not all(key.split(".")):
        tree.problems.append(Problem(place, (), "allowed is PATH=VALUE, for example search.draws=8"))
        return
    path = _path(tree.plain, key)
    section = tree.plain
    for length, part in enumerate(path[:-1], start=1):
        section = section.setdefault(part, {})
        if not isinstance(section, dict):
            found = f"{dotted(path[:length])} is {shown(section)}, so there is no key in it"
            tree.problems.append(Problem(place, path, found))
            return
    section[path[-1]] = _graft(tree, path, place, read_yaml(text, place.source))


def _path(plain: Any, key: str) -> Path:
    """Split at the dots, except inside a name of the spec that has dots itself."""
    parts = key.split(".")
    path: Path = ()
    while parts:
        known = plain if isinstance(plain, dict) else {}
        lengths = [n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in known]
        length = lengths[0] if lengths else 1
        name = ".".join(parts[:length])
        path, parts, plain = (*path, name), parts[length:], known.get(name)
    return path


def _graft(tree: Tree, path: Path, place: Place, value: Tree) -> Any:
    """Take over where the value's parts stand and what is wrong with them, in place of what the tree had there."""
    for old in [old for old in tree.places if old[: len(path)] == path]:
        del tree.places[old]
    tree.unreadable = {old for old in tree.unreadable if old[: len(path)] != path}
    tree.unreadable |= {(*path, *inside) for inside in value.unreadable}
    tree.places[path] = place
    tree.problems += [Problem(place, (*path, *problem.path), problem.text) for problem in value.problems]
    return value.plain
