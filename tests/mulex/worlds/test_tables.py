"""The compiled tables against the paper's rules, a naive simulator, and known answers."""

import random
from collections import deque

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mulex.worlds.kinds import GREY_LEVEL, Kind
from mulex.worlds.maps import corridor, montezuminha, two_rooms
from mulex.worlds.shortest_paths import distances_from_start, optimal_actions, shortest_way
from mulex.worlds.tables import compile_tables
from mulex.worlds.textures import texture_glyphs
from mulex.worlds.world import build_world
from tests.support.naive_world import DOWN, LEFT, RIGHT, UP, NaiveWorld, draw, neighbour

ITEM_BITS = (1, 2, 4)


def unpacked(items):
    return tuple(bool(items & bit) for bit in ITEM_BITS)


def described(tables, state):
    """A state of the tables in the naive simulator's words."""
    return int(tables.world[state]), tuple(tables.position[state].tolist()), unpacked(int(tables.items[state]))


def find(tables, world, position, items):
    """The number of the non-terminal state with this description."""
    return next(s for s in range(tables.live) if described(tables, s) == (world, position, items))


def no_ghosts(states):
    return np.zeros((len(states), 0), dtype=np.int64)


def assert_same_frame(world, state, naive):
    glyphs = {kind.name: world.glyphs[kind] for kind in Kind}
    seen = world.frames(np.array([state]), no_ghosts([state]))[0]
    np.testing.assert_array_equal(seen, draw(naive.frame(), glyphs))


@settings(max_examples=60, deadline=None, derandomize=True, phases=[Phase.generate])  # a seed does not shrink
@given(
    room_size=st.integers(3, 8),
    hard=st.booleans(),
    textured=st.booleans(),
    guided=st.sampled_from([0.0, 0.5, 0.95]),
    seed=st.integers(0, 2**32),
)
def test_walks_through_the_tables_are_those_of_the_naive_simulator(room_size, hard, textured, guided, seed):
    """Position, items, world, reward, end and frame of random walks, some of them helped towards the exit."""
    world = build_world(room_size=room_size, hard=hard, textured=textured)
    naive, rng, tables, state, done = NaiveWorld(room_size, hard), random.Random(seed), world.tables, 0, False
    best = optimal_actions(tables)
    for _ in range(150):
        if done:
            break
        assert described(tables, state) == (naive.world, naive.position, naive.items)
        assert_same_frame(world, state, naive)
        action = int(best[state]) if rng.random() < guided else rng.randrange(4)
        reward, done = naive.step(action)
        assert (tables.reward[state, action], tables.terminal[state, action]) == (reward, done)
        state = tables.next_state[state, action]
    assert (state >= tables.live) == done
    assert_same_frame(world, state, naive)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("room_size", [3, 4, 5])
def test_every_state_and_action_is_that_of_the_naive_simulator(room_size, hard):
    """The tables hold exactly the states that the naive simulator can reach, and the same outcomes."""
    tables = compile_tables(montezuminha(room_size, hard))
    naive = NaiveWorld(room_size, hard)
    start = (0, (1, 1), (False, False, False))
    waiting, live, ends, outcomes = deque([start]), {start}, set(), {}
    while waiting:
        situation = waiting.popleft()
        for action in range(4):
            naive.put(*situation)
            reward, done = naive.step(action)
            after = (naive.world, naive.position, naive.items)
            outcomes[situation, action] = (after, reward, done)
            if done:
                ends.add(after)
            elif after not in live:
                live.add(after)
                waiting.append(after)
    descriptions = [described(tables, state) for state in range(len(tables.next_state))]
    assert sorted(descriptions[: tables.live]) == sorted(live)
    assert sorted(descriptions[tables.live :]) == sorted(ends)
    for state, situation in enumerate(descriptions[: tables.live]):
        for action in range(4):
            after = descriptions[tables.next_state[state, action]]
            found = (after, tables.reward[state, action], tables.terminal[state, action])
            assert found == outcomes[situation, action]


