"""A spec in one line."""

from typing import Any

from sweeps.spec.models import Spec


def summary(spec: Spec) -> str:
    """Say what a spec multiplies, and how many runs that makes."""
    draws = [spec.draws(method) for method in spec.methods]  # grids may differ in size
    least = f"{min(draws)} to " if min(draws) < max(draws) else ""
    counts = (_count(len(draws), "method"), least + _count(max(draws), "draw"), _count(spec.search.seeds, "seed"))
    return f"{spec.name}: {' x '.join(counts)} in {_count(len(spec.worlds), 'world')} = {_count(spec.run_count, 'run')}"


def counts(spec: Spec) -> dict[str, Any]:
    """Return what a spec multiplies, and how many runs that makes, for other programs."""
    return {
        "sweep": spec.name,
        "worlds": list(spec.worlds),
        "draws": {method: spec.draws(method) for method in spec.methods},
        "seeds": spec.search.seeds,
        "runs": spec.run_count,
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
