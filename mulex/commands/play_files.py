"""Writes games and maps to picture files."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mulex.commands.play_session import Game, Policy, moments
from mulex.errors import UserError
from mulex.store.folder import StorageError, open_folder
from mulex.worlds.pictures.render import picture

GIF = (".gif",)
PICTURES = (".png", ".jpg", ".jpeg", ".pdf", ".webp")

_COLOURS = 128
_PLAIN = Image.Dither.NONE
_LARGEST_GIF = 10**9  # pixels of all frames together, at about two bytes of memory each
_LAST_FRAME = 1500  # milliseconds


def check_file(file: Path, suffixes: tuple[str, ...]) -> None:
    """Raise a UserError, before any work is done, if a picture cannot be written to this file."""
    if file.suffix.lower() not in suffixes:
        raise UserError(f"{file}: the suffix decides the format; allowed is {' '.join(suffixes)}")
    if not file.parent.is_dir():
        raise UserError(f"{file}: there is no folder {file.parent}")


def write_picture(file: Path, rgb: np.ndarray) -> None:
    """Write a picture in the format of the file's suffix."""
    _save(Image.fromarray(rgb), file)


def write_gif(file: Path, game: Game, policy: Policy, episodes: int, fps: int) -> Iterator[str]:
    """Write an animated GIF of whole episodes of a policy; yields the summary of each."""
    palette = _palette(game)
    frames: list[Image.Image] = []
    for _ in range(episodes):
        game.restart()
        for moment in moments(game, policy):
            frames.append(_frame(moment).quantize(palette=palette, dither=_PLAIN))
            if len(frames) * frames[0].width * frames[0].height > _LARGEST_GIF:
                raise UserError(f"{file}: more than {len(frames) - 1} frames; give a smaller --time-limit")
        yield game.summary()
    pauses = [1000 // fps] * (len(frames) - 1) + [_LAST_FRAME]
    _save(frames[0], file, save_all=True, append_images=frames[1:], duration=pauses, loop=0)


def _frame(game: Game) -> Image.Image:
    return Image.fromarray(picture(game.world, game.state, game.ghosts, game.caption()))


def _palette(game: Game) -> Image.Image:
    """Make one palette for all frames from states spread over the game, so that no colour flickers."""
    states = np.linspace(0, len(game.world.tables.items) - 1, 8).astype(int)
    pictures = [picture(game.world, int(state), game.ghosts) for state in states]
    return Image.fromarray(np.concatenate(pictures)).quantize(_COLOURS)


def _save(image: Image.Image, file: Path, **options: Any) -> None:
    content = io.BytesIO()
    image.save(content, Image.registered_extensions()[file.suffix.lower()], **options)
    try:
        open_folder(file.parent).write(file.name, content.getvalue())  # whole or not at all
    except StorageError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror or error}") from error
