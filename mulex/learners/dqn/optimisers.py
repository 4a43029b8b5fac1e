"""The optimisers that a spec can name; their settings, such as `rmsprop_epsilon`, are in `mulex.config`."""

from mulex.learners.dqn.registry import Entry, Registry

OPTIMISERS: Registry[Entry] = Registry(
    "optimiser",
    {
        "rmsprop": Entry(
            "TensorFlow's centred RMSProp.", "mulex.learners.dqn.torch.optimiser:make_rmsprop", native=True
        ),
        "adam": Entry("TensorFlow's Adam.", "mulex.learners.dqn.torch.optimiser:make_adam", native=True),
    },
)
"""Every optimiser by its name: functions that take the parameters, the learning rates (P, 1) and the training."""
