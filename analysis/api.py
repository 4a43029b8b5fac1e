"""What Python code calls: load a sweep's tables, compute its statistics, draw its figures, write its report."""

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

import pandas as pd

from analysis.errors import AnalysisError
from analysis.figures.registry import FIGURES, SMOOTHED, make_chart
from analysis.output import write_file
from analysis.statistics import compute_statistics
from analysis.style import SIZES, Size, custom_size
from analysis.tables import Tables, load_tables
from mulex.errors import UserError
from mulex.messages import unknown

if TYPE_CHECKING:
    from analysis.labels import Labels
    from analysis.planning import Power
    from analysis.renderer import Picture
    from sweeps.spec import Spec

FIGURE_NAMES = tuple(FIGURES)
"""The figures that `plot` can draw. docs/figures.md shows each of them."""
Path = str | os.PathLike[str]
Source = Tables | Path


def load(*paths: Path) -> Tables:
    """Read the tables of one or more sweeps, also of one that is still running.

    Args:
        *paths: Sweep folders: paths, or URLs such as s3://bucket/sweep. Runs of several sweeps are joined.

    Returns:
        The tables: `runs` is a DataFrame with a row for each run, `curves` one with a row for each run and iteration.

    Raises:
        UserError: A folder does not exist, is not a sweep, has no runs yet, or is damaged.

    Example:
        >>> tables = analysis.load("out/main", "out/main-more-seeds")
        >>> tables.runs.groupby("method")["score"].median()
        >>> tables.curves.groupby(["method", "iteration"])["eval_return"].mean()
    """
    if not paths:
        raise AnalysisError("load: no path given; name one or more sweep folders")
    return load_tables([os.fspath(path) for path in paths])


def stats(tables: Source, seed: int = 0) -> pd.DataFrame:
    """Compute how robust each method is to its hyperparameters, with 95 % intervals.

    Args:
        tables: What `load` returned, or the path of one sweep.
        seed: The seed of the bootstrap over draws.

    Returns:
        A row for each world, method and measure with the columns value, low and high (the interval), runs and draws.
        An interval of a single draw is NaN. The measures are iqm, median, mean, worst_decile, best, worst and
        optimality_gap of the score, the last one only where its ideal is 1; iterations_to_ideal, which is infinite if
        the best runs never reach the ideal return; confirmed (the best draw's score with test seeds) and
        selection_bias, where there are test runs; variance_draws and variance_seeds, which have no interval; and
        probability_to_beat, with the method that it is compared to in the column `other`. The frame's `attrs` have
        the name of the score, the seed, the number of replicates and the level of the intervals over draws, which is
        above 0.95 in a sweep with `search.until`, because it looked at its draws several times.

    Raises:
        UserError: The path is not a sweep, or the seed is negative.

    Example:
        >>> frame = analysis.stats("out/main")
        >>> frame[frame["measure"] == "iqm"]
    """
    if seed < 0:
        raise AnalysisError(f"seed: {seed} is negative; use 0 or more")
    return compute_statistics(_tables(tables), seed).frame()


def confirmed(tables: Source) -> pd.DataFrame:
    """Compare the tuned scores of the confirmed draws with what they score with test seeds, which no tuning saw.

    Args:
        tables: What `load` returned, or the path of one sweep.

    Returns:
        A row for each world, method and confirmed draw, with the highest tuned score first: the tuned score, the
        confirmed score with its 95 % interval (low, high), and the selection bias, which is the tuned score less the
        confirmed one, with its interval (bias_low, bias_high). `stats` has the bias of all confirmed draws of a method.

    Raises:
        UserError: There are no test runs; `sweeps.confirm` trains them.

    Example:
        >>> analysis.confirmed("out/main")[["method", "draw", "tuned", "confirmed", "bias"]]
    """
    from analysis.selection import confirmed as compare

    return pd.DataFrame([row for one in compare(_tables(tables)) for row in one.rows()])


