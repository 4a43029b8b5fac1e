"""The JSON schema of a spec, for editors."""

from typing import Any

from mulex.methods import METHODS
from sweeps.search import SEARCHES
from sweeps.spec.allowed_values import Schema
from sweeps.spec.models import Spec

_NOT_IN_THE_SCHEMA = ("allowed", "origin", "title")


def schema() -> Schema:
    """Return the JSON schema of a spec; editors complete the hyperparameters of the built-in methods from it."""
    plain: Schema = _bare(Spec.model_json_schema())
    for world in ("GridWorldSpec", "GymWorldSpec"):
        plain["$defs"][world]["properties"]["training"] = {"$ref": "#/$defs/TrainingConfig"}
    algorithm = plain["$defs"]["Search"]["properties"]["algorithm"]
    listed = "; ".join(f"{name}: {search.description}" for name, search in SEARCHES.items())
    algorithm["description"] += f" {listed}."
    sections = plain["properties"]
    for section in sections.values():
        if "$ref" in section:
            section.pop("default")
    for section in (sections["worlds"], sections["methods"]):
        section |= {"minProperties": 1, "propertyNames": {"pattern": sections["name"]["pattern"]}}
    sections["methods"]["properties"] = {
        name: {"$ref": "#/$defs/MethodSpec", "properties": {key: {} for key in recipe.hyperparameters}}
        for name, recipe in METHODS.items()
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A mulex spec", **plain}


def _bare(plain: Any) -> Any:
    """Leave out what only our own messages and pages use."""
    if isinstance(plain, dict):
        return {key: _bare(value) for key, value in plain.items() if key not in _NOT_IN_THE_SCHEMA}
    return [_bare(value) for value in plain] if isinstance(plain, list) else plain
