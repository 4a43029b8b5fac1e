"""What a world is made from."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mulex.messages import shown
from mulex.settings import Settings, chosen, given
from mulex.worlds.maps import LARGEST_ROOM, LONGEST_EPISODE, MOST_GHOSTS, SMALLEST_ROOM


class GridWorldConfig(Settings):
    """One of our own grid worlds."""

    map: Literal["montezuminha", "two_rooms", "corridor"] = given("montezuminha", "The map.")
    room_size: int = given(5, "Cells along each side of a room.", ge=SMALLEST_ROOM, le=LARGEST_ROOM)
    hard: bool = given(False, "Touching a wall teleports to a parallel world.")
    ghosts: int = given(0, "Ghosts that begin in the start room.", ge=0, le=MOST_GHOSTS)
    textured: bool = given(False, "Each cell is drawn as 8 x 8 pixels.")
    time_limit: int | None = given(
        None, "Steps an episode may take; 100 x room_size unless set.", ge=1, le=LONGEST_EPISODE
    )

    @model_validator(mode="after")
    def _map_fits(self) -> "GridWorldConfig":
        if self.hard and self.map == "corridor":
            raise ValueError("hard: got True, but the corridor has no parallel world; use montezuminha or two_rooms")
        return self


def _wrapper(value: Any) -> Any:
    name = value.get("name") if isinstance(value, dict) else value
    if not isinstance(name, str) or not name.rpartition(":")[2].isidentifier():
        raise ValueError(f"got {shown(value)}, allowed is a name such as TimeLimit or module:Class, or {{name: ...}}")
    return value


Wrapper = Annotated[Any, AfterValidator(_wrapper)]
"""A wrapper's name, or a mapping of its `name` and its arguments."""


class GymWorldConfig(Settings):
    """Any Gymnasium environment; our DQN needs discrete actions and an array observation."""

    id: str = chosen(..., "The id that gymnasium.make takes.", min_length=1, max_length=1000)
    kwargs: dict[str, Any] = chosen({}, "Further arguments of gymnasium.make.")
    ideal_return: float | None = chosen(None, "The return that counts as 1 when normalised.", gt=0)
    wrappers: list[Wrapper] = Field(
        default=[],
        description="Wrappers, the first one innermost: names of gymnasium.wrappers or module:Class.",
        json_schema_extra={"origin": "chosen", "allowed": "a list, each a name or {name: NAME, ARGUMENT: VALUE, ...}"},
    )
    code: str | None = chosen(
        None, "The checksum of execution.code if the environment is in it; filled in when a spec is read."
    )

    @model_serializer(mode="wrap")
    def _without_later_settings(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not given: these settings are newer than many sweeps, whose run ids stay."""
        plain: dict[str, Any] = write(self)
        return {key: value for key, value in plain.items() if value or key not in ("wrappers", "code")}


WorldConfig = GridWorldConfig | GymWorldConfig
