"""Variables that several devices share are gathered when they are exported: an artefact is for one device."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.export import Signature, Spec
from tests.distribution.eight.programs import KINDS, one

X = np.random.default_rng(0).normal(size=(8, 16)).astype("float32")


def trained(d: Any) -> gx.Model:
    gx.set_random_seed(0)
    with d.scope():
        made = gx.Sequential(
            [layers.Dense(16, "relu", name="up"), layers.BatchNormalization(), layers.Dense(8, name="down")]
        )
        made.compile(gx.optimizers.Adam(1e-3), "mse")
    made.fit(X, X[:, :8], batch_size=8, epochs=1, verbose=0)
    return made


@pytest.mark.parametrize("kind", ["sharded", "both"])
def test_ex24_values_are_whole_and_the_numbers_those_of_one_device(kind: str, tmp_path: Path) -> None:
    found, wanted = trained(KINDS[kind]()), trained(one())
    placed = found.layers[0].kernel.value.sharding
    assert not placed.is_fully_replicated
    gx.export.save(tmp_path / "net", {"predict": Signature(found, Spec("batch 16"))}, roots={"net": found})
    artefact = gx.export.load(tmp_path / "net")
    assert {len(value.devices()) for value in artefact.values.values()} == {1}
    np.testing.assert_array_equal(artefact.values["net/layers/0/kernel"], found.layers[0].kernel.numpy())
    for rows in (X, X[:3]):
        np.testing.assert_allclose(artefact.predict(rows), wanted(rows, training=False), atol=2e-6)
    assert gx.export.check(tmp_path / "net").errors["predict"] == 0
    assert found.layers[0].kernel.value.sharding == placed
    gx.export.save(tmp_path / "inside", found, Spec("batch 16"), weights="inside", check=False)
    np.testing.assert_allclose(gx.export.load(tmp_path / "inside").predict(X), artefact.predict(X), atol=2e-6)
    gx.export.onnx(tmp_path / "net.onnx", found, Spec("batch 16"), check=False)
    assert found.layers[0].kernel.numpy().tobytes() in (tmp_path / "net.onnx").read_bytes()
