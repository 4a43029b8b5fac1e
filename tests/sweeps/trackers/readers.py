"""What each tracker has of the runs of a sweep, read by the tracker's own reader."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata
from wandb.proto.wandb_internal_pb2 import Record
from wandb.sdk.internal.datastore import DataStore

Curves = dict[str, list[tuple[int, float]]]


@dataclass
class Seen:
    """A run as a tracker shows it."""

    parameters: dict[str, Any]
    curves: Curves = field(default_factory=dict)
    status: str | None = None


def tensorboard(folder: Path) -> dict[str, Seen]:
    """Read the event files of every run's folder with TensorBoard's own reader."""
    seen = {}
    for path in {file.parent for file in folder.rglob("events.out.tfevents.*")}:
        events = EventAccumulator(str(path), {"scalars": 0, "tensors": 0}).Reload()
        plugin = events.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
        start = metadata.parse_session_start_info_plugin_data(plugin)
        values = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
        columns = [tag for tag in events.Tags()["tensors"] if not tag.startswith(("_hparams_/", "status", "error"))]
        curves: Curves = {tag: _scalars(events, tag) for tag in [*columns, *events.Tags()["scalars"]]}
        told = events.Tensors("status") if "status" in events.Tags()["tensors"] else []
        status = told[-1].tensor_proto.string_val[0].decode() if told else None
        seen[values["run"]] = Seen(values, curves, status)
    return seen


def _scalars(events: EventAccumulator, tag: str) -> list[tuple[int, float]]:
    if tag in events.Tags()["scalars"]:
        return sorted((event.step, event.value) for event in events.Scalars(tag))
    return sorted((event.step, event.tensor_proto.float_val[0]) for event in events.Tensors(tag))


def mlflow(uri: str, sweep: str) -> dict[str, Seen]:
    """Read an experiment with MLflow's client."""
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(sweep)
    assert experiment is not None
    seen = {}
    for run in client.search_runs([experiment.experiment_id], max_results=1000):
        history = {name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
        curves = {name: sorted((point.step, point.value) for point in points) for name, points in history.items()}
        assert run.data.params["run"] not in seen, "a run has one entry"
        seen[run.data.params["run"]] = Seen(dict(run.data.params), curves, run.data.tags.get("mulex.status"))
        finished = {"done": "FINISHED", "failed": "FAILED", None: run.info.status}
        assert run.info.status == finished[run.data.tags.get("mulex.status")]
    return seen


def wandb_offline(folder: Path) -> dict[str, Seen]:
    """Read W&B's offline files; a run that was continued has several."""
    seen: dict[str, Seen] = {}
    for path in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        run = seen.setdefault(path.stem.removeprefix("run-"), Seen({}))
        for record in _records(path):
            if record.HasField("run"):
                run.parameters = {item.key: json.loads(item.value_json) for item in record.run.config.update}
            if record.HasField("history"):
                row = {item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
                for name, value in row.items():
                    if not name.startswith("_"):
                        run.curves.setdefault(name, []).append((row["_step"], value))
            for item in record.summary.update:
                if (item.key or item.nested_key[0]) == "status":
                    run.status = json.loads(item.value_json)
    return seen


def _records(path: Path) -> Iterator[Record]:
    store = DataStore()
    store.open_for_scan(str(path))
    while (data := store.scan_data()) is not None:
        record = Record()
        record.ParseFromString(data)
        yield record
