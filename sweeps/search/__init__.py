"""How draws are chosen: one small class for each search, and what hyperparameters are drawn from."""

from typing import TYPE_CHECKING

from sweeps.search.base import Search
from sweeps.search.cmaes import CmaesSearch
from sweeps.search.gp import GpSearch
from sweeps.search.grid import GridSearch
from sweeps.search.random import RandomSearch
from sweeps.search.sobol import SobolSearch
from sweeps.search.tpe import TpeSearch

if TYPE_CHECKING:
    from sweeps.spec import Spec

SEARCHES: dict[str, type[Search]] = {
    search.name: search for search in (RandomSearch, SobolSearch, GridSearch, TpeSearch, GpSearch, CmaesSearch)
}
"""Every search by its word in a spec; to add one, write its class and list it here."""


def make_search(spec: "Spec") -> Search:
    """Return the search that a spec asks for."""
    settings = spec.search
    spaces = {method: spec.space(method) for method in spec.methods}
    return SEARCHES[settings.algorithm](settings.seed, settings.draws, spaces)
