"""How much of a sweep there is: what was planned, what came of it, and what to say about it on a picture."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from analysis.places import Place

SPEC = "spec.yaml"
SCORED = ("done", "diverged")
"""A diverged run was trained and evaluated to its end, so its score counts."""
COUNTS = ("done", "diverged", "failed", "stopped", "nan", "missing")


def read_spec(place: Place) -> tuple[dict[str, Any] | None, str]:
    """The sweep's spec as plain data, and as text; None where there is none to be understood."""
    if not place.exists(SPEC):
        return None, ""
    text = place.read(SPEC).decode(errors="replace")
    try:
        spec = YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        return None, text
    return (spec if isinstance(spec, dict) else None), text


def planned(spec: dict[str, Any] | None) -> dict[tuple[str, str], int]:
    """Runs by world and method, empty where the spec does not say."""
    try:
        search = (spec or {}).get("search") or {}
        runs = int(search["draws"]) * int(search["seeds"])
        return {(str(world), str(method)): runs for world in spec["worlds"] for method in spec["methods"]}  # type: ignore[index]
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def outcome(runs: pd.DataFrame) -> pd.Series:
    """What became of each run: done, diverged, failed, stopped, or nan where it was trained but has no score."""
    known = runs["status"].where(runs["status"].isin([*SCORED, "stopped"]), "failed")
    return known.mask(runs["status"].isin(SCORED) & runs["score"].isna(), "nan")


@dataclass(frozen=True)
class Completeness:
    """By world and method: planned and each outcome, `missing` being what was planned and is not there."""

    counts: pd.DataFrame
    is_planned: bool

    @property
    def total(self) -> int:
        """How many runs there should be."""
        return int(self.counts["planned"].sum())

    @property
    def scored(self) -> int:
        """How many runs the figures are made of."""
        return int(self.counts[list(SCORED)].to_numpy().sum())

    def note(self) -> str:
        """What a picture says of a sweep that is not whole; nothing of one that is."""
        if self.scored == self.total:
            return ""
        sums = self.counts[["failed", "stopped", "nan"]].sum()
        words = {"failed": "failed", "stopped": "stopped early", "nan": "without a score"}
        others = [f"{sums[name]:,} {word}" for name, word in words.items() if sums[name]]
        return f"{self.scored:,} of {self.total:,} runs" + (f" ({', '.join(others)})" if others else "")


def completeness(runs: pd.DataFrame, plan: dict[tuple[str, str], int]) -> Completeness:
    """Count what there is against what was planned."""
    keys = list(dict.fromkeys([*plan, *zip(runs["world"], runs["method"], strict=True)]))
    tally = runs.groupby(["world", "method", "outcome"]).size().to_dict()
    rows = []
    for world, method in keys:
        row: dict[str, Any] = {name: int(tally.get((world, method, name), 0)) for name in COUNTS[:-1]}
        there = sum(row.values())
        row |= {"missing": max(plan.get((world, method), 0) - there, 0)}
        rows.append({"world": world, "method": method, "planned": there + row["missing"], **row})
    return Completeness(pd.DataFrame(rows, columns=["world", "method", "planned", *COUNTS]), bool(plan))
