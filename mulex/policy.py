"""Final weights of a run on disk, and the greedy policy they make."""

import io
import json
from pathlib import Path

import numpy as np
import torch

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.evaluation import Stacks
from mulex.folder import Folder
from mulex.learner import Learner
from mulex.make_worlds import make_worlds
from mulex.worlds.interface import Worlds


def save_policy(folder: Folder, run: RunConfig, weights: dict[str, np.ndarray]) -> None:
    """Tensors and the run's configuration; loading needs no pickle but torch's own for tensors."""
    content = {"run": run.model_dump_json(), "weights": {name: torch.from_numpy(w) for name, w in weights.items()}}
    file = io.BytesIO()
    torch.save(content, file)
    folder.write(f"policies/{run.run_id}.pt", file.getvalue())


class Policy:
    """The greedy policy of a run's evaluated head, in one world."""

    def __init__(self, run: RunConfig, weights: dict[str, torch.Tensor]) -> None:
        self.run = run
        self.worlds: Worlds = make_worlds(run.world, [run.run_id], "shown")
        self.stack = run.training.stack or (1 if len(self.worlds.frame_shape) == 1 else 4)
        self._learner = Learner([run], self.worlds, self.stack, torch.device("cpu"))
        for name, weight in weights.items():
            self._learner.weights[name].copy_(weight)
        self._head = list(run.recipe.heads).index(run.recipe.evaluate[0])

    @torch.inference_mode()
    def actions(self, stacks: np.ndarray) -> np.ndarray:
        """Greedy actions (1,) for stacks of records (1, C, D)."""
        return self._learner.values(stacks)[self._head].argmax(axis=1)

    def begin(self) -> Stacks:
        """The stacks of an episode that begins now."""
        return Stacks(self.worlds.observe(), self.stack)


def load_policy(path: Path) -> Policy:
    """From a policy file, or from a run file whose policy was kept beside it."""
    if path.suffix == ".parquet":
        path = path.parents[2] / "policies" / f"{path.stem}.pt"
    if not path.is_file():
        raise UserError(f"{path}: no such policy; `mulex train` keeps one for every run under policies/")
    try:
        content = torch.load(path, weights_only=True, map_location="cpu")
        run = RunConfig.model_validate(json.loads(content["run"]))
    except Exception:
        raise UserError(f"{path}: not a policy that this program wrote; name a file under policies/ or runs/") from None
    return Policy(run, content["weights"])
