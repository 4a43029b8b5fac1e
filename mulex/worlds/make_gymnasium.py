"""Gymnasium environments by their id, with the wrappers that a world names."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium

from mulex.errors import UserError
from mulex.messages import nearest

Wrapper = str | Mapping[str, Any]
"""A wrapper's name, or a mapping of `name` and the arguments of its constructor.

A name without a module is one of gymnasium.wrappers; others are written `module:Class`. Lists among the arguments are
given as tuples, which is what wrappers take as shapes.
"""


def make_gymnasium(env_id: str, kwargs: Mapping[str, Any], wrappers: Sequence[Wrapper] = ()) -> gymnasium.Env[Any, Any]:
    """Make an environment and wrap it, the first wrapper innermost; every refusal is a UserError."""
    try:
        env = gymnasium.make(env_id, **kwargs)
    except Exception as error:  # whatever the environment's own code raises
        text = str(error) if isinstance(error, gymnasium.error.Error) else f"{type(error).__name__}: {error}"
        raise UserError(f"world {env_id}: gymnasium.make refused it: {text}") from error
    for wrapper in wrappers:
        env = _wrapped(env, wrapper, env_id)
    return env


def _wrapped(env: gymnasium.Env[Any, Any], wrapper: Wrapper, env_id: str) -> gymnasium.Env[Any, Any]:
    arguments = {"name": wrapper} if isinstance(wrapper, str) else dict(wrapper)
    name = arguments.pop("name")
    kind = _find(name, env_id)
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
    try:
        wrapped = kind(env, **given)
    except Exception as error:  # whatever the wrapper's own code raises
        raise UserError(f"world {env_id}: wrapper {name} refused: {type(error).__name__}: {error}") from error
    if not isinstance(wrapped, gymnasium.Env):
        raise UserError(f"world {env_id}: wrapper {name} made a {type(wrapped).__name__}, needed is an environment")
    return wrapped


def _find(name: str, env_id: str) -> Any:
    module, _, attribute = name.rpartition(":")
    try:
        return getattr(importlib.import_module(module or "gymnasium.wrappers"), attribute)
    except Exception as error:  # a module of the user's may raise anything while it is imported
        hint = nearest(attribute, dir(gymnasium.wrappers)) if not module else ""
        raise UserError(f"world {env_id}: there is no wrapper {name} ({error}){hint}") from error
