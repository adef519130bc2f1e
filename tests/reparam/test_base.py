"""Reparam: a hand-written factorisation behind any weight, read, assigned, differentiated, computed once."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import AssignmentError, ShapeError
from graftax.layers.layer import Layer
from graftax.reparam.base import Reparam
from graftax.transforms.compile.jit import jit
from graftax.transforms.functional import functional_call, state
from graftax.transforms.gradients.grad import grad, value_and_grad
from graftax.variables.creation import variable_creator_scope
from graftax.variables.graph.module import Module
from graftax.variables.state import storage
from graftax.variables.variable import Variable

X = np.random.default_rng(0).normal(size=(2, 4)).astype("float32")


class Factorised(Reparam):
    """The one of the second walkthrough, which counts how often it is computed."""

    def __init__(self, next_creator, spec, rank=2):
        super().__init__(spec)
        rows, columns = spec.shape
        self.left = next_creator(spec.replace(name="left", shape=(rows, rank)))
        self.right = next_creator(spec.replace(name="right", shape=(rank, columns)))

    def forward(self):
        counts.append(self)
        return ops.matmul(self.left, self.right)


class Scaled(Reparam):
    """A part times a plain number."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.factor = 2.0
        self.part = next_creator(spec.replace(name="part"))

    def forward(self):
        return self.part * self.factor

    def inverse(self, value):
        self.part.assign(value / self.factor)


counts: list[Reparam] = []


def factorise(next_creator, spec):
    return Factorised(next_creator, spec) if len(spec.shape) == 2 else next_creator(spec)


def sum_of_squares(w):
    return ops.sum(w * w)


class Scale(Layer):
    def build(self, input_shape):
        self.kernel = self.add_weight((4, 3), name="kernel", regularizer=sum_of_squares, constraint=self.clip)
        self.bias = self.add_weight((3,), "zeros", name="bias")

    clip = None

    def call(self, x):
        return ops.matmul(x, self.kernel) + self.bias


@pytest.fixture
def layer():
    with variable_creator_scope(factorise):
        built = Scale()
        built(X)
    return built


@pytest.fixture
def w(layer):
    return layer.kernel


def dense(w):
    return w.left.numpy() @ w.right.numpy()


# --- reading --------------------------------------------------------------------------------------------------------


def test_fv1_through_ops_with_gradients_to_both_halves(w):
    assert isinstance(w, Factorised)
    np.testing.assert_allclose(ops.matmul(X, w), X @ dense(w), rtol=1e-5)
    left, right = value_and_grad(lambda: ops.sum(ops.matmul(X, w)), wrt=[w.left, w.right])()[1]
    ones = np.ones((2, 3), "float32")
    np.testing.assert_allclose(left, X.T @ ones @ w.right.numpy().T, rtol=1e-5)
    np.testing.assert_allclose(right, w.left.numpy().T @ X.T @ ones, rtol=1e-5)


def test_fv2_with_arrays_on_the_other_side(w):
    for x in (X, jnp.asarray(X), Variable(X)):
        np.testing.assert_allclose(np.asarray(x @ w), X @ dense(w), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(w @ np.ones(3, "float32")), dense(w) @ np.ones(3), rtol=1e-5)


def test_fv3_operators_and_shape(w):
    np.testing.assert_allclose(w + 1.0, dense(w) + 1, rtol=1e-5)
    np.testing.assert_allclose(1.0 - w, 1 - dense(w), rtol=1e-5)
    np.testing.assert_allclose(w[0], dense(w)[0], rtol=1e-5)
    assert (len(w), w.shape, w.dtype, w.ndim, w.size) == (4, (4, 3), "float32", 2, 12)


def test_fv4_ops_of_every_kind_convert(w):
    np.testing.assert_allclose(ops.reshape(w, (12,)), dense(w).ravel(), rtol=1e-5)
    np.testing.assert_allclose(ops.einsum("ij->", w), dense(w).sum(), rtol=1e-5)
    np.testing.assert_allclose(ops.concatenate([w, w]), np.vstack([dense(w)] * 2), rtol=1e-5)
    assert ops.cast(w, "float16").dtype == np.float16


def test_fv5_numpy(w):
    assert np.asarray(w).dtype == np.float32
    np.testing.assert_allclose(np.asarray(w), dense(w), rtol=1e-5)


def test_fv8_only_leaves_are_listed(layer):
    assert [v.path for v in layer.trainable_variables] == ["kernel/left", "kernel/right", "bias"]
    assert all(type(v) is Variable for v in layer.variables)
    assert layer.kernel.path == "kernel"
    assert layer.kernel.name == "kernel"


