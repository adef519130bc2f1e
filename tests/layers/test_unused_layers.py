"""Layers that the call of a model does not use: without weights they need nothing, with weights they are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers as L
from graftax.core.errors import NotBuiltError
from graftax.layers.building import makes_weights
from tests.conformance.layer_rows import ROWS

X = np.ones((4, 3), "float32")


class Model(gx.Model):
    """A model with a layer that its call leaves out."""

    def __init__(self, unused: Any) -> None:
        super().__init__()
        self.used = L.Dense(2)
        self.unused = unused

    def call(self, x: Any) -> Any:
        return self.used(x)


WITHOUT_WEIGHTS = {
    "Dropout": lambda: L.Dropout(0.5),
    "RandomFlip": lambda: L.RandomFlip(),
    "ReLU": lambda: L.ReLU(),
    "Softmax": lambda: L.Softmax(),
    "Sequential": lambda: gx.Sequential([L.Flatten(), L.Dropout(0.1)]),
}


class Unused(gx.Model):
    """A layer of a user that keeps what its call makes."""

    def call(self, x: Any) -> Any:
        self._dense = L.Dense(2)
        return self._dense(x)


WITH_WEIGHTS = {
    "Dense": lambda: L.Dense(5),
    "layers/0": lambda: gx.Sequential([L.Dense(5)]),
    "Unused": lambda: Unused(),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "Sequential" else pytest.mark.slow) for name in WITHOUT_WEIGHTS]
)
def test_a_layer_without_weights_does_not_stop_anything(name: str, tmp_path: Path) -> None:
    model = Model(WITHOUT_WEIGHTS[name]())
    model.build((None, 3))
    assert model.built
    assert model.count_params() == 8
    shown: list[str] = []
    model.summary(print_fn=shown.append)
    assert "not built: " not in shown[0]
    model.save(tmp_path / "model")
    assert len(gx.load_model(tmp_path / "model", custom=[Model]).variables) == len(model.variables)


@pytest.mark.broad
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "Dense" else pytest.mark.slow) for name in WITH_WEIGHTS]
)
def test_one_with_weights_stays_unbuilt_and_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = Model(WITH_WEIGHTS[name]())
    with pytest.warns(UserWarning, match=rf"has not built 'unused.*{name}.*build\(input_shape\) makes them"):
        model.build((None, 3))
    assert model.built
    assert len(model.variables) == 2
    with pytest.warns(UserWarning, match="counts nothing for 'unused"):
        assert model.count_params() == 8
    model.summary()
    assert "not built: 1 layer" in capsys.readouterr().out
    model.compile(gx.optimizers.SGD(0.1), "mse")
    model.fit(X, X[:, :2], verbose=0)


def test_its_own_build_makes_its_weights() -> None:
    model = Model(L.Dense(5))
    with pytest.warns(UserWarning, match="has not built"):
        model.build((None, 3))
    model.unused.build((None, 2))
    assert model.count_params() == 8 + 15
    model.build((None, 3))


def test_a_file_of_such_a_model_is_loaded_as_it_was(tmp_path: Path) -> None:
    model = Model(L.Dense(5))
    model(X)
    model.save(tmp_path / "model")  # without another warning
    again = gx.load_model(tmp_path / "model", custom=[Model])
    assert again(X).tolist() == model(X).tolist()
    assert not again.unused.built


def test_a_model_that_was_never_called_is_not_counted() -> None:
    with pytest.raises(NotBuiltError, match="of which 'used' is not built"):
        Model(L.Dropout(0.5)).count_params()


def test_only_streams_beside_unbuilt_layers_are_nothing_to_save(tmp_path: Path) -> None:
    with pytest.raises(gx.errors.ArgumentError, match="nothing to save"):
        gx.Checkpoint(model=Model(L.Dropout(0.5))).save(tmp_path / "a")


@pytest.mark.slow
def test_layers_that_have_weights_of_their_own_say_so() -> None:
    for name, row in ROWS.items():
        layer = row.make()
        before = {id(v) for v in layer.variables}
        shapes = row.inputs
        example = [np.zeros(s, "float32") for s in shapes] if isinstance(shapes, list) else np.zeros(shapes, "float32")
        if row.below is not None:
            example = np.zeros(shapes, "int32")
        layer.build_for(example)
        made = [v for v in layer.variables if id(v) not in before and v.role != "seed"]
        for v in made:
            assert makes_weights(type(v._gx_owner)) or makes_weights(type(layer)), (name, v.path)
