"""One world: a map, its tables, its ghosts, and the look of its frames."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mulex.worlds.kinds import Kind, grey_glyphs
from mulex.worlds.maps import LONGEST_EPISODE, MAPS, MOST_GHOSTS, Cell, Layout
from mulex.worlds.tables import ACTIONS, MOVES, Tables, compile_tables
from mulex.worlds.textures import texture_glyphs

STEPS_PER_ROOM_SIZE = 100  # given: episodes end after 500, 1000, 1500 steps for w = 5, 10, 15
LEAST_GHOST_DISTANCE = 2  # chosen


@dataclass(frozen=True)
class World:
    """The constant part of a world. A ghost's cell is the number row * columns of the map + column."""

    tables: Tables
    ghosts: int
    glyphs: np.ndarray  # (kinds, t, t) uint8: one pixel or a texture per cell
    time_limit: int
    positions: np.ndarray  # (S,) int64: the agent's cell as a number
    ghost_moves: np.ndarray  # (item masks, cells, A) int64: a ghost's cell after a move
    ghost_starts: np.ndarray  # (n,) int64
    view_corners: np.ndarray  # (S, 2) int64: the map cell drawn at row 1, column 0 of the frame

    @property
    def layout(self) -> Layout:
        return self.tables.layout

    @property
    def frame_shape(self) -> tuple[int, int]:
        """Pixel rows and columns of a frame."""
        rows, cols = self.layout.frame_shape
        return rows * self.glyphs.shape[1], cols * self.glyphs.shape[1]

    def cells(self, states: np.ndarray, ghosts: np.ndarray) -> np.ndarray:
        """Return the kinds of cell seen in states (N,) with ghosts (N, G): (N, rows, cols) uint8."""
        seen = self.tables.cells.take(states, axis=0)
        if self.ghosts:
            self._draw_ghosts(seen, states, ghosts)
        return seen

    def frames(self, states: np.ndarray, ghosts: np.ndarray) -> np.ndarray:
        """Draw what the agent sees in states (N,) with ghosts (N, G): (N, *frame_shape) uint8."""
        return pixels(self.glyphs, self.cells(states, ghosts))

    def cell(self, number: int) -> Cell:
        """Convert a ghost's cell to (row, col)."""
        row, col = divmod(int(number), self.layout.shape[1])
        return row, col

    def _draw_ghosts(self, seen: np.ndarray, states: np.ndarray, ghosts: np.ndarray) -> None:
        """Draw the ghosts that are in the seen room on the frames; in the parallel world none are visible."""
        rows, cols = self.layout.frame_shape
        corner = self.view_corners[states]
        row = ghosts // self.layout.shape[1] - corner[:, :1]  # (N, G)
        col = ghosts % self.layout.shape[1] - corner[:, 1:]
        inside = (row >= 0) & (row < rows - 1) & (col >= 0) & (col < cols)
        inside &= self.tables.world[states][:, None] == 0
        n, g = np.nonzero(inside)
        seen[n, 1 + row[n, g], col[n, g]] = Kind.GHOST


def pixels(glyphs: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Draw cells (N, rows, cols) with glyphs (kinds, t, t): (N, rows * t, cols * t)."""
    n, rows, cols = cells.shape
    t = glyphs.shape[1]
    if t == 1:
        return glyphs.ravel().take(cells)
    return glyphs[cells].transpose(0, 1, 3, 2, 4).reshape(n, rows * t, cols * t)


def _ghost_moves(layout: Layout) -> np.ndarray:
    """Return a ghost's cell after a step in each direction. It passes open doors, and stays where it cannot move."""
    rows, cols = layout.shape
    moves = np.empty((1 << len(layout.items), rows * cols, ACTIONS), dtype=np.int64)
    for items in range(len(moves)):
        passable = np.array([[layout.is_open((r, c), items) for c in range(cols)] for r in range(rows)])
        for direction, (down, right) in enumerate(MOVES):
            free = np.roll(passable, (-down, -right), (0, 1))
            here = np.arange(rows * cols).reshape(rows, cols)
            moves[items, :, direction] = np.where(free, here + down * cols + right, here).ravel()
    return moves


def _ghost_starts(layout: Layout) -> np.ndarray:
    height, width = layout.room_shape
    top, left = layout.room_corner(layout.room_of(layout.start))
    cells = [(top + 1 + r, left + 1 + c) for r in range(height) for c in range(width)]
    far = [(r, c) for r, c in cells if abs(r - layout.start[0]) + abs(c - layout.start[1]) >= LEAST_GHOST_DISTANCE]
    return np.array([r * layout.shape[1] + c for r, c in far], dtype=np.int64)


def build_world(
    map: str = "montezuminha",
    room_size: int = 5,
    hard: bool = False,
    ghosts: int = 0,
    textured: bool = False,
    time_limit: int | None = None,
) -> World:
    """Compile a world. Worlds that differ only in ghosts, textures or time limit share their tables."""
    if map not in MAPS:
        raise ValueError(f"map: got {map!r}, allowed is one of {', '.join(MAPS)}")
    for name, value in {"hard": hard, "textured": textured}.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name}: got {value!r}, allowed is true or false")
    if not isinstance(ghosts, int) or isinstance(ghosts, bool) or not 0 <= ghosts <= MOST_GHOSTS:
        raise ValueError(f"ghosts: got {ghosts!r}, allowed is a whole number from 0 to {MOST_GHOSTS}")
    whole = isinstance(time_limit, int) and not isinstance(time_limit, bool)
    if time_limit is not None and not (whole and 1 <= time_limit <= LONGEST_EPISODE):
        raise ValueError(f"time_limit: got {time_limit!r}, allowed is a whole number from 1 to {LONGEST_EPISODE:,}")
    tables = _tables(map, room_size, bool(hard))
    layout = tables.layout
    corner = np.array([layout.room_corner(layout.room_of(tuple(cell))) for cell in tables.position.tolist()])
    return World(
        tables=tables,
        ghosts=ghosts,
        glyphs=texture_glyphs() if textured else grey_glyphs(),
        time_limit=time_limit or STEPS_PER_ROOM_SIZE * room_size,
        positions=tables.position[:, 0] * layout.shape[1] + tables.position[:, 1],
        ghost_moves=_ghost_moves(layout) if ghosts else np.empty((0, 0, ACTIONS), dtype=np.int64),
        ghost_starts=_ghost_starts(layout),
        view_corners=corner,
    )


@lru_cache(maxsize=8, typed=True)  # typed, so that 5.0 does not get the entry of 5
def _tables(map: str, room_size: int, hard: bool) -> Tables:
    return compile_tables(MAPS[map](room_size, hard))
