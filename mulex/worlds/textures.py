"""Textures: 8 x 8 pixels per kind of cell, in patterns that a person can tell apart."""

import numpy as np

from mulex.worlds.kinds import PARALLEL_WALLS, WALLS, Kind

SIZE = 8

_SHADES = {".": 0, "-": 70, "+": 140, "#": 200, "@": 255}

_DRAWN = {
    Kind.FLOOR: "........ ........ ..-..... ........ ........ .....-.. ........ ........",
    Kind.OPEN_DOOR: "#......# #......# +......+ #......# #......# +......+ #......# #......#",
    Kind.DOOR_1: "######## #+#++#+# #+#++#+# #+#++#+# #+#+@#+# #+#++#+# #+#++#+# ########",
    Kind.DOOR_2: "######## #++++++# ######## #++++++# ####@### #++++++# ######## #++++++#",
    Kind.KEY_1: ".@@@.... @...@... @...@... .@@@.... ..@..... ..@@.... ..@..... ..@@....",
    Kind.KEY_2: "........ .....@@. ....@..@ @@@@@..@ @.@.@..@ @.@..@@. ........ ........",
    Kind.EXTRA: "...@@... ..@##@.. .@####@. @######@ @######@ .@####@. ..@##@.. ...@@...",
    Kind.EXIT: "@@@@@@@@ @......@ @.@@@@.@ @.@..@.@ @.@..@.@ @.@@@@.@ @......@ @@@@@@@@",
    Kind.AGENT: "..@@@@.. .@@@@@@. @@-@@-@@ @@@@@@@@ @@-@@-@@ @@@--@@@ .@@@@@@. ..@@@@..",
    Kind.GHOST: "..####.. .######. ##.##.## ##.##.## ######## ######## ######## #.#..#.#",
    Kind.NOT_HELD: "........ .--..--. .-....-. ........ ........ .-....-. .--..--. ........",
    Kind.PARALLEL_FLOOR: "-.-.-.-. ........ .-.-.-.- ........ -.-.-.-. ........ .-.-.-.- ........",
    Kind.PARALLEL_DOORWAY: "+-....-+ +-....-+ +-....-+ +-....-+ +-....-+ +-....-+ +-....-+ +-....-+",
    Kind.PORTAL: "..++++.. .+@@@@+. +@....@+ +@.##.@+ +@.##.@+ +@....@+ .+@@@@+. ..++++..",
}


def _picture(text: str) -> np.ndarray:
    return np.array([[_SHADES[c] for c in row] for row in text.split()], dtype=np.uint8)


def _wall(pattern: int, dark: int, light: int) -> np.ndarray:
    """Draw one of four patterns, one per room: bricks, diagonal stripes, upright planks, checks."""
    row, col = np.indices((SIZE, SIZE))
    joints = [
        (row % 4 == 0) | ((col + 4 * (row // 4)) % 8 == 0),
        (row + col) % 4 == 0,
        col % 3 == 0,
        (row // 2 + col // 2) % 2 == 0,
    ]
    return np.where(joints[pattern], dark, light).astype(np.uint8)


def texture_glyphs() -> np.ndarray:
    """Return one texture per kind: (kinds, 8, 8) uint8."""
    glyphs = {kind: _picture(text) for kind, text in _DRAWN.items()}
    glyphs |= {kind: _wall(i, dark=40, light=120) for i, kind in enumerate(WALLS)}
    glyphs |= {kind: _wall(i, dark=230, light=170) for i, kind in enumerate(PARALLEL_WALLS)}
    return np.stack([glyphs[kind] for kind in Kind])
