"""Ghosts: where they start, how they walk, what they see as open, and what meeting one does."""

import random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mulex.streams import stream_keys
from mulex.worlds.kinds import Kind
from mulex.worlds.pack import WorldPack
from mulex.worlds.world import build_world
from tests.support.naive_world import DOWN, LEFT, RIGHT, UP, NaiveWorld, draw

NOTHING, KEY_1, BOTH_KEYS = (0, 0, 0), (1, 0, 0), (1, 1, 0)


def number(world, cell):
    """A cell as the pack counts them."""
    return cell[0] * world.layout.shape[1] + cell[1]


def situation(room_size, agent, items, ghost, direction, hard=False, parallel=False, members=400):
    """Many members in one situation, one ghost each: their streams decide who of the ghosts turns, and where to."""
    world = build_world(room_size=room_size, hard=hard, ghosts=1)
    tables = world.tables
    mask = sum(bit << i for i, bit in enumerate(items))
    match = (tables.position == agent).all(axis=1) & (tables.items == mask) & (tables.world == int(parallel))
    pack = WorldPack(world, stream_keys([str(i) for i in range(members)], "ghost"))
    pack.state[:] = np.flatnonzero(match[: tables.live]).item()
    pack.ghosts[:] = number(world, ghost)
    pack.directions[:] = direction
    return pack


def step(pack, action):
    """One step with the same action for all: the outcome, and where each member's ghost headed."""
    outcome = pack.step(np.full(len(pack.state), action))
    return outcome, pack.directions[:, 0]


@settings(max_examples=120, deadline=None, derandomize=True, phases=[Phase.generate])  # a seed does not shrink
@given(
    room_size=st.integers(3, 8),
    hard=st.booleans(),
    ghosts=st.integers(1, 4),
    textured=st.booleans(),
    key=st.integers(0, 2**64 - 1),
    seed=st.integers(0, 2**32),
)
def test_games_with_ghosts_are_those_of_the_naive_simulator(room_size, hard, ghosts, textured, key, seed):
    """From any state with ghosts close by, given where they head: the same cells, rewards, ends and frames."""
    world = build_world(room_size=room_size, hard=hard, ghosts=ghosts, textured=textured)
    glyphs = {kind.name: world.glyphs[kind] for kind in Kind}
    pack, naive = WorldPack(world, np.array([key], dtype=np.uint64)), NaiveWorld(room_size, hard)
    rng = random.Random(seed)
    pack.state[0] = state = rng.randrange(world.tables.live)
    items = tuple(bool(world.tables.items[state] >> i & 1) for i in range(3))
    row, col = world.tables.position[state].tolist()
    naive.put(int(world.tables.world[state]), (row, col), items)
    around = [(row + down, col + right) for down in range(-2, 3) for right in range(-2, 3) if down or right]
    free = [cell for cell in around if naive.is_free(cell)]
    naive.ghosts = [rng.choice(free) for _ in range(ghosts)]
    pack.ghosts[0] = [number(world, ghost) for ghost in naive.ghosts]
    for _ in range(20):
        action = rng.randrange(4)
        reward, terminal, _ = pack.step(np.array([action]))
        expected = naive.step(action, pack.directions[0].tolist())
        assert (reward[0], terminal[0]) == expected
        assert [number(world, ghost) for ghost in naive.ghosts] == pack.ghosts[0].tolist()
        assert tuple(world.tables.position[pack.state[0]].tolist()) == naive.position
        assert world.tables.world[pack.state[0]] == naive.world
        assert world.tables.items[pack.state[0]] == sum(held << i for i, held in enumerate(naive.items))
        np.testing.assert_array_equal(pack.frames()[0], draw(naive.frame(), glyphs))
        if terminal[0]:
            break


def test_a_ghost_turns_with_probability_a_quarter_to_any_of_four_directions():
    """Chi-square over the 4 x 4 counts of (direction before, after): 12 degrees of freedom, false alarms 1 in 10^6.

    A turn may pick the same direction again, so a direction is kept with probability 0.75 + 0.25 / 4.
    """
    world = build_world(room_size=5, ghosts=3)
    pack = WorldPack(world, stream_keys([str(i) for i in range(500)], "ghost"))
    counts = np.zeros((4, 4))
    for _ in range(100):
        before = pack.directions
        pack.step(np.full(500, UP))
        np.add.at(counts, (before, pack.directions), 1)
    expected = counts.sum(axis=1, keepdims=True) * np.where(np.eye(4, dtype=bool), 0.8125, 0.0625)
    assert counts.sum() == 500 * 3 * 100
    assert ((counts - expected) ** 2 / expected).sum() < 50.8


def test_ghosts_and_members_and_steps_turn_independently():
    """Pairs of turns coincide as often as chance says; three tests at 5 standard deviations, false alarms 2 in 10^6."""
    world = build_world(room_size=5, ghosts=2)
    pack = WorldPack(world, stream_keys([str(i) for i in range(500)], "ghost"))
    changed = []
    for _ in range(100):
        before = pack.directions
        pack.step(np.full(500, UP))
        changed.append(before != pack.directions)
    turned = np.stack(changed)  # (T, P, G)
    for one, other in [
        (turned[:, :, 0], turned[:, :, 1]),
        (turned[:, ::2], turned[:, 1::2]),
        (turned[::2], turned[1::2]),
    ]:
        p = 0.1875**2
        assert abs((one & other).mean() - p) < 5 * np.sqrt(p * (1 - p) / one.size)


