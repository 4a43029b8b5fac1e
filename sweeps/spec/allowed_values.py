"""Describes what a value may be, from a model's JSON schema, in the words of error messages and of the docs."""

from functools import cache
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]


@cache
def schema_of(model: type[BaseModel]) -> Schema:
    """Return a model's JSON schema."""
    return model.model_json_schema()


def schema_at(model: type[BaseModel], path: tuple[str | int, ...]) -> Schema:
    """Return the schema of the value at a path inside a model; it is empty where any value is allowed."""
    root = schema_of(model)
    schema = root
    for part in path:
        schema = _step(_resolved(schema, root), root, part)
    return _resolved(schema, root)


def keys_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the keys of the mapping at a path inside a model, which may be one of several things that are allowed."""
    schema, root = schema_at(model, path), schema_of(model)
    options = [schema, *(_resolved(option, root) for option in schema.get("anyOf", []))]
    return [key for option in options for key in option.get("properties", {})]


def _resolved(schema: Schema, root: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    target: Schema = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    return target


def _step(schema: Schema, root: Schema, part: str | int) -> Schema:
    if part in schema.get("properties", {}):
        inner: Schema = schema["properties"][part]
        return inner
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict):
            found: Schema = schema[key]
            return found
    for option in schema.get("anyOf", []):
        if reached := _step(_resolved(option, root), root, part):
            return reached
    return {}


def words_of(schema: Schema) -> list[str]:
    """Return the words that a schema allows, if it allows only some."""
    words = [*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])]
    return words + [word for option in schema.get("anyOf", []) for word in words_of(option)]


def allowed(schema: Schema) -> str:
    """Say in words what a schema allows; its own key `allowed` takes precedence."""
    if "allowed" in schema:
        return str(schema["allowed"])
    if "anyOf" in schema:
        *first, last = (allowed(option) for option in schema["anyOf"])
        return f"{' or '.join(first)}, or null" if last == "null" else " or ".join([*first, last])
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if "$ref" in schema:
        return "a mapping"
    if "properties" in schema:
        return f"a mapping with {', '.join(schema['properties'])}"
    return _of_type(schema)


def _of_type(schema: Schema) -> str:
    match schema.get("type"):
        case "integer":
            return f"a whole number{_range(schema)}"
        case "number":
            return f"a number{_range(schema)}"
        case "array":
            few = " (at least one)" if schema.get("minItems") else ""
            return f"a list{few}, each {allowed(schema.get('items', {}))}"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"a mapping of names, each to {allowed(schema['additionalProperties'])}"
        case "string" if schema.get("minLength"):
            return "text that is not empty"
        case kind:
            words = {"boolean": "true or false", "string": "text", "null": "null", "object": "a mapping"}
            return words.get(str(kind), "a value")


def _range(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {low:,} to {high:,}"
    bounds = [
        f"of {low:,} or more" if low is not None else "",
        f"above {above:,}" if above is not None else "",
        f"of at most {high:,}" if high is not None else "",
        f"below {below:,}" if below is not None else "",
    ]
    return " " + " and ".join(bound for bound in bounds if bound) if any(bounds) else ""
