"""Final weights of a run on disk, and the greedy policy they make.

A policy file is a torch file with the run's configuration, its weights, and a SHA-256 of both. Files of version 0.1
have no checksum; they are read with a warning.
"""

import hashlib
import io
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mulex.config import GymWorldConfig, RunConfig
from mulex.errors import UserError
from mulex.learners.dqn.network_shape import frames_of_stack, network_shape
from mulex.learners.dqn.torch.learner import Learner
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import SPEC, policy_name
from mulex.worlds.interface import Worlds
from mulex.worlds.make import make_worlds

Weights = dict[str, torch.Tensor]


def save_policy(folder: Folder, run: RunConfig, weights: dict[str, np.ndarray]) -> None:
    """Write the policy file of a run."""
    tensors = {name: torch.from_numpy(weight) for name, weight in weights.items()}
    text = run.model_dump_json()
    file = io.BytesIO()
    torch.save({"run": text, "weights": tensors, "checksum": checksum(text, tensors)}, file)
    folder.write(policy_name(run.run_id), file.getvalue())


def checksum(run: str, weights: Weights) -> str:
    """Return the SHA-256 of a run's configuration and of the names, types, shapes and bytes of its weights."""
    total = hashlib.sha256(run.encode())
    for name, weight in sorted(weights.items()):
        array = weight.contiguous().numpy()
        total.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


@dataclass(frozen=True)
class PolicyFile:
    """The content of a policy file that has been checked; nothing of it has been run."""

    name: str
    run: RunConfig
    weights: Weights
    warning: str | None

    def policy(self, trusted: Collection[str] = (), trust: bool = False) -> "Policy":
        """Make the policy and its worlds.

        Args:
            trusted: Ids of Gymnasium environments that may import modules, such as those of the sweep's own spec.
            trust: Whether any environment may.

        Raises:
            UserError: if the world's id would import a module that is not trusted.
        """
        world = self.run.world
        if isinstance(world, GymWorldConfig) and ":" in world.id and not trust and world.id not in trusted:
            module = world.id.partition(":")[0]
            raise UserError(
                f"{self.name}: its environment {world.id} would import the module {module}, which may run any code; "
                "give --trust if you know where the file comes from"
            )
        return Policy(self.run, self.weights)


class Policy:
    """The greedy policy of a run's evaluated head; without weights it is untrained."""

    def __init__(self, run: RunConfig, weights: Weights | None = None) -> None:
        self.run = run
        self.worlds: Worlds = make_worlds(run.world, [run.run_id], "shown")
        self.stack = frames_of_stack(run, self.worlds)
        slices = network_shape(run, self.worlds, self.stack).slices
        if weights is not None and {name: tuple(weight.shape) for name, weight in weights.items()} != {
            name: shape for name, (_, shape) in slices.items()
        }:  # before a network is made: a file can describe one of any size
            raise UserError(f"policy of {run.run_id}: its weights do not fit the network of its run")
        self._learner = Learner([run], self.worlds, self.stack, torch.device("cpu"))
        for name, weight in (weights or {}).items():
            self._learner.weights[name].copy_(weight)
        self._head = list(run.recipe.heads).index(run.recipe.evaluate[0])

    @torch.inference_mode()
    def actions(self, stacks: np.ndarray) -> np.ndarray:
        """Return the greedy actions (N,) for stacks of records (N, C, D)."""
        learner, head = self._learner, self._head
        out = learner.network(learner.drawer.draw(stacks[None]), (head,))[head]
        return learner.heads[head].values(out)[0].argmax(1).numpy()


def trusted_worlds(folder: Folder) -> set[str]:
    """Return the ids of the Gymnasium environments in a sweep's own spec; none if the folder has no readable spec."""
    try:
        plain = YAML(typ="safe", pure=True).load(folder.read(SPEC))
        return {str(world["id"]) for world in plain["worlds"].values() if "id" in world}
    except (OSError, YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        return set()


def find_policy(path: Path) -> tuple[PolicyFile, Folder]:
    """Read a policy file, or the one of a run file whose policy was kept; returns it with its sweep's folder.

    Raises:
        UserError: if there is no such file, or it is damaged.
    """
    if path.suffix == ".parquet":
        path = path.parents[2] / policy_name(path.stem)
    if not path.is_file():
        raise UserError(f"{path}: no such policy; `mulex train` keeps one for every run under policies/")
    return read_policy(path.read_bytes(), str(path)), open_folder(path.parent.parent)


def read_policy(content: bytes, name: str) -> PolicyFile:
    """Read and check the content of a policy file; `name` is the file's, for messages.

    Raises:
        UserError: if it is not a policy file, or damaged.
    """
    try:
        plain: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
        text, weights, stored = plain["run"], plain["weights"], plain.get("checksum")
        run = RunConfig.model_validate(json.loads(text))
        whole = plain.keys() <= {"run", "weights", "checksum"} and stored in (None, checksum(text, weights))
    except Exception:  # torch's unpickler raises almost anything for a damaged file
        raise UserError(
            f"{name}: damaged, or not a policy that this program wrote; name a file under policies/ or runs/"
        ) from None
    if not whole:
        raise UserError(f"{name}: damaged, its checksum does not fit its content; train the run again")
    warning = None if stored else f"{name}: written by an earlier version without a checksum, so damage goes unnoticed"
    return PolicyFile(name, run, weights, warning)
