"""The kinds of cell in a frame, and the grey level of each."""

from enum import IntEnum

import numpy as np


class Kind(IntEnum):
    """What a cell of a frame shows. Each of the four rooms has its own kind of wall, in both worlds."""

    FLOOR = 0
    WALL_0 = 1
    WALL_1 = 2
    WALL_2 = 3
    WALL_3 = 4
    DOOR_1 = 5
    DOOR_2 = 6
    OPEN_DOOR = 7
    KEY_1 = 8
    KEY_2 = 9
    EXTRA = 10
    EXIT = 11
    AGENT = 12
    GHOST = 13
    NOT_HELD = 14
    PARALLEL_FLOOR = 15
    PARALLEL_WALL_0 = 16
    PARALLEL_WALL_1 = 17
    PARALLEL_WALL_2 = 18
    PARALLEL_WALL_3 = 19
    PARALLEL_DOORWAY = 20
    PORTAL = 21


WALLS = (Kind.WALL_0, Kind.WALL_1, Kind.WALL_2, Kind.WALL_3)
PARALLEL_WALLS = (Kind.PARALLEL_WALL_0, Kind.PARALLEL_WALL_1, Kind.PARALLEL_WALL_2, Kind.PARALLEL_WALL_3)
ITEMS = (Kind.KEY_1, Kind.KEY_2, Kind.EXTRA)
DOORS = (Kind.DOOR_1, Kind.DOOR_2)

# chosen: the paper gives no levels. Ground is dark, walls are grey, keys, doors and the like are bright.
GREY_LEVEL = {
    Kind.FLOOR: 0,
    Kind.NOT_HELD: 10,
    Kind.OPEN_DOOR: 20,
    Kind.PARALLEL_FLOOR: 30,
    Kind.PARALLEL_DOORWAY: 40,
    Kind.WALL_0: 60,
    Kind.WALL_1: 75,
    Kind.WALL_2: 90,
    Kind.WALL_3: 105,
    Kind.DOOR_1: 120,
    Kind.DOOR_2: 130,
    Kind.PARALLEL_WALL_0: 140,
    Kind.PARALLEL_WALL_1: 147,
    Kind.PARALLEL_WALL_2: 154,
    Kind.PARALLEL_WALL_3: 161,
    Kind.KEY_1: 170,
    Kind.KEY_2: 185,
    Kind.EXTRA: 200,
    Kind.EXIT: 215,
    Kind.PORTAL: 225,
    Kind.GHOST: 235,
    Kind.AGENT: 255,
}


def grey_glyphs() -> np.ndarray:
    """Return one pixel per kind: (kinds, 1, 1) uint8."""
    return np.array([GREY_LEVEL[kind] for kind in Kind], dtype=np.uint8)[:, None, None]