def test_start_cells_are_uniform_and_two_steps_away():
    """Chi-square over the 22 cells of the start room but the agent's and its two neighbours: false alarms 1 in 10^6."""
    world = build_world(room_size=5, ghosts=2)
    pack = WorldPack(world, stream_keys([str(i) for i in range(1000)], "ghost"))
    counts = dict.fromkeys([(r, c) for r in range(1, 6) for c in range(1, 6) if r - 1 + c - 1 >= 2], 0)
    headings = np.zeros(4)
    for _ in range(10):
        for ghost in pack.ghosts.ravel().tolist():
            counts[divmod(ghost, 13)] += 1  # a KeyError is a ghost that started where none may
        headings += np.bincount(pack.directions.ravel(), minlength=4)
        pack.restart(np.ones(1000, dtype=bool))
    drawn = np.array(list(counts.values()))
    expected = 2 * 1000 * 10 / len(counts)
    assert len(counts) == 22
    assert ((drawn - expected) ** 2 / expected).sum() < 67.1  # 21 degrees of freedom
    assert ((headings - 5000) ** 2 / 5000).sum() < 30.7  # 3 degrees of freedom


@pytest.mark.parametrize(
    ("door", "beside", "heading", "closed", "opened"),
    [("A", (3, 5), RIGHT, NOTHING, KEY_1), ("B", (5, 3), DOWN, KEY_1, BOTH_KEYS)],
)
def test_a_ghost_passes_a_door_only_when_it_is_open(door, beside, heading, closed, opened):
    """Beside door A or B of w = 5, heading for it, the agent far away."""
    doorway = {"A": (3, 6), "B": (6, 3)}[door]
    for items, goes in [(closed, beside), (opened, doorway)]:
        pack = situation(5, agent=(1, 1), items=items, ghost=beside, direction=heading)
        _, headings = step(pack, UP)
        headed = headings == heading
        assert headed.sum() > 200
        assert (pack.ghosts[headed, 0] == number(pack.world, goes)).all()
        assert not (pack.ghosts[~headed, 0] == number(pack.world, doorway)).any()


def test_a_door_opens_for_ghosts_at_once():
    """The agent takes key 1 while the ghost heads for door A: it is open in that very step."""
    pack = situation(5, agent=(4, 5), items=NOTHING, ghost=(3, 5), direction=RIGHT)
    outcome, headings = step(pack, DOWN)
    assert (pack.ghosts[headings == RIGHT, 0] == number(pack.world, (3, 6))).all()
    assert (outcome.reward[headings == RIGHT] == 1).all()


def test_ghosts_stay_in_the_start_room_until_a_door_opens():
    """300 steps without a key: not one of 200 ghosts stands in a wall or beyond; with both keys some leave."""
    for items, somebody_leaves in [(NOTHING, False), (BOTH_KEYS, True)]:
        pack = situation(3, agent=(1, 1), items=items, ghost=(2, 2), direction=UP, members=200)
        seen = set()
        for _ in range(300):
            step(pack, UP)
            seen |= set(pack.ghosts[:, 0].tolist())
        cells = {divmod(cell, 9) for cell in seen}
        room = {(row, col) for row in range(1, 4) for col in range(1, 4)}
        assert cells >= room
        assert (cells > room) == somebody_leaves
        naive = NaiveWorld(3)
        assert not any(naive.is_wall(cell) for cell in cells)


def test_a_ghost_stays_where_a_wall_stops_it():
    pack = situation(5, agent=(5, 1), items=NOTHING, ghost=(1, 5), direction=UP)
    _, headings = step(pack, DOWN)
    away = {UP: (1, 5), RIGHT: (1, 5), DOWN: (2, 5), LEFT: (1, 4)}
    for heading, cell in away.items():
        assert (headings == heading).any()
        assert (pack.ghosts[headings == heading, 0] == number(pack.world, cell)).all()


def test_contact_ends_the_episode():
    """The agent steps into the cell that the ghost enters from the other side."""
    pack = situation(5, agent=(3, 1), items=NOTHING, ghost=(3, 3), direction=LEFT)
    outcome, headings = step(pack, RIGHT)
    met = headings == LEFT
    assert met.any()
    assert (~met).any()
    assert (outcome.terminal == met).all()
    assert not outcome.reward.any()
    assert not outcome.truncated.any()


def test_a_ghost_comes_to_an_agent_that_stays():
    pack = situation(5, agent=(3, 1), items=NOTHING, ghost=(3, 2), direction=LEFT)
    outcome, headings = step(pack, LEFT)
    assert (outcome.terminal == (headings == LEFT)).all()


