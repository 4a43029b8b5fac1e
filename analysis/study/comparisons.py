"""Claims that compare the scores of methods."""

import numpy as np

from analysis.labels import display_name
from analysis.measures import iqr, mean, median, worst_decile
from analysis.statistics import estimate
from analysis.study.evidence import RISE, Evidence, Sample, difference, superiority
from analysis.study.samples import THREE, Sweeps, main_comparison, may_yet_move, pair_of, room_worlds, samples_of
from analysis.tables import Tables


def higher_mean(tables: Tables, _: Sweeps) -> list[Evidence]:
    pair = pair_of(tables)
    return [difference("mean AUC, MuleX - Additive", mean, *pair)] if pair else []


def beats_the_others(tables: Tables, _: Sweeps) -> list[Evidence]:
    samples = samples_of(tables)
    if set(THREE) - samples.keys():
        return []
    return [
        superiority("a MuleX draw beats one of Additive", samples["mulex"], samples["additive"]),
        superiority("a MuleX draw beats one of ε-greedy", samples["mulex"], samples["epsilon_greedy"]),
    ]


def tighter(tables: Tables, _: Sweeps) -> list[Evidence]:
    pair = pair_of(tables)
    return [difference("interquartile range of AUC, Additive - MuleX", iqr, pair[1], pair[0])] if pair else []


def _by_room(tables: Tables, sweeps: Sweeps) -> list[tuple[str, dict[str, Sample]]]:
    """Return the samples of each room size, the smallest first.

    The main comparison has a room size, too. If the sweep itself has that one with fewer draws, those of the main
    comparison count, because they say more.
    """
    found: dict[str, dict[str, Sample]] = {}
    main = main_comparison(tables, sweeps)
    for source in (tables, main) if main else (tables,):
        for world in room_worlds(source):
            samples = samples_of(source, world)
            if not set(THREE) - samples.keys() and _draws(samples) > _draws(found.get(world, {})):
                found[world] = samples
    return sorted(found.items(), key=lambda item: int(item[0][1:]))


def _draws(samples: dict[str, Sample]) -> int:
    """Return how many draws each of the paper's methods has, at least."""
    return min((samples[method].draws for method in THREE if method in samples), default=0)


def better_in_larger_rooms(tables: Tables, sweeps: Sweeps) -> list[Evidence]:
    """Measure MuleX's median over that of epsilon-greedy, in the largest rooms minus in the smallest."""
    rooms = _by_room(tables, sweeps)
    if len(rooms) < 2:
        return []

    def relative(samples: dict[str, Sample]) -> tuple[float, np.ndarray]:
        """Return the ratio of the medians, NaN where ε-greedy's is 0."""
        (a, many_a), (b, many_b) = samples["mulex"].measure(median), samples["epsilon_greedy"].measure(median)
        return a / b if b > 0 else np.nan, many_a / np.where(many_b > 0, many_b, np.nan)

    (small, in_small), (large, in_large) = rooms[0], rooms[-1]
    (a, many_a), (b, many_b) = relative(in_small), relative(in_large)
    draws = min(of[method].draws for of in (in_small, in_large) for method in ("mulex", "epsilon_greedy"))
    sizes = [_draws(of) for of in (in_large, in_small)]
    what = f"MuleX's median / ε-greedy's, {large} - {small}"
    if sizes[0] != sizes[1]:
        what += " ({} and {} draws)".format(*sizes)
    return [Evidence(what, estimate(b - a, many_b - many_a, draws), 0.0, draws=draws)]


def ahead_in_the_largest_rooms(tables: Tables, _: Sweeps) -> list[Evidence]:
    pair = pair_of(tables)
    return [superiority("a MuleX draw beats one of Additive at w = 15", *pair)] if pair else []


def all_struggle(tables: Tables, _: Sweeps) -> list[Evidence]:
    samples = samples_of(tables)
    if set(THREE) - samples.keys():
        return []
    best = max(THREE, key=lambda method: samples[method].measure(mean)[0])
    value, many = samples[best].measure(mean)
    what, rises = f"mean AUC of the best method, {display_name(best)}", may_yet_move(tables, RISE)
    draws = samples[best].draws
    return [Evidence(what, estimate(value, many, draws), 0.5, False, draws, rises)]


def _gains(tables: Tables, sweeps: Sweeps) -> dict[str, tuple[Sample, Sample]]:
    """Return each method's runs with Rainbow and those of the main comparison."""
    if not (main := main_comparison(tables, sweeps)):
        return {}
    now, before = samples_of(tables), samples_of(main)
    return {method: (now[method], before[method]) for method in THREE if method in now and method in before}


def all_gain(tables: Tables, sweeps: Sweeps) -> list[Evidence]:
    gains = _gains(tables, sweeps)
    return [
        difference(f"median AUC of {display_name(method)}, Rainbow - DQN", median, *pair)
        for method, pair in gains.items()
    ]


def the_worst_gain_most(tables: Tables, sweeps: Sweeps) -> list[Evidence]:
    gains = _gains(tables, sweeps)
    if set(THREE) - gains.keys():
        return []

    def gain(method: str) -> tuple[float, np.ndarray]:
        (a, many_a), (b, many_b) = (of.measure(worst_decile) for of in gains[method])
        return a - b, many_a - many_b

    (mine, many), others = gain("mulex"), [gain(method) for method in THREE[:2]]
    value = mine - max(other for other, _ in others)
    samples = many - np.maximum(*[many_other for _, many_other in others])
    draws = min(of.draws for pair in gains.values() for of in pair)
    what = "gain of the worst tenth by Rainbow, MuleX - the better of the others"
    return [Evidence(what, estimate(value, samples, draws), 0.0, draws=draws)]
