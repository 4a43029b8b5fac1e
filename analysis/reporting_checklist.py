"""The reporting questions of Eimer et al. (2023) about hyperparameters, answered from a sweep's spec and store."""

import math
from typing import TYPE_CHECKING

import pandas as pd

from analysis.best_draws import best_draws
from analysis.errors import AnalysisError
from analysis.tables import Tables
from mulex.errors import UserError

if TYPE_CHECKING:
    from sweeps.search.distributions import Distribution
    from sweeps.spec import Spec


def checklist(tables: Tables) -> str:
    """Return the checklist of one sweep as Markdown.

    Raises:
        AnalysisError: The sweep has no spec, or there are several sweeps.
    """
    spec = _spec(tables)
    title = (
        f"# Hyperparameters of the sweep {spec.name}\nThe questions are those of Eimer, Lindauer and Raileanu (2023).\n"
    )
    return "\n".join([title, *_parts(spec, tables)])


def sections(tables: Tables) -> list[dict[str, str]]:
    """Return the title and the Markdown of each section of the checklist, for other programs."""
    parts = [part.removeprefix("## ").partition("\n") for part in _parts(_spec(tables), tables)]
    return [{"section": title, "answer": answer.strip()} for title, _, answer in parts]


def _parts(spec: "Spec", tables: Tables) -> list[str]:
    parts = [_settings(spec), _tuning(spec, tables), _spaces(spec), _budget(spec, tables), _seeds(spec, tables)]
    return [*parts, _selected(tables), _code(tables)]


def _spec(tables: Tables) -> "Spec":
    from sweeps.spec import parse_frozen

    if len(tables.sweeps) != 1 or not tables.sweeps[0].spec_text:
        raise AnalysisError("checklist: needs one sweep with its spec.yaml")
    try:
        return parse_frozen(tables.sweeps[0].spec_text, "spec.yaml")
    except UserError as error:
        raise AnalysisError(f"checklist: spec.yaml cannot be read: {error}") from None


def _settings(spec: "Spec") -> str:
    return (
        "## Training and test settings\n"
        f"- Worlds: {', '.join(spec.worlds)}. Runs are trained, tuned and evaluated in the same worlds; there is no "
        "separate test setting.\n"
    )


def _tuning(spec: "Spec", tables: Tables) -> str:
    return (
        "## How hyperparameters were tuned\n"
        f"- Tool: MuleX sweeps. Method: {spec.search.algorithm} search (search seed {spec.search.seed}).\n"
        f"- What was optimised: {tables.score_name[0].lower() + tables.score_name[1:]}, the mean over seeds.\n"
    )


def _spaces(spec: "Spec") -> str:
    spaces = {method: spec.space(method) for method in spec.methods}
    names = list(dict.fromkeys(name for space in spaces.values() for name in space))
    lines = ["## Search space", "| hyperparameter | " + " | ".join(spaces) + " |", "| --- |" + " --- |" * len(spaces)]
    shared = True
    for name in names:
        cells = [describe(space[name]) if name in space else "-" for space in spaces.values()]
        shared = shared and len({cell for cell in cells if cell != "-"}) <= 1
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    answer = "yes" if shared else "**no** (say why)"
    lines.append(f"\n- Methods that share a hyperparameter search it in the same range: {answer}.\n")
    return "\n".join(lines)


def describe(distribution: "Distribution") -> str:
    """Return a distribution in words."""
    values = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in distribution.values)
    return (
        f"{distribution.kind.replace('_', ' ')} [{values}]" if distribution.kind != "constant" else f"{values} (fixed)"
    )


def _budget(spec: "Spec", tables: Tables) -> str:
    scored = tables.scored.groupby("method")["draw"].nunique()
    hours = pd.to_numeric(tables.runs["seconds"]).sum() * spec.execution.cpus_per_pack / 3600
    note = tables.complete.note()
    done = ", ".join(f"{method} {draws}" for method, draws in scored.items())
    same = "yes" if scored.nunique() == 1 and len(scored) == len(spec.methods) else "**no** (say why)"
    return (
        "## Tuning budget\n"
        f"- {spec.search.draws} draws of each method x {spec.search.seeds} seeds x {len(spec.worlds)} worlds; "
        f"{tables.iterations} iterations a run; {hours:,.1f} core-hours in all.\n"
        f"- Finished draws: {done}. The same for all methods: {same}.\n"
        f"- Complete: {'yes' if not note else f'**no**, {note}'}.\n"
    )


def _seeds(spec: "Spec", tables: Tables) -> str:
    seeds = {role: sorted(of["seed"].unique().tolist()) for role, of in tables.runs.groupby("role")}
    tested = seeds.get("test", [])
    both = set(tested) & set(seeds.get("tune", []))
    answer = (
        f"{len(tested)} (from {tested[0]} on), of the best draws of each method"
        if tested
        else "**none**: results are those of the tuning seeds"
    )
    return (
        "## Seeds\n"
        f"- For tuning: {len(seeds.get('tune', []))} ({', '.join(map(str, seeds.get('tune', [])))}).\n"
        f"- For testing: {answer}.\n"
        f"- Test seeds that were not used for tuning: {'**no**' if both else 'yes' if tested else '-'}.\n"
    )


def _selected(tables: Tables) -> str:
    lines = ["## Selected settings", "By the highest mean score over tuning seeds, for each method and world.\n"]
    for one in best_draws(tables, 1):
        values = ", ".join(f"{n} = {v:.4g}" if isinstance(v, float) else f"{n} = {v}" for n, v in one.values.items())
        ends = "" if math.isnan(one.low) else f" [{one.low:.3f}, {one.high:.3f}]"
        seeds = f"over {one.seeds} {'test' if one.role == 'test' else 'tuning'} seeds"
        lines.append(f"- {one.world}, {one.method}: draw {one.draw}, score {one.score:.3f}{ends} {seeds} ({values})")
    return "\n".join([*lines, ""])


def _code(tables: Tables) -> str:
    """Say which code trained the runs, and where; what only the authors know is left to them."""
    columns = {"Package versions": "package_version", "Commits": "git_commit", "Hosts": "host", "Engines": "engine"}
    lines = ["## Code and hardware"]
    for title, column in columns.items():
        known = sorted(tables.runs[column].dropna().unique().tolist())
        lines.append(f"- {title}: {', '.join(known) if known else 'not recorded'}.")
    lines.append("- Code: spec.yaml and this package repeat the tuning. **Say where they are, and on what hardware.**")
    return "\n".join([*lines, ""])
