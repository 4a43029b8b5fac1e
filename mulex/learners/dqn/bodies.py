"""The bodies of the network: the layers between the picture and the heads."""

from dataclasses import dataclass

from mulex.learners.dqn.registry import Entry, Registry


@dataclass(frozen=True)
class Convolution:
    """One layer of a body. A dense layer is a 1 x 1 convolution of a 1 x 1 picture."""

    channels: int
    kernel: int
    stride: int = 1


@dataclass(frozen=True)
class Body(Entry):
    """A body, as data: both engines build it from its layers."""

    layers: tuple[Convolution, ...] = ()
    flat: bool = False  # whether it sees all numbers of the stack in one row


BODIES: Registry[Body] = Registry(
    "body",
    {
        "conv": Body(
            "Two convolutions, for pictures of one pixel a cell.", "", True, (Convolution(16, 3), Convolution(32, 3))
        ),
        "textured": Body(
            "Three convolutions, for larger pictures.",
            "",
            True,
            (Convolution(16, 8, 4), Convolution(32, 4, 2), Convolution(32, 3)),
        ),
        "mlp": Body("One dense layer.", "", True, (Convolution(64, 1),), flat=True),
    },
)
"""Every body by its name. One whose layers have at most 32 channels can be `native`."""
