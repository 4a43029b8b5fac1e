"""The losses of a TD error that a spec can name."""

from mulex.learners.dqn.registry import Entry, Registry

LOSSES: Registry[Entry] = Registry(
    "loss",
    {
        "squared": Entry("The square.", "mulex.learners.dqn.torch.losses:squared", native=True),
        "huber": Entry("Half the square, linear beyond 1.", "mulex.learners.dqn.torch.losses:huber", native=True),
    },
)
"""Every loss by its name: functions of the TD errors (P, B) of a head of Q-values, differentiated by autograd."""
