"""Forms of a convolution that are quicker than the library's give what the library gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax.backend.jax import windows
from graftax.backend.jax.arrays import JaxArrays

# shape, window, outputs of a channel, strides, padding, dilation
CASES = {
    "plain": ((2, 6, 5, 3), (3, 3), 1, (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "padded and strided": ((2, 7, 6, 3), (3, 2), 1, (2, 3), ((1, 1), (0, 1)), (1, 1)),
    "multiplied and dilated": ((1, 7, 7, 2), (2, 3), 3, (1, 1), ((1, 2), (2, 2)), (2, 2)),
    "one axis": ((2, 9, 4), (5,), 2, (2,), ((4, 0),), (1,)),
    "three axes": ((1, 4, 3, 4, 2), (2, 2, 2), 1, (1, 1, 2), ((0, 0), (1, 0), (0, 0)), (1, 1, 1)),
    "half": ((2, 6, 5, 3), (3, 3), 1, (1, 1), ((1, 1), (1, 1)), (1, 1)),
}


def library(x, kernel, strides, padding, dilation):
    space = "DHW"[5 - x.ndim :]
    numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    return jax.lax.conv_general_dilated(
        x, kernel, strides, padding, None, dilation, numbers, feature_group_count=x.shape[-1]
    )


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("name", CASES)
def test_each_channel_by_itself(name):
    shape, window, copies, *settings = CASES[name]
    rng = np.random.default_rng(0)
    dtype = jnp.bfloat16 if name == "half" else jnp.float32
    x = jnp.asarray(rng.normal(size=shape), dtype)
    kernel = jnp.asarray(rng.normal(size=(*window, 1, shape[-1] * copies)), dtype)

    def gradients(form, x, kernel, along):
        out, back = jax.vjp(lambda x, k: form(x, k, *settings), x, kernel)
        return out, *back(out if along is None else along)

    run = jax.jit(gradients, static_argnums=0)
    expected = run(library, x, kernel, None)
    found = run(windows.conv_by_slices, x, kernel, expected[0])
    assert found[0].dtype == expected[0].dtype
    exact = {"rtol": 2e-2, "atol": 5e-2} if name == "half" else {"rtol": 1e-5, "atol": 1e-5}
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.astype("float32"), b.astype("float32"), **exact)


def test_which_form_is_taken(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    assert windows.prefers_slices(8, (3, 3, 1, 16), 8)
    assert not windows.prefers_slices(8, (9, 9, 1, 8), 8), "too many slices"
    assert not windows.prefers_slices(8, (3, 3, 2, 8), 4), "groups of two"
    assert not windows.prefers_slices(1, (3, 3, 1, 8), 1), "a plain convolution"
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not windows.prefers_slices(8, (3, 3, 1, 8), 8)


def test_the_backend_takes_it(monkeypatch):
    calls = []
    monkeypatch.setattr(windows, "conv_by_slices", lambda *args: calls.append(args))
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    x, kernel = jnp.ones((1, 4, 4, 2)), jnp.ones((2, 2, 1, 2))
    JaxArrays().conv(x, kernel, (1, 1), ((0, 0), (0, 0)), (1, 1), 2)
    JaxArrays().conv(x, kernel, (1, 1), ((0, 0), (0, 0)), (1, 1), 2, (2, 2))  # for transposed ones
    assert len(calls) == 1
