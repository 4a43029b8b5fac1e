"""A map compiled to tables, so that a step is a table look-up. Axes: S states, A = 4 actions."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from mulex.worlds.kinds import DOORS, ITEMS, PARALLEL_WALLS, WALLS, Kind
from mulex.worlds.maps import Cell, Layout

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # 0 up, 1 right, 2 down, 3 left
ACTIONS = len(MOVES)


@dataclass(frozen=True)
class State:
    """The state of a world without ghosts; `items` is a bit mask."""

    world: int  # 0 real, 1 parallel
    cell: Cell
    items: int


@dataclass(frozen=True)
class Tables:
    """All reachable states in the order of the search, non-terminal ones first; the start is state 0."""

    layout: Layout
    live: int
    """The number of non-terminal states; the terminal ones follow them."""
    next_state: np.ndarray  # (S, A) int64
    reward: np.ndarray  # (S, A) float32
    terminal: np.ndarray  # (S, A) bool
    cells: np.ndarray  # (S, rows, cols) uint8: the kind of every cell of the frame
    world: np.ndarray  # (S,) uint8
    position: np.ndarray  # (S, 2) int64
    items: np.ndarray  # (S,) int64, bit masks


def step(layout: Layout, state: State, action: int) -> tuple[State, float, bool]:
    """Apply the rules: return the state after an action, its reward, and whether the episode is over."""
    row, col = state.cell
    target = row + MOVES[action][0], col + MOVES[action][1]
    if state.world == 1:
        if layout.is_wall(target):
            return state, 0.0, False
        if target == layout.portal:
            return State(0, layout.start, state.items), 0.0, False
        return State(1, target, state.items), 0.0, False
    if not layout.is_open(target, state.items):
        teleports = layout.portal is not None and layout.is_wall(target)
        return (State(1, state.cell, state.items) if teleports else state), 0.0, False
    if target == layout.exit:
        return State(0, target, state.items), 1.0, True
    item = 1 << layout.items.index(target) if target in layout.items else 0
    new = item & ~state.items
    return State(0, target, state.items | new), float(bool(new)), False


def compile_tables(layout: Layout) -> Tables:
    """Search from the start, breadth first, and tabulate what every action does in every state."""
    start = State(0, layout.start, 0)
    live, ends = {start: 0}, dict[State, int]()
    found: list[list[tuple[State, float, bool]]] = []
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        found.append([step(layout, state, action) for action in range(ACTIONS)])
        for after, _, over in found[-1]:
            index = ends if over else live
            if after not in index:
                index[after] = len(index)
                if not over:
                    waiting.append(after)
    states = [*live, *ends]
    ids = live | {state: len(live) + i for state, i in ends.items()}
    stay = [[(state, 0.0, True)] * ACTIONS for state in ends]
    outcomes = found + stay
    return Tables(
        layout=layout,
        live=len(live),
        next_state=np.array([[ids[after] for after, _, _ in row] for row in outcomes], dtype=np.int64),
        reward=np.array([[reward for _, reward, _ in row] for row in outcomes], dtype=np.float32),
        terminal=np.array([[over for _, _, over in row] for row in outcomes], dtype=bool),
        cells=_frames(layout, states),
        world=np.array([state.world for state in states], dtype=np.uint8),
        position=np.array([state.cell for state in states], dtype=np.int64),
        items=np.array([state.items for state in states], dtype=np.int64),
    )


def kind_of(layout: Layout, world: int, room: Cell, cell: Cell, items: int) -> Kind:
    """Return what a cell shows while a room is seen, without the agent and the ghosts."""
    room_index = room[0] * layout.rooms[1] + room[1]
    if layout.is_wall(cell):
        return (PARALLEL_WALLS if world else WALLS)[room_index]
    if world:
        if cell == layout.portal:
            return Kind.PORTAL
        return Kind.PARALLEL_DOORWAY if cell in layout.doors else Kind.PARALLEL_FLOOR
    if cell in layout.doors:
        opener = layout.doors[cell]
        return Kind.OPEN_DOOR if opener is None or items >> opener & 1 else DOORS[opener]
    if cell == layout.exit:
        return Kind.EXIT
    if cell in layout.items and not items >> layout.items.index(cell) & 1:
        return ITEMS[layout.items.index(cell)]
    return Kind.FLOOR


def _view(layout: Layout, world: int, room: Cell, items: int) -> np.ndarray:
    """Draw the frame of a room without the agent: the status row, then the room with its walls."""
    rows, cols = layout.frame_shape
    top, left = layout.room_corner(room)
    view = np.full((rows, cols), Kind.NOT_HELD, dtype=np.uint8)
    for i in range(len(layout.items)):
        if items >> i & 1:
            view[0, 1 + i] = ITEMS[i]
    for row in range(rows - 1):
        for col in range(cols):
            view[1 + row, col] = kind_of(layout, world, room, (top + row, left + col), items)
    return view


def _frames(layout: Layout, states: list[State]) -> np.ndarray:
    views: dict[tuple[int, Cell, int], np.ndarray] = {}
    frames = np.empty((len(states), *layout.frame_shape), dtype=np.uint8)
    for frame, state in zip(frames, states, strict=True):
        key = state.world, layout.room_of(state.cell), state.items
        if key not in views:
            views[key] = _view(layout, *key)
        top, left = layout.room_corner(key[1])
        frame[:] = views[key]
        frame[1 + state.cell[0] - top, state.cell[1] - left] = Kind.AGENT
    return frames
