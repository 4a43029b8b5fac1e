"""Measure every subject in turn, round after round, on one thread of one core: `python -m tests.bench.peers [OUT]`.

Times are the processor's, not the wall's, so that others on the machine cost us little; on a quiet one they are the
same. Ratios are medians of the rounds' ratios. A whole iteration is 2500 training steps with 625 updates, and an
evaluation of whole episodes of at least 1250 steps, which ours does in one episode because all are equal.
"""

import json
import os
import sys
from pathlib import Path

RESULTS = Path("build/bench.json")
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def main(out: Path) -> None:
    """Write the figures into `out`, beside those that are there, and print the table."""
    os.environ.update(ONE_THREAD)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from tests.bench.peers.rounds import run_rounds
    from tests.bench.peers.table import figures_of, print_table

    measured = run_rounds()
    figures = figures_of(measured)
    print_table(measured, figures)
    out.parent.mkdir(exist_ok=True)
    known = json.loads(out.read_text()) if out.exists() else {}
    out.write_text(json.dumps(known | figures, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else RESULTS)
