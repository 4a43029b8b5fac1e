"""Montezuminha once more, written from the paper's text alone: slow, plain, and sharing no code with `mulex`."""

import numpy as np

UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3


class NaiveWorld:
    """One game. What a cell shows is a name; ghosts go where the caller says."""

    def __init__(self, w, hard=False):
        self.w = w
        self.hard = hard
        m = (w + 1) // 2
        self.start = (1, 1)
        self.key_1 = (w, w)
        self.door_a = (m, w + 1)
        self.key_2 = (1, 2 * w + 1)
        self.door_b = (w + 1, m)
        self.passage = (w + 1 + m, w + 1)
        self.extra = (2 * w + 1, 2 * w + 1)
        self.exit = (2 * w + 1, 1)
        self.portal = (w + 1 + m, w + 1 + m)
        self.world = 0
        self.position = self.start
        self.held = {"KEY_1": False, "KEY_2": False, "EXTRA": False}
        self.ghosts = []

    @property
    def items(self):
        return (self.held["KEY_1"], self.held["KEY_2"], self.held["EXTRA"])

    def put(self, world, position, items, ghosts=()):
        """Set the game to a situation."""
        self.world = world
        self.position = position
        self.held = dict(zip(["KEY_1", "KEY_2", "EXTRA"], items, strict=True))
        self.ghosts = list(ghosts)

    def is_wall(self, cell):
        if cell in (self.door_a, self.door_b, self.passage):
            return False
        row, col = cell
        return row in (0, self.w + 1, 2 * self.w + 2) or col in (0, self.w + 1, 2 * self.w + 2)

    def is_closed_door(self, cell):
        if cell == self.door_a:
            return not self.held["KEY_1"]
        if cell == self.door_b:
            return not self.held["KEY_2"]
        return False

    def is_free(self, cell):
        """Whether a ghost can be there; outside of the map there is nothing."""
        row, col = cell
        inside = 0 <= row <= 2 * self.w + 2 and 0 <= col <= 2 * self.w + 2
        return inside and not self.is_wall(cell) and not self.is_closed_door(cell)

    def step(self, action, ghost_directions=()):
        """Move the agent, then every ghost in its direction; returns the reward and whether the game is over."""
        agent_was = self.position, self.world
        reward, done = self._move_agent(action)
        for i, direction in enumerate(ghost_directions):
            ghost_was = self.ghosts[i]
            ahead = neighbour(ghost_was, direction)
            if self.is_free(ahead):
                self.ghosts[i] = ahead
            if self.world == 1:
                continue
            swapped = self.ghosts[i] == agent_was[0] and ghost_was == self.position and agent_was[1] == 0
            if self.ghosts[i] == self.position or swapped:
                reward, done = 0, True
        return reward, done

    def _move_agent(self, action):
        ahead = neighbour(self.position, action)
        if self.world == 1:
            if ahead == self.portal:
                self.world = 0
                self.position = self.start
            elif not self.is_wall(ahead):
                self.position = ahead
            return 0, False
        if self.is_wall(ahead):
            if self.hard:
                self.world = 1
            return 0, False
        if self.is_closed_door(ahead):
            return 0, False
        self.position = ahead
        if ahead == self.exit:
            return 1, True
        for name, cell in {"KEY_1": self.key_1, "KEY_2": self.key_2, "EXTRA": self.extra}.items():
            if ahead == cell and not self.held[name]:
                self.held[name] = True
                return 1, False
        return 0, False

    def frame(self):
        """Rows of names: what the agent sees."""
        status = ["NOT_HELD"] * (self.w + 2)
        for place, name in enumerate(self.held, start=1):
            if self.held[name]:
                status[place] = name
        lower = self.position[0] > self.w + 1
        right = self.position[1] > self.w + 1
        top = self.w + 1 if lower else 0
        left = self.w + 1 if right else 0
        room = 2 * lower + right
        view = [[self._shown((top + r, left + c), room) for c in range(self.w + 2)] for r in range(self.w + 2)]
        return [status, *view]

    def _shown(self, cell, room):
        if self.world == 1:
            return self._shown_in_parallel(cell, room)
        if cell in self.ghosts:
            return "GHOST"
        if cell == self.position:
            return "AGENT"
        if self.is_wall(cell):
            return f"WALL_{room}"
        if cell == self.door_a:
            return "OPEN_DOOR" if self.held["KEY_1"] else "DOOR_1"
        if cell == self.door_b:
            return "OPEN_DOOR" if self.held["KEY_2"] else "DOOR_2"
        if cell == self.passage:
            return "OPEN_DOOR"
        if cell == self.exit:
            return "EXIT"
        for name, place in {"KEY_1": self.key_1, "KEY_2": self.key_2, "EXTRA": self.extra}.items():
            if cell == place and not self.held[name]:
                return name
        return "FLOOR"

    def _shown_in_parallel(self, cell, room):
        if cell == self.position:
            return "AGENT"
        if self.is_wall(cell):
            return f"PARALLEL_WALL_{room}"
        if cell == self.portal:
            return "PORTAL"
        if cell in (self.door_a, self.door_b, self.passage):
            return "PARALLEL_DOORWAY"
        return "PARALLEL_FLOOR"


def draw(frame, glyphs):
    """Rows of names, each drawn as its glyph (t, t): one picture."""
    return np.block([[glyphs[name] for name in row] for row in frame])


def neighbour(cell, direction):
    row, col = cell
    if direction == UP:
        return row - 1, col
    if direction == RIGHT:
        return row, col + 1
    if direction == DOWN:
        return row + 1, col
    if direction == LEFT:
        return row, col - 1
    raise ValueError(direction)
