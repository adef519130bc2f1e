"""A loss depends on what gives it no rows: compiled steps train that as eager ones do, with a gradient of 0."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.testing.gradient_checks import DIFFERENTIABLE, FIRST, SMOOTH
from graftax.backend.testing.op_cases import INPUTS
from graftax.errors import GraftaxError
from graftax.transforms.gradients.grad import reached_value_and_grad

NONE = np.zeros(0, "int32")
ROWS = np.ones((4, 3), "float32")
USES = {
    "scatter": lambda rows: ops.scatter(NONE[:, None], rows, (4, 3)),
    "scatter_add": lambda rows: ops.scatter_add(ROWS, NONE, rows),
    "scatter_update": lambda rows: ops.scatter_update(ROWS, NONE[:, None], rows),
    "segment_sum": lambda rows: ops.segment_sum(rows, NONE, 4),
    "segment_mean": lambda rows: ops.segment_mean(rows, NONE, 4),
    "segment_max": lambda rows: ops.where(np.arange(4)[:, None] < 0, ops.segment_max(rows, NONE, 4), 0.0),
    "segment_softmax": lambda rows: ops.segment_softmax(rows, NONE, 4),
    "take": lambda rows: ops.concatenate([rows, ROWS], 0),
    "relu": lambda rows: ops.segment_sum(ops.relu(rows), NONE, 4),
    "where": lambda rows: ops.where(ROWS[:0] > 0, 0.0, rows),
    "logsumexp": lambda rows: ops.logsumexp(rows, axis=1),
    "sum": lambda rows: ops.sum(rows, axis=0),
}


def weight_after(use, compiles):
    """Return a weight after steps in which it meets no rows, with decay and momentum from one in which it met some."""
    weight = gx.Variable(np.full((2, 3), 1.0, "float32"))
    other = gx.Variable(np.ones(3, "float32"))
    optimizer = gx.optimizers.SGD(0.1, momentum=0.9, weight_decay=0.1)
    optimizer.apply([np.ones((2, 3), "float32"), np.ones(3, "float32")], [weight, other])

    def step(places):
        def loss():
            return ops.sum(USES[use](ops.take(weight.value, places, axis=0)) ** 2) + ops.sum(other.value**2)

        optimizer.minimize(loss, [weight, other])

    run = gx.jit(step) if compiles else step
    for _ in range(2):
        run(NONE)
    return weight.numpy()


@pytest.mark.parametrize("use", USES)
def test_compiled_as_eager(use):
    eager = weight_after(use, False)
    np.testing.assert_allclose(weight_after(use, True), eager, rtol=1e-6)
    value, speed = 1.0, 0.0
    for gradient in (1.0, 0.0, 0.0):
        value, speed = value * (1 - 0.1 * 0.1), 0.9 * speed - 0.1 * gradient
        value += speed
    np.testing.assert_allclose(eager, np.full((2, 3), value), rtol=1e-5)


@pytest.mark.parametrize(("axis", "places"), [(0, (0,)), (1, (0, 2)), (-1, (3, 0)), (None, (0, 2))])
def test_the_shape_of_what_is_taken(axis, places):
    x, indices = np.ones((4, 3, 2), "float32"), np.zeros(places, "int32")
    found = ops.take(x, indices, axis=axis)
    assert found.shape == np.take(x, indices, axis).shape
    assert found.dtype == x.dtype


def without_elements(value, axis):
    """Return a value with nothing along an axis, and lists of such."""
    if isinstance(value, (list, tuple)) and any(isinstance(one, np.ndarray) for one in value):
        return type(value)(without_elements(one, axis) for one in value)
    if isinstance(value, np.ndarray) and value.ndim > axis:
        return np.take(value, np.zeros(0, int), axis)
    return value


def empty_calls(name):
    """Yield calls of an op with one floating array that has no elements: a function of the array, and the array."""
    for args, options in [SMOOTH[name]] if name in SMOOTH else INPUTS[name]:
        place = FIRST.get(name, 0)
        for axis in range(2):
            for every in (True, False):
                given = [without_elements(v, axis) if every or i == place else v for i, v in enumerate(args)]
                many = isinstance(given[place], (list, tuple))
                x = np.asarray(given[place][0] if many else given[place])
                if x.size or x.dtype.kind != "f":
                    continue

                def call(x, given=given, options=options, place=place, many=many):
                    value = [x, *given[place][1:]] if many else x
                    return getattr(ops, name)(*given[:place], value, *given[place + 1 :], **options)

                yield call, x


CUT = set(
    "diag diagonal gather_nd take_along_axis median quantile percentile nanmedian nanquantile nanpercentile prod "
    "nanprod image.affine_transform image.map_coordinates unstack".split()
)
"""Ops that JAX computes as constants where they have no elements: what lies before rests in such a step."""


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(set(DIFFERENTIABLE) - CUT))
def test_every_op_of_no_elements_depends_on_its_input(name):
    for call, x in empty_calls(name):
        weight = gx.Variable(x)

        def loss(call=call, weight=weight):
            found = call(weight * 1.0)
            parts = found if isinstance(found, (tuple, list)) else [found]
            return sum((ops.sum(part) for part in parts), ops.zeros(())), None

        try:
            _, (gradient,) = reached_value_and_grad(loss, [weight], lambda _: None)()
        except GraftaxError:  # there is no such thing for no elements
            continue
        assert gradient is not None, (name, x.shape)
