"""Our grid worlds as Gymnasium environments. An environment is a pack of one world."""

from typing import Any

import gymnasium
import numpy as np

from mulex.worlds.pack import WorldPack
from mulex.worlds.tables import ACTIONS
from mulex.worlds.world import build_world

ENV_IDS = {
    "mulex/Montezuminha-v0": "montezuminha",
    "mulex/TwoRooms-v0": "two_rooms",
    "mulex/Corridor-v0": "corridor",
}


class GridWorld(gymnasium.Env[np.ndarray, np.int64]):
    """Montezuminha: four rooms, two keys, two doors, an extra reward and an exit.

    Actions: `Discrete(4)`: 0 up, 1 right, 2 down, 3 left. A wall or a closed door blocks; the agent stays.

    Observation: `Box(0, 255, (room_size + 3, room_size + 2), uint8)`: a row with the items held over the current
    room with its walls. Each kind of cell has its own grey level, and each room's walls have theirs. A doorway
    belongs to the upper or left of its two rooms. With `textured` each cell is 8 x 8 pixels.

    Reward: +1 for each item, once, by stepping on it (key 1 in the upper left room opens the door to the upper right,
    key 2 there opens the door from the upper left to the lower left, the extra reward is in the lower right), and +1
    for the exit in the lower left. So an episode is worth 4 at best.

    Ends: terminated at the exit, or by a ghost; truncated after `time_limit` steps (default 100 x room_size). To
    shorten episodes `gymnasium.make(..., max_episode_steps=n)` does too; to lengthen them use `time_limit`.

    Variants: `room_size` 3 to 50. `hard`: touching a wall teleports to the same cell of a rewardless parallel world
    of four rooms, whose only way out is a portal in its lower right room, back to the start; items stay held; closed
    doors only block. `ghosts`: each starts on a random cell of the start room, 2 steps or more away, and every step
    turns to a random direction with probability 0.25 and then moves if it can, through open doors too; meeting it,
    also by swapping cells, ends the episode without reward. `textured`: as above. All of them combine.

    Info: `position` (row, col), `items` (key 1, key 2, extra reward), `world` (0 real, 1 parallel), `state` (the
    state id that visits are counted by; it does not include ghosts), and with ghosts `ghosts`, their (row, col).

    `map` picks a smaller map for tests: `two_rooms` or `corridor`.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        room_size: int = 5,
        hard: bool = False,
        ghosts: int = 0,
        textured: bool = False,
        time_limit: int | None = None,
        map: str = "montezuminha",
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode: got {render_mode!r}, allowed is one of {self.metadata['render_modes']}")
        self.world = build_world(map, room_size, hard, ghosts, textured, time_limit)
        self.render_mode = render_mode
        self.action_space = gymnasium.spaces.Discrete(ACTIONS)
        self.observation_space = gymnasium.spaces.Box(0, 255, self.world.frame_shape, np.uint8)
        self.pack: WorldPack | None = None
        self._infos = self._info_by_state()
        self._action = np.zeros(1, dtype=np.int64)
        self._window: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if self.pack is None or seed is not None:
            key = self.np_random.integers(0, 2**64, size=1, dtype=np.uint64)
            self.pack = WorldPack(self.world, key)
        else:
            self.pack.restart(np.ones(1, dtype=bool))
        self._show()
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self.pack is None:
            raise gymnasium.error.ResetNeeded("reset() must be called before step()")
        if not 0 <= action < ACTIONS:
            raise ValueError(f"action: got {action!r}, allowed is 0 up, 1 right, 2 down, 3 left")
        self._action[0] = action
        reward, terminal, truncated = self.pack.step(self._action)
        if self.render_mode == "human":
            self._show()
        return self._observation(), reward.item(), terminal.item(), truncated.item(), self._info()

    def render(self) -> Any:
        """Draw the present state: as an RGB array, as text, or (`human`) in the window, which returns None."""
        from mulex.worlds.pictures import render

        if self.pack is None:
            raise gymnasium.error.ResetNeeded("reset() must be called before render()")
        if self.render_mode == "ansi":
            return render.text(self.world, int(self.pack.state[0]), self.pack.ghosts[0])
        if self.render_mode == "rgb_array":
            return render.picture(self.world, int(self.pack.state[0]), self.pack.ghosts[0])
        self._show()
        return None

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None

    def _observation(self) -> np.ndarray:
        assert self.pack is not None
        return self.pack.frames()[0]

    def _info_by_state(self) -> list[dict[str, Any]]:
        tables = self.world.tables
        bits = [1 << i for i in range(len(tables.layout.items))]
        rows = zip(tables.position.tolist(), tables.items.tolist(), tables.world.tolist(), strict=True)
        return [
            {
                "position": tuple(position),
                "items": tuple(bool(items & bit) for bit in bits),
                "world": world,
                "state": state,
            }
            for state, (position, items, world) in enumerate(rows)
        ]

    def _info(self) -> dict[str, Any]:
        assert self.pack is not None
        info = self._infos[self.pack.state[0]].copy()
        if self.world.ghosts:
            info["ghosts"] = tuple(self.world.cell(ghost) for ghost in self.pack.ghosts[0])
        return info

    def _show(self) -> None:
        if self.render_mode != "human" or self.pack is None:
            return
        from mulex.worlds.pictures import render
        from mulex.worlds.pictures.window import Window

        if self._window is None:
            self._window = Window(self.metadata["render_fps"])
        self._window.show(render.picture(self.world, int(self.pack.state[0]), self.pack.ghosts[0]))


def register_worlds() -> None:
    """Register our worlds with Gymnasium, so that `gymnasium.make` finds them."""
    for env_id, map_name in ENV_IDS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point="mulex.worlds.env:GridWorld", kwargs=_defaults(map_name))


def _defaults(map_name: str) -> dict[str, Any]:
    return {} if map_name == "montezuminha" else {"map": map_name, "room_size": 3}
