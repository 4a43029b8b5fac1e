"""rliable: a NumPy file with an array (runs, worlds) of scores for each method, as its functions take them."""

import io

import numpy as np

from mulex.store.folder import open_folder
from mulex.store.roles import TUNE
from sweeps.trackers.contract import Entry, Sent


class RliableScores:
    """Writes one file of the tuning runs; a draw and seed without a score in every world is left out."""

    live = False

    def __init__(self, file: str) -> None:
        self.file = file
        self._scores: dict[str, dict[tuple[int, int], dict[str, float]]] = {}
        self._worlds: dict[str, None] = {}

    def sent(self, run: str) -> Sent:
        return Sent()

    def send(self, entry: Entry) -> None:
        labels = entry.labels
        if labels["role"] != TUNE:
            return
        self._worlds[labels["world"]] = None
        of_method = self._scores.setdefault(labels["method"], {})
        if entry.status in ("done", "stopped", "diverged") and "score" in entry.results:
            of_method.setdefault((labels["draw"], labels["seed"]), {})[labels["world"]] = entry.results["score"]

    def flush(self) -> None:
        """Write the whole file."""
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **self.arrays())
        folder, slash, name = self.file.rpartition("/")
        open_folder(folder or slash or ".").write(name, content.getvalue())

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the scores of each method, (runs, worlds) in the order of draw and seed, and the worlds' names."""
        worlds = list(self._worlds)
        arrays = {
            method: np.array([[row[w] for w in worlds] for _, row in sorted(rows.items()) if len(row) == len(worlds)])
            for method, rows in self._scores.items()
        }
        return {**arrays, "worlds": np.array(worlds)}

    def close(self) -> None:
        """Do nothing: no file is open."""
