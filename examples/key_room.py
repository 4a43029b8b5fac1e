"""A small world in the manner of MiniGrid: a key opens the door to the room with the goal. Needs Gymnasium alone.

The observation is a picture of 7 x 7 cells with three numbers each (object, state, direction), as MiniGrid encodes it.
"""

from typing import Any

import gymnasium
import numpy as np

SIZE = 7
FLOOR, WALL, DOOR, KEY, GOAL, AGENT = range(6)
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
LEFT, RIGHT, FORWARD, TOGGLE = range(4)


class KeyRoom(gymnasium.Env[np.ndarray, int]):
    """Turn left, turn right, go forward, or use what is ahead. The return is 1 less a part of the time it took."""

    def __init__(self, time_limit: int = 100) -> None:
        self.action_space = gymnasium.spaces.Discrete(4)
        self.observation_space = gymnasium.spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        self._limit = time_limit

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._cells = np.full((SIZE, SIZE), FLOOR)
        self._cells[[0, -1], :] = self._cells[:, [0, -1]] = self._cells[:, 3] = WALL
        self._cells[3, 3], self._cells[SIZE - 2, SIZE - 2], self._cells[SIZE - 2, 1] = DOOR, GOAL, KEY
        self._at, self._facing, self._has_key, self._steps = (1, 1), int(self.np_random.integers(4)), False, 0
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._steps += 1
        ahead = self._at[0] + MOVES[self._facing][0], self._at[1] + MOVES[self._facing][1]
        if action in (LEFT, RIGHT):
            self._facing = (self._facing + (1 if action == RIGHT else -1)) % 4
        elif action == FORWARD and self._cells[ahead] in (FLOOR, GOAL):
            self._at = ahead
        elif action == TOGGLE and self._cells[ahead] == KEY:
            self._has_key, self._cells[ahead] = True, FLOOR
        elif action == TOGGLE and self._cells[ahead] == DOOR and self._has_key:
            self._cells[ahead] = FLOOR
        there = bool(self._cells[self._at] == GOAL)
        return (
            self._seen(),
            1 - 0.9 * self._steps / self._limit if there else 0.0,
            there,
            self._steps >= self._limit,
            {},
        )

    def _seen(self) -> np.ndarray:
        picture = np.zeros((SIZE, SIZE, 3), np.uint8)
        picture[..., 0] = self._cells
        picture[self._at] = AGENT, self._has_key, self._facing
        return picture * np.uint8(40)


gymnasium.register("KeyRoom-v0", KeyRoom)
