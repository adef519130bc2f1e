"""The data and the model of one weight that tests of fit share."""

import numpy as np

import graftax as gx
from graftax import layers

X = np.arange(5, dtype="float32")[:, None]

Y = np.zeros((5, 1), "float32")


def line(rate=0.0, **options):
    """One weight of value 1."""
    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(rate), "mse", **options)
    return model


def losses(model, *args, **options):
    return model.fit(*args, verbose=0, **options).history["loss"]
