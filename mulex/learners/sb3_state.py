"""The whole state of a Stable-Baselines3 model as arrays, without pickle: loading it goes on bit for bit.

Weights and optimisers are written with torch.save and read with weights_only, counters and episode statistics as
JSON, and the filled part of the replay buffer as it is.
"""

import io
import json
from collections import deque
from typing import Any

import numpy as np

from mulex.learners.contract import prefixed, under

_COUNTERS = (
    *("num_timesteps", "_n_updates", "_episode_num", "_n_calls", "_current_progress_remaining", "exploration_rate"),
    *("_total_timesteps", "_num_timesteps_at_start"),
)
_TORCH, _PLAIN, _REPLAY, _SEEN = "torch", "plain", "replay.", "seen."


def save_model(model: Any) -> dict[str, np.ndarray] | None:
    """Everything of a model that changes; None if its replay buffer is of a kind that cannot be kept."""
    replay = _replay_arrays(model)
    if replay is None:
        return None
    plain = {
        "counters": {name: _number(getattr(model, name)) for name in _COUNTERS if hasattr(model, name)},
        "episodes": [{key: float(x) for key, x in episode.items()} for episode in model.ep_info_buffer or []],
        "successes": [float(success) for success in model.ep_success_buffer or []],
        "actions": model.action_space.np_random.bit_generator.state,
        "begun": model._last_obs is not None,
    }
    arrays = {_PLAIN: _bytes(json.dumps(plain, default=_number).encode()), _TORCH: _bytes(_torch_bytes(model))}
    return arrays | prefixed(_REPLAY, replay) | prefixed(_SEEN, _seen(model))


def load_model(model: Any, arrays: dict[str, np.ndarray]) -> None:
    """Give a new model of the same arguments the state that `save_model` gave."""
    import torch

    kept = torch.load(io.BytesIO(arrays[_TORCH].tobytes()), weights_only=True, map_location=model.device)
    model.set_parameters(kept["parameters"], exact_match=True, device=model.device)
    for name, tensor in kept["variables"].items():
        getattr(model, name).data = tensor.data
    plain = json.loads(arrays[_PLAIN].tobytes())
    for name, value in plain["counters"].items():
        setattr(model, name, value)
    model.ep_info_buffer = deque(plain["episodes"], maxlen=model._stats_window_size)
    model.ep_success_buffer = deque(plain["successes"], maxlen=model._stats_window_size)
    model.action_space.np_random.bit_generator.state = plain["actions"]
    _load_seen(model, under(_SEEN, arrays), plain["begun"])
    _load_replay(model, under(_REPLAY, arrays))


def _torch_bytes(model: Any) -> bytes:
    import torch

    _, variables = model._get_torch_save_params()
    kept = {"parameters": model.get_parameters(), "variables": {name: getattr(model, name) for name in variables}}
    file = io.BytesIO()
    torch.save(kept, file)
    return file.getvalue()


def _seen(model: Any) -> dict[str, np.ndarray]:
    """The observation that the next action answers, and which environments are at the start of an episode."""
    if model._last_obs is None:
        return {}
    seen = model._last_obs if isinstance(model._last_obs, dict) else {"": model._last_obs}
    return {"starts": np.array(model._last_episode_starts)} | {f"obs.{key}": np.array(x) for key, x in seen.items()}


def _load_seen(model: Any, arrays: dict[str, np.ndarray], begun: bool) -> None:
    if not begun:
        return
    seen = under("obs.", arrays)
    model._last_obs = seen[""] if list(seen) == [""] else seen
    model._last_episode_starts = arrays["starts"]
    model._last_original_obs = model._last_obs


def _replay_arrays(model: Any) -> dict[str, np.ndarray] | None:
    """The filled part of the replay buffer; nothing if the algorithm has none."""
    buffer = getattr(model, "replay_buffer", None)
    if buffer is None:
        return {}
    filled = buffer.buffer_size if buffer.full else buffer.pos
    further = int(model.optimize_memory_usage)  # then the last transition's next observation is one row further
    rows = min(filled + further, buffer.buffer_size)
    arrays: dict[str, np.ndarray] = {"position": np.array([buffer.pos, int(buffer.full)])}
    for name, array in _buffer_arrays(buffer).items():
        if array.dtype.hasobject:
            return None
        arrays[name] = array[:rows].copy()
    return arrays


def _load_replay(model: Any, arrays: dict[str, np.ndarray]) -> None:
    if not arrays:
        return
    buffer = model.replay_buffer
    position, full = arrays.pop("position").tolist()
    buffer.pos, buffer.full = position, bool(full)
    for name, array in _buffer_arrays(buffer).items():
        array[: len(arrays[name])] = arrays[name]


def _buffer_arrays(buffer: Any) -> dict[str, np.ndarray]:
    """Every array of a buffer that has one row a transition, also those inside dicts."""
    found: dict[str, np.ndarray] = {}
    for name, value in vars(buffer).items():
        inner = value if isinstance(value, dict) else {"": value}
        for key, array in inner.items():
            if isinstance(array, np.ndarray) and array.ndim and len(array) == buffer.buffer_size:
                found[f"{name}.{key}" if key else name] = array
    return found


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _bytes(content: bytes) -> np.ndarray:
    return np.frombuffer(content, dtype=np.uint8)
