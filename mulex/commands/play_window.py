"""A game in a desktop window."""

from types import TracebackType

from gymnasium.error import DependencyNotInstalled

from mulex.commands.play_session import Game
from mulex.errors import UserError
from mulex.worlds.pictures.render import picture
from mulex.worlds.pictures.window import Window, require_display


class WindowScreen:
    """The window as a screen, used in a `with` block."""

    def __init__(self) -> None:
        try:
            require_display()
        except DependencyNotInstalled as error:
            raise UserError(str(error)) from error
        self._window = Window(fps=0)

    def __enter__(self) -> "WindowScreen":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._window.close()

    def show(self, game: Game, hint: str) -> None:
        self._window.show(picture(game.world, game.state, game.ghosts, game.caption()))

    def key(self, seconds: float) -> str | None:
        return self._window.key(seconds)
