"""MLflow: a run of its own for each run, in an experiment that is named like the sweep."""

import logging
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run, RunTag, ViewType
from mlflow.exceptions import MlflowException

from mulex.errors import UserError
from sweeps.trackers.contract import Entry, Sent

MOST_METRICS = 1000  # that MLflow takes in one call
LONGEST_TEXT = 5000  # characters of a tag and of a parameter
PAGE = 1000
STATUSES = {"running": "RUNNING", "paused": "SCHEDULED", "failed": "FAILED", "diverged": "FAILED"}
"""MLflow's word for each status; the others are FINISHED."""


class MLflowRuns:
    """Writes to a tracking server or a database. What is there is read from it: tags say which run an entry is."""

    live = True

    def __init__(self, uri: str, sweep: str) -> None:
        logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells how it makes the tables of a new database
        logging.getLogger("alembic").setLevel(logging.WARNING)
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # a server that is away does not hold us up
        self.uri, self.sweep = uri, sweep
        self._experiment: str | None = None
        if not uri.startswith("sqlite:"):  # a database that is not there yet is made by the first look
            self.client.search_experiments(max_results=1)

    @cached_property
    def client(self) -> MlflowClient:
        if self.uri.startswith("sqlite:///"):
            Path(self.uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
        try:
            client = MlflowClient(self.uri)
            client.search_experiments(max_results=1)
        except (MlflowException, OSError) as error:
            raise UserError(f"mlflow:{self.uri}: cannot be used: {' '.join(str(error).split())[:300]}") from None
        return client

    @cached_property
    def _runs(self) -> dict[str, Run]:
        """The runs that are there, by our run ids."""
        experiment = self.client.get_experiment_by_name(self.sweep)
        if experiment is None:
            return {}
        self._experiment = experiment.experiment_id
        runs: dict[str, Run] = {}
        token: str | None = None
        while True:
            page = self.client.search_runs([self._experiment], "", ViewType.ACTIVE_ONLY, PAGE, page_token=token)
            runs |= {run.data.tags["mulex.run"]: run for run in page if "mulex.run" in run.data.tags}
            token = page.token
            if not token:
                return runs

    def sent(self, run: str) -> Sent:
        found = self._runs.get(run)
        if found is None:
            return Sent()
        tags = found.data.tags
        if ended := tags.get("mulex.ended"):
            return Sent(int(tags["mulex.iterations"]), ended)
        steps = [
            metric.step
            for name in found.data.metrics
            if name == "eval_return"
            for metric in self.client.get_metric_history(found.info.run_id, name)
        ]
        return Sent(max(steps, default=0))

    def send(self, entry: Entry) -> None:
        run = self._runs.get(entry.run) or self._begin(entry)
        run_id = run.info.run_id
        for batch in _batches(entry):
            self.client.log_batch(run_id, batch)
        if entry.ended:
            self._end(entry, run_id)
        elif run.info.status != STATUSES[entry.status]:
            self.client.update_run(run_id, STATUSES[entry.status])
            self._runs[entry.run] = self.client.get_run(run_id)

    def _begin(self, entry: Entry) -> Run:
        if self._experiment is None:
            self._experiment = self.client.create_experiment(self.sweep)
        tags = {"mulex.run": entry.run, "mulex.sweep": entry.sweep}
        started = round(1000 * (entry.started_at.timestamp() if entry.started_at else entry.moment(0)))
        run = self.client.create_run(self._experiment, started, tags, entry.name)
        params = [Param(name, str(value)[:LONGEST_TEXT]) for name, value in entry.parameters.items()]
        self.client.log_batch(run.info.run_id, params=params)
        self._runs[entry.run] = run
        return run

    def _end(self, entry: Entry, run_id: str) -> None:
        """Add the results, then the tags that say that everything is there."""
        moment = round(1000 * entry.moment(entry.iterations))
        results = [Metric(f"result/{name}", x, moment, entry.iterations) for name, x in entry.results.items()]
        about = {"mulex.status": entry.status, "mulex.iterations": str(entry.iterations)}
        about |= {"mulex.error": entry.error[-LONGEST_TEXT:]} if entry.error else {}
        self.client.log_batch(run_id, results, tags=[RunTag(name, text) for name, text in about.items()])
        self.client.set_terminated(run_id, STATUSES.get(entry.status, "FINISHED"), moment)
        self.client.set_tag(run_id, "mulex.ended", entry.mark)

    def flush(self) -> None:
        """Do nothing: MLflow has every entry."""

    def close(self) -> None:
        """Do nothing: the client keeps nothing open."""


def _batches(entry: Entry) -> Iterator[list[Metric]]:
    """Yield the new rows in batches that MLflow takes; a row is never divided, so that none is ever sent in part."""
    batch: list[Metric] = []
    for iteration, row in entry.news():
        moment = round(1000 * entry.moment(iteration))
        if batch and len(batch) + len(row) > MOST_METRICS:
            yield batch
            batch = []
        batch += [Metric(name, x, moment, iteration) for name, x in row.items()]
    if batch:
        yield batch
