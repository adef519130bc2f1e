"""Losses whose first call makes what they train."""

import graftax as gx
from graftax import layers, ops


class Learned(gx.losses.Loss):
    """Has a layer, which its first call builds."""

    def __init__(self):
        super().__init__()
        self.net = layers.Dense(3, kernel_initializer=gx.initializers.Constant(0.3))

    def call(self, y_true, y_pred):
        return ops.mean((self.net(y_true) - self.net(y_pred)) ** 2 + (self.net(y_true) - 1.0) ** 2, axis=-1)


class Lazy(gx.losses.Loss):
    """Makes its Variable in its first call."""

    def __init__(self):
        super().__init__()
        self.scale = None

    def call(self, y_true, y_pred):
        if self.scale is None:
            self.scale = gx.Variable(0.5)
        return ops.mean((y_true - y_pred * self.scale) ** 2, axis=-1)
