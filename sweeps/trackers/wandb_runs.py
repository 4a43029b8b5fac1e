"""Weights & Biases: a run of its own for each run, sent to a project or kept in offline files for `wandb sync`."""

import os
from pathlib import Path
from typing import Any

import wandb

from mulex.errors import UserError
from sweeps.trackers.contract import Entry, Sent
from sweeps.trackers.marks import read_mark, write_mark

MARKS = "mulex-sent"


class WandbRuns:
    """Keeps the W&B run of each run in training open, and closes it when the run ends."""

    live = True

    def __init__(self, project: str, folder: Path, offline: bool) -> None:
        self.project, self.folder = project, folder
        self.mode: Any = "offline" if offline or os.environ.get("WANDB_MODE") == "offline" else "online"
        if self.mode == "online" and not wandb.Settings().api_key and not wandb.api.api_key:
            raise UserError(
                f"wandb:{project}: nobody is logged in to Weights & Biases here; run wandb login, set WANDB_API_KEY, "
                "or write offline files with WANDB_MODE=offline or wandb:./FOLDER"
            )
        self._open: dict[str, wandb.Run] = {}

    def sent(self, run: str) -> Sent:
        return read_mark(self._mark(run))

    def _mark(self, run: str) -> Path:
        return self.folder / MARKS / f"{run}.json"

    def send(self, entry: Entry) -> None:
        run = self._open.get(entry.run)
        if run is None:
            if entry.status == "paused":
                return
            run = self._open[entry.run] = self._begin(entry)
        for iteration, row in entry.news():
            run.log(row, step=iteration)
        if entry.status != "running":
            self._end(entry, run)
        write_mark(self._mark(entry.run), entry)

    def _begin(self, entry: Entry) -> wandb.Run:
        self.folder.mkdir(parents=True, exist_ok=True)
        quiet = wandb.Settings(
            silent=True, console="off", x_disable_stats=True, x_disable_meta=True, disable_git=True, disable_code=True
        )
        return wandb.init(
            project=self.project,
            id=entry.run,
            name=entry.name,
            group=f"{entry.labels['method']}/{entry.labels['world']}",
            config=entry.parameters,
            dir=str(self.folder),
            mode=self.mode,
            resume="allow" if self.mode == "online" else None,
            reinit="create_new",
            settings=quiet,
        )

    def _end(self, entry: Entry, run: wandb.Run) -> None:
        run.summary["status"] = entry.status
        for name, x in entry.results.items():
            run.summary[f"result/{name}"] = x
        if entry.error:
            run.summary["error"] = entry.error
        run.finish(exit_code=int(entry.status in ("failed", "diverged")))
        del self._open[entry.run]

    def flush(self) -> None:
        """Do nothing: W&B sends by itself."""

    def close(self) -> None:
        for run in self._open.values():
            run.finish()
        self._open.clear()
