"""Tune's driver with workers that do nothing but report."""

import tempfile
import time

REPORTS, TRIALS = 100, 8


def driving() -> dict[str, float]:
    """Tune's driver with workers that do nothing but report; its processor time, whatever else the machine does."""
    import sweeps.execution  # noqa: F401, I001  (settings that Ray reads when it is imported)
    import ray
    from ray import tune

    class Reports(tune.Trainable):
        def setup(self, config: dict[str, int]) -> None:
            self.count = 0

        def reset_config(self, new_config: dict[str, int]) -> bool:
            self.count = 0
            return True

        def step(self) -> dict[str, object]:
            self.count += 1
            return {"count": self.count, "done": self.count == REPORTS}

    class Clock(tune.Callback):
        def __init__(self) -> None:
            self.moments: list[float] = []

        def on_trial_result(self, *_: object, **__: object) -> None:
            self.moments.append(time.process_time())

    clock = Clock()
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="CRITICAL")
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            Reports,
            tune_config=tune.TuneConfig(num_samples=TRIALS, reuse_actors=True),
            run_config=tune.RunConfig(storage_path=folder, verbose=0, callbacks=[clock]),
        )
        tuner.fit()
    ray.shutdown()
    spent = clock.moments[-1] - clock.moments[0]
    return {"driver_cpu_ms_a_result": spent * 1e3 / len(clock.moments)}
