"""Draws every figure and table of the results again, from the sweeps' tables beside this file: `make results`.

Tables stand between two comments on a page: <!-- NAME --> and <!-- end of NAME -->.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from analysis.claims import CLAIMS
from analysis.commands.claims import claims, markdown_table
from analysis.commands.plot import plot
from analysis.evidence import TOO_FEW, sample
from analysis.measures import best, iqr, median, worst
from analysis.style import shown
from analysis.tables import load_tables

HERE = Path(__file__).parent
PAGES = (HERE.parent / "results.md", HERE.parent / "deviations.md")
METHODS = ("epsilon_greedy", "additive", "mulex")
FIGURES = ("curves", "violins", "starts", "acting", "response")


def sweeps(prefix: str = "") -> list[str]:
    """Folders with tables, by name."""
    return sorted(str(path.parent) for path in HERE.glob("*/runs.parquet") if path.parent.name.startswith(prefix))


def studies() -> list[str]:
    """All but the pilot's, which compares settings and not methods."""
    return [place for place in sweeps() if not Path(place).name.startswith("pilot")]


def draw_figures() -> None:
    """Those that apply to a sweep, and the rooms of several."""
    for place in studies():
        call(plot, place, *[f"--figure={name}" for name in FIGURES if applies(place, name)])
    rooms = [place for place in studies() if Path(place).name in ("main", "rooms")]
    if len(rooms) == 2:
        call(plot, *rooms, "--figure=rooms", "--out", f"{rooms[1]}/figures")


def applies(place: str, figure: str) -> bool:
    if figure == "starts":
        return (Path(place) / "starts.parquet").exists()
    return figure != "acting" or Path(place).name == "acting"


def call(command: object, *arguments: str) -> str:
    """A command as its user calls it."""
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)  # type: ignore[arg-type]
    assert done.exit_code == 0, done.output
    return done.stdout


def claims_table() -> list[str]:
    """The claims as measured, and then those about experiments that have no sweep here."""
    lines = call(claims, *studies(), "--markdown").splitlines()
    said = "\n".join(lines)
    missing = [claim for claim in CLAIMS if f"| {claim.says} |" not in said]
    return lines + [f"| {claim.experiment} | none | {claim.says} | - | {TOO_FEW} |" for claim in missing]


def scores_table() -> list[str]:
    """Normalised AUCs by sweep, world and method."""
    rows = []
    for place in studies():
        tables = load_tables([place])
        for world, method, runs in tables.groups():
            of = sample(tables, world, method)
            assert of is not None
            numbers = [f"{of.measure(measure)[0]:.3f}" for measure in (worst, median, best, iqr)]
            at_ideal = np.nanmax(tables.curves["normalised_return"][runs.index], axis=1) >= 1 - 1e-9
            sizes = f"{of.draws} x {runs['seed'].nunique()}"
            sweep = f"[{Path(place).name}](results/{Path(place).name})"
            rows.append([sweep, world, shown(method), sizes, *numbers, f"{at_ideal.sum()} of {len(runs)}"])
    head = ["sweep", "world", "method", "draws x seeds", "worst", "median", "best", "IQR", "ever at the ideal return"]
    return markdown_table(head, rows)


def pilot_table() -> list[str]:
    """The median normalised AUC by arm and method, and what decides: the mean of the three."""
    tables = load_tables(sweeps("pilot"))
    medians: dict[str, dict[str, float]] = {}
    for world, method, runs in tables.groups():
        medians.setdefault(world, {})[method] = float(median(runs["score"].to_numpy()[None])[0])
    base = medians["base"]
    rows = []
    for arm, found in medians.items():
        three = [found.get(method, base[method]) for method in METHODS]
        words = [
            f"{x:.3f}" + ("" if method in found else " (of base)") for method, x in zip(METHODS, three, strict=True)
        ]
        order = " > ".join(shown(METHODS[i]) for i in np.argsort(three)[::-1])
        rows.append((float(np.mean(three)), [f"`{arm}`", *words, f"{np.mean(three):.3f}", order]))
    rows.sort(key=lambda row: -row[0])
    return markdown_table(
        ["arm", *[shown(method) for method in METHODS], "mean", "order of the methods"], [row for _, row in rows]
    )


TABLES: dict[str, Callable[[], list[str]]] = {"claims": claims_table, "scores": scores_table, "pilot": pilot_table}


def with_tables(page: str) -> str:
    """A page with its tables made anew."""
    for name, make in TABLES.items():
        found = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        if found.search(page):
            lines = "\n".join(make())
            page = found.sub(lambda match, lines=lines: f"{match[1]}{lines}\n{match[2]}", page)
    return page


if __name__ == "__main__":
    draw_figures()
    for path in PAGES:
        path.write_text(with_tables(path.read_text()))