def test_on_the_reference_backend():
    with registry.use("numpy"), variable_creator_scope(factorise):
        layer = Scale()
        np.testing.assert_allclose(layer(X), X @ dense(layer.kernel), rtol=1e-5)


# --- assigning ------------------------------------------------------------------------------------------------------


def test_fv6_without_an_inverse_assignment_names_the_parts(w):
    for act in (lambda: w.assign(np.ones((4, 3), "float32")), lambda: w.assign_add(np.ones((4, 3), "float32"))):
        with pytest.raises(AssignmentError, match=r"'kernel', which Factorised computes") as caught:
            act()
        assert "kernel/left, kernel/right" in caught.value.instead


def test_fv6_with_an_inverse():
    with variable_creator_scope(Scaled):
        w = Variable([1.0, 2.0])
    assert w.assign([6.0, 8.0]) is w
    assert w.part.numpy().tolist() == [3.0, 4.0]
    v = w
    v += 1
    v *= 2
    v.assign_sub([1.0, 1.0])
    assert v is w
    assert w.numpy().tolist() == [13.0, 17.0]
    with pytest.raises(AssignmentError, match=r"assign\(\) got shape \(3,\)"):
        w.assign([1.0, 2.0, 3.0])
    with pytest.raises(AssignmentError, match="got dtype float16"):
        w.assign(np.ones(2, "float16"))


def test_without_forward():
    with variable_creator_scope(lambda next_creator, spec: Reparam(spec)):
        w = Variable([1.0])
    with pytest.raises(NotImplementedError, match="Reparam must define forward"):
        w.value  # noqa: B018


# --- gradients, regularizer, constraint -----------------------------------------------------------------------------


def test_fv7_the_gradient_with_respect_to_it_is_a_structure(w):
    gradients = grad(lambda: ops.sum(w.value), wrt=w)()
    assert {path: g.shape for path, g in gradients.items()} == {"left": (4, 2), "right": (2, 3)}
    mixed = grad(lambda: ops.sum(w.value), wrt=[w, w.left])()
    assert sorted(mixed[0]) == ["left", "right"]
    np.testing.assert_allclose(mixed[0]["left"], mixed[1])


def test_fv10_the_regularizer_sees_the_product(layer):
    (penalty,) = layer.losses
    np.testing.assert_allclose(penalty, (dense(layer.kernel) ** 2).sum(), rtol=1e-5)
    assert layer.kernel.regularizer is not None
    assert layer.kernel.left.regularizer is None


def test_fv10_the_constraint_is_part_of_the_expression():
    class Clipped(Scale):
        def clip(self, w):
            return ops.clip(w, -0.1, 0.1)

    with variable_creator_scope(factorise):
        layer = Clipped()
        layer(X)
    np.testing.assert_allclose(layer.kernel.numpy(), dense(layer.kernel).clip(-0.1, 0.1), rtol=1e-5)
    assert layer.kernel.left.constraint is None


# --- computed once --------------------------------------------------------------------------------------------------


def test_computed_once_in_a_compiled_function_and_again_after_a_write(w):
    @jit
    def three_reads():
        return w.value + w.value + w.value

    @jit
    def read_write_read():
        before = w.value
        w.left.assign(w.left * 2)
        return before, w.value

    counts.clear()
    np.testing.assert_allclose(three_reads(), 3 * dense(w), rtol=1e-5)
    assert len(counts) == 1
    counts.clear()
    before, after = read_write_read()
    assert len(counts) == 2
    np.testing.assert_allclose(after, 2 * before, rtol=1e-5)


def test_the_product_is_in_the_program_once(layer):
    program = jax.make_jaxpr(lambda s, x: functional_call(layer, s, x)[0] + layer_twice(layer, s, x))(state(layer), X)
    text = str(program)
    assert text.count("dot_general") == 2 + 3  # one call: product and use; two calls in one: one product, two uses


def layer_twice(layer, given, x):
    class Twice(Module):
        def __init__(self):
            self.layer = layer

        def __call__(self, x):
            return self.layer(x) + self.layer(2 * x)

    return functional_call(Twice(), {f"layer/{path}": value for path, value in given.items()}, x)[0]


