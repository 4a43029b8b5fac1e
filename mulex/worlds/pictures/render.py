"""Pictures of a world for people: a state of play, the whole map for a paper, and a state as text."""

from functools import lru_cache

import numpy as np

from mulex.worlds.kinds import ITEMS, PARALLEL_WALLS, WALLS, Kind
from mulex.worlds.maps import Cell
from mulex.worlds.pictures.figure import beside, legend, text_line, titled, under
from mulex.worlds.pictures.scene import Scene, opening, room_slices, scene
from mulex.worlds.pictures.tiles import fade, tile, tiles
from mulex.worlds.world import World, pixels

WORLD_NAMES = ("real world", "parallel world")

# The characters of `ansi`; a key has the lower-case letter of its door.
CHARACTER: dict[Kind, str] = {
    Kind.FLOOR: ".",
    Kind.DOOR_1: "A",
    Kind.DOOR_2: "B",
    Kind.OPEN_DOOR: "'",
    Kind.KEY_1: "a",
    Kind.KEY_2: "b",
    Kind.EXTRA: "+",
    Kind.EXIT: "E",
    Kind.AGENT: "@",
    Kind.GHOST: "G",
    Kind.NOT_HELD: "-",
    Kind.PARALLEL_FLOOR: ",",
    Kind.PARALLEL_DOORWAY: ":",
    Kind.PORTAL: "O",
    **dict.fromkeys(WALLS, "#"),
    **dict.fromkeys(PARALLEL_WALLS, "%"),
}

ITEM_NAMES = {Kind.KEY_1: "key 1", Kind.KEY_2: "key 2", Kind.EXTRA: "extra reward"}

_LEGEND = {
    Kind.AGENT: "start",
    Kind.KEY_1: "key 1",
    Kind.DOOR_1: "door 1",
    Kind.KEY_2: "key 2",
    Kind.DOOR_2: "door 2",
    Kind.EXTRA: "extra reward",
    Kind.EXIT: "exit",
    Kind.PORTAL: "portal back to the start",
    Kind.GHOST: "ghost (starts anywhere in this room)",
}


def picture(world: World, state: int, ghosts: np.ndarray, caption: str = "") -> np.ndarray:
    """Draw a state: the map with the seen room in full colour, beside the agent's view: (height, width, 3) uint8."""
    size = tile_size(world, 416, 6, 32)
    maps = [titled(_map(scene(world, state, ghosts, part), size), name) for part, name in enumerate(_parts(world))]
    view = own_view(world, state, ghosts, world.layout.shape[0] * size)
    moment = beside([*maps, titled(view, "what the agent sees")])
    return under([moment, text_line(caption, max(400, moment.shape[1] - 40))]) if caption else moment


def own_view(world: World, state: int, ghosts: np.ndarray, height: int) -> np.ndarray:
    """Draw the agent's own frame, each pixel a square, as large as fits a height."""
    return _enlarged(world.frames(np.array([state]), np.asarray(ghosts)[None])[0], height)


def map_picture(world: World) -> np.ndarray:
    """Draw the map before the first step with a legend; textured worlds also as the agent sees them."""
    size = tile_size(world, 800, 12, 32)
    scenes = [opening(world, part) for part, _ in enumerate(_parts(world))]
    panels = {name: _map(moment, size) for name, moment in zip(_parts(world), scenes, strict=True)}
    if world.glyphs.shape[1] > 1:
        panels["the rooms as the agent sees them"] = _rooms_seen(world, scenes[0], world.layout.shape[0] * size)
    figure = beside([titled(panel, name) for name, panel in panels.items()] if len(panels) > 1 else [*panels.values()])
    shown = set(np.concatenate([moment.cells().ravel() for moment in scenes]).tolist())
    return under([figure, legend({kind: name for kind, name in _LEGEND.items() if kind in shown}, figure.shape[1])])


def text(world: World, state: int, ghosts: np.ndarray) -> str:
    """Write the map of the world that the agent is in, one character per cell, above a line with the items held."""
    cells = scene(world, state, ghosts, int(world.tables.world[state])).cells()
    rows = ["".join(CHARACTER[Kind(kind)] for kind in row) for row in cells.tolist()]
    return "\n".join([*rows, f"{WORLD_NAMES[world.tables.world[state]]}, held: {held(world, state)}"])


def held(world: World, state: int) -> str:
    """Name the items held in a state."""
    items = int(world.tables.items[state])
    names = [ITEM_NAMES[kind] for i, kind in enumerate(ITEMS) if items >> i & 1]
    return ", ".join(names) or "nothing"


def tile_size(world: World, target: int, least: int, most: int) -> int:
    """Return the pixels per cell that bring the map's longer side near a target."""
    return min(most, max(least, target // max(world.layout.shape)))


def _parts(world: World) -> tuple[str, ...]:
    return WORLD_NAMES if world.layout.portal else ("map",)


def _map(moment: Scene, size: int) -> np.ndarray:
    """Draw a map in colour, with unseen cells faded: (rows * size, cols * size, 3) uint8."""
    rows, cols = moment.ground.shape
    cells = tiles(size)[moment.seen.astype(np.intp), moment.ground]  # (rows, cols, size, size, 3)
    for kind, cell in moment.sprites:
        cells[cell] = _blend(cells[cell], _sprite(kind, size, bool(moment.seen[cell])))
    return cells.transpose(0, 2, 1, 3, 4).reshape(rows * size, cols * size, 3)


def _blend(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    opaque = above[..., 3:].astype(np.uint16)
    return ((above[..., :3] * opaque + below * (255 - opaque)) // 255).astype(np.uint8)


@lru_cache(maxsize=32)
def _sprite(kind: Kind, size: int, seen: bool) -> np.ndarray:
    sprite = tile(kind, size)
    return sprite if seen else np.concatenate([fade(sprite[..., :3]), sprite[..., 3:]], axis=-1)


def _enlarged(grey: np.ndarray, height: int) -> np.ndarray:
    """Enlarge a grey picture (rows, cols) to RGB, each pixel a square as large as fits a height."""
    factor = max(1, height // len(grey))
    return np.repeat(grey.repeat(factor, 0).repeat(factor, 1)[..., None], 3, axis=-1)


def _rooms_seen(world: World, moment: Scene, height: int) -> np.ndarray:
    """Draw every room of the real world in the agent's own pixels, with gaps between them."""
    rows, cols = world.layout.rooms
    rooms = [[_room_seen(world, moment, (row, col)) for col in range(cols)] for row in range(rows)]
    return _enlarged(np.concatenate([np.concatenate(row, 1) for row in rooms]), height)


def _room_seen(world: World, moment: Scene, room: Cell) -> np.ndarray:
    kinds = moment.cells()
    kinds[kinds == WALLS[0]] = WALLS[room[0] * world.layout.rooms[1] + room[1]]
    kinds = kinds[room_slices(world.layout, room)]
    return np.pad(pixels(world.glyphs, kinds[None])[0], 2, constant_values=255)