def test_swapping_cells_ends_the_episode():
    """Neighbours walk towards each other; a ghost that walks on ahead or aside of the agent is not met."""
    pack = situation(5, agent=(3, 2), items=NOTHING, ghost=(3, 3), direction=LEFT)
    outcome, headings = step(pack, RIGHT)
    assert {UP, RIGHT, DOWN, LEFT} == set(headings.tolist())
    assert (outcome.terminal == (headings == LEFT)).all()


def test_following_a_ghost_that_is_stopped_is_contact():
    """It heads for the wall beside it, so it stays, and the agent walks into it."""
    pack = situation(5, agent=(1, 4), items=NOTHING, ghost=(1, 5), direction=UP)
    outcome, headings = step(pack, RIGHT)
    met = (headings == UP) | (headings == RIGHT) | (headings == LEFT)  # two walls, and a swap
    assert (outcome.terminal == met).all()
    assert not met.all()


@pytest.mark.parametrize("by", ["contact", "swap"])
@pytest.mark.parametrize(
    ("agent", "items", "action", "prize"),
    [
        ((5, 4), NOTHING, RIGHT, "key 1"),
        ((1, 10), KEY_1, RIGHT, "key 2"),
        ((11, 10), BOTH_KEYS, RIGHT, "the extra reward"),
        ((11, 2), BOTH_KEYS, LEFT, "the exit"),
    ],
)
def test_a_ghost_at_a_prize_takes_the_reward_away(agent, items, action, prize, by):
    """The step that would pay pays nothing when it meets the ghost, and 1 when it does not."""
    row, col = agent
    goal = (row, col + 1) if action == RIGHT else (row, col - 1)
    if by == "contact":
        beside = 1 if row == 1 else -1  # inside the room, above or below the prize
        ghost, heading = (goal[0] + beside, goal[1]), UP if beside == 1 else DOWN
    else:
        ghost, heading = goal, LEFT if action == RIGHT else RIGHT
    pack = situation(5, agent=agent, items=items, ghost=ghost, direction=heading)
    outcome, headings = step(pack, action)
    entered = pack.ghosts[:, 0] == number(pack.world, goal)
    met = entered | (headings == heading) if by == "swap" else entered
    assert met.any()
    assert (~met).any()
    assert (outcome.terminal == (met | (prize == "the exit"))).all()
    assert (outcome.reward == np.where(met, 0.0, 1.0)).all()


def test_contact_at_the_time_limit_is_an_end_not_a_truncation():
    pack = situation(5, agent=(3, 1), items=NOTHING, ghost=(3, 3), direction=LEFT)
    pack.steps[:] = 499
    outcome, headings = step(pack, RIGHT)
    assert (outcome.terminal == (headings == LEFT)).all()
    assert (outcome.truncated == (headings != LEFT)).all()


def test_nobody_meets_a_ghost_in_the_parallel_world():
    """Neither by contact nor by swapping, nor when the touch of a wall takes the agent there, and it sees none."""
    for agent, ghost, heading, action, parallel in [
        ((3, 1), (3, 3), LEFT, RIGHT, True),
        ((3, 2), (3, 3), LEFT, RIGHT, True),
        ((3, 1), (3, 2), LEFT, LEFT, False),
    ]:
        pack = situation(5, agent, NOTHING, ghost, heading, hard=True, parallel=parallel)
        outcome, headings = step(pack, action)
        assert (headings == heading).any()
        assert not outcome.terminal.any()
        assert (pack.world.tables.world[pack.state] == 1).all()
        assert not (pack.world.cells(pack.state, pack.ghosts) == Kind.GHOST).any()


def test_a_ghost_at_the_start_catches_who_comes_back_through_the_portal():
    """The portal of w = 5 is at (9, 9); a ghost beside the start enters it in the same step."""
    pack = situation(5, (9, 8), NOTHING, ghost=(1, 2), direction=LEFT, hard=True, parallel=True)
    outcome, headings = step(pack, RIGHT)
    assert (pack.state == 0).all()
    assert (headings == LEFT).any()
    assert (outcome.terminal == (headings == LEFT)).all()


def test_a_ghost_that_leaves_the_start_as_the_agent_arrives_is_not_met():
    """It stays, and meets the agent, only where it heads for one of the two walls."""
    pack = situation(5, (9, 8), BOTH_KEYS, ghost=(1, 1), direction=DOWN, hard=True, parallel=True)
    outcome, headings = step(pack, RIGHT)
    stays = (headings == UP) | (headings == LEFT)
    assert (outcome.terminal == stays).all()


def test_a_ghost_is_seen_in_the_room_it_is_in_and_in_its_doorways():
    """Door A of w = 5 is seen from both its rooms; a ghost of another room is not."""
    for agent, ghost, where in [
        ((1, 1), (2, 2), (3, 2)),
        ((1, 1), (3, 6), (4, 6)),
        ((1, 7), (3, 6), (4, 0)),
        ((1, 1), (3, 7), None),
        ((1, 7), (3, 5), None),
    ]:
        pack = situation(5, agent, KEY_1, ghost, UP, members=1)
        cells = pack.world.cells(pack.state, pack.ghosts)[0]
        found = np.argwhere(cells == Kind.GHOST).tolist()
        assert found == ([] if where is None else [list(where)])
