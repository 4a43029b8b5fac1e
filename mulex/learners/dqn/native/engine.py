"""The native engine: the inner loop of every member in C++, on the same arrays as in the torch engine.

It draws the same random numbers, so it agrees with the torch engine step for step until rounding separates them.
AVX2 and AVX-512 give the same bits; plain code rounds differently.
"""

from typing import Any

import numpy as np

from mulex.config import ADAM_DECAYS, GridWorldConfig, RunConfig
from mulex.learners.dqn.acting.registry import RANDOM_ACTIONS, RULES
from mulex.learners.dqn.acting.schedule import head_probabilities
from mulex.learners.dqn.bodies import BODIES
from mulex.learners.dqn.bonuses.counts import StateBonus
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.dqn.evaluation import Evaluation
from mulex.learners.dqn.head_kinds import HEAD_KINDS
from mulex.learners.dqn.heads import kind_of, sources_of, value_limits
from mulex.learners.dqn.network_shape import network_shape, zeros_on_lines
from mulex.learners.dqn.optimisers import OPTIMISERS
from mulex.learners.dqn.pack_engine import PackEngine, Tally
from mulex.learners.dqn.registry import Registry
from mulex.learners.dqn.td_losses import LOSSES
from mulex.streams import stream_keys
from mulex.worlds.interface import GridWorlds
from mulex.worlds.kinds import Kind
from mulex.worlds.world import World, build_world

try:
    import mulex.learners.dqn.native._native as native
except ImportError:  # built without a compiler
    native = None  # type: ignore[assignment]

MOST_CHANNELS = 32
LARGEST_BUFFER = 2**31 - 1  # floats; offsets inside buffers are 32-bit numbers
MOST_PATCHES = 1 << 25
"""Ids of patches that are kept. Two runs of 800 iterations in rooms of size 10 did not fill them. A sixteenth was
filled about twice an iteration with an epsilon of 0.41."""
# The bits of Savings in engine.hpp.
REMEMBER_VALUES, REMEMBER_TARGETS, EQUAL_STACKS_ONCE, EQUAL_PATCHES_ONCE, NONZERO_ONLY = 1, 2, 4, 8, 16
ALL_SAVINGS = REMEMBER_VALUES | REMEMBER_TARGETS | EQUAL_STACKS_ONCE | EQUAL_PATCHES_ONCE | NONZERO_ONLY


def why_not(run: RunConfig) -> str | None:
    """Return why this engine cannot train a run on this machine; None if it can."""
    if native is None:
        return "it was not built when mulex was installed here (that needs a C++ compiler)"
    if not isinstance(run.world, GridWorldConfig):
        return "it serves grid worlds only"
    if run.world.ghosts and "simhash" in run.recipe.signals:
        return "it does not hash frames with ghosts"
    if missing := _missing(run):
        return missing
    rows, cols = build_world(**run.world.model_dump()).frame_shape
    if rows * cols * MOST_CHANNELS * run.training.batch_size * len(sources_of(run)) > LARGEST_BUFFER:
        return f"batches of {run.training.batch_size} pictures of {rows} x {cols} are too large for it"
    if rows * cols * MOST_CHANNELS * run.training.hidden * len(run.recipe.heads) > LARGEST_BUFFER:
        return f"{run.training.hidden} hidden units on pictures of {rows} x {cols} are too many for it"
    return None


def _missing(run: RunConfig) -> str | None:
    """Say which entry of a registry that the run names is not in this engine; None if all are."""
    training, acting = run.training, run.recipe.acting
    named: list[tuple[Registry[Any], list[str]]] = [
        (BONUSES, list(run.recipe.signals)),
        (RULES, [acting.rule]),
        (RANDOM_ACTIONS, [acting.random]),
        (HEAD_KINDS, [kind_of(run, head) for head in run.recipe.heads]),
        (BODIES, [training.body]),
        (LOSSES, [training.loss]),
        (OPTIMISERS, [training.optimiser_name]),
    ]
    return next((why for registry, names in named if (why := registry.why_not_native(names))), None)


def instruction_sets() -> list[str]:
    """List the instruction sets that this processor can run, the fastest first."""
    return native.instruction_sets() if native else []


