"""Networks of Flax, as it wrote them to msgpack (in tests/golden/foreign), give what Flax gave."""

from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import layers

GOLDEN = Path(__file__).parents[2] / "golden" / "foreign"


def cnn():
    return [
        layers.Conv2D(4, 3),
        layers.BatchNormalization(epsilon=1e-5),
        layers.Conv2DTranspose(5, 3),
        layers.GroupNormalization(5, epsilon=1e-6),
        layers.Flatten(),
        layers.Dense(4),
        layers.Dense(4),
    ]


NETWORKS = {
    "cnn": cnn,
    "lstm": lambda: [layers.LayerNormalization(epsilon=1e-6), layers.LSTM(5, return_sequences=True)],
    "gru": lambda: [layers.LayerNormalization(epsilon=1e-6), layers.GRU(5, return_sequences=True)],
    "attention": lambda: [layers.MultiHeadAttention(2, 4)],
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_flax(name):
    outputs = np.load(GOLDEN / "flax_outputs.npz")
    model = gx.Sequential(NETWORKS[name]())
    model.build((None, *outputs[f"{name}_x"].shape[1:]))
    report = gx.checkpoint.load_foreign(GOLDEN / f"flax_{name}.msgpack", model)
    assert (report.source, report.settings) == ("flax", ())
    np.testing.assert_allclose(model(outputs[f"{name}_x"]), outputs[f"{name}_y"], rtol=1e-5, atol=1e-5)
