"""How much memory the training of a pack needs, estimated before anything large is allocated."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.learners.dqn.heads import sources_of
from mulex.learners.dqn.network_shape import NetworkShape, frames_of_stack, network_shape
from mulex.worlds.interface import Worlds

_FLOAT = 4
_PARAMETER_COPIES = 7  # online, target, gradient of one and of all sources, two averages, scratch
_ROW_BYTES = 2_000  # of one iteration in a member's curve, as Python objects
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True)
class Need:
    """The memory that one part of a pack needs, and the settings that decide it."""

    part: str
    bytes: int
    settings: str


def memory_needs(runs: list[RunConfig], worlds: Worlds, engine: str, device: str = "cpu") -> list[Need]:
    """Estimate the memory of a pack on the host, the largest part first.

    The replay counts up to the number of steps that are ever taken, because memory is only used when it is written.
    The native engine runs one member after another, so its buffers do not grow with the pack.
    """
    run, members = runs[0], len(runs)
    training, heads = run.training, len(run.recipe.heads)
    slots = min(training.replay_size, training.iterations * run.steps_per_iteration)
    record = math.prod(worlds.record_shape) * worlds.record_dtype.itemsize
    slot = 2 * record + 2 + _FLOAT * (1 + len(run.recipe.signals))
    if any(source.prioritised for source in sources_of(run)):
        slot += _FLOAT + 1  # the tree above the leaves is a 32nd of them
    needs = [
        Need("the replay", members * slots * slot, "replay_size"),
        Need(
            "the schedule of an iteration", members * run.steps_per_iteration * 16 * (4 + heads), "steps_per_iteration"
        ),
        Need("the curves", members * training.iterations * _ROW_BYTES, "iterations"),
    ]
    if device == "cpu":
        shape = network_shape(run, worlds, frames_of_stack(run, worlds))
        together = 1 if engine == "native" else members * len(shape.bodies)  # bodies take turns in native
        largest = max(math.prod(size) for _, size in shape.slices.values())
        parameters = members * (shape.size * _FLOAT * _PARAMETER_COPIES + largest * 3 * 8)  # drawn as 64-bit numbers
        needs += [
            Need("the network's parameters", parameters, "hidden, atoms"),
            Need("the network's buffers", together * _buffer_bytes(run, shape), "batch_size, hidden, atoms"),
        ]
    return sorted(needs, key=lambda need: -need.bytes)


def _buffer_bytes(run: RunConfig, shape: NetworkShape) -> int:
    """Estimate the activations and gradients of one member for the batches of all sources."""
    floats = shape.features + sum(shape.hidden + outputs for outputs in shape.outputs)
    for layer in shape.layers:
        positions = math.prod(layer.out)
        floats += math.prod(layer.padded) * layer.channels + positions * (layer.inputs + layer.convolution.channels)
    return 2 * _FLOAT * floats * run.training.batch_size * len(sources_of(run))


def check_memory(runs: list[RunConfig], worlds: Worlds, engine: str, device: str = "cpu") -> None:
    """Refuse a pack that needs more memory than this machine has.

    Raises:
        UserError: says how much memory is needed, for what, and which settings to lower.
    """
    needs = memory_needs(runs, worlds, engine, device)
    total, memory = sum(need.bytes for need in needs), machine_memory()
    if total <= memory:
        return
    parts = ", ".join(f"{in_units(need.bytes)} for {need.part}" for need in needs if need.bytes > total / 10)
    pack = "this run" if len(runs) == 1 else f"this pack of {len(runs)} runs"
    fewer = "" if len(runs) == 1 else ", or train fewer runs in a pack"
    raise UserError(
        f"training.{needs[0].settings.split(',')[0]}: {pack} needs about {in_units(total)} of memory ({parts}), and "
        f"this machine has {in_units(memory)}; lower {needs[0].settings}{fewer}"
    )


def machine_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its container's if that is less."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(memory, int(_CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return memory


def in_units(count: float) -> str:
    """Write a number of bytes for people, such as 3.2 GB."""
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    power = min(int(math.log(max(count, 1), 1000)), len(units) - 1)
    scaled = count / 1000**power
    return f"{scaled:.3g} {units[power]}" if scaled < 1000 else f"{scaled:,.0f} {units[power]}"