class NativeEngine(PackEngine):
    """Trains P runs of one shape, one after another, one iteration at a time."""

    name = "native"

    def __init__(
        self,
        runs: list[RunConfig],
        instructions: str | None = None,
        savings: int = ALL_SAVINGS,
        most_patches: int = MOST_PATCHES,
    ) -> None:
        super().__init__(runs)
        assert isinstance(self.worlds, GridWorlds)
        self.shape = network_shape(self.run, self.worlds, self.stack)
        keys = stream_keys(self.ids, "initialisation")
        self.parameters = self.shape.initial(keys, self.run.training.initialisation)
        self.adam = self.run.training.optimiser_name == "adam"
        others = [zeros_on_lines(*self.parameters.shape) for _ in range(4)]
        self.target, self.gradient, self.mean, self.mean_square = others
        self.target[:] = self.parameters
        self.mean_square[:] = 0 if self.adam else 1
        self._world = _world_tables(self.worlds.world, self.run.training.input_scale)
        self._settings = self._make_settings(savings, most_patches)
        self.instructions = instructions or instruction_sets()[0]
        limits = self._value_limits()
        trainers = {limit: self._make_trainer(limit) for limit in set(limits)}
        self._trainers = [trainers[limit] for limit in limits]
        self.trainer = self._trainers[0]

    def _value_limits(self) -> list[tuple[float, ...]]:
        """Return the value limit of each head of each member; heads without a distribution have none, here 0."""
        by_head = [
            value_limits(self.runs, name, self.worlds) if self._atoms(name) else [0.0] * len(self.runs)
            for name in self.run.recipe.heads
        ]
        return list(zip(*by_head, strict=True))

    def _atoms(self, head: str) -> int:
        return self.run.training.atoms if kind_of(self.run, head) == "rainbow" else 0

    def _make_trainer(self, limits: tuple[float, ...]) -> "native.Trainer":
        settings = self._settings | {"value_limits": np.array(limits, dtype=np.float32)}
        return native.Trainer(settings, self._world, self.instructions)

    def _make_settings(self, savings: int, most_patches: int) -> dict[str, Any]:
        training, clip = self.run.training, self.run.training.reward_clip
        return {
            "layers": self._layers(),
            "heads": self._heads(),
            "sources": np.array([[s.prioritised, s.n_step] for s in self.sources], dtype=np.int32),
            "bonuses": [bonus.index for bonus in self.bonuses if isinstance(bonus, StateBonus)],
            "bodies": len(self.shape.bodies),
            "body_size": self.shape.body_size,
            "parameters": self.shape.size,
            "hidden": training.hidden,
            "stack": self.stack,
            "flat_picture": self.shape.layers[0].rows == 1 and self.shape.layers[0].cols == 1,
            "batch_size": training.batch_size,
            "update_every": training.update_every,
            "target_period": training.target_period,
            "quiet_steps": max(training.warm_up, training.n_step),
            "replay_size": training.replay_size,
            "huber": training.loss == "huber",
            "bootstrap_at_limit": training.bootstrap_at_time_limit,
            "bonus_of_entered": training.bonus_of == "entered",
            "bonus_at_replay": training.bonus_at == "replay",
            "adam": self.adam,
            "evaluation_steps": self.run.evaluation_steps,
            "savings": savings,
            "most_patches": most_patches,
            "discount": self.run.discount,
            "reward_clip": np.inf if clip is None else clip,
            "rmsprop_decay": training.rmsprop_decay,
            "rmsprop_epsilon": training.rmsprop_epsilon,
            "first_decay": ADAM_DECAYS[0],
            "second_decay": ADAM_DECAYS[1],
            "adam_epsilon": training.adam_epsilon,
        }

    def _layers(self) -> np.ndarray:
        """Return a row for each layer of the first body, in the order of LayerShape's fields in engine.hpp."""
        rows = []
        for i, layer in enumerate(self.shape.layers):
            convolution = layer.convolution
            sizes = [layer.rows, layer.cols, layer.channels, *layer.before, *layer.padded, *layer.out]
            offsets = [self.shape.slices[f"{self.shape.bodies[0]}.{part}"][0] for part in (f"{i}", f"{i}.bias")]
            rows.append([*sizes, convolution.channels, convolution.kernel, convolution.stride, *offsets])
        return np.array(rows, dtype=np.int32)

    def _heads(self) -> np.ndarray:
        """Return a row for each head, in the order of HeadShape's fields in engine.hpp."""
        rows = []
        for h, name in enumerate(self.run.recipe.heads):
            parts = ("hidden", "hidden.bias", "out", "out.bias")
            offsets = [self.shape.slices[f"head.{h}.{part}"][0] for part in parts]
            source = next(i for i, s in enumerate(self.sources) if h in s.heads)
            body = 0 if len(self.shape.bodies) == 1 else h
            rows.append([*offsets, self.shape.outputs[h], self._atoms(name), source, body])
        return np.array(rows, dtype=np.int32)

    def _member(self, p: int) -> dict[str, Any]:
        """Return a member's part of every array, by the names of Member's fields in engine.hpp."""
        worlds, replay = self.worlds, self.replay
        assert isinstance(worlds, GridWorlds)
        arrays = {
            "parameters": self.parameters[p],
            "target": self.target[p],
            "gradient": self.gradient[p],
            "moment_1": self.mean[p],
            "moment_2": self.mean_square[p],
            "record": replay.record[p],
            "next_record": replay.next_record[p],
            "action": replay.action[p],
            "flags": replay.flags[p],
            "reward": replay.reward[p],
            "stack": self.stacks.records[p],
            "counts": [bonus.counts[p] for bonus in self.bonuses if isinstance(bonus, StateBonus)],
            "state": worlds.state[p : p + 1],
            "world_steps": worlds.steps[p : p + 1],
            "words_used": worlds.words_used[p],
            "ghosts": worlds.ghosts[p],
            "directions": worlds.directions[p],
            "age": self.age[p : p + 1],
            "episode_return": self.episode_return[p : p + 1],
            "reward_weights": self.reward_weights()[p],
            "replay_key": int(self.replay_keys[p]),
            "ghost_key": int(worlds.keys[p, 0]),
            "learning_rate": self.runs[p].weight("learning_rate"),
            "steps": self.steps,
            "updates": self.updates,
            "written": replay.written,
            "priorities": [],
            "rule": self._rule(p),
        }
        if (tree := self.priorities) is not None:
            arrays |= {"priorities": [level[p] for level in tree.levels], "low": tree.low, "high": tree.high}
            arrays |= {"largest_priority": tree.largest[p : p + 1]}
        return arrays

    def _rule(self, p: int) -> dict[str, Any]:
        """Return the parameters and the state of a member's acting rule; nothing if heads are drawn in advance."""
        if self.rule is None:
            return {}
        run, acting = self.runs[p], self.runs[p].recipe.acting
        return {
            "name": acting.rule,
            "explorers": np.array(run.recipe.explorers, dtype=np.uint8),
            "probabilities": np.array(head_probabilities(run)),
            "switching_key": int(self.schedule.switching_keys[p]),
            "bandit_key": int(stream_keys([run.run_id], "bandit")[0]),
            "stay": run.weight(acting.gamma_steps),
            "discount": run.discount,
            **{name: run.rule_parameter(name) for name in RULES[acting.rule].parameters},
            **{name: array[p : p + 1].reshape(-1) for name, array in self.rule.state().items()},
        }

    def _train(self, head: np.ndarray, forced: np.ndarray, tally: Tally) -> None:
        results = []
        for p, trainer in enumerate(self._trainers):
            acting = np.ascontiguousarray(head[:, p])
            results.append(trainer.train(self._member(p), acting, np.ascontiguousarray(forced[:, p])))
            head[:, p] = acting
        for p, result in enumerate(results):
            tally.returns[p], tally.episodes[p] = result["returns"], result["episodes"]
            tally.bonus[p], tally.losses[p] = result["bonus"], result["losses"]
        tally.updates = results[0]["updates"]
        self.steps += len(head)
        self.replay.written += len(head)
        self.updates += tally.updates
        if self.priorities is not None:
            self.priorities.low, self.priorities.high = results[0]["range"]

    def _evaluate(self, head: int) -> Evaluation:
        keys = stream_keys(self.ids, f"evaluation {self.iterations}")
        results = [self._trainers[p].evaluate(self._member(p), head, int(keys[p])) for p in range(len(self.runs))]
        return Evaluation(np.array([mean for mean, _ in results]), np.array([length for _, length in results]))

    def values(self, p: int, head: int, stack: np.ndarray) -> np.ndarray:
        """Return the Q-values (A,) of a member's head for a stack of records (C, D)."""
        return self._trainers[p].values(self._member(p), head, np.ascontiguousarray(stack, dtype=np.int32))

    def weights(self, p: int) -> dict[str, np.ndarray]:
        return {name: view[p].copy() for name, view in self.shape.views(self.parameters).items()}

    def _learned(self) -> dict[str, np.ndarray]:
        arrays = {"parameters": self.parameters, "target": self.target, "mean_square": self.mean_square}
        if self.adam:
            return arrays | {"mean": self.mean, "steps": np.array([self.updates])}
        return arrays | {"mean_gradient": self.mean}

    def _restore_learned(self, arrays: dict[str, np.ndarray]) -> None:
        for name, array in self._learned().items():
            array[:] = arrays[name]


