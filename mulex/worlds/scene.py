"""The whole map at one moment: what lies on each cell, who stands on it, and which room is seen."""

from dataclasses import dataclass

import numpy as np

from mulex.worlds.kinds import PARALLEL_WALLS, WALLS, Kind
from mulex.worlds.layout import Cell, Layout
from mulex.worlds.tables import kind_of
from mulex.worlds.world import World


@dataclass(frozen=True)
class Scene:
    """The map of the real or of the parallel world."""

    ground: np.ndarray  # (rows, cols) uint8: kinds of cell, nobody standing on them
    seen: np.ndarray  # (rows, cols) bool: the room that the agent sees, with its walls
    sprites: tuple[tuple[Kind, Cell], ...]  # who stands where, the topmost last

    def cells(self) -> np.ndarray:
        """The kinds with everybody on top: (rows, cols) uint8."""
        cells = self.ground.copy()
        for kind, cell in self.sprites:
            cells[cell] = kind
        return cells


def map_cells(layout: Layout, world: int, items: int) -> np.ndarray:
    """The kinds of cell of the whole map while the items of a bit mask are held: (rows, cols) uint8."""
    cells = np.full(layout.shape, Kind.PARALLEL_FLOOR if world else Kind.FLOOR, dtype=np.uint8)
    height, width = layout.room_shape
    cells[:: height + 1] = cells[:, :: width + 1] = PARALLEL_WALLS[0] if world else WALLS[0]
    for cell in (*layout.doors, *layout.items, layout.exit, layout.portal):
        if cell is not None:
            cells[cell] = kind_of(layout, world, layout.room_of(cell), cell, items)
    return cells


def room_slices(layout: Layout, room: Cell) -> tuple[slice, slice]:
    """The rows and columns of a room, walls included."""
    top, left = layout.room_corner(room)
    height, width = layout.room_shape
    return slice(top, top + height + 2), slice(left, left + width + 2)


def scene(world: World, state: int, ghosts: np.ndarray, part: int) -> Scene:
    """The real (`part` 0) or the parallel world (1) in a state, with the ghosts' cell numbers (G,)."""
    layout, tables = world.layout, world.tables
    row, col = tables.position[state].tolist()
    seen = np.zeros(layout.shape, dtype=bool)
    sprites: list[tuple[Kind, Cell]] = []
    if tables.world[state] == part:
        seen[room_slices(layout, layout.room_of((row, col)))] = True
        sprites.append((Kind.AGENT, (row, col)))
    if part == 0:
        sprites += [(Kind.GHOST, world.cell(ghost)) for ghost in ghosts]
    return Scene(map_cells(layout, part, int(tables.items[state])), seen, tuple(sprites))


def opening(world: World, part: int) -> Scene:
    """The map before the first step, all of it seen, with the ghosts spread over the cells where they may start."""
    layout = world.layout
    ground = map_cells(layout, part, 0)
    sprites = [] if part else [(Kind.AGENT, layout.start), *_ghosts_spread(world, ground)]
    return Scene(ground, np.ones(layout.shape, dtype=bool), tuple(sprites))


def _ghosts_spread(world: World, ground: np.ndarray) -> list[tuple[Kind, Cell]]:
    """The first one in the middle of the room, the others about evenly over it, on nothing that they would hide."""
    starts = [world.cell(number) for number in world.ghost_starts]
    free = np.array([cell for cell in starts if ground[cell] == Kind.FLOOR] or starts)
    places = (0.5 + np.arange(world.ghosts)[:, None] * (0.7549, 0.5698)) % 1  # Roberts' evenly spread sequence
    wanted = 0.5 + places * world.layout.room_shape
    nearest = np.abs(free[None] - wanted[:, None]).sum(axis=-1).argmin(axis=1)  # (G,)
    return [(Kind.GHOST, (int(row), int(col))) for row, col in free[nearest]]
