"""Clipping: OP5, OP11, OP12, and its numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax.core.errors import DTypeError, GradientError
from graftax.optimizers import SGD


def clipped(gradients, **limits):
    """The gradients as the rule sees them."""
    variables = [gx.Variable(np.zeros(np.shape(g), "float32"), name=f"v{i}") for i, g in enumerate(gradients)]
    SGD(1.0, **limits).apply([np.asarray(g, "float32") for g in gradients], variables)
    return [-v.numpy() for v in variables]


def reference(gradients, value, norm, global_norm):
    if value is not None:
        gradients = [np.clip(g, -value, value) for g in gradients]
    if norm is not None:
        gradients = [g * min(1, norm / max(np.linalg.norm(g), 1e-30)) for g in gradients]
    if global_norm is not None:
        total = np.sqrt(sum(np.sum(g**2) for g in gradients))
        gradients = [g * min(1, global_norm / max(total, 1e-30)) for g in gradients]
    return gradients


def test_op5_several_limits_act_by_value_then_norm_then_global_norm(three_steps):
    found = three_steps(SGD(0.1, clipvalue=0.1, clipnorm=0.2))
    np.testing.assert_allclose(found, [0.98, -2.01, 0.485], atol=1e-6)


limits = st.none() | st.sampled_from([1e-3, 0.5, 2.0, 100.0])


@pytest.mark.broad
@given(seed=st.integers(0, 2**32 - 1), value=limits, norm=limits, global_norm=limits)
def test_against_a_transcription(seed, value, norm, global_norm):
    rng = np.random.default_rng(seed)
    gradients = [rng.normal(size=shape) * rng.choice([0.01, 1, 50]) for shape in [(3,), (2, 2), ()]]
    found = clipped(gradients, clipvalue=value, clipnorm=norm, global_clipnorm=global_norm)
    for ours, theirs in zip(found, reference(gradients, value, norm, global_norm), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_against_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    gradients = [rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=5).astype("float32")]
    parameters = [torch.zeros(g.shape, requires_grad=True) for g in gradients]
    for parameter, g in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(g)
    torch.nn.utils.clip_grad_norm_(parameters, 0.7)
    for ours, parameter in zip(clipped(gradients, global_clipnorm=0.7), parameters, strict=True):
        np.testing.assert_allclose(ours, parameter.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize("limit", ["clipvalue", "clipnorm", "global_clipnorm"])
def test_op11_zero_gradients_stay_zero(limit):
    for g in clipped([[0.0, 0.0], [[0.0]]], **{limit: 1.0}):
        assert (g == 0).all()


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_op12_a_gradient_that_is_not_finite_makes_everything_nan(bad):
    first, second = clipped([[bad, 1.0], [1.0]], global_clipnorm=1.0)
    assert np.isnan(first).all()
    assert np.isnan(second).all()
    first, second = clipped([[bad, 1.0], [0.5]], clipnorm=1.0)
    assert np.isnan(first).all()
    assert second.tolist() == [0.5]


def test_the_norm_of_16_bit_gradients_is_taken_in_float32():
    w = gx.Variable(np.zeros(4), dtype="float16")
    SGD(1.0, clipnorm=1.0).apply([np.full(4, 1000.0, "float16")], [w])  # the squares overflow in float16
    np.testing.assert_allclose(w.numpy(), -0.5)


def test_dtypes_may_be_mixed_under_one_global_norm():
    narrow, wide = gx.Variable([0.0], dtype="bfloat16"), gx.Variable([0.0])
    SGD(1.0, global_clipnorm=1.0).apply([[3.0], [4.0]], [narrow, wide])
    np.testing.assert_allclose([narrow.numpy().item(), wide.numpy().item()], [-0.6, -0.8], rtol=5e-3)


def test_a_complex_gradient_is_refused():
    w = gx.Variable([1.0])
    with pytest.raises(DTypeError, match="complex64 for the variable") as error:
        SGD(0.1).apply([np.array([1j], "complex64")], [w])
    assert "ops.real" in error.value.instead
    assert w.numpy().tolist() == [1.0]


def test_a_sum_of_losses_outside_of_the_tape_is_named():
    w = gx.Variable([1.0], name="w")
    with gx.GradientTape() as tape:
        first, second = gx.ops.sum(w * w), gx.ops.sum(w)
    found = tape.gradient(first + second, [w])
    with pytest.raises(GradientError, match=r"a sum of losses, was computed outside of the block of the tape"):
        SGD(0.1).apply(found, [w])