@pytest.mark.parametrize(
    ("room_size", "live", "to_four", "to_three"), [(5, 277, 58, 38), (10, 1102, 120, 78), (15, 2477, 178, 118)]
)
def test_known_answers(room_size, live, to_four, to_three):
    """The number of reachable non-terminal states, and the shortest ways to return 4 and to the early exit."""
    tables = compile_tables(montezuminha(room_size))
    assert tables.live == live
    assert shortest_way(tables, 4) == to_four
    assert shortest_way(tables, 3) == to_three
    assert shortest_way(tables, 2) is None  # both keys are on the way to the exit
    assert shortest_way(tables, 5) is None


def test_distances_from_the_start_of_a_corridor():
    """The agent starts at the left end, so the exit is room_size - 1 steps away."""
    tables = compile_tables(corridor(7))
    by_column = dict(zip(tables.position[:, 1].tolist(), distances_from_start(tables).tolist(), strict=True))
    assert by_column == {column: column - 1 for column in range(1, 8)}


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("room_size", [3, 5, 10])
def test_the_optimal_policy_earns_everything_in_the_fewest_steps(room_size, hard):
    tables = compile_tables(montezuminha(room_size, hard))
    best = optimal_actions(tables)
    state, total, steps, done = 0, 0.0, 0, False
    while not done and steps < 1000:
        action = best[state]
        total += tables.reward[state, action]
        done = tables.terminal[state, action]
        state = tables.next_state[state, action]
        steps += 1
    assert (total, steps, done) == (4.0, shortest_way(tables, 4), True)


@pytest.mark.parametrize("hard", [False, True])
def test_the_optimal_policy_is_optimal_from_every_state(hard):
    """From anywhere it collects what is missing and leaves, even from the parallel world."""
    tables = compile_tables(montezuminha(4, hard))
    best = optimal_actions(tables)
    state = np.arange(tables.live)
    total = np.bitwise_count(tables.items[state]).astype(float)
    for _ in range(500):
        action = best[state]
        total += tables.reward[state, action]
        state = tables.next_state[state, action]
    assert (state >= tables.live).all()
    assert (total == 4).all()


