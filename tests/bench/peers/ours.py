"""The native engine and the plain loop as subjects."""

from collections.abc import Iterator

from mulex.config import GridWorldConfig, TrainingConfig
from mulex.learners.dqn.native.engine import ALL_SAVINGS, EQUAL_PATCHES_ONCE, NONZERO_ONLY, NativeEngine
from mulex.methods import make_run
from tests.bench.peers.flops import computed
from tests.bench.plain_dqn import PlainDQN


class Native:
    """One run of a method; the replay holds the paper's million transitions."""

    def __init__(self, method: str = "epsilon_greedy", savings: int = ALL_SAVINGS) -> None:
        self.engine = NativeEngine([make_run(GridWorldConfig(), method, TrainingConfig())], savings=savings)
        self.loss = 0.0

    def iteration(self) -> float:
        (row,) = self.engine.iterate()
        self.loss = sum(float(value or 0) for name, value in row.items() if name.startswith("loss_"))
        return float(row["eval_return"] or 0)

    def counts(self) -> tuple[int, int, float]:
        return self.engine.updates, self.engine.replay.written, self.loss

    def flops(self) -> Iterator[int]:
        """Operations since the last time it was asked."""
        before = computed(self.engine.trainer.work)
        while True:
            now = computed(self.engine.trainer.work)
            yield now - before
            before = now


class Counted(Native):
    """Every patch and gradient is computed: only then does the count of its work say how many operations it took."""

    def __init__(self) -> None:
        super().__init__(savings=ALL_SAVINGS & ~EQUAL_PATCHES_ONCE & ~NONZERO_ONLY)


class NothingSaved(Native):
    """All the work of the plain algorithm, twice where it comes twice: what a second head costs in itself."""

    def __init__(self, method: str = "epsilon_greedy") -> None:
        super().__init__(method, savings=0)


class PlainTorch(PlainDQN):
    """The plain loop, with counts of what it did; it keeps no loss, so the size of its last gradient stands for it."""

    def __init__(self) -> None:
        super().__init__()
        self.updates = 0

    def _update(self) -> None:
        super()._update()
        self.updates += 1

    def counts(self) -> tuple[int, int, float]:
        return self.updates, min(self.steps, self.size), float(self.online[-1].weight.grad.abs().mean())
