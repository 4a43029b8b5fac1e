"""A game that somebody plays or watches: its score, the built-in policies, and the loops that drive a screen."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Protocol

import numpy as np

from mulex.streams import below, stream_keys, words
from mulex.worlds.pack import WorldPack
from mulex.worlds.pictures.render import WORLD_NAMES, held
from mulex.worlds.shortest_paths import optimal_actions
from mulex.worlds.tables import ACTIONS
from mulex.worlds.world import World

Policy = Callable[[WorldPack], np.ndarray]
"""A function from the worlds of a pack to the members' actions (P,)."""

STEERING = {"up": "wk", "right": "dl", "down": "sj", "left": "ah"}  # in the order of the actions: arrows, wasd, hjkl
ACTION_OF = {key: action for action, (arrow, letters) in enumerate(STEERING.items()) for key in (arrow, *letters)}
QUIT, RESTART = "q", "r"

_HAND_HINT = "arrow keys, wasd or hjkl move, r restarts, q quits"
_WATCH_HINT = "q quits"
_LAST_LOOK = 1.0  # seconds that the end of a watched episode stays


class Game:
    """One world that is played episode by episode."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.pack = WorldPack(world, stream_keys([f"play/{seed}"], "ghosts"))
        self.total = 0.0
        self.ending = ""  # how the episode ended; empty while it goes on

    @property
    def state(self) -> int:
        return int(self.pack.state[0])

    @property
    def ghosts(self) -> np.ndarray:
        return np.asarray(self.pack.ghosts[0])

    def step(self, action: int) -> None:
        reward, terminal, truncated = (part[0] for part in self.pack.step(np.array([action])))
        self.total += float(reward)
        if terminal:
            self.ending = "reached the exit" if reward else "caught by a ghost"  # the exit always gives a reward
        elif truncated:
            self.ending = "time is up"

    def restart(self) -> None:
        self.pack.restart(np.ones(1, dtype=bool))
        self.total, self.ending = 0.0, ""

    def caption(self) -> str:
        """Describe the score so far."""
        score = f"return {self.total:g}, step {self.pack.steps[0]} of {self.world.time_limit}"
        return f"{score}: {self.ending}" if self.ending else score

    def status(self) -> str:
        """Describe the world the agent is in and the items it holds."""
        name = f"{WORLD_NAMES[self.world.tables.world[self.state]]}, " if self.world.layout.portal else ""
        return f"{name}held: {held(self.world, self.state)}"

    def summary(self) -> str:
        return f"return {self.total:g} in {self.pack.steps[0]} steps: {self.ending}"


class Screen(Protocol):
    """Shows a game and reads keys."""

    def show(self, game: Game, hint: str) -> None: ...

    def key(self, seconds: float) -> str | None:
        """Return the next key, or None after so many seconds without one."""


def random_policy(world: World, seed: int) -> Policy:
    """Make a policy that takes every action with the same probability."""
    keys, index = stream_keys([f"play/{seed}"], "acting"), count()
    return lambda pack: below(words(keys, np.array([next(index) for _ in pack.state])), ACTIONS)


def optimal_policy(world: World, seed: int) -> Policy:
    """Make a policy that takes a shortest path to the highest return; it ignores ghosts."""
    actions = optimal_actions(world.tables)
    return lambda pack: actions[pack.state]


POLICIES: dict[str, Callable[[World, int], Policy]] = {"random": random_policy, "optimal": optimal_policy}


def play_by_hand(game: Game, screen: Screen) -> None:
    """Let somebody play until they quit."""
    screen.show(game, _HAND_HINT)
    while (key := screen.key(0.2)) != QUIT:
        if key == RESTART:
            game.restart()
        elif key in ACTION_OF and not game.ending:
            game.step(ACTION_OF[key])
        if key is not None:
            screen.show(game, _HAND_HINT)


def watch(game: Game, policy: Policy, screen: Screen, episodes: int, fps: int) -> list[str]:
    """Show episodes of a policy until the viewer quits; returns the summaries of those that ended."""
    summaries: list[str] = []
    for _ in range(episodes):
        game.restart()
        for _ in moments(game, policy):
            screen.show(game, _WATCH_HINT)
            if screen.key(_LAST_LOOK if game.ending else 1 / fps) == QUIT:
                return summaries
        summaries.append(game.summary())
    return summaries


def run(game: Game, policy: Policy, episodes: int) -> Iterator[str]:
    """Play episodes without showing them; yields the summary of each."""
    for _ in range(episodes):
        game.restart()
        for _ in moments(game, policy):
            pass
        yield game.summary()


def moments(game: Game, policy: Policy) -> Iterator[Game]:
    """Let a policy play to the end of the episode; yields the game before the first and after every step."""
    yield game
    while not game.ending:
        game.step(int(policy(game.pack)[0]))
        yield game
