"""The net whose checkpoints `benchmarks.checkpoint` measures."""

import graftax as gx

_EACH = 10


class Layer(gx.Layer):
    """Ten weights, as layers have some."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self.weights = [gx.Variable(shape=(elements,), initializer="uniform") for _ in range(_EACH)]


class Net(gx.Layer):
    """Weights in layers of ten.

    Args:
        count: How many weights.
        elements: How many numbers each has.
    """

    def __init__(self, count: int, elements: int) -> None:
        super().__init__()
        self.blocks = [Layer(elements) for _ in range(count // _EACH)]