def _world_tables(world: World, scale: float) -> dict[str, Any]:
    """Return what never changes, by the names of WorldShape's fields in engine.hpp."""
    tables, layout = world.tables, world.layout
    rows, cols = layout.frame_shape
    whole = {
        "next_state": tables.next_state,
        "positions": world.positions,
        "corners": world.view_corners,
        "items": tables.items,
        "ghost_moves": world.ghost_moves,
        "ghost_starts": world.ghost_starts,
    }
    return {name: np.ascontiguousarray(array, dtype=np.int32) for name, array in whole.items()} | {
        "reward": tables.reward,
        "terminal": tables.terminal.view(np.uint8),
        "cells": tables.cells,
        "parallel": tables.world,
        "glyphs": world.glyphs.astype(np.float32) * np.float32(scale),
        "states": len(tables.next_state),
        "actions": tables.next_state.shape[1],
        "ghosts": world.ghosts,
        "cells_rows": rows,
        "cells_cols": cols,
        "glyph": world.glyphs.shape[1],
        "kinds": len(world.glyphs),
        "map_cols": layout.shape[1],
        "map_cells": layout.shape[0] * layout.shape[1],
        "item_masks": len(world.ghost_moves),
        "time_limit": world.time_limit,
        "ghost_kind": int(Kind.GHOST),
    }
