"""Final weights of a run on disk, and the greedy policy they make."""

import io
import json
from pathlib import Path

import numpy as np
import torch

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.folder import Folder
from mulex.learner import Learner
from mulex.make_worlds import make_worlds
from mulex.network import Workspace
from mulex.worlds.interface import Worlds


def save_policy(folder: Folder, run: RunConfig, weights: dict[str, np.ndarray]) -> None:
    """Tensors and the run's configuration; loading needs no pickle but torch's own for tensors."""
    content = {"run": run.model_dump_json(), "weights": {name: torch.from_numpy(w) for name, w in weights.items()}}
    file = io.BytesIO()
    torch.save(content, file)
    folder.write(f"policies/{run.run_id}.pt", file.getvalue())


class Policy:
    """The greedy policy of a run's evaluated head."""

    def __init__(self, run: RunConfig, weights: dict[str, torch.Tensor]) -> None:
        self.run = run
        self.worlds: Worlds = make_worlds(run.world, [run.run_id], "shown")
        self.stack = run.training.stack or (1 if len(self.worlds.frame_shape) == 1 else 4)
        self._learner = Learner([run], self.worlds, self.stack, torch.device("cpu"))
        for name, weight in weights.items():
            self._learner.weights[name].copy_(weight)
        self._head = list(run.recipe.heads).index(run.recipe.evaluate[0])
        self._workspaces: dict[int, Workspace] = {}

    @torch.inference_mode()
    def actions(self, stacks: np.ndarray) -> np.ndarray:
        """Greedy actions (N,) for stacks of records (N, C, D)."""
        learner, n = self._learner, len(stacks)
        if n not in self._workspaces:
            self._workspaces[n] = Workspace(learner.shape, 1, n, (self._head,), learner.device)
        workspace = self._workspaces[n]
        learner.sight.show(stacks[None], workspace.input)
        out = workspace.forward(learner.weights)[self._head]
        return learner.heads[self._head].values(out)[0].argmax(1).numpy()


def load_policy(path: Path) -> Policy:
    """From a policy file, or from a run file whose policy was kept beside it."""
    if path.suffix == ".parquet":
        path = path.parents[2] / "policies" / f"{path.stem}.pt"
    if not path.is_file():
        raise UserError(f"{path}: no such policy; `mulex train` keeps one for every run under policies/")
    return read_policy(path.read_bytes(), str(path))


def read_policy(content: bytes, name: str) -> Policy:
    """From the content of a policy file; `name` is for the message if it is none."""
    try:
        plain = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
        run = RunConfig.model_validate(json.loads(plain["run"]))
    except Exception:
        raise UserError(f"{name}: not a policy that this program wrote; name a file under policies/ or runs/") from None
    return Policy(run, plain["weights"])
