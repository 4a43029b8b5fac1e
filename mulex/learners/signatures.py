"""Which hyperparameters a Python learner has, and whether what it is given fits.

The rule: if the class or function has an attribute `hyperparameters` (a dict of names and defaults), those are its
hyperparameters, and it reads them from `run.values`. Otherwise every parameter after `run` in its signature is one,
and is passed by keyword. With neither, any name is allowed, but one that has not been read from `run.values` when the
first row arrives is refused.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mulex.errors import UserError
from mulex.messages import nearest, shown


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


@dataclass(frozen=True)
class Hyperparameters:
    """What a learner declares."""

    defaults: dict[str, Any]
    """Every known name with its default, or REQUIRED."""
    passed: bool = False
    """Whether they are passed as keyword arguments, rather than read from `run.values`."""
    open: bool = False
    """Whether other names are allowed too."""

    def check(self, learner: str, values: Mapping[str, Any]) -> None:
        """Refuse names that the learner does not have, and a missing one that it needs."""
        for name in values:
            self.check_name(learner, name)
        for name, default in self.defaults.items():
            if default is REQUIRED and name not in values:
                raise UserError(f"{name}: {learner} needs a value for it, and has no default")

    def check_name(self, learner: str, name: str) -> None:
        """Refuse a name that the learner does not have."""
        if name not in self.defaults and not self.open:
            names = ", ".join(self.defaults) or "none"
            hint = nearest(name, self.defaults)
            raise UserError(f"{name}: {learner} has no such hyperparameter, it has {names}{hint}")

    def filled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values, with the defaults of those that are not given; a whole number stays one."""
        defaults = {name: default for name, default in self.defaults.items() if default is not REQUIRED}
        return {**defaults, **{name: as_default(value, defaults.get(name)) for name, value in values.items()}}


def as_default(value: Any, default: Any) -> Any:
    """A drawn value with the type of its default: searches draw floats, and some hyperparameters are whole."""
    whole = isinstance(default, int) and not isinstance(default, bool)
    return int(value) if whole and isinstance(value, float) and value.is_integer() else value


def declared(target: Callable[..., Any], learner: str) -> Hyperparameters:
    """The hyperparameters of a class or function."""
    named = getattr(target, "hyperparameters", None)
    if named is not None:
        if not isinstance(named, Mapping) or not all(isinstance(name, str) for name in named):
            raise UserError(f"{learner}: `hyperparameters` is {shown(named)}, needed is a dict of names and defaults")
        _first_parameter(target, learner)
        return Hyperparameters(dict(named))
    parameters = _first_parameter(target, learner)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    by_name = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    defaults = {p.name: REQUIRED if p.default is p.empty else p.default for p in by_name}
    if not defaults and not takes_any:
        return Hyperparameters({}, open=True)
    return Hyperparameters(defaults, passed=True, open=takes_any)


def _first_parameter(target: Callable[..., Any], learner: str) -> list[inspect.Parameter]:
    """The parameters after `run`; a learner that does not take a run is refused."""
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        raise UserError(f"{learner}: its signature cannot be read; write a class or a function in Python") from None
    if not parameters or parameters[0].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        raise UserError(f"{learner}: takes no `run`; its first parameter is what it is given")
    return parameters[1:]
