"""What pictures show: things by their colour, places by how far the agent's colour moved."""

import sys
from itertools import combinations

import gymnasium
import numpy as np
import pytest

import mulex  # noqa: F401  registers the worlds
from mulex.worlds.kinds import PARALLEL_WALLS, WALLS, Kind
from mulex.worlds.pictures import render
from mulex.worlds.pictures.tiles import COLOUR, Colour, fade, tile
from mulex.worlds.pictures.window import Window
from mulex.worlds.textures import texture_glyphs
from mulex.worlds.world import World, build_world

NO_GHOSTS = np.zeros(0, dtype=np.int64)


def where(picture: np.ndarray, colour: Colour) -> np.ndarray:
    """(n, 2): the pixels of exactly this colour."""
    return np.argwhere(codes(picture) == codes(np.array(colour)))


def codes(colours: np.ndarray) -> np.ndarray:
    """RGB on the last axis as one number."""
    return colours.astype(np.int32) @ [1 << 16, 1 << 8, 1]


def shows(picture: np.ndarray, kind: Kind) -> bool:
    return bool((codes(picture) == codes(np.array(COLOUR[kind]))).any())


def shows_faded(picture: np.ndarray, kind: Kind) -> bool:
    return bool((codes(picture) == codes(fade(np.array(COLOUR[kind])))).any())


def centre(picture: np.ndarray, kind: Kind) -> np.ndarray:
    return where(picture, COLOUR[kind]).mean(axis=0)


def some_states(world: World, step: int) -> range:
    return range(0, len(world.tables.next_state), step)


@pytest.mark.parametrize("room_size", [3, 5, 15])
def test_the_agent_is_drawn_where_it_stands(room_size: int) -> None:
    world = build_world(room_size=room_size)
    position = world.tables.position
    right = int(world.tables.next_state[0, 1])
    origin = centre(render.picture(world, 0, NO_GHOSTS), Kind.AGENT)
    tile_width = (centre(render.picture(world, right, NO_GHOSTS), Kind.AGENT) - origin)[1]
    assert tile_width >= 6
    for state in some_states(world, 31):
        moved = centre(render.picture(world, state, NO_GHOSTS), Kind.AGENT) - origin
        np.testing.assert_allclose(moved / tile_width, position[state] - position[0], atol=0.1)


def test_every_state_shows_what_is_left_and_which_room_is_seen() -> None:
    world = build_world(room_size=3)
    for state in some_states(world, 2):
        drawn = render.picture(world, state, NO_GHOSTS)
        items = int(world.tables.items[state])
        for bit, kind in enumerate((Kind.KEY_1, Kind.KEY_2, Kind.EXTRA)):  # a key has its door's colour
            gone = not shows(drawn, kind) and not shows_faded(drawn, kind)
            assert gone == bool(items >> bit & 1)
        row, col = world.tables.position[state]
        in_exit_room = row > 4 and col <= 4
        assert shows(drawn, Kind.EXIT) == in_exit_room
        assert shows_faded(drawn, Kind.EXIT) != in_exit_room


def test_hard_worlds_show_both_maps_and_the_agent_in_its_own() -> None:
    world = build_world(room_size=3, hard=True)
    row, col = world.tables.position[:, 0], world.tables.position[:, 1]
    half = render.picture(world, 0, NO_GHOSTS).shape[1] / 3  # real, parallel, what the agent sees
    for state in some_states(world, 17):
        drawn = render.picture(world, state, NO_GHOSTS)
        parallel = bool(world.tables.world[state])
        assert (centre(drawn, Kind.AGENT)[1] > half) == parallel
        in_portal_room = parallel and row[state] > 4 and col[state] > 4
        assert shows(drawn, Kind.PORTAL) == in_portal_room
        assert shows_faded(drawn, Kind.PORTAL) != in_portal_room


def test_ghosts_are_drawn_where_they_are() -> None:
    world = build_world(ghosts=1)
    number = world.layout.shape[1] * 4 + 3
    drawn = render.picture(world, 0, np.array([number]))
    agent, ghost = centre(drawn, Kind.AGENT), centre(drawn, Kind.GHOST)
    size = render.tile_size(world, 416, 6, 32)
    np.testing.assert_allclose((ghost - agent) / size, (3, 2), atol=0.2)
    far = render.picture(world, 0, np.array([number + world.layout.shape[1] * 6]))
    assert shows_faded(far, Kind.GHOST) and not shows(far, Kind.GHOST)


@pytest.mark.parametrize("options", [{}, {"textured": True}, {"hard": True, "ghosts": 2, "room_size": 10}])
def test_the_view_is_exactly_what_the_agent_gets(options: dict[str, object]) -> None:
    env = gymnasium.make("mulex/Montezuminha-v0", render_mode="rgb_array", **options)
    env.reset(seed=3)
    for action in (1, 2, 2, 1):
        frame = env.step(action)[0]
        drawn = env.render()
        assert isinstance(drawn, np.ndarray) and drawn.dtype == np.uint8
        world: World = env.unwrapped.world  # type: ignore[attr-defined]
        height = world.layout.shape[0] * render.tile_size(world, 416, 6, 32)
        factor = height // len(frame)
        assert rightmost_has(drawn, np.kron(frame, np.ones((factor, factor), dtype=np.uint8)))


