"""The strongest peer known: the whole loop in one jitted call, world, replay, acting, updates and evaluation.

The world steps by table look-up, the replay holds state ids, all random numbers of an iteration are drawn at once, and
scans are nested (target copies, updates, steps), so nothing is computed and thrown away. Pictures are rows x columns x
batch x channels, which made im2col's copies long; convolutions are im2col and a dot, for XLA's own convolution has a
gradient ten times slower on the CPU. RMSProp is TensorFlow's, as ours. It evaluates as many worlds at once as whole
episodes are needed: three of 500 steps.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mulex.worlds.world import build_world
from tests.bench.peers.workload import EVALUATION_STEPS, STEPS
from tests.bench.plain_dqn import (
    BATCH,
    DISCOUNT,
    EPSILON,
    LEARNING_RATE,
    STACK,
    TARGET_EVERY,
    UPDATE_EVERY,
    WARM_UP,
)

SIZE = 1_000_000  # transitions of the replay; whole groups of UPDATE_EVERY, so a group never wraps
DECAY, STABILISER = 0.95, 1e-5
OVER, ACTION, NEXT = STACK + 2, STACK + 1, STACK  # columns of a replay's row, after the stack
COLUMNS = STACK + 3

WORLD = build_world()
STATES = np.arange(len(WORLD.tables.next_state))
FRAMES = WORLD.frames(STATES, np.zeros((len(STATES), 0), dtype=np.int64)).astype(np.float32) / 255  # (S, rows, cols)
NEXT_STATE = jnp.asarray(WORLD.tables.next_state, jnp.int32)
REWARD, TERMINAL = jnp.asarray(WORLD.tables.reward), jnp.asarray(WORLD.tables.terminal)
LIMIT = WORLD.time_limit
ROWS, COLS = WORLD.frame_shape
PIXELS = jnp.asarray(FRAMES.reshape(len(STATES), -1))
EPISODES = math.ceil(EVALUATION_STEPS / LIMIT)

State = dict[str, Any]


def _xavier(key: jax.Array, inputs: int, outputs: int, area: int) -> jax.Array:
    limit = math.sqrt(6 / (inputs + area * outputs))
    return jax.random.uniform(key, (inputs, outputs), minval=-limit, maxval=limit)


def _network(key: jax.Array) -> list[tuple[jax.Array, jax.Array]]:
    features = (ROWS - 4) * (COLS - 4) * 32
    sizes = ((9 * STACK, 16, 9), (9 * 16, 32, 9), (features, 64, 1), (64, 4, 1))
    keys = jax.random.split(key, len(sizes))
    return [(_xavier(k, *size), jnp.zeros(size[1])) for k, size in zip(keys, sizes, strict=True)]


def _convolution(pictures: jax.Array, weights: jax.Array, bias: jax.Array) -> jax.Array:
    """(rows, cols, B, C) to (rows - 2, cols - 2, B, K)."""
    rows, cols, batch, _ = pictures.shape
    rows, cols = rows - 2, cols - 2
    patches = [pictures[i : i + rows, j : j + cols] for i in range(3) for j in range(3)]
    columns = jnp.concatenate(patches, axis=-1).reshape(rows * cols * batch, -1)
    return jax.nn.relu(columns @ weights + bias).reshape(rows, cols, batch, -1)


def _values(network: list[tuple[jax.Array, jax.Array]], stacks: jax.Array) -> jax.Array:
    """Q-values (B, A) of stacks of state ids (B, C)."""
    first, second, hidden, out = network
    batch = len(stacks)
    pictures = PIXELS[stacks].transpose(2, 0, 1).reshape(ROWS, COLS, batch, STACK)
    pictures = _convolution(_convolution(pictures, *first), *second)
    features = pictures.transpose(2, 0, 1, 3).reshape(batch, -1)
    return jax.nn.relu(features @ hidden[0] + hidden[1]) @ out[0] + out[1]


def _move(stacks: jax.Array, age: jax.Array, action: jax.Array) -> tuple[jax.Array, ...]:
    """A step of worlds (B,): the row's last columns, the reward, and the stacks and ages after it."""
    state = stacks[:, -1]
    after, over = NEXT_STATE[state, action], TERMINAL[state, action] | (age + 1 >= LIMIT)
    pushed = jnp.concatenate([stacks[:, 1:], after[:, None]], axis=1)
    begun = jnp.where(over[:, None], 0, pushed)
    return after, over, REWARD[state, action], begun, jnp.where(over, 0, age + 1)


def _step(network: Any, carry: tuple[jax.Array, jax.Array], forced: jax.Array) -> tuple[Any, jax.Array]:
    """One training step: `forced` is a random action, or -1 to act greedily."""
    stack, age = carry
    action = lax.cond(
        forced < 0, lambda: _values(network, stack).argmax(axis=1).astype(jnp.int32), lambda: forced[None]
    )
    after, over, _, begun, age = _move(stack, age, action)
    row = jnp.concatenate([stack[0], after, action, over.astype(jnp.int32)])
    return (begun, age), row


