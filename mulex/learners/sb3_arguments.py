"""The constructor arguments of Stable-Baselines3's algorithms as hyperparameters that a spec can hold.

A spec has numbers, texts, booleans, lists and mappings; SB3 also takes functions, classes and noise. The dotted names
that this module adds: `policy_kwargs.NAME` reaches into a mapping, `learning_rate.linear: 3e-4` (or clip_range, or any
argument that SB3 lets be a schedule) falls linearly to 0 over the run, and `action_noise.normal: 0.1` or
`action_noise.ornstein_uhlenbeck: 0.1` is noise of that deviation.
"""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.learners.signatures import REQUIRED, as_default
from mulex.messages import nearest, shown

ALGORITHMS = ("A2C", "DDPG", "DQN", "PPO", "SAC", "TD3")
OURS: dict[str, Any] = {"n_envs": 1}
"""Hyperparameters besides the constructor's: how many copies of the environment are stepped together."""
SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf")
NOISES = ("normal", "ornstein_uhlenbeck")
_MAPPINGS = ("policy_kwargs", "replay_buffer_kwargs", "rollout_buffer_kwargs")

_NOT_HYPERPARAMETERS = {
    "env": "the environment is the spec's world",
    "seed": "seeds are search.seeds",
    "device": "the device is execution.device",
    "verbose": "the output is kept anyway",
    "tensorboard_log": "rows go to the tables",
    "_init_setup_model": "it is not for use",
}


def algorithm_class(name: str) -> Any:
    """An algorithm of Stable-Baselines3 by its name."""
    if name not in ALGORITHMS:
        raise UserError(
            f"learner sb3:{name}: no such algorithm, there are {', '.join(ALGORITHMS)}{nearest(name, ALGORITHMS)}"
        )
    try:
        import stable_baselines3
    except ImportError:
        raise UserError(f"learner sb3:{name}: needs Stable-Baselines3; pip install 'mulex[sb3]'") from None
    return getattr(stable_baselines3, name)


def constructor_defaults(name: str) -> dict[str, Any]:
    """Every argument of an algorithm that is a hyperparameter, with its default; the policy goes by the world."""
    parameters = inspect.signature(algorithm_class(name)).parameters.values()
    known = {p.name: p.default for p in parameters if p.name not in _NOT_HYPERPARAMETERS}
    known["policy"] = None
    return {**known, **OURS}


def check_names(name: str, values: Mapping[str, Any] | list[str]) -> None:
    """Refuse hyperparameters that the algorithm does not have."""
    known = constructor_defaults(name)
    for key in values:
        first, _, rest = key.partition(".")
        if first in _NOT_HYPERPARAMETERS:
            raise UserError(f"{key}: is no hyperparameter of sb3:{name}; {_NOT_HYPERPARAMETERS[first]}")
        if first not in known:
            raise UserError(f"{key}: sb3:{name} has no such argument, it has {', '.join(known)}{nearest(first, known)}")
        if rest:
            _check_dotted(name, key, first, rest)


def _check_dotted(name: str, key: str, first: str, rest: str) -> None:
    if first in _MAPPINGS:
        return
    allowed = ["linear"] if first in SCHEDULES else list(NOISES) if first == "action_noise" else []
    if rest not in allowed:
        names = f"it has {', '.join(f'{first}.{kind}' for kind in allowed)}" if allowed else f"write {first}"
        raise UserError(f"{key}: no such argument of sb3:{name}, {names}{nearest(rest, allowed)}")


def constructor_arguments(name: str, values: Mapping[str, Any], actions: int) -> dict[str, Any]:
    """What the constructor is given: nested by dots, with SB3's own objects. `actions` is the size of an action."""
    check_names(name, values)
    defaults, nested = constructor_defaults(name), {}  # type: dict[str, Any], dict[str, Any]
    for key, drawn in values.items():
        value = as_default(drawn, defaults.get(key))
        first, _, rest = key.partition(".")
        if not rest:
            nested[first] = _merged(nested.get(first), value)
        elif first in SCHEDULES:
            nested[first] = _linear(float(value))
        elif first == "action_noise":
            nested[first] = _noise(rest, float(value), actions)
        else:
            _set(nested.setdefault(first, {}), rest.split("."), value)
    for first in _MAPPINGS:
        if isinstance(nested.get(first), dict):
            nested[first] = {key: _object(f"{first}.{key}", value) for key, value in nested[first].items()}
    made = {key: value if isinstance(value, dict) else _object(key, value) for key, value in nested.items()}
    return {key: value for key, value in made.items() if key not in OURS and value is not REQUIRED}


def _merged(before: Any, value: Any) -> Any:
    """A mapping that is given whole and by dotted names is both together."""
    return {**value, **before} if isinstance(before, dict) and isinstance(value, dict) else value


def _set(into: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        into = into.setdefault(part, {})
    into[path[-1]] = value


def _linear(start: float) -> Any:
    from stable_baselines3.common.utils import LinearSchedule

    return LinearSchedule(start, 0.0, 1.0)


def _noise(kind: str, sigma: float, actions: int) -> Any:
    from stable_baselines3.common import noise

    made = noise.NormalActionNoise if kind == "normal" else noise.OrnsteinUhlenbeckActionNoise
    return made(mean=np.zeros(actions), sigma=np.full(actions, sigma))


def _object(key: str, value: Any) -> Any:
    """A text or number of a spec as what SB3 wants under this name."""
    last = key.rpartition(".")[2]
    if last == "net_arch" or ".net_arch" in key:
        return _layers(key, value)
    if last == "train_freq" and isinstance(value, str):
        number, _, unit = value.partition(" ")
        if not number.isdigit() or unit not in ("step", "episode"):
            raise UserError(f"{key}: got {shown(value)}, allowed is a whole number, or a text such as '1 episode'")
        return int(number), unit
    if isinstance(value, str) and (last.endswith(("_class", "_fn")) or last == "lr_schedule"):
        return _named(key, value)
    return value


def _layers(key: str, value: Any) -> Any:
    """The sizes of layers: a list, a mapping of lists, one number, or a text such as 64x64, which can be searched."""
    if isinstance(value, dict):
        return {name: _layers(f"{key}.{name}", sizes) for name, sizes in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = [value]
    if isinstance(value, str):
        value = value.split("x") if value else []
    try:
        return [int(size) for size in value]
    except (TypeError, ValueError):
        raise UserError(
            f"{key}: got {shown(value)}, allowed is a list such as [64, 64] or a text such as 64x64"
        ) from None


def _named(key: str, value: str) -> Any:
    """A class by its name in torch.nn or torch.optim, or by module:name."""
    module, _, attribute = value.rpartition(":")
    for candidate in [module] if module else ["torch.nn", "torch.optim"]:
        try:
            return getattr(importlib.import_module(candidate), attribute)
        except (ImportError, AttributeError):
            continue
    raise UserError(f"{key}: there is no {value!r}; name a class of torch.nn or torch.optim, or module:name")
