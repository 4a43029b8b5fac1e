"""The spec of a sweep: YAML text in, a checked and frozen `Spec` out, or a `SpecError` with every problem.

Needs neither torch nor Ray. The text becomes a tree that knows its lines (yaml_tree), `--set` changes the tree
(spec_overrides), the tree is read part by part (spec_reader) into the models (spec_models).
"""

from collections.abc import Sequence

from sweeps.spec_differences import differences
from sweeps.spec_models import Execution, MethodSpec, Search, Spec, WorldSpec
from sweeps.spec_overrides import put_override
from sweeps.spec_problems import SpecError
from sweeps.spec_reader import read_tree
from sweeps.yaml_text import write_yaml
from sweeps.yaml_tree import read_yaml

__all__ = [
    "Execution",
    "MethodSpec",
    "Search",
    "Spec",
    "SpecError",
    "WorldSpec",
    "differences",
    "load_spec",
    "write_yaml",
]


def load_spec(text: str, source: str, overrides: Sequence[str] = ()) -> Spec:
    """Read a spec; `source` names its file in messages, `overrides` are the path=value of `--set`."""
    tree = read_yaml(text, source)
    if isinstance(tree.plain, dict):
        for option in overrides:
            put_override(tree, option)
    return read_tree(tree)
