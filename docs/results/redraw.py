"""Makes every figure and table of the results again, from the sweeps' tables beside this file: `make results`.

A table stands on its page between two comments, <!-- NAME --> and <!-- end of NAME -->.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from summary_tables import (
    HERE,
    SB3,
    claims_table,
    comparisons_table,
    correlations_table,
    late_table,
    lengths_table,
    pilot_table,
    sb3_sensitivity_table,
    sb3_table,
    scores_table,
    starts_table,
    studies,
)
from sweep_tables import (
    acting_table,
    confirmed_table,
    discounts_table,
    looks_table,
    losses_table,
    rainbow_table,
    rooms_table,
    tandem_effects_table,
    tandem_table,
)

import analysis

PAGES = (HERE.parent / "results.md", HERE.parent / "deviations.md", HERE / "sb3.md")
FIGURES = ("curves", "violins", "starts", "acting", "rooms", "response", "sensitivity", "confirmed")


def draw_figures() -> None:
    """Draw the figures that apply to each sweep into its folder `figures`."""
    for folder in map(Path, [*studies(), HERE / SB3]):
        tables = analysis.load(folder)
        (folder / "figures").mkdir(exist_ok=True)
        for name in FIGURES:
            if applies(folder, name):
                analysis.plot(tables, name).savefig(folder / "figures" / f"{name}.png")


def applies(folder: Path, figure: str) -> bool:
    """Return whether a sweep has this figure on the page."""
    if figure == "starts":
        return (folder / "starts.parquet").exists()
    if figure == "confirmed":
        return (folder / "confirm.json").exists()
    if figure == "sensitivity":
        return folder.name == SB3
    return figure not in ("acting", "rooms") or folder.name == figure


TABLES: dict[str, Callable[[], list[str]]] = {
    "claims": claims_table,
    "scores": scores_table,
    "pilot": pilot_table,
    "correlations": correlations_table,
    "starts": starts_table,
    "looks": looks_table,
    "confirmed": confirmed_table,
    "discounts": discounts_table,
    "losses": partial(losses_table, "main", "main-discount-0.99", "quiet_bonus"),
    "runaway losses": partial(losses_table, "main-discount-0.99", "runaway"),
    "acting": acting_table,
    "tandem": tandem_table,
    "tandem effects": tandem_effects_table,
    "rainbow": rainbow_table,
    "rooms": rooms_table,
    "rooms late": partial(late_table, "rooms"),
    "ghost late": partial(late_table, "ghost"),
    "lengths": lengths_table,
    "sb3": sb3_table,
    "sb3 comparisons": partial(comparisons_table, SB3),
    "baselines comparisons": partial(comparisons_table, "baselines"),
    "switching comparisons": partial(comparisons_table, "switching", "mulex"),
    "sb3 sensitivity": sb3_sensitivity_table,
}


def with_tables(page: str) -> str:
    """Return a page with its tables made again."""
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
