"""The whole map in one state: the kind of each cell, the agent and the ghosts on it, and the seen room."""

from dataclasses import dataclass

import numpy as np

from mulex.worlds.kinds import PARALLEL_WALLS, WALLS, Kind
from mulex.worlds.maps import Cell, Layout
from mulex.worlds.tables import kind_of
from mulex.worlds.world import World


@dataclass(frozen=True)
class Scene:
    """The map of the real or the parallel world in one state."""

    ground: np.ndarray  # (rows, cols) uint8: kinds of cell without the sprites
    seen: np.ndarray  # (rows, cols) bool: the room that the agent sees, with its walls
    sprites: tuple[tuple[Kind, Cell], ...]  # the agent and the ghosts with their cells, the topmost last

    def cells(self) -> np.ndarray:
        """Return the kinds of cell with the sprites on top: (rows, cols) uint8."""
        cells = self.ground.copy()
        for kind, cell in self.sprites:
            cells[cell] = kind
        return cells


def map_cells(layout: Layout, world: int, items: int) -> np.ndarray:
    """Return the kinds of cell of the whole map while the items of a bit mask are held: (rows, cols) uint8."""
    cells = np.full(layout.shape, Kind.PARALLEL_FLOOR if world else Kind.FLOOR, dtype=np.uint8)
    height, width = layout.room_shape
    cells[:: height + 1] = cells[:, :: width + 1] = PARALLEL_WALLS[0] if world else WALLS[0]
    for cell in (*layout.doors, *layout.items, layout.exit, layout.portal):
        if cell is not None:
            cells[cell] = kind_of(layout, world, layout.room_of(cell), cell, items)
    return cells


def room_slices(layout: Layout, room: Cell) -> tuple[slice, slice]:
    """Return the rows and columns of a room, walls included."""
    top, left = layout.room_corner(room)
    height, width = layout.room_shape
    return slice(top, top + height + 2), slice(left, left + width + 2)


def scene(world: World, state: int, ghosts: np.ndarray, part: int) -> Scene:
    """Return the scene of the real (`part` 0) or the parallel world (1) in a state; `ghosts` (G,) are cell numbers."""
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
    """Return the map before the first step, all of it seen, with the ghosts spread over their start cells."""
    layout = world.layout
    ground = map_cells(layout, part, 0)
    sprites = [] if part else [(Kind.AGENT, layout.start), *_ghosts_spread(world, ground)]
    return Scene(ground, np.ones(layout.shape, dtype=bool), tuple(sprites))


def _ghosts_spread(world: World, ground: np.ndarray) -> list[tuple[Kind, Cell]]:
    """Put the first ghost in the middle of the room and spread the others evenly, where they hide nothing."""
    starts = [world.cell(number) for number in world.ghost_starts]
    free = np.array([cell for cell in starts if ground[cell] == Kind.FLOOR] or starts)
    spread = (0.5 + np.arange(world.ghosts)[:, None] * (0.7549, 0.5698)) % 1  # Roberts' low-discrepancy sequence
    wanted = 0.5 + spread * world.layout.room_shape
    nearest = np.abs(free[None] - wanted[:, None]).sum(axis=-1).argmin(axis=1)  # (G,)
    return [(Kind.GHOST, (int(row), int(col))) for row, col in free[nearest]]
