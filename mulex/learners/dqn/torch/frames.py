"""From records to the network's input: frames are drawn when they are needed and never stored."""

import numpy as np
import torch
from torch import Tensor

from mulex.worlds.interface import GridWorlds, Worlds

LARGEST_TABLE = 64 * 2**20  # bytes; worlds whose frames need more are drawn frame by frame


class FrameDrawer:
    """Makes the network's input (P, B, rows, cols, C) from records (P, B, stack, D)."""

    def __init__(self, worlds: Worlds, picture: tuple[int, int, int], scale: float, device: torch.device) -> None:
        """`picture` has the rows, columns and channels of the network's input."""
        self.worlds, self.picture, self.device = worlds, picture, device
        self.scale = scale if worlds.record_dtype != np.float32 else 1.0
        self.table = self._all_frames()

    def _all_frames(self) -> Tensor | None:
        """Draw every frame of a world without ghosts (S, pixels); None if the table would be too large."""
        if not isinstance(self.worlds, GridWorlds) or self.worlds.world.ghosts:
            return None
        states = len(self.worlds.world.tables.next_state)
        if states * int(np.prod(self.worlds.frame_shape)) * 4 > LARGEST_TABLE:
            return None
        frames = self.worlds.frames(np.arange(states)[:, None])
        return torch.from_numpy(frames.reshape(states, -1)).to(self.device, torch.float32) * self.scale

    def draw(self, records: np.ndarray) -> Tensor:
        """Draw the stacks. Channel c of a pixel is frame c of its stack, the newest last."""
        members, batch, stack = records.shape[:3]
        pixels = self._frames(records.reshape(members * batch * stack, *records.shape[3:]))  # (N, pixels)
        rows, cols, channels = self.picture
        if (rows, cols) == (1, 1):  # a flat input is one frame after another
            return pixels.view(members, batch, 1, 1, channels)
        stacked = pixels.view(members, batch, stack, rows, cols, channels // stack)
        return stacked.permute(0, 1, 3, 4, 2, 5).reshape(members, batch, rows, cols, channels)

    def _frames(self, records: np.ndarray) -> Tensor:
        if self.table is not None:
            ids = torch.from_numpy(records[:, 0].astype(np.int64)).to(self.device)
            return torch.index_select(self.table, 0, ids)
        frames = self.worlds.frames(records)
        pixels = torch.from_numpy(frames.reshape(len(frames), -1)).to(self.device)
        return pixels.to(torch.float32) * self.scale
