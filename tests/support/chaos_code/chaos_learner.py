"""A learner whose rows depend on everything that came before, and which takes its time."""

import time

import numpy as np


class Wanderer:
    """A random walk; it goes on from what `save` gave with the same steps."""

    hyperparameters = {"step": 1.0}  # noqa: RUF012

    def __init__(self, run):
        self.rng, self.step, self.at = run.rng(), run.values["step"], 0.0

    def iterate(self):
        time.sleep(0.15)
        self.at += self.step * self.rng.normal()
        return {"eval_return": self.at}

    def save(self):
        return {"at": np.array(self.at)}

    def load(self, state):
        self.at = float(state["at"])