def test_a_cached_value_does_not_cut_gradients(w):
    """Read before the gradient, then inside it, in one compiled function."""

    def loss():
        return ops.sum(w.value**2)

    @jit
    def step():
        outside = ops.sum(w.value)
        value, gradients = value_and_grad(loss, wrt=w)()
        again = ops.sum(w.value)
        return outside, value, gradients, again

    outside, _, gradients, again = step()
    expected = 2 * dense(w)
    np.testing.assert_allclose(gradients["left"], expected @ w.right.numpy().T, rtol=1e-5)
    np.testing.assert_allclose(gradients["right"], w.left.numpy().T @ expected, rtol=1e-5)
    np.testing.assert_allclose([outside, again], [dense(w).sum()] * 2, rtol=1e-5)


def test_nested_gradients_see_their_own_value():
    with variable_creator_scope(Scaled):
        w = Variable(3.0)

    def cube():
        return w.value * w.value * w.value  # (2 p)^3

    @jit
    def step():
        w.value  # noqa: B018
        return value_and_grad(lambda: cube() * 0 + grad(cube, wrt=w.part)(), wrt=w.part)()  # 24 p^2

    w.part.assign(1.5)
    value, second = step()
    assert (float(value), float(second)) == (24 * 1.5**2, 48 * 1.5)


def test_a_write_inside_a_gradient_is_seen_after_it():
    with variable_creator_scope(Scaled):
        w = Variable(1.0)

    @jit
    def step():
        before = w.value

        def loss():
            w.part.assign_add(1.0)
            return w.value * 1.0

        value, _ = value_and_grad(loss, wrt=[w.part])()
        return before, value, w.value

    before, inside, after = (float(x) for x in step())
    assert (before, inside, after) == (2.0, 4.0, 4.0)
    assert float(w.value) == 4.0


def test_a_plain_number_changed_between_two_reads_of_one_trace_counts():
    with variable_creator_scope(Scaled):
        w = Variable(1.0)

    @jit
    def read_twice():
        w.factor = 2.0
        a = w.value
        w.factor = 5.0
        return a, w.value

    assert [float(x) for x in read_twice()] == [2.0, 5.0]


def test_a_plain_number_changed_between_calls_traces_again():
    with variable_creator_scope(Scaled):
        w = Variable(1.0)
    read = jit(lambda: w.value)
    assert float(read()) == 2.0
    w.factor = 3.0
    assert (float(read()), read.trace_count) == (3.0, 2)


def test_autocast_has_a_value_of_its_own(w):
    @jit
    def both():
        full = w.value
        with storage.autocast.entered("bfloat16"):
            half = w.value
        return full, half, w.value

    assert [str(x.dtype) for x in both()] == ["float32", "bfloat16", "float32"]


def test_inside_foreign_scan_and_vmap_of_a_compiled_function(w):
    scanned = jit(lambda x: jax.lax.scan(lambda c, row: (c + row @ w.value, None), jnp.zeros(3), x)[0])
    mapped = jit(lambda x: jax.vmap(lambda row: row @ w.value)(x))
    np.testing.assert_allclose(scanned(X), (X @ dense(w)).sum(0), rtol=1e-5)
    np.testing.assert_allclose(mapped(X), X @ dense(w), rtol=1e-5)


# --- need 10: copies, composition, freezing -------------------------------------------------------------------------


def test_copies(layer):
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer.kernel))):
        inner = twin.kernel if isinstance(twin, Layer) else twin
        np.testing.assert_array_equal(inner.numpy(), layer.kernel.numpy())
        inner.left.assign_add(np.ones((4, 2), "float32"))
        assert (inner.numpy() != layer.kernel.numpy()).any()


def test_composed():
    with variable_creator_scope(Scaled), variable_creator_scope(factorise):
        w = Variable(shape=(4, 3), name="w")
    assert [v.path for v in w.variables] == ["left/part", "right/part"]
    np.testing.assert_allclose(w.numpy(), 4 * w.left.part.numpy() @ w.right.part.numpy(), rtol=1e-5)


def test_freezing(layer):
    layer.kernel.trainable = False
    assert [v.path for v in layer.trainable_variables] == ["bias"]


def test_repr(w):
    assert repr(w) == "Factorised('kernel', shape=(4, 3), dtype=float32)"


def test_a_value_of_another_shape_names_the_expression():
    class Turned(Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.weight = next_creator(spec.replace(name="weight"))

        def forward(self):
            return ops.transpose(self.weight)

    with variable_creator_scope(Turned):
        w = Variable(np.zeros((3, 4), "float32"), name="kernel")
    with pytest.raises(ShapeError, match=r"Turned\.forward of .* gave shape \(4, 3\)") as error:
        w.numpy()
    assert "(3, 4)" in error.value.reason
