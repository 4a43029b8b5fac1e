"""TensorBoard: a folder of event files for each run, with its curve as scalars and its values for the HParams page."""

from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import metadata as hparams
from tensorboard.plugins.hparams.api_pb2 import Status
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.text.metadata import create_summary_metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util.tensor_util import make_tensor_proto

from sweeps.trackers.contract import Entry, Sent
from sweeps.trackers.marks import read_mark, write_mark

MARK = "mulex.json"
SHORT = 8  # digits of a run id in the name of its folder


class TensorBoardFiles:
    """Appends to the event files of runs; those of a run that ends are closed."""

    live = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._folders = {path.parent.name.rpartition("-")[2]: path.parent for path in folder.rglob(MARK)}
        self._writers: dict[str, EventFileWriter] = {}

    def sent(self, run: str) -> Sent:
        """Return what the mark of a run says; of one that has not ended, its event files are read themselves."""
        folder = self._folders.get(run[:SHORT])
        if folder is None:
            return Sent()
        mark = read_mark(folder / MARK)
        return mark if mark.mark else Sent(max(mark.iterations, last_step(folder)))

    def send(self, entry: Entry) -> None:
        labels, writer = entry.labels, self._writers.get(entry.run)
        folder = self.folder / f"{labels['method']}/{labels['world']}/draw-{labels['draw']}-seed-{labels['seed']}"
        folder = folder.with_name(f"{folder.name}-{entry.run[:SHORT]}")
        if writer is None:
            folder.mkdir(parents=True, exist_ok=True)
            write_mark(folder / MARK, Entry(labels, entry.sweep, entry.values, "running", [], entry.known))
            writer = self._writers[entry.run] = EventFileWriter(str(folder))
            if not entry.known:
                writer.add_event(_session_start(entry))
        for iteration, row in entry.news():
            values = [Summary.Value(tag=name, simple_value=x) for name, x in row.items()]
            writer.add_event(Event(wall_time=entry.moment(iteration), step=iteration, summary=Summary(value=values)))
        if entry.ended:
            self._end(entry, writer)
        elif entry.status == "paused":
            self._writers.pop(entry.run).close()
        else:
            writer.flush()
        write_mark(folder / MARK, entry)

    def _end(self, entry: Entry, writer: EventFileWriter) -> None:
        """Add what is known at the end: results, status and error."""
        step, moment = entry.iterations, entry.moment(entry.iterations)
        values = [Summary.Value(tag=f"result/{name}", simple_value=x) for name, x in entry.results.items()]
        writer.add_event(Event(wall_time=moment, step=step, summary=Summary(value=values)))
        writer.add_event(_text(step, moment, "status", entry.status))
        if entry.error:
            writer.add_event(_text(step, moment, "error", entry.error))
        writer.add_event(_session_end(entry))
        writer.close()
        self._writers.pop(entry.run, None)

    def flush(self) -> None:
        """Do nothing: every entry is flushed by itself."""

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()


def last_step(folder: Path) -> int:
    """Return the last iteration in the event files of a run."""
    files = sorted(folder.glob("events.out.tfevents.*"))
    return max((event.step for file in files for event in EventFileLoader(str(file)).Load()), default=0)


def _session_start(entry: Entry) -> Event:
    """Return the values of a run; runs that differ by their seed alone are a group."""
    group = f"{entry.labels['method']}/{entry.labels['world']}/draw-{entry.labels['draw']}"
    started = entry.started_at.timestamp() if entry.started_at else entry.moment(0)
    start = SessionStartInfo(group_name=group, start_time_secs=started)
    for name, value in entry.parameters.items():
        if isinstance(value, bool):
            start.hparams[name].bool_value = value
        elif isinstance(value, int | float):
            start.hparams[name].number_value = value
        else:
            start.hparams[name].string_value = str(value)
    return _session(hparams.SESSION_START_INFO_TAG, HParamsPluginData(session_start_info=start), started)


def _session_end(entry: Entry) -> Event:
    failed = entry.status in ("failed", "diverged")
    status = Status.STATUS_FAILURE if failed else Status.STATUS_SUCCESS
    moment = entry.moment(entry.iterations)
    end = SessionEndInfo(status=status, end_time_secs=moment)
    return _session(hparams.SESSION_END_INFO_TAG, HParamsPluginData(session_end_info=end), moment)


def _session(tag: str, content: HParamsPluginData, moment: float) -> Event:
    about = hparams.create_summary_metadata(content)
    value = Summary.Value(tag=tag, metadata=about, tensor=hparams.NULL_TENSOR)
    return Event(wall_time=moment, step=0, summary=Summary(value=[value]))


def _text(step: int, moment: float, tag: str, text: str) -> Event:
    """Return a text as TensorBoard's own text plugin has it."""
    value = Summary.Value(tag=tag, tensor=make_tensor_proto(text), metadata=create_summary_metadata(tag, ""))
    return Event(wall_time=moment, step=step, summary=Summary(value=[value]))
