"""Everything that uses Ray: connecting to a cluster, Tune as the executor, and the worker that trains a pack."""

import os

# Ray reads these when it is imported, so they are set before any module of this package can import it.
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")  # they halve the rate and fill the disk
os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")  # the launcher listens for Ctrl-C itself
os.environ.setdefault("TUNE_GLOBAL_CHECKPOINT_S", "1000000")  # Tune's own state is never restored
os.environ.setdefault("TUNE_MAX_PENDING_TRIALS_PG", "64")  # Tune's default of 1 would fill a cluster node by node
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
