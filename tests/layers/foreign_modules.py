"""Modules as Flax and torch have them, without either."""

import numpy as np

from graftax import ops


def identity(params, inputs):
    """A function for `JaxLayer`."""
    return inputs


class Linen:
    """Stands for a flax.linen.Module: a product, a moving mean, and a dropout."""

    def __init__(self, units):
        self.units = units

    def init(self, rngs, x, train, method=None):
        """Variables by collection."""
        assert set(rngs) == {"params", "dropout"}
        assert not train
        kernel = np.linspace(-1, 1, x.shape[-1] * self.units, dtype="float32").reshape(x.shape[-1], self.units)
        return {"params": {"Dense_0": {"kernel": kernel}}, "batch_stats": {"mean": np.zeros(self.units, "float32")}}

    def apply(self, variables, x, train, mutable=False, rngs=None, method=None):
        """The output, and changed collections where some are mutable."""
        out = ops.matmul(x, variables["params"]["Dense_0"]["kernel"])
        mean = variables["batch_stats"]["mean"]
        if method == "score":
            return ops.sum(out, -1)
        if not train:
            assert not mutable
            assert rngs is None
            return out - mean
        assert mutable == ["batch_stats"]
        assert tuple(rngs["dropout"].shape) == (2,)
        return out, {"batch_stats": {"mean": 0.5 * mean + 0.5 * ops.mean(out, 0)}}

    def __call__(self, x, train): ...

    def score(self, x, train): ...


class Torch:
    """Stands for a torch.nn.Module, as far as the constructor of `TorchLayer` looks."""

    def named_parameters(self):
        """None."""
        return []

    def named_buffers(self):
        """None."""
        return []

    def train(self, mode=True):
        """Itself."""
        return self

    def __call__(self, x): ...


class Foreign(Linen, Torch):
    """Passes for a module of either."""
