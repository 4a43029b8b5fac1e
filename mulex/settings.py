"""The base of all configuration: frozen, typed settings whose fields explain themselves. Imports no torch."""

import hashlib
import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mulex.errors import UserError


def given(default: Any, description: str, **limits: Any) -> Any:
    """Declare a field whose value the paper states."""
    return Field(default, description=description, json_schema_extra={"origin": "given"}, **limits)


def chosen(default: Any, description: str, **limits: Any) -> Any:
    """Declare a field whose value we chose because the paper is silent about it."""
    return Field(default, description=description, json_schema_extra={"origin": "chosen"}, **limits)


class Settings(BaseModel):
    """Frozen and strict settings: an unknown key or a value of the wrong type is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, values: dict[str, Any]) -> Self:
        """Make the settings from plain data.

        Raises:
            UserError: names every wrong field, the value it has and what is allowed.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise UserError("\n".join(_explain(problem) for problem in error.errors())) from None


def _explain(problem: Any) -> str:
    """Put one of pydantic's errors in a line of our own."""
    where = ".".join(str(part) for part in problem["loc"]) or "settings"
    if problem["type"] == "missing":
        return f"{where}: missing, but required"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    if problem["type"] == "extra_forbidden":
        return f"{where}: got {problem['input']!r}, but there is no such key"
    return f"{where}: got {problem['input']!r}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def digest(plain: Any) -> str:
    """Hash plain data to 16 hexadecimal digits that do not depend on the order of keys."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def drop_defaults(plain: dict[str, Any], model: type[Settings], names: tuple[str, ...]) -> None:
    """Delete the settings that have their defaults."""
    for name in names:
        if plain[name] == model.model_fields[name].default:
            del plain[name]
