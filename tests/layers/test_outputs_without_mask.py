"""The output of a layer has the mask that `compute_mask` returns, and none for None, even if it is the input itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.variables import masks

X = np.array([[[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]], "float32")
ALL, SEEN = 0.5, 1.0
"""The mean of X over all steps, and over those that its mask shows."""
BODIES: dict[str, Callable[[Any], Any]] = {
    "input": lambda x: x,
    "slice": lambda x: x[:],
    "cast": lambda x: ops.cast(x, "float32"),
    "half": lambda x: ops.cast(x, "float16"),
    "reshape": lambda x: ops.reshape(x, x.shape),
    "product": lambda x: x * 1.0,
}


class Silent(gx.Layer):
    def __init__(self, body: str) -> None:
        super().__init__()
        self.body = body

    def call(self, x: Any) -> Any:
        return BODIES[self.body](x)


class Drop(Silent):
    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        return None


class Supporting(Drop):
    supports_masking = True


class Taking(Drop):
    def call(self, x: Any, mask: Any = None) -> Any:
        return BODIES[self.body](x)


class Around(gx.Layer):
    """A layer inside hands the mask on; this one does not."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.inner = layers.Dropout(0.5)

    def call(self, x: Any) -> Any:
        return self.inner(x)

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        return None


def mean(x: Any) -> float:
    return float(np.ravel(layers.GlobalAveragePooling1D()(x))[0])


def given() -> Any:
    return layers.Masking()(X)


def means(layer: gx.Layer) -> dict[str, float]:
    """The mean after the layer, in each way to call it."""
    x, pooling = given(), layers.GlobalAveragePooling1D()
    chain = gx.Sequential([layers.Masking(), layer, pooling])
    inner = gx.Input((4, 2))
    graph = gx.Model(inner, pooling(layer(layers.Masking()(inner))))
    part = gx.Input((4, 2))
    nested = gx.Sequential([layers.Masking(), gx.Sequential([gx.Model(part, layer(part))]), pooling])
    with gx.run_eagerly():
        found = {"run_eagerly": float(np.ravel(chain(X))[0])}
    found |= {
        "eager": mean(layer(x)),
        "jit": float(np.ravel(gx.jit(lambda: pooling(layer(layers.Masking()(X))))())[0]),
        "argument of jit": float(np.ravel(gx.jit(lambda x: pooling(layer(x)))(x))[0]),
        "result of jit": mean(gx.jit(layer)(x)),
        "sequential": float(np.ravel(chain(X))[0]),
        "predict": float(np.ravel(chain.predict(X, verbose=0))[0]),
        "graph": float(np.ravel(graph(X))[0]),
        "compiled graph": float(np.ravel(gx.jit(graph)(X))[0]),
        "nested": float(np.ravel(nested(X))[0]),
    }
    assert mean(x) == SEEN, "the input outside keeps its mask"
    return found


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("make", [Drop, Supporting, Taking, Around])
def test_compute_mask_that_returns_none_takes_the_mask_away(make: Callable[[str], gx.Layer], body: str) -> None:
    assert set(means(make(body)).values()) == {ALL}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.filterwarnings("ignore:the mask of the input:UserWarning")
def test_a_layer_that_says_nothing_takes_the_mask_away(body: str) -> None:
    assert set(means(Silent(body)).values()) == {ALL}


def test_the_warning_of_a_dropped_mask_is_true() -> None:
    x = given()
    with pytest.warns(UserWarning, match="is dropped"):
        out = Silent("input")(x)
    assert masks.mask_of(out) is None
    assert masks.mask_of(x) is not None
    x = X.copy()
    assert Silent("input")(x) is not None  # without masks, no copy and no warning


@pytest.mark.broad
def test_a_layer_that_supports_masks_hands_on_its_input_with_the_mask() -> None:
    class Passing(Silent):
        supports_masking = True

    x = given()
    assert Passing("input")(x) is x
    assert set(means(Passing("input")).values()) == {SEEN}


@pytest.mark.broad
def test_each_output_has_its_own_mask() -> None:
    class Pair(gx.Layer):
        def call(self, x: Any) -> Any:
            return {"hidden": x, "open": x}

        def compute_mask(self, inputs: Any, mask: Any) -> Any:
            return {"hidden": mask, "open": None}

    for run in (Pair(), gx.jit(Pair())):
        out = run(given())
        assert (mean(out["hidden"]), mean(out["open"])) == (SEEN, ALL)


def test_the_second_of_two_inputs_is_returned_without_its_mask() -> None:
    class Second(gx.Layer):
        def call(self, x: Any, y: Any) -> Any:
            return y

        def compute_mask(self, inputs: Any, mask: Any) -> Any:
            return None

    for run in (Second(), gx.jit(Second())):
        y = given()
        assert mean(run(X, y)) == ALL
        assert mean(y) == SEEN


@pytest.mark.broad
def test_what_a_layer_inside_masks_anew_stays() -> None:
    class Embedding(gx.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = layers.Embedding(3, 2, mask_zero=True)

        def call(self, x: Any) -> Any:
            return self.inner(ops.cast(ops.sum(x, axis=-1), "int32"))

    embedding = Embedding()
    with pytest.warns(UserWarning, match="is dropped"):
        out = embedding(given())
    for found in (out, gx.jit(embedding)(given())):
        np.testing.assert_array_equal(masks.mask_of(found), [[True, True, False, False]])


@pytest.mark.broad
def test_steps_of_time_distributed_keep_their_mask() -> None:
    """What is hidden within a step is dropped by the layer inside; which steps are real is not its concern."""
    frames = np.stack([X, X * 0], axis=1)  # one real step, one of padding
    layer = layers.TimeDistributed(Drop("input"))
    for run in (layer, gx.jit(layer)):
        x = ops.asarray(frames)
        masks.set_mask(x, ops.any(ops.not_equal(x, 0), axis=-1))
        np.testing.assert_array_equal(masks.mask_of(run(x)), [[True, False]])
        assert masks.mask_of(x).shape == (1, 2, 4)
