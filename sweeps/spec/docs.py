"""`python -m sweeps.spec.docs` writes docs/spec.md and the JSON schema for editors, both from the models."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from mulex.config import ActingConfig, HeadConfig, MethodConfig, TrainingConfig
from mulex.messages import shown
from mulex.methods import METHODS
from sweeps.search import SEARCHES
from sweeps.search.distributions import KINDS
from sweeps.spec import Execution, Search, Spec, SpecError, parse_spec
from sweeps.spec.allowed_values import allowed, schema_of
from sweeps.spec.execution import Budget, Notify, Scheduler
from sweeps.spec.json_schema import schema
from sweeps.spec.loading import SPECS
from sweeps.spec.models import GridWorldSpec, GymWorldSpec, Until

SCHEMA = SPECS / "schema.json"
PAGE = Path(__file__).parents[2] / "docs" / "spec.md"

_OPENING = """\
# The spec of a sweep
`python -m sweeps.spec.docs` writes this page from the models; a test checks that it is up to date.

A spec is a YAML file. It says which methods are trained, in which worlds, from which hyperparameters, and how the runs
are carried out. `mulex validate SPEC` checks a spec, and `mulex sweep SPEC --out DIR` trains it. From Python,
`sweeps.load_spec` takes a path, the name of a shipped spec, or the same data as a dict. This is the paper's main
comparison in full:

```yaml
{example}```

## Rules
- The language is YAML 1.2: `1e-5` is a number and `yes` is a text. Tags, anchors, several documents and repeated keys
  are refused.
- Types are strict: `draws: 8` is right, `draws: 8.0` and `draws: "8"` are refused. A whole number is accepted wherever
  a number may have a fraction.
- All problems are listed at once, each as `FILE:LINE: key.path: what was found, what is allowed`:

```
{errors}
```

- `--set path=value` changes one value for one command, for example `--set search.draws=8` or
  `--set 'methods.mulex.p_task={{uniform: [0.5, 0.9]}}'`. Sections that the file lacks are added.
- Names of sweeps, worlds and methods become file names. They may have letters, digits, `_`, `-` and `.`, and must not
  begin with `.`.
- A sweep can grow. With more draws, more seeds, another method or another world, only the new runs are trained.
  `execution` and `name` may change at any time. Any other change needs another folder.