def rightmost_has(drawn: np.ndarray, grey: np.ndarray) -> bool:
    """Whether a grey picture is at the right of another, whose margin is white."""
    height, width = grey.shape
    right = np.flatnonzero((drawn != 255).any(axis=(0, 2)))[-1] + 1
    strip = drawn[:, right - width : right]
    return any((strip[top : top + height] == grey[..., None]).all() for top in range(60))


def test_the_map_for_a_paper_names_and_shows_everything() -> None:
    plain = render.map_picture(build_world())
    things = (Kind.AGENT, Kind.KEY_1, Kind.KEY_2, Kind.EXTRA, Kind.EXIT, Kind.FLOOR)
    assert all(shows(plain, kind) for kind in things)
    assert not any(shows(plain, kind) for kind in (Kind.PORTAL, Kind.GHOST, Kind.PARALLEL_FLOOR))
    hard = render.map_picture(build_world(hard=True))
    assert shows(hard, Kind.PORTAL) and shows(hard, Kind.PARALLEL_FLOOR)
    assert hard.shape[1] > 1.9 * plain.shape[1]
    one, three = (len(where(render.map_picture(build_world(ghosts=n)), COLOUR[Kind.GHOST])) for n in (1, 3))
    assert three > 1.5 * one > 0
    crowded = render.map_picture(build_world("corridor", 3, ghosts=2))  # no start is free of other things
    assert shows(crowded, Kind.GHOST) and shows(crowded, Kind.AGENT)


def test_the_map_of_a_textured_world_shows_its_textures() -> None:
    world = build_world(room_size=3, textured=True)
    drawn, plain = render.map_picture(world), render.map_picture(build_world(room_size=3))
    assert drawn.shape[1] > plain.shape[1]
    black = (0, 0, 0)
    assert len(where(drawn, black)) > 1000 > len(where(plain, black))


@pytest.mark.parametrize("layout", ["two_rooms", "corridor"])
@pytest.mark.parametrize("room_size", [3, 50])
def test_other_maps_and_sizes_draw_and_captions_keep_the_size(layout: str, room_size: int) -> None:
    world = build_world(layout, room_size)
    last = len(world.tables.next_state) - 1
    sizes = {render.picture(world, state, NO_GHOSTS, text).shape for state in (0, last) for text in ("1", "longer" * 5)}
    assert len(sizes) == 1 and max(sizes.pop()) < 2000
    assert shows(render.map_picture(world), Kind.EXIT)


def test_text_has_everything_in_its_place() -> None:
    world = build_world(room_size=3, ghosts=1)
    lines = render.text(world, 0, np.array([world.layout.shape[1] * 3 + 1])).splitlines()
    expected = ["#########", "#@..#..b#", "#...A...#", "#G.a#...#", "##B######", "#...#...#"]
    assert lines[:6] == expected
    assert lines[6:] == ["#...'...#", "#E..#..+#", "#########", "real world, held: nothing"]


def test_text_follows_the_state() -> None:
    world = build_world(room_size=3, hard=True)
    tables = world.tables
    for state in some_states(world, 7):
        lines = render.text(world, state, NO_GHOSTS).splitlines()
        row, col = tables.position[state]
        assert lines[row][col] == "@" and "".join(lines[:-1]).count("@") == 1
        assert ("%" in lines[0]) == bool(tables.world[state]) == lines[-1].startswith("parallel")
        assert ("key 2" in lines[-1]) == bool(tables.items[state] & 2)
        assert tables.world[state] or ("B" in "".join(lines[:-1])) != bool(tables.items[state] & 2)


def test_no_two_kinds_look_alike() -> None:
    same_for_people = [set(WALLS), set(PARALLEL_WALLS)]  # the map has one colour for all rooms' walls
    textures = texture_glyphs().astype(int)
    for a, b in combinations(Kind, 2):
        assert (textures[a] != textures[b]).mean() > 0.1, (a, b)
        if not any({a, b} <= group for group in same_for_people):
            assert np.abs(tile(a, 32).astype(int) - tile(b, 32)).max() > 20, (a, b)
    unlike = [kind for kind in Kind if kind not in (*WALLS, *PARALLEL_WALLS)]
    assert len({render.CHARACTER[kind] for kind in unlike}) == len(unlike)


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_rendering_needs_a_reset_first(mode: str) -> None:
    env = gymnasium.make("mulex/Montezuminha-v0", render_mode=mode).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()


def test_human_mode_shows_the_picture_in_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    import pygame

    env = gymnasium.make("mulex/Montezuminha-v0", render_mode="human").unwrapped
    env.reset(seed=0)
    for action in (1, 2):
        env.step(np.int64(action))
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        pack = env.pack  # type: ignore[attr-defined]
        np.testing.assert_array_equal(shown, render.picture(pack.world, int(pack.state[0]), pack.ghosts[0]))
    env.close()
    assert not pygame.display.get_init()
    env.close()


def test_a_window_closed_by_hand_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    import pygame

    window = Window(fps=0)
    window.show(np.zeros((20, 30, 3), dtype=np.uint8))
    pygame.event.clear()
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_LEFT))
    assert [window.key(0.01), window.key(0.01)] == ["left", None]
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(np.zeros((20, 30, 3), dtype=np.uint8))
    assert window.closed and not pygame.display.get_init()
    window.show(np.zeros((20, 30, 3), dtype=np.uint8))
    assert not pygame.display.get_init() and window.key(0.01) == "q"


def test_without_pygame_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = gymnasium.make("mulex/Montezuminha-v0", render_mode="human")
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match=r"pip install 'mulex\[human\]'"):
        env.reset()
