"""Optuna: a study for each method in each world with a trial for each run, as optuna-dashboard shows them."""

import math
import warnings
from datetime import datetime
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from mulex.errors import UserError
from sweeps.plan import Plan
from sweeps.search.distributions import LOGARITHMIC
from sweeps.trackers.contract import Entry, Sent

RUN = "run"  # the user attribute that names a trial's run
ENDED = "ended"


class OptunaStudies:
    """Adds trials of runs that have ended; a run that is there is not added again."""

    live = False

    def __init__(self, url: str, sweep: str, plan: Plan | None) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._sweep, self._plan = sweep, plan
        try:
            self.storage = optuna.storages.get_storage(url)
            names = [study.study_name for study in optuna.get_all_study_summaries(self.storage)]
        except Exception as error:  # SQLAlchemy and the drivers of databases raise many kinds
            raise UserError(f"optuna:{url}: cannot be opened: {' '.join(str(error).split())[:300]}") from None
        self._studies = {
            name: optuna.load_study(study_name=name, storage=self.storage)
            for name in names
            if name.startswith(f"{sweep}/")
        }
        self._sent = {
            trial.user_attrs[RUN]: trial.user_attrs.get(ENDED)
            for study in self._studies.values()
            for trial in study.get_trials(deepcopy=False)
            if RUN in trial.user_attrs
        }

    def sent(self, run: str) -> Sent:
        return Sent(0, self._sent.get(run))

    def send(self, entry: Entry) -> None:
        name = f"{self._sweep}/{entry.labels['world']}/{entry.labels['method']}"
        if name not in self._studies:
            self._studies[name] = self._create(name, entry)
        self._studies[name].add_trial(self._trial(entry))

    def _create(self, name: str, entry: Entry) -> optuna.Study:
        """Create a study that says what it is of, and that its objective is the score."""
        study = optuna.create_study(study_name=name, storage=self.storage, direction="maximize", load_if_exists=True)
        for label in ("world", "method"):
            study.set_user_attr(label, entry.labels[label])
        study.set_user_attr("sweep", self._sweep)
        with warnings.catch_warnings(action="ignore", category=optuna.exceptions.ExperimentalWarning):
            study.set_metric_names(["score"])
        return study

    def _trial(self, entry: Entry) -> FrozenTrial:
        score = entry.results.get("score")
        complete = entry.status in ("done", "stopped", "diverged") and score is not None
        distributions = {name: self._distribution(entry, name, value) for name, value in entry.values.items()}
        searched = {name: found for name, found in distributions.items() if found is not None}
        curve = {i: row["eval_return"] for i, row in entry.news() if math.isfinite(row.get("eval_return", math.nan))}
        about = {**entry.labels, "status": entry.status, ENDED: entry.mark, **entry.results}
        about |= {name: value for name, value in entry.values.items() if name not in searched}
        about |= {"error": entry.error[-2000:]} if entry.error else {}
        trial = create_trial(
            state=TrialState.COMPLETE if complete else TrialState.FAIL,
            value=score if complete else None,
            params={name: _param(found, entry.values[name]) for name, found in searched.items()},
            distributions=searched,
            user_attrs=about,
            intermediate_values=curve,
        )
        # Optuna's times are local and without a zone; those of a trial that is created are the time of the export.
        if entry.started_at and entry.finished_at:
            trial.datetime_start, trial.datetime_complete = map(_local, (entry.started_at, entry.finished_at))
        return trial

    def _distribution(self, entry: Entry, name: str, value: Any) -> BaseDistribution | None:
        """Return what a value was drawn from in Optuna's words; None for a constant.

        A number is always a plain number here: a step would have to be Optuna's own.
        """
        space = self._plan.spec.space(entry.labels["method"]) if self._plan else {}
        distribution = space.get(name)
        if distribution is None or distribution.is_constant:
            return None
        if distribution.kind == "choice":
            return CategoricalDistribution(list(distribution.values))
        low, high = distribution.bounds
        return FloatDistribution(min(low, value), max(high, value), log=distribution.kind in LOGARITHMIC)

    def flush(self) -> None:
        """Do nothing: the database has every trial."""

    def close(self) -> None:
        """Do nothing: Optuna closes its own connections."""


def _local(moment: datetime) -> datetime:
    return moment.astimezone().replace(tzinfo=None)


def _param(distribution: BaseDistribution, value: Any) -> Any:
    return value if isinstance(distribution, CategoricalDistribution) else float(value)
