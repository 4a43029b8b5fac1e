"""`mulex verify`: check every file of a sweep."""

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click

from mulex.json_output import json_option, print_json
from mulex.messages import printable
from mulex.store.folder import Folder, open_folder
from mulex.store.folding import mend, set_aside
from mulex.store.run_store import RunStore
from mulex.store.tables import damaged_tables
from sweeps.inventory import Stock, frozen_spec, take_stock
from sweeps.monitor.terminal import describe
from sweeps.plan import PlannedRun, make_plan


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--quick", is_flag=True, help="Read the indexes of folded runs instead of the runs, and no tables.")
@click.option("--repair", is_flag=True, help="Take damaged runs out of their segments, so that resume trains them.")
@json_option
def verify(out: str, quick: bool, repair: bool, as_json: bool) -> None:
    """Check every run file against its checksum and the spec; exit code 1 if anything is missing or damaged."""
    found = _check(open_folder(out), quick, repair)
    if as_json:
        print_json(found.plain())
    else:
        way_out = "resume trains it again" if repair else "verify --repair takes it out, so that it is trained"
        for line in found.lines(f"mulex {way_out}"):
            click.echo(printable(line))
    sys.exit(0 if found.is_whole else 1)


@dataclass
class Found:
    """What a check of a sweep's files found."""

    stock: Stock
    unasked: int
    """Planned runs that an adaptive search has not asked for yet."""
    problems: list[str]
    """Of segments and their indexes."""
    is_mended: bool
    """Whether these problems are there no more."""
    rotten: list[str]
    """Damaged runs inside segments."""
    tables: list[str]
    """Damaged tables."""

    @cached_property
    def missing(self) -> list[PlannedRun]:
        """The runs that the store does not have."""
        return self.stock.missing

    @property
    def damaged(self) -> list[str]:
        """All damaged runs."""
        return [*self.stock.damaged, *self.rotten]

    @property
    def is_whole(self) -> bool:
        """Whether every planned run has its result and every file is whole."""
        lacking = self.missing or self.unasked or self.stock.failed
        broken = self.damaged or self.tables or (self.problems and not self.is_mended)
        return not (lacking or broken or self.stock.strangers)

    def lines(self, way_out: str) -> list[str]:
        """Describe it for a terminal; `way_out` is what to do about a damaged run inside a segment."""
        stock = self.stock
        lines = [*self.problems, *(f"damaged: {name}" for name in stock.damaged)]
        lines += [f"damaged: {name}; {way_out}" for name in self.rotten]
        lines += [f"damaged: {name}; mulex collect makes it again" for name in self.tables]
        lines += [f"not of this spec: {name}" for name in stock.strangers]
        lines += [f"missing: {describe(run)}" for run in self.missing]
        lines += [f"failed: {describe(run)}" for run in stock.failed]
        lines += [f"missing: {self.unasked} runs that the search has not asked for yet"] if self.unasked else []
        counts = f"{len(stock.done)} done, {len(stock.diverged)} diverged, {len(stock.failed)} failed"
        return [*lines, f"{counts}, {len(self.missing) + self.unasked} missing, {len(self.damaged)} damaged"]

    def plain(self) -> dict[str, Any]:
        """Return it for other programs."""
        stock = self.stock
        return {
            "whole": self.is_whole,
            "done": len(stock.done),
            "diverged": len(stock.diverged),
            "failed": [run.plain() for run in stock.failed],
            "missing": [run.plain() for run in self.missing],
            "unasked": self.unasked,
            "damaged": self.damaged,
            "damaged_tables": self.tables,
            "strangers": stock.strangers,
            "problems": self.problems,
        }


def _check(folder: Folder, quick: bool, repair: bool) -> Found:
    plan, store = make_plan(frozen_spec(folder), folder), RunStore(folder).refresh()
    problems = [f"{folder.url}/{problem}" for problem in store.problems]
    rotten = [] if quick else [name for name, run in store.read_many(store.folded_names()) if run is None]
    if repair:
        set_aside(store, rotten)
        mend(store)
    tables = [] if quick else damaged_tables(folder)
    return Found(take_stock(store, plan), plan.unasked(), problems, not store.problems, rotten, tables)