@pytest.mark.parametrize("textured", [False, True])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("room_size", [3, 4, 5, 10, 15])
def test_no_two_reachable_states_share_a_frame(room_size, hard, textured):
    world = build_world(room_size=room_size, hard=hard, textured=textured)
    states = np.arange(len(world.tables.next_state))
    frames = set()
    for some in np.array_split(states, 1 + len(states) // 200):
        frames |= {hash(frame.tobytes()) for frame in world.frames(some, no_ghosts(some))}
    assert len(frames) == len(states)


def test_no_two_kinds_of_cell_look_alike():
    assert len({GREY_LEVEL[kind] for kind in Kind}) == len(Kind)
    assert len({glyph.tobytes() for glyph in texture_glyphs()}) == len(Kind)
    assert texture_glyphs().shape == (len(Kind), 8, 8)


@pytest.mark.parametrize("room_size", [3, 4, 5, 10])
def test_the_portal_is_the_only_way_out_of_the_parallel_world(room_size):
    """It is entered from beside it, leads to the start cell, leaves the items alone, and pays nothing."""
    tables = compile_tables(montezuminha(room_size, hard=True))
    portal = (room_size + 1 + (room_size + 1) // 2,) * 2
    parallel = np.flatnonzero(tables.world == 1)
    assert not tables.terminal[parallel].any()
    assert not tables.reward[parallel].any()
    assert (tables.items[tables.next_state[parallel]] == tables.items[parallel][:, None]).all()
    ways_out = set()
    for state in parallel:
        for action in range(4):
            after = tables.next_state[state, action]
            position = tuple(tables.position[state].tolist())
            assert (tables.world[after] == 0) == (neighbour(position, action) == portal)
            if tables.world[after] == 0:
                assert tuple(tables.position[after].tolist()) == (1, 1)
                ways_out.add((position, action))
    row, col = portal
    around = {((row - 1, col), DOWN), ((row, col + 1), LEFT), ((row + 1, col), UP), ((row, col - 1), RIGHT)}
    assert ways_out == around


@pytest.mark.parametrize("room_size", [3, 5, 10])
def test_only_walls_teleport_and_to_the_same_cell(room_size):
    tables = compile_tables(montezuminha(room_size, hard=True))
    naive = NaiveWorld(room_size, hard=True)
    for state in np.flatnonzero(tables.world[: tables.live] == 0):
        position = tuple(tables.position[state].tolist())
        for action in range(4):
            after = tables.next_state[state, action]
            assert (tables.world[after] == 1) == naive.is_wall(neighbour(position, action))
            if tables.world[after] == 1:
                assert tuple(tables.position[after].tolist()) == position
                assert tables.items[after] == tables.items[state]
                assert tables.reward[state, action] == 0


@pytest.mark.parametrize("hard", [False, True])
def test_closed_doors_block_and_do_not_teleport(hard):
    """In front of either door without its key the agent stays where it is; with the key it walks in."""
    w, m = 5, 3
    tables = compile_tables(montezuminha(w, hard))
    for before, action, closed, opened in [
        ((m, w), RIGHT, (False, False, False), (True, False, False)),
        ((w, m), DOWN, (True, False, False), (True, True, False)),
    ]:
        shut, free = find(tables, 0, before, closed), find(tables, 0, before, opened)
        assert tables.next_state[shut, action] == shut
        assert described(tables, tables.next_state[free, action]) == (0, neighbour(before, action), opened)


@pytest.mark.parametrize("hard", [False, True])
def test_collecting_twice_gives_nothing(hard):
    """A reward is paid exactly where an item bit appears, or at the exit."""
    tables = compile_tables(montezuminha(5, hard))
    before, after = tables.items[:, None], tables.items[tables.next_state]
    assert (before & ~after == 0).all()  # nothing is ever lost
    live = np.arange(len(before))[:, None] < tables.live
    gained = np.bitwise_count(after & ~before)
    at_exit = tables.terminal & live
    assert (tables.reward == gained + at_exit).all()
    key_1 = find(tables, 0, (5, 5), (True, False, False))
    back = tables.next_state[tables.next_state[key_1, UP], DOWN]
    assert back == key_1
    assert tables.reward[tables.next_state[key_1, UP], DOWN] == 0


def test_terminal_states_stay_and_pay_nothing():
    tables = compile_tables(montezuminha(5))
    ends = np.arange(tables.live, len(tables.next_state))
    assert len(ends) == 2  # with and without the extra reward
    assert (tables.next_state[ends] == ends[:, None]).all()
    assert tables.terminal[ends].all()
    assert not tables.reward[ends].any()


@pytest.mark.parametrize(("layout", "ideal", "steps"), [(two_rooms(3), 2, 10), (corridor(3), 1, 2)])
def test_the_small_maps(layout, ideal, steps):
    """Two rooms: 4 steps to the key, 6 through its door to the exit. Corridor: 2 steps to its other end."""
    tables = compile_tables(layout)
    assert layout.ideal_return == ideal
    assert shortest_way(tables, ideal) == steps


@pytest.mark.parametrize("wrong", [2, 51, 5.0, True, "5", None])
@pytest.mark.parametrize("map", ["montezuminha", "two_rooms", "corridor"])
def test_a_wrong_room_size_is_a_clear_error(map, wrong):
    """Also when a world of an equal number, 5 for 5.0, was built just before."""
    build_world(map, room_size=5)
    with pytest.raises(ValueError, match=r"^room_size: got .* allowed is a whole number from 3 to 50$"):
        build_world(map, room_size=wrong)


@pytest.mark.parametrize("room_size", [3, 50])
def test_the_smallest_and_the_largest_room(room_size):
    world = build_world(room_size=room_size)
    assert world.frame_shape == (room_size + 3, room_size + 2)
    assert world.time_limit == 100 * room_size


@pytest.mark.parametrize(
    "wrong",
    [
        {"hard": 1},
        {"textured": "yes"},
        {"ghosts": -1},
        {"ghosts": 17},
        {"ghosts": True},
        {"ghosts": 1.0},
        {"time_limit": 0},
        {"time_limit": 10.0},
        {"time_limit": True},
        {"map": "maze"},
    ],
)
def test_other_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=rf"^{next(iter(wrong))}: got .* allowed is"):
        build_world(**wrong)