def _loss(network: Any, target: Any, rows: jax.Array) -> jax.Array:
    stacks, action, over = rows[:, :STACK], rows[:, ACTION], rows[:, OVER]
    following = jnp.concatenate([stacks[:, 1:], rows[:, NEXT, None]], axis=1)
    follow = _values(target, following).max(axis=1) * DISCOUNT * (1 - over)
    aim = lax.stop_gradient(REWARD[stacks[:, -1], action] + follow)
    value = jnp.take_along_axis(_values(network, stacks), action[:, None], axis=1)[:, 0]
    return jnp.mean((value - aim) ** 2)


def _rmsprop(weight: jax.Array, square: jax.Array, mean: jax.Array, gradient: jax.Array) -> tuple[jax.Array, ...]:
    square = DECAY * square + (1 - DECAY) * gradient**2
    mean = DECAY * mean + (1 - DECAY) * gradient
    return weight - LEARNING_RATE * gradient * lax.rsqrt(square - mean**2 + STABILISER), square, mean


def _update(state: State, target: Any, drawn: jax.Array) -> tuple[State, jax.Array]:
    """`drawn` (B,) in [0, 1) says which transitions."""
    held = jnp.minimum(state["steps"], SIZE)
    rows = state["replay"][(drawn * held).astype(jnp.int32)]
    loss, gradient = jax.value_and_grad(_loss)(state["network"], target, rows)
    changed = jax.tree.map(_rmsprop, state["network"], state["square"], state["mean"], gradient)
    network, square, mean = jax.tree.transpose(jax.tree.structure(gradient), jax.tree.structure((0, 0, 0)), changed)
    return state | {"network": network, "square": square, "mean": mean}, loss


def _group(target: Any, learns: bool, state: State, chance: tuple[jax.Array, jax.Array]) -> tuple[State, jax.Array]:
    """The steps up to an update, and the update."""
    forced, drawn = chance
    act = partial(_step, state["network"])
    (stack, age), rows = lax.scan(act, (state["stack"], state["age"]), forced, unroll=True)
    replay = lax.dynamic_update_slice(state["replay"], rows, (state["steps"] % SIZE, 0))
    state = state | {"stack": stack, "age": age, "replay": replay, "steps": state["steps"] + UPDATE_EVERY}
    return _update(state, target, drawn) if learns else (state, jnp.float32(0))


def _until_copy(learns: bool, state: State, chance: tuple[jax.Array, jax.Array]) -> tuple[State, jax.Array]:
    """The groups between two copies of the network to its target."""
    return lax.scan(partial(_group, state["network"], learns), state, chance)


def _chance(key: jax.Array, steps: int, epsilon: float) -> tuple[jax.Array, jax.Array]:
    """All random numbers of some steps: forced actions (copies, groups, steps) and draws (copies, groups, B)."""
    explores, actions, draws = jax.random.split(key, 3)
    copies, groups = steps // TARGET_EVERY, TARGET_EVERY // UPDATE_EVERY
    shape = copies, groups, UPDATE_EVERY
    forced = jnp.where(
        jax.random.uniform(explores, shape) < epsilon, jax.random.randint(actions, shape, 0, 4), jnp.int32(-1)
    )
    return forced, jax.random.uniform(draws, (copies, groups, BATCH))


def _evaluate(network: Any) -> jax.Array:
    """The mean return of the episodes that end within `LIMIT` steps of `EPISODES` worlds."""

    def step(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        stacks, age = carry
        _, over, reward, stacks, age = _move(stacks, age, _values(network, stacks).argmax(axis=1))
        return (stacks, age), (reward, over)

    begin = jnp.zeros((EPISODES, STACK), jnp.int32), jnp.zeros(EPISODES, jnp.int32)
    _, (reward, over) = lax.scan(step, begin, None, length=LIMIT)
    ended = lax.cumsum(over[::-1].astype(jnp.int32))[::-1] > 0  # whether a step's episode ends
    return (reward * ended).sum() / over.sum()


@partial(jax.jit, donate_argnums=0)
def _iterate(state: State, key: jax.Array) -> tuple[State, jax.Array, jax.Array]:
    state, losses = lax.scan(partial(_until_copy, True), state, _chance(key, STEPS, EPSILON))
    return state, losses, _evaluate(state["network"])


@partial(jax.jit, donate_argnums=0)
def _warm_up(state: State, key: jax.Array) -> State:
    """Random steps, as the plain loop begins."""
    return lax.scan(partial(_until_copy, False), state, _chance(key, WARM_UP, 1.0))[0]


class JaxScan:
    """A run of the loop."""

    def __init__(self, seed: int = 0) -> None:
        self.key, key, chance = jax.random.split(jax.random.key(seed), 3)
        network = _network(key)
        state = {
            "network": network,
            "square": jax.tree.map(jnp.ones_like, network),
            "mean": jax.tree.map(jnp.zeros_like, network),
            "replay": jnp.zeros((SIZE, COLUMNS), jnp.int32),
            "stack": jnp.zeros((1, STACK), jnp.int32),
            "age": jnp.zeros(1, jnp.int32),
            "steps": jnp.int32(0),
        }
        self.state = _warm_up(state, chance)
        self.updates, self.loss = 0, 0.0

    def iteration(self) -> float:
        self.key, key = jax.random.split(self.key)
        self.state, losses, mean_return = _iterate(self.state, key)
        self.updates += losses.size
        self.loss = float(losses[-1, -1])
        return float(mean_return)

    def counts(self) -> tuple[int, int, float]:
        return self.updates, min(int(self.state["steps"]), SIZE), self.loss
