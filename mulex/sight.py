"""From records to the network's input: frames are drawn when they are needed, never kept."""

import numpy as np
import torch
from torch import Tensor

from mulex.worlds.interface import GridWorlds, Worlds

LARGEST_TABLE = 64 * 2**20  # bytes of ready-made frames; larger worlds are drawn frame by frame


class Sight:
    """Fills the network's input (P, B, rows, cols, C) from records (P, B, stack, D)."""

    def __init__(self, worlds: Worlds, scale: float, device: torch.device) -> None:
        self.worlds, self.device = worlds, device
        self.scale = scale if worlds.record_dtype != np.float32 else 1.0
        self.table = self._ready_made()

    def _ready_made(self) -> Tensor | None:
        """(S, pixels): every frame of a world without ghosts, if that is small enough to keep."""
        if not isinstance(self.worlds, GridWorlds) or self.worlds.world.ghosts:
            return None
        states = len(self.worlds.world.tables.next_state)
        if states * int(np.prod(self.worlds.frame_shape)) * 4 > LARGEST_TABLE:
            return None
        frames = self.worlds.frames(np.arange(states)[:, None])
        return torch.from_numpy(frames.reshape(states, -1)).to(self.device, torch.float32) * self.scale

    def show(self, records: np.ndarray, into: Tensor) -> None:
        """Draw the stacks; channel c of a pixel is frame c of its stack, the newest last."""
        members, batch, stack = records.shape[:3]
        pixels = self._frames(records.reshape(members * batch * stack, *records.shape[3:]))  # (N, pixels)
        channels = into.shape[-1] // stack
        if into.shape[2:4] == (1, 1):  # a flat picture: frame after frame
            into.copy_(pixels.view(into.shape))
            return
        stacked = pixels.view(members, batch, stack, into.shape[2], into.shape[3], channels)
        into.view(*into.shape[:4], stack, channels).copy_(stacked.permute(0, 1, 3, 4, 2, 5))

    def _frames(self, records: np.ndarray) -> Tensor:
        if self.table is not None:
            ids = torch.from_numpy(records[:, 0].astype(np.int64)).to(self.device)
            return torch.index_select(self.table, 0, ids)
        frames = self.worlds.frames(records)
        pixels = torch.from_numpy(frames.reshape(len(frames), -1)).to(self.device)
        return pixels.to(torch.float32) * self.scale
