"""A window on the desktop that shows pictures and hears keys, by pygame, which is an optional extra."""

import os
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

from mulex.errors import UserError


class Window:
    """Opens with the first picture. Closed by hand it stays closed, and whoever goes on showing is not stopped."""

    def __init__(self, fps: float) -> None:
        """At most `fps` pictures a second; 0 is no limit."""
        self._pygame = _load_pygame()
        self._clock = self._pygame.time.Clock()
        self._fps = fps
        self._surface: Any = None
        self.closed = False

    def show(self, rgb: np.ndarray) -> None:
        """Show a picture (height, width, 3) and wait until its time is over."""
        if self._surface is not None and self._pygame.event.peek(self._pygame.QUIT):
            self.close()
        if self.closed:
            return
        pixels = rgb.swapaxes(0, 1)  # pygame has x first
        if self._surface is None or self._surface.get_size() != pixels.shape[:2]:
            self._open(pixels.shape[:2])
        self._pygame.surfarray.blit_array(self._surface, pixels)
        self._pygame.display.flip()
        self._pygame.event.pump()
        self._clock.tick(self._fps)

    def key(self, seconds: float) -> str | None:
        """The name of the next key, `q` once the window is closed; None when there was none for so long."""
        if self.closed:
            return "q"
        event = self._pygame.event.wait(max(1, int(seconds * 1000)))
        if event.type == self._pygame.QUIT:
            self.close()
            return "q"
        return self._pygame.key.name(event.key) if event.type == self._pygame.KEYDOWN else None

    def close(self) -> None:
        if self._surface is not None:
            self._pygame.quit()
        self._surface = None
        self.closed = True

    def _open(self, size: tuple[int, ...]) -> None:
        self._pygame.display.init()
        self._pygame.display.set_caption("mulex")
        self._surface = self._pygame.display.set_mode(size)
        self._pygame.key.set_repeat(300, 100)  # milliseconds
        self._pygame.event.set_blocked(None)  # all of them, but ...
        self._pygame.event.set_allowed([self._pygame.KEYDOWN, self._pygame.QUIT])


def require_display() -> None:
    """A user's error where a window would open but nobody could see it."""
    pygame = _load_pygame()
    try:
        pygame.display.init()
    except pygame.error as error:
        raise UserError(f"no window can be opened here: {error}") from error
    if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
        raise UserError("no window can be opened here: there is no display; leave out --window to use the terminal")


def _load_pygame() -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise DependencyNotInstalled("a window needs pygame: run `pip install 'mulex[human]'`") from error
    return pygame
