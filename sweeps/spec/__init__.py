"""The spec of a sweep: YAML text or plain data in, a checked and frozen `Spec` out.

A source becomes a tree that knows its lines (yaml_reader, plain_reader), overrides change the tree, and the tree is
read part by part (reader, method_reader, settings_reader) into the models. Needs neither torch nor Ray.
"""

from sweeps.spec.differences import differences
from sweeps.spec.execution import Execution
from sweeps.spec.loading import load_spec, parse_frozen, parse_spec
from sweeps.spec.models import MethodSpec, Search, Spec, WorldSpec
from sweeps.spec.problems import SpecError
from sweeps.spec.yaml_writer import write_yaml

__all__ = [
    "Execution",
    "MethodSpec",
    "Search",
    "Spec",
    "SpecError",
    "WorldSpec",
    "differences",
    "load_spec",
    "parse_frozen",
    "parse_spec",
    "write_yaml",
]