def across_worlds(tables: Source) -> pd.DataFrame:
    """Choose one setting for all worlds for each method, and count the hyperparameters that must be tuned by world.

    Args:
        tables: What `load` returned, or the path of one sweep.

    Returns:
        A row for each method: the draw and its values, its score normalised by rank among all runs of a world with a
        95 % interval, the same by world, and `dimension`, the effective dimensionality, which is null unless the draws
        are a grid.

    Raises:
        UserError: There is one world only, or no method has a draw that is finished in every world.

    Example:
        >>> analysis.across_worlds("out/rooms")[["method", "draw", "score", "dimension"]]
    """
    from analysis.one_setting import across_worlds as choose

    return pd.DataFrame([vars(one) for one in choose(_tables(tables))]).astype({"dimension": "Int64"})


def plot(
    tables: Source,
    figure: str,
    *,
    methods: Mapping[str, str] | None = None,
    worlds: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    title: str | None = None,
    size: Literal["screen", "column"] | tuple[float, float] = "screen",
    smooth: int | None = None,
) -> "Picture":
    """Draw a figure.

    Args:
        tables: What `load` returned, or the path of one sweep.
        figure: One of `analysis.FIGURE_NAMES`.
        methods: Other names for methods (or for the heads of the figure "acting"), by the name in the spec.
        worlds: Other names for worlds, by the name in the spec.
        colours: Colours that matplotlib knows, by method.
        title: A title above the figure.
        size: "screen", "column" for a column of a paper, or the width and height in inches.
        smooth: The number of iterations of a moving average of each run's curve, for the figure "curves". The caption
            and a note below the figure state it. Curves are not smoothed if it is not given.

    Returns:
        A matplotlib Figure that displays itself in a notebook; `savefig` writes it to a file, and its attribute
        `caption` is the text that belongs below it. A sweep that is not complete is marked as such.

    Raises:
        UserError: No such figure, method, world, colour or size; or the tables have no data for this figure.

    Example:
        >>> figure = analysis.plot(tables, "curves", colours={"mulex": "crimson"}, smooth=25)
        >>> figure.savefig("curves.pdf")
    """
    from analysis.renderer import render

    if figure not in FIGURES:
        raise AnalysisError(f"{figure}: {unknown('figure', figure, FIGURES)}")
    labels = _labels(methods or {}, worlds or {}, colours or {})
    measures, options = _size(size), _options(figure, smooth)
    loaded = _tables(tables)
    _check_names("world", labels.worlds, loaded.worlds)
    chart = make_chart(loaded, figure, labels, **options)
    known = list(dict.fromkeys([*[series.key for series in chart.series], *loaded.methods]))
    _check_names("method", labels.methods, known)
    _check_names("method", labels.colours, known)
    return render(chart, measures, loaded.complete.note(), title or "")


def power(
    tables: "Source | Spec",
    claim: str,
    *,
    measure: str = "median",
    power: float = 0.8,
    world: str | None = None,
    effect: float | None = None,
    sd_draws: float | None = None,
    sd_seeds: float | None = None,
    seconds: float | None = None,
    seeds: Sequence[int] | None = None,
) -> "Power":
    """Compute how many draws and seeds a claim about two methods needs.

    Sweeps are simulated and judged as `mulex claims` judges them: a claim is decided if the 95 % interval of the
    difference is above 0.

    Args:
        tables: A pilot: what `load` returned, or the path of one sweep. Or a spec, its path or its name, from which
            nothing is trained yet; then `effect` and `sd_draws` must be given.
        claim: Two methods with > between them, such as "mulex > additive".
        measure: Of which measure: "median", "mean", "best_of_10" (the expected best of ten draws) or "iqr".
        power: The probability with which a true claim should be decided.
        world: The world of the pilot; the first that has both methods if it is not given.
        effect: The difference to be found, in place of the pilot's.
        sd_draws: The standard deviation between draws, in place of the pilot's.
        sd_seeds: The standard deviation between the seeds of a draw, in place of the pilot's.
        seconds: The core-seconds of a run, in place of the pilot's mean.
        seeds: The numbers of seeds to compare; 1, 2, 3 and 5 if they are not given.

    Returns:
        An object whose `needed` is a DataFrame with a row for each number of seeds: draws of each method, runs of both
        and core-hours; whose `frame` has the power by seeds and draws; and whose `plot()` draws it.

    Raises:
        UserError: The claim cannot be read, the measure is unknown, the power is not between 0 and 1, or there is
            neither a pilot nor a guess.

    Example:
        >>> analysis.power("out/pilot", "mulex > additive", measure="mean", power=0.9).needed
    """
    from analysis.planning import Guesses, plan_power
    from analysis.power_curves import SEEDS, check_power

    numbers = tuple(seeds) if seeds is not None else SEEDS
    check_power(power, measure, numbers)
    guesses = Guesses(effect, sd_draws, sd_seeds, seconds)
    pilot, spec = _pilot(tables)
    methods = list(spec.methods) if pilot is None and spec is not None else pilot.methods if pilot is not None else []
    cpus = spec.execution.cpus_per_pack if spec is not None else 1.0
    return plan_power(pilot, methods, claim, measure, power, guesses, world, numbers, cpus)


