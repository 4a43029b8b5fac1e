"""Joins panels to one picture, with titles above them, gaps between them and a legend below."""

from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mulex.worlds.kinds import Kind
from mulex.worlds.pictures.tiles import INK, PAPER, tile

_MARGIN = 14
_TEXT_SIZE = 15
_LINE = 24  # the height of a line of text
_SAMPLE = 20  # the size of a tile in the legend


@lru_cache(maxsize=64)
def text_line(text: str, width: int | None = None) -> np.ndarray:
    """Draw a line of dark text on white, as wide as the text unless a width is given: (height, width, 3) uint8."""
    font = ImageFont.load_default(_TEXT_SIZE)
    image = Image.new("RGB", (width or int(font.getlength(text)) + 1, _LINE), PAPER)
    ImageDraw.Draw(image).text((0, _LINE / 2), text, INK, font, anchor="lm")
    return np.asarray(image)


def titled(panel: np.ndarray, title: str) -> np.ndarray:
    """Put a title above a panel."""
    return _stacked([text_line(title), panel], gap=2)


def beside(panels: list[np.ndarray]) -> np.ndarray:
    """Put panels side by side on white, aligned at the top, with a margin around each."""
    height = max(len(panel) for panel in panels)
    parts = [_padded(panel, height, panel.shape[1]) for panel in panels]
    gap = _blank(height, 2 * _MARGIN)
    row = [piece for part in parts for piece in (part, gap)][:-1]
    return np.pad(np.concatenate(row, axis=1), ((_MARGIN, _MARGIN), (_MARGIN, _MARGIN), (0, 0)), constant_values=255)


def under(parts: list[np.ndarray]) -> np.ndarray:
    """Put lines of text or a legend below a figure made by `beside`, aligned with its panels."""
    figure, *lines = parts
    inset = [np.pad(line, ((0, 0), (_MARGIN, 0), (0, 0)), constant_values=255) for line in lines]
    below = _stacked([figure, *inset], gap=0)
    return np.pad(below, ((0, _MARGIN // 2), (0, 0), (0, 0)), constant_values=255)


def legend(names: dict[Kind, str], width: int) -> np.ndarray:
    """Draw a legend of tiles with their names, in as many lines as fit a width."""
    lines: list[list[np.ndarray]] = [[]]
    for kind, name in names.items():
        entry = _entry(kind, name)
        if sum(part.shape[1] for part in (*lines[-1], entry)) > width - _MARGIN and lines[-1]:
            lines.append([])
        lines[-1].append(entry)
    return _stacked([np.concatenate(line, axis=1) for line in lines], gap=4)


def _entry(kind: Kind, name: str) -> np.ndarray:
    sample = Image.new("RGB", (_SAMPLE, _LINE), PAPER)
    for layer in (Kind.FLOOR, kind):
        drawn = Image.fromarray(tile(layer, _SAMPLE))
        sample.paste(drawn, (0, (_LINE - _SAMPLE) // 2), drawn)
    parts = [np.asarray(sample), _blank(_LINE, 6), text_line(name), _blank(_LINE, 18)]
    return np.concatenate(parts, axis=1)


def _blank(height: int, width: int) -> np.ndarray:
    return np.full((height, width, 3), 255, dtype=np.uint8)


def _padded(panel: np.ndarray, height: int, width: int) -> np.ndarray:
    rows, cols, _ = panel.shape
    return np.pad(panel, ((0, max(0, height - rows)), (0, max(0, width - cols)), (0, 0)), constant_values=255)


def _stacked(parts: list[np.ndarray], gap: int) -> np.ndarray:
    width = max(part.shape[1] for part in parts)
    wide = [_padded(part, len(part) + gap, width) for part in parts[:-1]]
    return np.concatenate([*wide, _padded(parts[-1], 0, width)])
