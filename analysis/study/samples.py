"""The runs that claims are about: the methods of a sweep, the main comparison, and the worlds of some claims."""

from collections.abc import Mapping

from analysis.study.evidence import Sample, sample
from analysis.tables import Tables
from mulex.store.score import NORMALISED_AUC

NEARLY = 0.95
"""The share of the ideal return that counts as the top: a mean of ten policies is hardly ever at the ideal itself."""
ITERATIONS = 800
"""Iterations of the paper's runs."""
THREE = ("epsilon_greedy", "additive", "mulex")
Sweeps = Mapping[str, Tables]


def first_world(tables: Tables) -> list[str]:
    """Return the first world, if its scores are shares of an ideal return, as the claims need."""
    return [world for world in tables.worlds[:1] if tables.score_names.get(world) == NORMALISED_AUC]


def may_yet_move(tables: Tables, move: str) -> str:
    """Return how a number may move in longer runs, if these runs are shorter than the paper's."""
    return move if tables.iterations < ITERATIONS else ""


def main_comparison(tables: Tables, sweeps: Sweeps) -> Tables | None:
    """Return the main comparison, if its runs are as long as those that are compared with it."""
    if "main" not in sweeps:
        return None
    main = sweeps["main"].only(first_world(sweeps["main"]))
    return main if main.iterations == tables.iterations else None


def samples_of(tables: Tables, world: str | None = None) -> dict[str, Sample]:
    found = {method: sample(tables, world or tables.worlds[0], method) for method in tables.methods}
    return {method: one for method, one in found.items() if one is not None}


def pair_of(tables: Tables) -> tuple[Sample, Sample] | None:
    """Return the samples of MuleX and Additive."""
    samples = samples_of(tables)
    return (samples["mulex"], samples["additive"]) if {"mulex", "additive"} <= samples.keys() else None


def room_worlds(tables: Tables) -> list[str]:
    """Return the worlds called w5, w10 and so on."""
    return [world for world in tables.worlds if world[:1] == "w" and world[1:].isdigit()]


def largest_rooms(tables: Tables) -> list[str]:
    return [world for world in tables.worlds if world == "w15"]
