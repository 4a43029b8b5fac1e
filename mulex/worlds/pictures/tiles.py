"""Colour tiles: one square picture per kind of cell, and the colours that all our pictures share."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from mulex.worlds.kinds import PARALLEL_WALLS, WALLS, Kind

Colour = tuple[int, int, int]

PAPER: Colour = (255, 255, 255)
INK: Colour = (38, 44, 54)

# A key has the colour of its door; the parallel world is violet.
COLOUR: dict[Kind, Colour] = {
    Kind.FLOOR: (243, 238, 227),
    Kind.OPEN_DOOR: (229, 219, 199),
    Kind.DOOR_1: (226, 155, 12),
    Kind.DOOR_2: (25, 118, 188),
    Kind.KEY_1: (226, 155, 12),
    Kind.KEY_2: (25, 118, 188),
    Kind.EXTRA: (201, 50, 138),
    Kind.EXIT: (39, 148, 84),
    Kind.AGENT: (216, 62, 40),
    Kind.GHOST: (104, 118, 138),
    Kind.NOT_HELD: (214, 210, 202),
    Kind.PARALLEL_FLOOR: (224, 214, 243),
    Kind.PARALLEL_DOORWAY: (204, 190, 232),
    Kind.PORTAL: (10, 150, 160),
    **dict.fromkeys(WALLS, (66, 78, 96)),
    **dict.fromkeys(PARALLEL_WALLS, (108, 82, 156)),
}

_UNITS = 16  # tiles are drawn on a 16 x 16 raster
_FINE = 8  # pixels per raster unit before a tile is shrunk, which smooths its edges


class _Sketch:
    """A transparent tile and the strokes to draw on it, in raster units."""

    def __init__(self) -> None:
        self.image = Image.new("RGBA", (_UNITS * _FINE, _UNITS * _FINE), (0, 0, 0, 0))
        self._draw = ImageDraw.Draw(self.image)

    def box(self, left: float, top: float, right: float, bottom: float, colour: Colour, radius: float = 0) -> None:
        corners = (left * _FINE, top * _FINE, right * _FINE - 1, bottom * _FINE - 1)
        self._draw.rounded_rectangle(corners, radius * _FINE, colour)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self.box(x - radius, y - radius, x + radius, y + radius, colour, radius)

    def shape(self, points: list[tuple[float, float]], colour: Colour) -> None:
        self._draw.polygon([(x * _FINE, y * _FINE) for x, y in points], colour)

    def arc(self, x: float, y: float, radius: float, start: int, end: int, colour: Colour, width: float) -> None:
        box = [(x - radius) * _FINE, (y - radius) * _FINE, (x + radius) * _FINE, (y + radius) * _FINE]
        self._draw.arc(box, start, end, colour, int(width * _FINE))

    def on(self, below: "_Sketch") -> "_Sketch":
        self.image = Image.alpha_composite(below.image, self.image)
        return self


def _mix(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _floor(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    sketch.box(0, 0, 16, 16, _mix(colour, INK, 0.08))
    sketch.box(0, 0, 15.4, 15.4, colour)
    return sketch


def _wall(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    sketch.box(0, 0, 16, 16, _mix(colour, INK, 0.45))
    brick = _mix(colour, PAPER, 0.06)
    for left, top, right in ((0, 0, 7.5), (8.5, 0, 16), (0, 8, 3.5), (4.5, 8, 11.5), (12.5, 8, 16)):
        sketch.box(left, top + 0.5, right, top + 7.5, brick)
    return sketch


def _door(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    sketch.box(0, 0, 16, 16, _mix(colour, INK, 0.6))
    for left in (1.2, 5.9, 10.6):
        sketch.box(left, 1.2, left + 4.2, 14.8, colour, 0.6)
    sketch.disc(8, 7, 2.2, INK)
    sketch.shape([(8, 6.5), (9.7, 12), (6.3, 12)], INK)
    return sketch


def _doorway(kind: Kind) -> _Sketch:
    sketch = _floor(kind)
    post = COLOUR[PARALLEL_WALLS[0] if kind == Kind.PARALLEL_DOORWAY else WALLS[0]]
    for x, y in ((0, 0), (13, 0), (0, 13), (13, 13)):
        sketch.box(x, y, x + 3, y + 3, post)
    return sketch


def _key(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    for grow, paint in ((0.7, _mix(colour, INK, 0.55)), (0.0, colour)):
        sketch.disc(4.9, 8, 3.5 + grow, paint)
        for left, top, right, bottom in ((7, 7, 14.4, 9), (10.2, 8, 11.8, 11.4), (12.8, 8, 14.4, 12)):
            sketch.box(left - grow, top - grow, right + grow, bottom + grow, paint)
    sketch.disc(4.9, 8, 1.6, COLOUR[Kind.FLOOR])
    if kind == Kind.KEY_2:
        sketch.image = sketch.image.rotate(90)
    return sketch.on(_floor(Kind.FLOOR))


def _extra(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    sketch.shape([(4, 2.5), (12, 2.5), (15, 6.5), (8, 14.5), (1, 6.5)], _mix(colour, INK, 0.5))
    sketch.shape([(4.4, 3.3), (11.6, 3.3), (14, 6.3), (2, 6.3)], _mix(colour, PAPER, 0.35))
    sketch.shape([(6.2, 6.6), (8, 3.3), (9.8, 6.6)], _mix(colour, PAPER, 0.6))
    sketch.shape([(2.1, 6.9), (13.9, 6.9), (8, 13.5)], colour)
    sketch.shape([(5.8, 6.9), (10.2, 6.9), (8, 13.5)], _mix(colour, PAPER, 0.2))
    return sketch.on(_floor(Kind.FLOOR))


def _exit(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    sketch.box(1, 1, 15, 15, colour, 2)
    for step in range(4):  # stairs going down
        sketch.box(3 + 2.5 * step, 4 + 2.2 * step, 5.5 + 2.5 * step, 13, PAPER)
    return sketch.on(_floor(Kind.FLOOR))


def _portal(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    for radius, share in ((7, 0.0), (5.6, 0.35), (4.2, 0.6), (2.8, 0.85)):
        sketch.disc(8, 8, radius, _mix(colour, PAPER, share))
    for start in (20, 140, 260):
        sketch.arc(8, 8, 5.6, start, start + 70, colour, 1.2)
        sketch.arc(8, 8, 3.4, start + 60, start + 130, colour, 1.0)
    sketch.disc(8, 8, 1.2, colour)
    return sketch.on(_floor(Kind.PARALLEL_FLOOR))


def _agent(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    sketch.disc(8, 8, 6.8, _mix(colour, INK, 0.5))
    sketch.disc(8, 8, 6.1, colour)
    for x in (5.6, 10.4):
        sketch.disc(x, 6.6, 1.7, PAPER)
        sketch.disc(x + 0.3, 6.8, 0.8, INK)
    sketch.arc(8, 8.2, 3.2, 25, 155, PAPER, 1.0)
    return sketch


def _ghost(kind: Kind) -> _Sketch:
    sketch, colour = _Sketch(), COLOUR[kind]
    sketch.box(2, 1.5, 14, 13, colour, 6)
    sketch.box(2, 8, 14, 12.5, colour)
    for left in (2, 6, 10):
        sketch.shape([(left, 12), (left + 4, 12), (left + 2, 15.3)], colour)
    for x in (5.6, 10.4):
        sketch.disc(x, 7, 1.9, PAPER)
        sketch.disc(x, 7.5, 1.0, INK)
    return sketch


def _not_held(kind: Kind) -> _Sketch:
    sketch = _Sketch()
    sketch.disc(8, 8, 2, COLOUR[kind])
    return sketch.on(_floor(Kind.FLOOR))


_DRAWN: dict[Kind, Callable[[Kind], _Sketch]] = {
    Kind.FLOOR: _floor,
    Kind.PARALLEL_FLOOR: _floor,
    Kind.DOOR_1: _door,
    Kind.DOOR_2: _door,
    Kind.OPEN_DOOR: _doorway,
    Kind.PARALLEL_DOORWAY: _doorway,
    Kind.KEY_1: _key,
    Kind.KEY_2: _key,
    Kind.EXTRA: _extra,
    Kind.EXIT: _exit,
    Kind.PORTAL: _portal,
    Kind.AGENT: _agent,
    Kind.GHOST: _ghost,
    Kind.NOT_HELD: _not_held,
    **dict.fromkeys((*WALLS, *PARALLEL_WALLS), _wall),
}


@lru_cache(maxsize=256)
def tile(kind: Kind, size: int) -> np.ndarray:
    """Draw a kind of cell: (size, size, 4) uint8. The agent and the ghost have a transparent background."""
    return np.asarray(_DRAWN[kind](kind).image.resize((size, size), Image.Resampling.BOX))


@lru_cache(maxsize=16)
def tiles(size: int) -> np.ndarray:
    """Draw every kind, faded and in full colour: (2, kinds, size, size, 3) uint8."""
    full = np.stack([tile(kind, size)[..., :3] for kind in Kind])
    return np.stack([fade(full), full])


def fade(picture: np.ndarray) -> np.ndarray:
    """Move colours halfway to white, for cells that are not seen."""
    return (255 - (255 - picture.astype(np.uint16)) // 2).astype(np.uint8)
