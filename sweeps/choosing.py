"""Chooses the draws that `mulex confirm` trains with test seeds: the best of each method in each world."""

import math
from collections.abc import Iterator

from mulex.errors import UserError
from mulex.store.entry import RunEntry
from mulex.store.folder import Folder
from mulex.store.roles import TUNE
from mulex.store.run_store import RunStore
from sweeps.confirmation import Confirmation, check_tuning_seeds
from sweeps.plan import Plan

_SCORED = ("done", "diverged")
Key = tuple[str, str, int]


def choose_draws(plan: Plan, folder: Folder, top: int, seeds: int) -> Confirmation:
    """Return the draws with the highest mean scores over tuning seeds, with those that were chosen before.

    Only draws whose tuning seeds are all finished, with finite scores, can be chosen.

    Raises:
        UserError: No draw is finished, or the tuning seeds reach those that are kept for testing.
    """
    check_tuning_seeds(plan.spec)
    means = _finished_means(plan, folder)
    if not means:
        raise UserError(
            f"{folder.url}: no draw has finished with all its {plan.spec.search.seeds} tuning seeds, so none can be "
            f"confirmed; train them first: mulex resume {folder.url}"
        )
    chosen: dict[str, dict[str, list[int]]] = {}
    for world, method in plan.families:
        ranked = sorted((-mean, draw) for (w, m, draw), mean in means.items() if (w, m) == (world, method))
        if ranked:
            chosen.setdefault(world, {})[method] = [draw for _, draw in ranked[:top]]
    return plan.confirmation.joined(Confirmation(chosen, seeds))


def chosen_lines(confirmation: Confirmation) -> list[str]:
    """Say which draws are confirmed, a line for each world and method."""
    return [
        f"confirmed with {confirmation.seeds} test seeds: {method} in {world}, draws {', '.join(map(str, draws))}"
        for world, methods in confirmation.draws.items()
        for method, draws in methods.items()
    ]


def _finished_means(plan: Plan, folder: Folder) -> dict[Key, float]:
    """Return the mean tuning score of every draw in every world in which it is finished."""
    scores: dict[Key, list[float]] = {}
    for run, score in _scores(plan, folder):
        scores.setdefault((run.world, run.method, run.draw), []).append(score)
    means = {key: math.fsum(of) / len(of) for key, of in scores.items() if len(of) == plan.spec.search.seeds}
    return {key: mean for key, mean in means.items() if math.isfinite(mean)}


def _scores(plan: Plan, folder: Folder) -> Iterator[tuple[RunEntry, float]]:
    for entry in RunStore(folder).refresh().entries.values():
        is_scored = entry.status in _SCORED and entry.score is not None and math.isfinite(entry.score)
        if is_scored and plan.role(entry) == TUNE and plan.has(entry):
            yield entry, entry.score or 0.0
