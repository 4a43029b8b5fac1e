"""`rooms`: violins by world, in units of epsilon-greedy's median there."""

from analysis.chart import Axis, Chart, Mark, Panel, Rule
from analysis.errors import NotApplicableError
from analysis.figures.violins import CAPTION, KEY, Violin, make_violin, violin_marks
from analysis.figures.violins import compute as compute_violins
from analysis.labels import USUAL, Labels
from analysis.tables import Tables

BASE = "epsilon_greedy"


def compute(tables: Tables) -> list[Violin]:
    """Compute violins of scores divided by epsilon-greedy's median in the same world."""
    if len(tables.worlds) < 2:
        raise NotApplicableError("rooms: needs several worlds, these runs have one; name several sweeps or worlds")
    violins = compute_violins(tables)
    base = {violin.world: violin.median for violin in violins if violin.method == BASE}
    relative = [
        make_violin(violin.world, violin.method, violin.scores / base[violin.world], violin.runs)
        for violin in violins
        if base.get(violin.world, 0.0) > 0
    ]
    if not relative:
        raise NotApplicableError("rooms: needs epsilon_greedy runs with a median above 0 in some world")
    return relative


def chart(tables: Tables, data: list[Violin], labels: Labels = USUAL) -> Chart:
    """Draw one panel, with a group of methods for each world."""
    worlds = [world for world in tables.worlds if any(violin.world == world for violin in data)]
    methods = [method for method in tables.methods if any(violin.method == method for violin in data)]
    step = len(methods) + 1
    marks: list[Mark] = [Rule(1.0)]
    for violin in data:
        marks += violin_marks(violin, worlds.index(violin.world) * step + methods.index(violin.method))
    middles = [i * step + (len(methods) - 1) / 2 for i in range(len(worlds))]
    ticks = [(at, f"{labels.world(world)}\n{_sizes(world, data)}") for at, world in zip(middles, worlds, strict=True)]
    x = Axis(ticks=ticks, limits=(-0.8, len(worlds) * step - 1.2))
    base = labels.method(BASE)
    without = [labels.world(world) for world in tables.worlds if world not in worlds]
    note = f"without {', '.join(without)}: {base}'s median is 0 or unknown" if without else ""
    caption = f"Scores by world, divided by {base}'s median there (dashed: 1). {CAPTION}"
    panel, series = Panel(x, Axis(f"AUC / {base}'s median"), marks), labels.series(tables.methods)
    return Chart("rooms", "Worlds compared", caption, series, [panel], KEY, note=note)


def _sizes(world: str, data: list[Violin]) -> str:
    sizes = [len(violin.scores) for violin in data if violin.world == world]
    text = f"{sizes[0]:,}" if len(set(sizes)) == 1 else ", ".join(f"{size:,}" for size in sizes)
    return f"n = {text}"
