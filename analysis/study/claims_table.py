"""The claims and how they were judged, as a table of text."""

import math
from collections.abc import Iterable, Sequence

from analysis.study.claims import Finding
from analysis.study.evidence import Evidence
from mulex.messages import printable

HEAD = ("sweep", "draws x seeds", "the paper says", "measured, with its 95 % interval", "verdict")


def claim_rows(findings: Iterable[Finding]) -> list[list[str]]:
    """Return a row for each claim and sweep."""
    return [_row(finding) for finding in findings]


def _row(finding: Finding) -> list[str]:
    parts = [f"{one.what}: {_number(one)}" for one in finding.evidence]
    sweep = printable(finding.sweep, 100)
    need = finding.need
    more = f"; about {_rounded(need.draws):,} draws would be expected to decide it ({need.method})" if need else ""
    return [sweep, finding.runs, finding.claim.says, "; ".join(parts), finding.verdict + finding.scope + more]


def _rounded(draws: int) -> int:
    """Return a number of draws with two digits, rounded up, since it is no more exact than that."""
    unit = 10 ** max(len(str(draws)) - 2, 0)
    return -(-draws // unit) * unit


def _number(evidence: Evidence) -> str:
    estimate = evidence.estimate
    if math.isnan(estimate.value):
        return "-"
    value, low, high = (f"{x:.2f}" if math.isfinite(x) else "∞" for x in (estimate.value, estimate.low, estimate.high))
    side = "above" if evidence.above else "below"
    later = f", may {evidence.may_yet} in longer runs" if evidence.may_yet else ""
    return f"{value} [{low}, {high}], claimed {side} {evidence.boundary:g}{later}"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return ["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows]]
