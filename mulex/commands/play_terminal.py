"""A game in the terminal: draws the map in colour and reads single keys as they are pressed."""

import os
import re
import select
import sys
import termios
import tty
from collections import deque
from functools import lru_cache
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.style import Style
from rich.text import Text

from mulex.commands.play_session import QUIT, Game
from mulex.worlds.kinds import PARALLEL_WALLS, WALLS, Kind
from mulex.worlds.pictures.render import CHARACTER
from mulex.worlds.pictures.scene import scene
from mulex.worlds.pictures.tiles import COLOUR, INK, PAPER, Colour

_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
_KEY = re.compile(r"\x1b[\[O][0-9;]*([A-Za-z~])|[^\x1b]")
_END_OF_INPUT = "\x04"  # control-D
_REST_OF_ESCAPE = 0.05  # seconds to wait for the rest of an arrow key after an escape

_GROUND = (Kind.FLOOR, Kind.OPEN_DOOR, Kind.PARALLEL_FLOOR, Kind.PARALLEL_DOORWAY)
_SOLID = (*WALLS, *PARALLEL_WALLS)


class Terminal:
    """The terminal as a screen, used in a `with` block, which restores the terminal at its end."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._console = Console()
        self._live = Live(console=self._console, screen=True, auto_refresh=False)
        self._keys: deque[str] = deque()

    def __enter__(self) -> "Terminal":
        self._before = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()
        termios.tcsetattr(self._input, termios.TCSAFLUSH, self._before)

    def show(self, game: Game, hint: str) -> None:
        width, height = self._console.size
        lines = Text("\n".join([game.caption(), game.status(), hint]))
        self._live.update(draw_map(game, height - 3, width // 2) + lines, refresh=True)

    def key(self, seconds: float) -> str | None:
        """Return the name of the next key, or None after so many seconds without one; `q` when the input ends."""
        if not self._keys and self._ready(seconds):
            self._keys.extend(names(self._read()))
        return self._keys.popleft() if self._keys else None

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._input], [], [], seconds)[0])

    def _read(self) -> str:
        typed = os.read(self._input, 1024).decode(errors="replace")
        while re.search(r"\x1b([\[O][0-9;]*)?$", typed) and self._ready(_REST_OF_ESCAPE):
            typed += os.read(self._input, 1024).decode(errors="replace")
        return typed


def names(typed: str) -> list[str]:
    """Split what a terminal sent into keys: arrows by name, letters as they are."""
    if not typed:  # the input was closed
        return [QUIT]
    keys = [_ARROWS.get(match[1] or "", match[0]) for match in _KEY.finditer(typed)]
    return [QUIT if key == _END_OF_INPUT else key for key in keys]


def draw_map(game: Game, rows: int, cols: int) -> Text:
    """Draw the map of the world that the agent is in, cut to so many rows and columns around the agent."""
    moment = scene(game.world, game.state, game.ghosts, int(game.world.tables.world[game.state]))
    row, col = game.world.tables.position[game.state].tolist()
    part = _around(row, rows, len(moment.seen)), _around(col, cols, moment.seen.shape[1])
    text = Text(no_wrap=True, end="")
    for kinds, seen in zip(moment.cells()[part], moment.seen[part], strict=True):
        for kind, bright in zip(kinds, seen, strict=True):
            text.append(_pair(Kind(kind)), _style(Kind(kind), bool(bright)))
        text.append("\n")
    return text


def _around(cell: int, shown: int, length: int) -> slice:
    """Return the `shown` cells around a cell of a row or column of this length."""
    first = max(0, min(cell - shown // 2, length - shown))
    return slice(first, first + max(1, shown))


def _pair(kind: Kind) -> str:
    """Return the two characters of a cell, which are about a square."""
    return "  " if kind in (Kind.FLOOR, Kind.PARALLEL_FLOOR) else CHARACTER[kind] * 2


@lru_cache(maxsize=64)
def _style(kind: Kind, seen: bool) -> Style:
    """Return the colours of the pictures, darker for unseen cells, because most terminals are dark."""
    back = COLOUR[kind]
    front = _slightly_lighter(back) if kind in _SOLID else INK if kind in _GROUND else PAPER
    return Style(color=_code(front, seen), bgcolor=_code(back, seen), bold=kind not in _SOLID)


def _slightly_lighter(colour: Colour) -> Colour:
    red, green, blue = (value + 14 for value in colour)
    return red, green, blue


def _code(colour: Colour, seen: bool) -> str:
    return "#{:02x}{:02x}{:02x}".format(*(value if seen else value // 2 for value in colour))
