"""What a Variable has of an array, what it answers where it has not, and numbers that broadcast: O6, L17."""

import math
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from graftax.core.errors import AssignmentError, MissingAttributeError
from graftax.variables import array_names

both = pytest.mark.parametrize("backend", ["jax", "numpy"])
VALUE = np.arange(12, dtype="float32").reshape(2, 2, 3)


@both
def test_o6_attributes_are_those_of_the_array(backend: str) -> None:
    with use(backend):
        w = gx.Variable(VALUE)
        for name in ("shape", "ndim", "size", "nbytes"):
            assert getattr(w, name) == getattr(VALUE, name)
        np.testing.assert_array_equal(w.T, VALUE.T)
        np.testing.assert_array_equal(w.mT, np.swapaxes(VALUE, -1, -2))
        assert (gx.Variable(VALUE[0]) @ gx.Variable(VALUE[0]).T).shape == (2, 2)
        with pytest.raises(ValueError, match="axis"):
            _ = gx.Variable([1.0]).mT


def test_o6_transposed_weights_in_programs_and_expressions() -> None:
    layer = gx.layers.Dense(2)
    layer(np.ones((1, 3), "float32"))
    compiled = gx.jit(lambda: layer.kernel.T)
    np.testing.assert_array_equal(compiled(), layer.kernel.numpy().T)
    gx.graft(layer, gx.reparam.WeightNorm(), where="kernel")
    np.testing.assert_allclose(layer.kernel.T, layer.kernel.numpy().T)


@pytest.mark.parametrize("name", array_names._LINES)
def test_o6_methods_of_arrays_are_answered_with_the_line_to_write(name: str) -> None:
    w = gx.Variable(VALUE)
    with pytest.raises(MissingAttributeError) as caught:
        getattr(w, name)
    assert f"Variable.{name}" in caught.value.received
    assert caught.value.instead == array_names._LINES[name]
    assert not hasattr(w, name)


def test_o6_what_arrays_and_tensors_have_is_there_or_answered(torch: Any) -> None:
    w = gx.Variable(VALUE)
    used = "sum mean max min std var all any argmax argmin reshape astype flatten transpose squeeze item tolist copy"
    for name in (*used.split(), "unsqueeze", "view", "permute", "detach", "clone", "cpu", "requires_grad_"):
        assert hasattr(VALUE, name) or hasattr(torch.zeros(1), name)
        with pytest.raises(MissingAttributeError):
            getattr(w, name)


def test_o6_other_names_and_errors_inside_of_properties_stay_what_they_are() -> None:
    w = gx.Variable(VALUE)
    with pytest.raises(AttributeError, match="'Variable' object has no attribute 'kernle'"):
        _ = w.kernle  # type: ignore[attr-defined]

    class Broken(gx.Reparam):
        def forward(self) -> Any:
            return self.nothing.here  # type: ignore[attr-defined]

    with gx.variable_creator_scope(lambda next_creator, spec: Broken(spec)):
        broken = gx.Variable([1.0])
    with pytest.raises(AttributeError, match="nothing"):
        _ = broken.value


@pytest.mark.parametrize("name", array_names._SETTINGS)
def test_o6_settings_that_would_change_nothing_are_refused(name: str) -> None:
    w = gx.Variable(VALUE, name="w")
    with pytest.raises(AssignmentError) as caught:
        setattr(w, name, False)
    assert caught.value.instead == array_names._SETTINGS[name]
    np.testing.assert_array_equal(w.numpy(), VALUE)
    w.trainable = False
    assert not w.trainable


@both
def test_l17_numbers_and_rows_broadcast_in_sums_as_in_place_operators_do(backend: str) -> None:
    with use(backend):
        for value in (1.0, np.float32(2), [1.0, 2.0, 3.0], np.ones((2, 1), "float32"), gx.Variable(3.0)):
            added, subtracted, plus, minus = (gx.Variable(VALUE[0]) for _ in range(4))
            term = np.asarray(value, "float32")
            assert added.assign_add(value) is added
            assert subtracted.assign_sub(value) is subtracted
            plus += ops.asarray(value)
            minus -= ops.asarray(value)
            np.testing.assert_array_equal(added.numpy(), VALUE[0] + term)
            np.testing.assert_array_equal(subtracted.numpy(), VALUE[0] - term)
            np.testing.assert_array_equal(plus.numpy(), added.numpy())
            np.testing.assert_array_equal(minus.numpy(), subtracted.numpy())


@both
def test_l17_an_assignment_never_broadcasts_and_a_sum_never_grows(backend: str) -> None:
    with use(backend):
        w = gx.Variable(VALUE[0], name="w")
        for call in (
            lambda: w.assign(1.0),
            lambda: w.assign(VALUE[0][:1]),
            lambda: w.assign_add(VALUE),
            lambda: w.assign_sub(np.ones(4, "float32")),
        ):
            with pytest.raises(AssignmentError, match="got shape"):
                call()
        w[...] = 1.0
        assert w.numpy().tolist() == [[1, 1, 1], [1, 1, 1]]
        integers = gx.Variable([1, 2])
        with pytest.raises(AssignmentError, match="got dtype"):
            integers.assign_add(0.5)


def test_l17_compiled_and_behind_expressions() -> None:
    w = gx.Variable(VALUE[0])
    add = gx.jit(lambda x: w.assign_add(x).value)
    np.testing.assert_array_equal(add(1.0), VALUE[0] + 1)
    np.testing.assert_array_equal(add(np.ones(3, "float32")), VALUE[0] + 2)
    layer = gx.layers.Dense(2)
    layer(np.ones((1, 3), "float32"))
    before = layer.kernel.numpy()
    gx.graft(layer, gx.reparam.WeightNorm(), where="kernel")
    layer.kernel.assign_add(1.0)
    np.testing.assert_allclose(layer.kernel.numpy(), before + 1, rtol=1e-5)
    assert math.prod(layer.kernel.shape) == layer.kernel.size
