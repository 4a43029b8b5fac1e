"""The arithmetic of the plain algorithm: two operations for each multiply-and-add of its matrix products.

A stack's forward pass is 30 places x 36 inputs x 16 channels, 12 x 144 x 32, 384 x 64 and 64 x 4 for each head. A
backward pass is twice that, for the gradients of the weights and of the inputs, without the first layer's input
gradient, which nobody needs. Biases, activations, the optimiser, the world and all look-ups count as nothing.

Counted is what was really computed: distinct stacks of a batch forward and backward (once, however often a batch holds
them), stacks whose target value was not remembered forward, and so the stacks acted on, in training and evaluation.
The engine also computes equal patches of pictures once, and skips zero gradients in the backward pass;
the fraction of the peak is measured with these two savings turned off, so that the operations are known.
"""

from collections.abc import Mapping

FIRST, SECOND, HIDDEN, OUT = 2 * 30 * 36 * 16, 2 * 12 * 144 * 32, 2 * 384 * 64, 2 * 64 * 4
BODY, HEAD = FIRST + SECOND, HIDDEN + OUT


def computed(work: Mapping[str, int]) -> int:
    """Operations of one-head work done, as `engine.trainer.work` counts it."""
    return _total(work["distinct"], work["target_computed"], work["acted_computed"])


def plain(updates: int, greedy_steps: int, batch: int = 32, heads: int = 1) -> int:
    """Operations where nothing is saved. All heads learn; one of them acts."""
    return _total(updates * batch, updates * batch, greedy_steps, heads)


def _total(learned: int, targets: int, acted: int, heads: int = 1) -> int:
    forward = BODY + heads * HEAD
    backward = 2 * forward - FIRST
    return learned * (forward + backward) + targets * forward + acted * (BODY + HEAD)
