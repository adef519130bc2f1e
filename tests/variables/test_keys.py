"""Which weights get which draws: by global seed, root and path; need 29."""

import numpy as np
import pytest

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.layers.layer import Layer
from graftax.variables.initializers import RandomNormal
from graftax.variables.keys import get_random_seed, variable_key
from graftax.variables.random import SeedGenerator, set_random_seed
from graftax.variables.variable import Variable

X = np.ones((1, 3), "float32")


class Scale(Layer):
    def __init__(self, initializer="glorot_uniform"):
        super().__init__()
        self.initializer = initializer

    def build(self, input_shape):
        self.kernel = self.add_weight((input_shape[-1], 3), self.initializer, name="kernel")

    def call(self, x):
        return x @ self.kernel


class Stack(Layer):
    def __init__(self, *blocks, **named):
        super().__init__()
        for name, block in named.items():
            setattr(self, name, block)
        self.blocks = list(blocks)

    def call(self, x):
        for block in [*[v for v in self.__dict__.values() if isinstance(v, Layer)], *self.blocks]:
            x = block(x)
        return x


def built(layer):
    layer(X)
    return {v.path: v.numpy() for v in layer.variables}


def same(a, b):
    return a.keys() == b.keys() and all((a[k] == b[k]).all() for k in a)


def test_kl16_set_random_seed_twice_gives_equal_models():
    set_random_seed(3)
    first = [built(Stack(Scale(), Scale())) for _ in range(2)]
    set_random_seed(3)
    again = [built(Stack(Scale(), Scale())) for _ in range(2)]
    set_random_seed(4)
    other = built(Stack(Scale(), Scale()))
    assert same(first[0], again[0])
    assert same(first[1], again[1])
    assert not same(first[0], other)


def test_equal_paths_in_two_roots_get_different_weights():
    a, b = built(Scale()), built(Scale())
    assert a.keys() == b.keys()
    assert (a["kernel"] != b["kernel"]).all()


def test_layers_of_one_model_differ_even_with_one_initializer_object():
    shared = RandomNormal()
    weights = list(built(Stack(Scale(shared), Scale(shared))).values())
    assert (weights[0] != weights[1]).all()


def test_adding_a_layer_elsewhere_changes_no_other_draws():
    set_random_seed(0)
    small = built(Stack(a=Scale(), c=Scale()))
    set_random_seed(0)
    large = built(Stack(a=Scale(), b=Scale(), c=Scale()))
    assert same(small, {path: large[path] for path in small})


def test_the_order_of_building_does_not_matter():
    set_random_seed(0)
    one = Stack(a=Scale(), b=Scale())
    one(X)
    set_random_seed(0)
    two = Stack(a=Scale(), b=Scale())
    two.b(X)
    two(X)
    assert (one.a.kernel.numpy() == two.a.kernel.numpy()).all()
    assert (one.b.kernel.numpy() == two.b.kernel.numpy()).all()


def test_lone_variables_differ():
    a, b = (Variable(shape=(3,), initializer="random_normal").numpy() for _ in range(2))
    assert (a != b).all()


def test_a_seeded_initializer_ignores_the_global_seed_but_not_the_path():
    weights = []
    for seed in (1, 2):
        set_random_seed(seed)
        weights.append(built(Stack(Scale(RandomNormal(seed=5)), Scale(RandomNormal(seed=5)), Scale())))
    one, two = weights
    assert (one["blocks/0/kernel"] == two["blocks/0/kernel"]).all()
    assert (one["blocks/0/kernel"] != one["blocks/1/kernel"]).all()
    assert (one["blocks/2/kernel"] != two["blocks/2/kernel"]).all()


def test_a_seeded_weight_shifts_nobody_elses_draws():
    results = []
    for initializer in ("random_normal", RandomNormal(seed=1)):
        set_random_seed(0)
        built(Scale(initializer))
        results.append(built(Scale()))
    assert same(*results)


def test_the_same_draws_on_both_backends():
    draws = {}
    for name in ("jax", "numpy"):
        set_random_seed(0)
        with registry.use(name):
            draws[name] = [Variable(shape=(50, 7), initializer=i).numpy() for i in ("glorot_uniform", "random_normal")]
    for a, b in zip(*draws.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_keys_are_two_uint32():
    key = variable_key(None, "a/b")
    assert (key.shape, str(key.dtype)) == ((2,), "uint32")
    assert (variable_key(None, "x", seed=1) == variable_key(None, "x", seed=1)).all()
    assert (variable_key(None, "x", seed=1) != variable_key(None, "y", seed=1)).any()


@pytest.mark.parametrize("bad", [-1, 2**64, 1.5, True, "1", None])
def test_a_seed_is_an_integer(bad):
    with pytest.raises(ArgumentError, match="a seed is an integer from 0"):
        set_random_seed(bad)


def test_seeds_of_any_integer_type():
    set_random_seed(np.int64(7))
    assert get_random_seed() == 7
    set_random_seed(2**64 - 1)
    assert SeedGenerator().next().shape == (2,)
