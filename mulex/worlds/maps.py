"""Maps: the cells of walls, doors, items, the exit and the portal. Cells are (row, col) from the top left."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Cell = tuple[int, int]

SMALLEST_ROOM, LARGEST_ROOM = 3, 50
MOST_GHOSTS = 16
LONGEST_EPISODE = 1_000_000  # steps


@dataclass(frozen=True)
class Layout:
    """A grid of equal rooms inside outer walls, with one shared wall between neighbours."""

    rooms: tuple[int, int]
    room_shape: tuple[int, int]
    start: Cell
    items: tuple[Cell, ...]
    exit: Cell
    doors: Mapping[Cell, int | None] = field(default_factory=dict)
    """Each doorway and the item that opens it; None is always open."""
    portal: Cell | None = None
    """The exit of the parallel world. None: there is no parallel world, and walls only block."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole map, outer walls included."""
        return tuple(n * (inside + 1) + 1 for n, inside in zip(self.rooms, self.room_shape, strict=True))  # type: ignore[return-value]

    @property
    def frame_shape(self) -> tuple[int, int]:
        """Rows and columns of the agent's frame: a status row above one room with its walls."""
        return self.room_shape[0] + 3, self.room_shape[1] + 2

    @property
    def ideal_return(self) -> float:
        """The highest return of an episode: 1 for every item and 1 for the exit."""
        return len(self.items) + 1.0

    def is_wall(self, cell: Cell) -> bool:
        """Tell whether a cell is a wall; doorways are not."""
        on_line = any(x % (inside + 1) == 0 for x, inside in zip(cell, self.room_shape, strict=True))
        return on_line and cell not in self.doors

    def is_open(self, cell: Cell, items: int) -> bool:
        """Tell whether a cell can be entered while the items of this bit mask are held."""
        opener = self.doors.get(cell)
        return not self.is_wall(cell) and (opener is None or bool(items >> opener & 1))

    def room_of(self, cell: Cell) -> Cell:
        """Return the room that is seen from a cell. A doorway belongs to the upper or left of its two rooms."""
        return (cell[0] - 1) // (self.room_shape[0] + 1), (cell[1] - 1) // (self.room_shape[1] + 1)

    def room_corner(self, room: Cell) -> Cell:
        """Return the upper left wall cell of a room."""
        return room[0] * (self.room_shape[0] + 1), room[1] * (self.room_shape[1] + 1)


def _check_room_size(room_size: object) -> int:
    whole = isinstance(room_size, int) and not isinstance(room_size, bool)
    if not whole or not SMALLEST_ROOM <= room_size <= LARGEST_ROOM:  # type: ignore[operator]
        raise ValueError(
            f"room_size: got {room_size!r}, allowed is a whole number from {SMALLEST_ROOM} to {LARGEST_ROOM}"
        )
    return room_size  # type: ignore[return-value]


def montezuminha(room_size: int = 5, hard: bool = False) -> Layout:
    """Make the paper's map: four rooms, two keys, two doors, an extra reward off the shortest path, and the exit."""
    w = _check_room_size(room_size)
    middle = (w + 1) // 2  # chosen: the paper names the rooms, not the cells
    return Layout(
        rooms=(2, 2),
        room_shape=(w, w),
        start=(1, 1),
        items=((w, w), (1, 2 * w + 1), (2 * w + 1, 2 * w + 1)),
        exit=(2 * w + 1, 1),
        doors={(middle, w + 1): 0, (w + 1, middle): 1, (w + 1 + middle, w + 1): None},
        portal=(w + 1 + middle, w + 1 + middle) if hard else None,
    )


def two_rooms(room_size: int = 3, hard: bool = False) -> Layout:
    """Make a small map that is learned in seconds: a key on the left opens the door to the exit on the right."""
    w = _check_room_size(room_size)
    middle = (w + 1) // 2
    return Layout(
        rooms=(1, 2),
        room_shape=(w, w),
        start=(1, 1),
        items=((w, w),),
        exit=(w, 2 * w + 1),
        doors={(middle, w + 1): 0},
        portal=(middle, w + 1 + middle) if hard else None,
    )


def corridor(room_size: int = 3, hard: bool = False) -> Layout:
    """Make one row of cells with the exit at its right end; its Q-values are known in closed form."""
    w = _check_room_size(room_size)
    if hard:
        raise ValueError("hard: got True, but the corridor has no parallel world; use montezuminha or two_rooms")
    return Layout(rooms=(1, 1), room_shape=(1, w), start=(1, 1), items=(), exit=(1, w))


MAPS = {"montezuminha": montezuminha, "two_rooms": two_rooms, "corridor": corridor}
