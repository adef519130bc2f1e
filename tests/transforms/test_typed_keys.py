"""Random keys of JAX with a dtype of their own go through every transform as arrays do."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops

KEY = jax.random.key(3)
EXPECTED = float(jax.random.uniform(KEY))


def draw(x, key):
    return x * jax.random.uniform(key)


def loop(key):
    return gx.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, c[1], draw(1.0, c[1])), (0, key, 0.0))


TRANSFORMS = {
    "scan": lambda key: gx.scan(lambda k, _: (k, draw(1.0, k)), key, length=2)[1][0],
    "rows of scan": lambda key: gx.scan(lambda c, k: (c, draw(1.0, k)), 0.0, key[None])[1][0],
    "vectorized_map": lambda key: gx.vectorized_map(lambda k: draw(1.0, k), key[None])[0],
    "cond": lambda key: draw(1.0, gx.cond(jax.random.uniform(key) > -1, lambda k: k, lambda k: k, key)),
    "switch": lambda key: draw(1.0, gx.switch(ops.asarray(1), [lambda k: k, lambda k: k], key)),
    "while_loop": lambda key: loop(key)[2],
    "remat": lambda key: gx.grad(lambda x: gx.remat(draw)(x, key))(1.0),
    "grad": lambda key: gx.grad(draw)(1.0, key),
    "has_aux": lambda key: draw(1.0, gx.grad(lambda x: (x, key), has_aux=True)(1.0)[1]),
    "custom_gradient": lambda key: gx.grad(gx.custom_gradient(lambda x, k: (x, lambda dy: (draw(dy, k), None))))(
        1.0, key
    ),
    "jvp": lambda key: gx.jvp(lambda x: draw(x, key), (1.0,), (1.0,))[1],
}


@pytest.mark.in_turn(10)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_key_is_passed_on(name, compiled):
    fn = TRANSFORMS[name]
    np.testing.assert_allclose((gx.jit(fn) if compiled else fn)(KEY), EXPECTED, rtol=1e-6)
