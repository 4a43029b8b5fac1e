"""Which draws of a sweep are trained again with test seeds, as confirm.json in its folder says."""

import json
from dataclasses import dataclass, field
from typing import Any

from mulex.errors import UserError
from mulex.messages import shown
from mulex.store.folder import Folder
from mulex.store.layout import CONFIRMATION
from sweeps.search.base import Drawn
from sweeps.spec import Spec

FIRST_TEST_SEED = 1_000_000_000
"""The first test seed; the others follow it. No tuning seed may be as high."""
MOST_TEST_SEEDS = 10_000
Choice = dict[str, dict[str, list[int]]]


@dataclass(frozen=True)
class Confirmation:
    """The chosen draws by world and method, the best first, and the number of test seeds of each."""

    draws: Choice = field(default_factory=dict)
    seeds: int = 0

    @property
    def test_seeds(self) -> range:
        """The seeds that the chosen draws are trained with."""
        return range(FIRST_TEST_SEED, FIRST_TEST_SEED + self.seeds)

    def of(self, world: str, method: str) -> list[int]:
        """Return the chosen draws of a method in a world."""
        return self.draws.get(world, {}).get(method, [])

    def joined(self, later: "Confirmation") -> "Confirmation":
        """Return these draws and seeds together with those of a later choice: nothing is taken away."""
        worlds = dict.fromkeys([*self.draws, *later.draws])
        methods = {w: dict.fromkeys([*self.draws.get(w, {}), *later.draws.get(w, {})]) for w in worlds}
        draws = {w: {m: list(dict.fromkeys(self.of(w, m) + later.of(w, m))) for m in methods[w]} for w in worlds}
        return Confirmation(draws, max(self.seeds, later.seeds))


def read_confirmation(folder: Folder) -> Confirmation:
    """Return what a sweep's folder says about test runs: nothing in a folder where no draws were chosen.

    Raises:
        UserError: The file is damaged.
    """
    try:
        content = folder.read(CONFIRMATION)
    except FileNotFoundError:
        return Confirmation()
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{folder.url}/{CONFIRMATION}: is not JSON ({error}); {_way_out(folder)}") from None
    if not _is_confirmation(plain):
        needed = "needed are `draws` by world and method, and `seeds`"
        raise UserError(f"{folder.url}/{CONFIRMATION}: got {shown(plain)}, {needed}; {_way_out(folder)}")
    return Confirmation(plain["draws"], plain["seeds"])


def write_confirmation(folder: Folder, confirmation: Confirmation) -> None:
    """Replace what a sweep's folder says about test runs, unless it says so already."""
    if read_confirmation(folder) != confirmation:
        plain = {"draws": confirmation.draws, "seeds": confirmation.seeds, "first_seed": FIRST_TEST_SEED}
        folder.write(CONFIRMATION, json.dumps(plain, indent=1).encode())


def check_confirmation(folder: Folder, confirmation: Confirmation, spec: Spec, drawn: Drawn) -> None:
    """Raise UserError if a spec does not have the chosen draws, or tunes with seeds that are kept for testing."""
    for world, methods in confirmation.draws.items():
        for method, draws in methods.items():
            known = len(drawn[method]) if world in spec.worlds and method in drawn else 0
            if draws and max(draws) >= known:
                what = f"draw {max(draws)} of {method} in {world}, which the spec does not have"
                raise UserError(f"{folder.url}/{CONFIRMATION}: names {what}; {_way_out(folder)}")
    if confirmation.draws:
        check_tuning_seeds(spec)


def check_tuning_seeds(spec: Spec) -> None:
    """Raise UserError if a spec tunes with seeds that are kept for testing."""
    last = spec.search.first_seed + spec.search.seeds - 1
    if last >= FIRST_TEST_SEED:
        raise UserError(
            f"search.first_seed: the tuning seeds go up to {last:,}, but those from {FIRST_TEST_SEED:,} on are kept "
            "for testing; confirm needs a sweep with lower tuning seeds"
        )


def _is_confirmation(plain: Any) -> bool:
    if not isinstance(plain, dict) or type(plain.get("seeds")) is not int or not isinstance(plain.get("draws"), dict):
        return False
    if not 0 <= plain["seeds"] <= MOST_TEST_SEEDS or plain.get("first_seed") != FIRST_TEST_SEED:
        return False
    lists = [draws for of in plain["draws"].values() for draws in (of.values() if isinstance(of, dict) else [None])]
    return all(isinstance(draws, list) and all(type(d) is int and d >= 0 for d in draws) for draws in lists)


def _way_out(folder: Folder) -> str:
    return f"restore the file, or remove it and choose again with mulex confirm {folder.url}"