- Runs can become longer. If `execution.keep_checkpoints` was true and `training.iterations` is increased, all runs
  continue from their last checkpoints (in `kept/`). They give bit for bit what runs of the full length give with
  `grown_from` set, which keeps the random numbers of the first length. Their ids change, and the shorter runs no longer
  count. Runs cannot become shorter. [External learners](learners.md#longer-runs) can continue if they have checkpoints.
- An editor that knows JSON schemas completes and checks a spec that begins with
  `# yaml-language-server: $schema=PATH/sweeps/specs/schema.json`.

## Shipped specs
They are in `sweeps/specs/`. Commands accept their names instead of a path.

"""
_SEARCHES = """
### Algorithms
Draw i of a method depends on the sweep's seed, the method's name and i alone, so more draws never change earlier ones.
Draws of the adaptive algorithms also depend on the scores of earlier draws. Each is written to `draws/METHOD.json`
before it is trained, and a later launch continues from there.

A draw's score is the mean score of its runs, over all seeds and worlds. A draw with a NaN or infinite score, or whose
runs all failed, counts as a failed trial: its results are kept, and the search goes on without it.

"""
_METHODS = """
## methods
Each entry names a method and says what its hyperparameters are drawn from. A hyperparameter that is not mentioned
keeps the recipe's default, so `mulex: {}` is MuleX with every default.

| key | meaning |
| --- | --- |
| a hyperparameter | A value or a distribution. |
| a setting of `training` | A value or a distribution, for this method alone; it overrides `training` and the world's. |
| `bonus` | `simhash` (counts hashes of frames) or `rnd` (a prediction error) in place of `oracle` (counts states). |
| `recipe` | A method of our DQN as data. A name that is not in the next table needs `recipe`, `learner` or `command`. |
| `learner` | An [external learner](learners.md) that trains the method: `sb3:PPO` or `package.module:name`. |
| `command` | A [command](learners.md#a-command) that trains the method, as a list of words with placeholders. |

"""
_DISTRIBUTIONS = """
### Distributions
A value is a number, a text, `true` or `false`. All values of one name have the same type, because the tables have one
column for it; whole numbers and fractions may be mixed.

"""
_OPTIONS = """
Two more keys may be given beside the kind:

| key | meaning |
| --- | --- |
| `step` | The distance between neighbouring values of a range, or the ratio of neighbours where it is logarithmic. |
| `when` | The values that others must have. Otherwise the tables have null, and a run uses the default. |

```yaml
{example}```

"""
EXAMPLE_SPACE = """\
methods:
  mulex:
    learning_rate: {log_uniform: [1e-5, 1e-1], step: 10}        # 1e-5, 1e-4, 1e-3, 1e-2, 1e-1
    p_task: {uniform: [0.5, 0.9], step: 0.1}                    # 0.5, 0.6, 0.7, 0.8, 0.9
    optimiser: {choice: [rmsprop, adam]}
    rmsprop_decay: {choice: [0.9, 0.95], when: {optimiser: rmsprop}}
    batch_size: {choice: [16, 32], when: {optimiser: [rmsprop, adam]}}
"""
_RECIPE = """
### recipe
A recipe describes a method as data: its heads, their rewards, and which head acts. Every hyperparameter of a recipe
must be used by a head or by `acting`. This is MuleX with two exploration heads, one for each bonus:

```yaml
{example}```
"""
EXAMPLE_RECIPE = """\
methods:
  mulex_two_explorers:
    learning_rate: {log_uniform: [1e-5, 1e-3]}
    p_task: {uniform: [0.5, 0.9]}
    recipe:
      heads:
        task: {reward: {task: 1}}
        states: {reward: {oracle: 1}, flavour: dqn}
        frames: {reward: {simhash: 1}, flavour: dqn}
      acting: {probabilities: {task: p_task}, gamma_steps: gamma_steps}
      evaluate: [task]
      hyperparameters: {learning_rate: 2.5e-4, epsilon: 0.01, p_task: 0.7, gamma_steps: 0.9}
"""
_WRONG = "name: main\nworlds: {w5: {room_size: two}}\nmethods: {mulex: {p_tsk: 0.7}}\nsearch: {draws: 0}\n"


_OWN_WORLDS = """
Wrappers are named as in `gymnasium.wrappers`, or as `module:Class`, with their arguments beside `name`. An environment
that a module of your own registers has the id `module:Env-v0`:
```yaml
worlds:
  mine:
    id: "my_worlds:Maze-v0"
    wrappers: [FlattenObservation, {name: TimeLimit, max_episode_steps: 200}, {name: "my_worlds:Scaled", by: 0.1}]
```
Put the module into the folder that `execution.code` names. A single module or package may also lie beside the spec;
then `execution.code` need not be set. No PYTHONPATH is needed: the code is kept in the sweep's folder, where every
worker finds it, and its checksum is part of the run ids.
"""


_STOPPED = """
Rungs are `grace`, `grace` x `factor`, `grace` x `factor`², and so on. Every pack reports exactly after these
iterations, and is compared with the packs of its method and world that reached the rung earlier. These include the
packs of earlier launches: the curves of finished and stopped runs are in the store, and a pack that continues from a
checkpoint reports its scores at the rungs that it has passed. Runs that failed do not count until they are trained
again. If seeds were added since, or `draws_per_pack` was changed, the finished runs are grouped into the packs that
they would form now.

A stopped run keeps its curve and has the status `stopped`. It is not trained again, so it counts as done in
`mulex status`. Its score would be that of fewer iterations, so it counts in no score, neither in `mulex status` nor in
`mulex stats`. A search such as tpe does learn from it. Test runs of `mulex confirm` are never stopped.
"""
_UNTIL = """
The sweep looks at its draws when all are trained, and doubles their number while the interval of some method in some
world is too wide. The error rate of 5 % is split equally among the planned looks, so the intervals that the launch
prints at the end keep a level of 95 % although the sweep looked several times
([statistics](statistics.md#draws-until-an-interval-is-narrow)). `until` cannot change once there are runs.
"""
_BUDGET = """
When a budget is used up, all packs write checkpoints, and the launch says what is left and what it would cost. A later
launch with a larger budget continues. Core-hours are worker time: the seconds that workers spent on iterations, times
`cpus_per_pack`.
"""


def page() -> str:
    """Return the text of docs/spec.md."""
    opening = _OPENING.format(example=(SPECS / "main.yaml").read_text(), errors=_errors())
    parts = [opening, _shipped(), "\n## Sections\n", _table(Spec)]
    parts += ["\n## worlds\nA world is one of our grid worlds:\n\n", _table(GridWorldSpec)]
    parts += [
        "\nOr it is any Gymnasium environment. Our DQN needs discrete actions and an array observation; an external\n"
        "learner takes what it supports:\n\n",
        _table(GymWorldSpec),
        _OWN_WORLDS,
    ]
    parts += [
        "\n## training\nA default is `given` by the paper, or `chosen` by us where the paper is silent.\n\n",
        _table(TrainingConfig),
    ]
    parts += ["\n## search\n", _table(Search), _SEARCHES, _searches()]
    parts += ["\n`until` has these keys:\n\n", _table(Until), _UNTIL]
    parts += [_METHODS, _method_table(), _DISTRIBUTIONS, _kinds(), _OPTIONS.format(example=EXAMPLE_SPACE)]
    parts += [
        _RECIPE.format(example=EXAMPLE_RECIPE),
        "\n",
        _table(MethodConfig),
        "\nA head has these keys:\n\n",
        _table(HeadConfig),
    ]
    parts += ["\n`acting` has these keys:\n\n", _table(ActingConfig), "\n## execution\n", _table(Execution)]
    parts += ["\n`notify` has these keys:\n\n", _table(Notify)]
    parts += ["\n`scheduler` has these keys:\n\n", _table(Scheduler), _STOPPED]
    parts += ["\n`budget` has these keys:\n\n", _table(Budget), _BUDGET]
    return "".join(parts)


def _errors() -> str:
    try:
        parse_spec(_WRONG, "wrong.yaml")
    except SpecError as error:
        return str(error)
    raise AssertionError("the example of a wrong spec has no problems")


def _shipped() -> str:
    rows = []
    for path in sorted(SPECS.glob("*.yaml")):
        text = path.read_text()
        about = text.splitlines()[0].removeprefix("# ")
        rows.append((f"`{path.stem}`", about, f"{parse_spec(text, path.name).run_count:,}"))
    return _rows(("name", "what it is", "runs"), rows)


def _table(model: type[BaseModel]) -> str:
    """Return a table with a row for each field: its name, its default, what is allowed, and what it means."""
    rows: list[tuple[str, ...]] = []
    for name, field in model.model_fields.items():
        schema = schema_of(model)["properties"][name]
        section = model is Spec and name != "name"
        default = "needed" if field.is_required() else "" if "$ref" in schema else f"`{shown(schema['default'])}`"
        rows.append(
            (f"`{name}`", default, f"see below: {name}" if section else allowed(schema), field.description or "")
        )
        if model is TrainingConfig:
            rows[-1] = (*rows[-1], schema["origin"])
    heads = ("key", "default", "allowed", "meaning", "origin")
    return _rows(heads[: len(rows[0])], rows)


def _method_table() -> str:
    rows = [
        (f"`{name}`", ", ".join(recipe.heads), ", ".join(f"`{k}` {v:g}" for k, v in recipe.hyperparameters.items()))
        for name, recipe in METHODS.items()
    ]
    return _rows(("method", "heads", "hyperparameters and their defaults"), rows)


def _searches() -> str:
    rows = [(f"`{name}`", "yes" if search.adaptive else "no", search.description) for name, search in SEARCHES.items()]
    return _rows(("algorithm", "adaptive", "chooses"), rows)


def _kinds() -> str:
    return _rows(("kind", "values", "gives"), [(f"`{kind}`", *about) for kind, about in KINDS.items()])


def _rows(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def main() -> None:
    """Write the page and the schema."""
    SCHEMA.write_text(json.dumps(schema(), indent=1) + "\n")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
