"""Whole models that earlier formats wrote must load for ever. They lie in ``tests/golden`` and are never made anew."""

from pathlib import Path

import numpy as np
import pytest

import graftax as gx

GOLDEN = Path(__file__).parents[2] / "golden" / "whole-1"


@pytest.mark.parametrize("name", ["graph", "row"])
def test_a_model_of_format_1_loads(name):
    with np.load(GOLDEN / "outputs.npz") as made:
        x, wanted = made["x"], made[name]
    model = gx.load_model(GOLDEN / name)
    # the first layer of the row computes in bfloat16, and a program may keep more digits between its operations
    np.testing.assert_allclose(model(x), wanted, **({"rtol": 1e-5} if name == "graph" else {"atol": 1e-2}))
    if name == "graph":
        assert gx.adapters.active(model) == ["a", "b"]
        assert int(model.optimizer.iterations) == 1
    else:
        assert [layer.compute_dtype for layer in model.layers] == ["bfloat16", "float32", "float32"]
        assert [v.path for v in model.trainable_variables] == ["layers/2/kernel", "layers/2/bias"]
        assert model.layers[1].rate == 0.25


def test_a_format_to_come_is_refused(tmp_path):
    gx.Checkpoint(v=gx.Variable(1.0)).save(tmp_path / "m", meta={"graftax.model": {"format": 5}})
    with pytest.raises(gx.errors.ArgumentError, match="reads formats 1, 2, 3, 4"):
        gx.load_model(tmp_path / "m")