def _pilot(source: "Source | Spec") -> "tuple[Tables | None, Spec | None]":
    """Return the tables of a pilot and its spec, or the spec alone of a sweep that has no runs."""
    from sweeps.spec import Spec, load_spec, parse_frozen

    if isinstance(source, Spec):
        return None, source
    if not isinstance(source, Tables):
        where = os.fspath(source)
        if "://" not in where and not pathlib.Path(where).is_dir():
            return None, load_spec(where)
        source = load(where)
    text = source.sweeps[0].spec_text
    try:
        return source, parse_frozen(text, "spec.yaml") if text else None
    except UserError:
        return source, None


@overload
def report(tables: Source, file: None = None) -> str: ...
@overload
def report(tables: Source, file: Path) -> str: ...
def report(tables: Source, file: Path | None = None) -> str:
    """Make one self-contained HTML page: statistics, best draws, interactive figures and failures.

    Args:
        tables: What `load` returned, or the path of one sweep.
        file: The path or URL of a file to write. An existing file is replaced whole or not at all.

    Returns:
        The path of the file, or the page itself if no file is given.

    Raises:
        UserError: The path is not a sweep, or the file cannot be written.

    Example:
        >>> analysis.report("out/main", "report.html")
        'report.html'
    """
    from analysis.report_page.page import report_page

    page = report_page(_tables(tables))
    return page if file is None else write_file(os.fspath(file), page.encode())


def _tables(source: Source) -> Tables:
    return source if isinstance(source, Tables) else load(source)


def _labels(methods: Mapping[str, str], worlds: Mapping[str, str], colours: Mapping[str, str]) -> "Labels":
    from matplotlib.colors import CSS4_COLORS, is_color_like, to_hex

    from analysis.labels import Labels

    for method, colour in colours.items():
        if not is_color_like(colour):
            names = unknown("colour", colour, ("black", *CSS4_COLORS)) if isinstance(colour, str) else "no such colour"
            raise AnalysisError(f"colours: {method}: {colour!r}: {names}")
    return Labels(methods, worlds, {method: to_hex(colour) for method, colour in colours.items()})


def _size(size: str | tuple[float, float]) -> Size:
    if isinstance(size, str):
        if size not in SIZES:
            raise AnalysisError(f"size: {size}: {unknown('size', size, SIZES)}, or (width, height) in inches")
        return SIZES[size]
    if len(size) != 2 or not all(1 <= x <= 100 for x in size):
        raise AnalysisError(f"size: {size}: give a width and a height from 1 to 100 inches")
    return custom_size(*size)


def _options(figure: str, smooth: int | None) -> dict[str, int]:
    if smooth is None:
        return {}
    if figure not in SMOOTHED:
        raise AnalysisError(f"smooth: {figure} has no curves by iteration; it applies to {', '.join(SMOOTHED)}")
    if smooth < 1:
        raise AnalysisError(f"smooth: {smooth} iterations; use 1 or more")
    return {"smooth": smooth}


def _check_names(what: str, given: Mapping[str, str], known: list[str]) -> None:
    for name in given:
        if name not in known:
            raise AnalysisError(f"{name}: {unknown(what, name, known)}")
