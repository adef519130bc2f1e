"""Tracing: a signature becomes a program with free sizes, its Variables as inputs; what cannot be is told."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops, reparam
from graftax.core.errors import BackendCapabilityError, ExportError, SelectorError, StateError
from graftax.export import Signature, Spec
from graftax.export.tracing import Traced, trace


def paths(traced: Traced) -> list[str]:
    return [one.path for one in traced.read_only]


def net() -> gx.Sequential:
    return gx.Sequential([layers.Dense(4, activation="relu"), layers.Dropout(0.5), layers.Dense(2)])


def results(traced: Traced, *arrays: Any) -> list[Any]:
    """What the program gives for these numbers, run here."""
    buffers = [[one.buffer for one in cells] for cells in (traced.donated, traced.read_only)]
    return [np.asarray(one) for one in traced.program.run(*buffers, [ops.asarray(one) for one in arrays])]


def test_variables_become_inputs_and_sizes_stay_free() -> None:
    model = net()
    model(np.ones((1, 3), "float32"))
    traced = trace(Signature(model, Spec("batch 3")))
    assert paths(traced) == ["layers/0/kernel", "layers/0/bias", "layers/2/kernel", "layers/2/bias"]
    assert traced.results == ["output"]
    assert traced.written == []
    assert [(one.name, one.shape, one.dtype) for one in traced.inputs] == [("x", ("batch", 3), "float32")]


def test_ex7_a_model_without_weights_gets_them_and_nothing_is_computed() -> None:
    model = net()
    trace(Signature(model, Spec("batch 3")))
    assert model.built
    assert model.layers[0].kernel.shape == (3, 4)
    wide = gx.Sequential([layers.Flatten(), layers.Dense(2)])
    trace(Signature(wide, Spec("batch 3 2")))
    assert wide.layers[1].kernel.shape == (6, 2)


def test_weights_of_a_free_size_cannot_be() -> None:
    class Places(layers.Layer):
        def call(self, x: Any) -> Any:
            if not isinstance(x.shape[1], int):
                self.late = gx.Variable(shape=(x.shape[1],), initializer="zeros")
                return x + self.late
            return x

    with pytest.raises(ExportError, match="a size that is free is known only"):
        trace(Signature(Places(), Spec("batch n")))


def test_ex2_a_decision_by_a_free_size_is_told_with_the_constraint_that_decides_it() -> None:
    def fn(x: Any) -> Any:
        return x * 2 if x.shape[0] > 4 else x

    with pytest.raises(ExportError) as caught:
        trace(Signature(fn, Spec("batch 3")))
    text = str(caught.value)
    assert "batch > 4" in text
    assert "constraints=['batch >= 5']" in text
    assert "return x * 2 if x.shape[0] > 4 else x" in text
    trace(Signature(fn, Spec("batch 3"), constraints=["batch >= 5"]))


def test_a_loop_over_a_free_size_is_told() -> None:
    with pytest.raises(ExportError, match="used as a Python integer") as caught:
        trace(Signature(lambda x: sum(x[i] for i in range(x.shape[0])), Spec("batch")))
    assert "graftax.scan" in str(caught.value)


@pytest.mark.parametrize("count", [np.arange, lambda n: np.arange(0, n, 2, dtype="float32")], ids=["n", "steps"])
def test_positions_that_numpy_counts_up_to_a_free_size_are_told(count: Any) -> None:
    with pytest.raises(ExportError, match="used as a Python integer") as caught:
        trace(Signature(lambda x: x + count(x.shape[0]), Spec("batch")))
    assert "ops.arange(x.shape[1])" in str(caught.value)


@pytest.mark.broad
def test_ex4_assignments_have_to_be_said() -> None:
    model = net()
    with pytest.raises(ExportError) as caught:
        trace(Signature(lambda x: model(x, training=True), Spec("batch 3")))
    assert "layers/1/seed_generator/state" in str(caught.value)
    assert "training=False" in str(caught.value)
    traced = trace(Signature(lambda x: model(x, training=True), Spec("batch 3"), assigns=True))
    assert [one.path for one in traced.written] == ["layers/1/seed_generator/state"]


def test_ex8_a_layer_made_inside_is_refused() -> None:
    with pytest.raises(StateError, match="that nobody keeps"):
        trace(Signature(lambda x: layers.Dense(3)(x), Spec("batch 3")))


def test_ex9_python_inside_is_refused_and_checks_are_left_out_and_listed() -> None:
    with pytest.raises(ExportError, match="runs without this Python"):
        trace(Signature(lambda x: gx.py_function(lambda a: a, [x]), Spec("batch 3")))

    @gx.jit(checked=True)
    def fn(x: Any) -> Any:
        gx.check(ops.all(x > 0), "not above 0")
        return gx.check_numerics(ops.log(x), "the logarithm")

    assert trace(Signature(fn, Spec("batch 3"))).left_out == ["check: not above 0", "check_numerics: the logarithm"]


def test_ex14_structures_and_none_in_outputs_become_dicts_and_lists() -> None:
    traced = trace(Signature(lambda x: {"a": (x, None), "b": [x + 1, 2.5]}, Spec("batch")))
    assert traced.output == {"a": [0, None], "b": [1, 2]}
    assert traced.results == ["a/0", "b/0", "b/1"]
    with pytest.raises(ExportError, match="returned 'text'"):
        trace(Signature(lambda x: (x, "text"), Spec("batch")))


def test_structures_of_inputs_come_as_such() -> None:
    signature = Signature(lambda pair, more: pair["a"] @ pair["b"], {"a": Spec("4 3"), "b": Spec("3 2")}, None)
    traced = trace(signature)
    a, b = np.ones((4, 3), "float32"), np.ones((3, 2), "float32")
    np.testing.assert_array_equal(results(traced, a, b)[0], a @ b)


@pytest.mark.broad
def test_expressions_are_folded_and_live_where_they_must_be() -> None:
    model = net()
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    model(x)
    gx.graft(model, reparam.LoRA(rank=2), where="layers/0/kernel")
    gx.graft(model, reparam.Int8(), where="layers/2/kernel")
    for variable in model.trainable_variables:
        variable.assign(variable.numpy() + 0.1)
    folded = trace(Signature(model, Spec("5 3")))
    kept = ["layers/0/kernel", "layers/0/bias", "layers/2/kernel/scale", "layers/2/kernel/codes", "layers/2/bias"]
    assert sorted(paths(folded)) == sorted(kept)
    assert [one._gx_path for one in folded.folded.values()] == ["layers/0/kernel"]
    live = trace(Signature(model, Spec("5 3"), fold=False))
    assert len(paths(live)) == 7
    integers = trace(Signature(model, Spec("5 3"), fold="layers/2/**"))
    assert "layers/2/kernel" in paths(integers)
    assert "layers/0/kernel" not in paths(integers)
    for traced in (folded, live, integers):
        np.testing.assert_allclose(results(traced, x)[0], model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_an_expression_whose_parts_a_gradient_or_the_function_moves_stays_live() -> None:
    layer = layers.Dense(2)
    layer(np.ones((1, 3), "float32"))
    gx.graft(layer, reparam.LoRA(rank=1), where="kernel")
    parts = layer.trainable_variables

    def slopes(x: Any) -> Any:
        return gx.grad(lambda: ops.sum(layer(x) ** 2), wrt=parts)()

    traced = trace(Signature(slopes, Spec("4 3")))
    assert not traced.folded
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    for ours, wanted in zip(results(traced, x), slopes(ops.asarray(x)), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_ex12_a_fold_that_matches_nothing_that_is_read_is_refused() -> None:
    model = net()
    model(np.ones((1, 3), "float32"))
    gx.graft(model, reparam.LoRA(rank=2), where="layers/0/kernel")
    with pytest.raises(SelectorError, match="heads"):
        trace(Signature(model, Spec("batch 3"), fold="heads/**"))


def test_sixty_four_bits_are_refused_where_there_are_none() -> None:
    with pytest.raises(gx.errors.ArgumentError, match="arrays have 32 bits here"):
        trace(Signature(lambda x: x, Spec("batch", "int64")))


def test_ex24_a_backend_without_exporting_says_so() -> None:
    with gx.backend.use("numpy"), pytest.raises(BackendCapabilityError, match="'numpy' has no exporting"):
        trace(Signature(lambda x: x, Spec("batch")))
