"""A desktop window that shows pictures and reads keys. It needs pygame, which is an optional extra."""

import os
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

from mulex.errors import UserError


class Window:
    """A window that opens with the first picture. After the user closes it, `show` does nothing."""

    def __init__(self, fps: float) -> None:
        """Show at most `fps` pictures per second; 0 means no limit."""
        self._pygame = _load_pygame()
        self._clock = self._pygame.time.Clock()
        self._fps = fps
        self._surface: Any = None
        self.closed = False

    def show(self, rgb: np.ndarray) -> None:
        """Show a picture (height, width, 3) and wait for the rest of its frame time."""
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
        """Return the name of the next key, `q` once the window is closed, or None after so many seconds without one."""
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
        self._pygame.event.set_blocked(None)  # all events but the next two
        self._pygame.event.set_allowed([self._pygame.KEYDOWN, self._pygame.QUIT])


def require_display() -> None:
    """Raise a UserError if there is no display for a window."""
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
