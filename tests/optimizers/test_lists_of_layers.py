"""Where Variables are asked for, a list of layers is refused at once, and the line that is told works."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import ArgumentTypeError, GradientError

X = np.ones((4, 3), "float32")

KINDS = {
    "list": lambda parts: parts,
    "tuple": lambda parts: (*parts,),
    "dict": lambda parts: dict(zip("ab", parts, strict=True)),
    "nested": lambda parts: [[parts[0]], (parts[1],)],
    "beside Variables": lambda parts: [*parts[0].trainable_variables, parts[1]],
}
OPTIMIZERS = {
    "SGD": lambda: gx.optimizers.SGD(0.1),
    "LBFGS": gx.optimizers.LBFGS,
    "SAM": lambda: gx.optimizers.SAM(gx.optimizers.SGD(0.1)),
    "Sophia": gx.optimizers.Sophia,
}
WAYS = {
    "minimize": lambda optimizer, parts, given: optimizer.minimize(lambda: loss(parts), given),
    "build": lambda optimizer, parts, given: optimizer.build(given),
    "apply": lambda optimizer, parts, given: optimizer.apply(
        [ops.ones_like(v) for v in parts[0].trainable_variables], given
    ),
}


def half_built():
    """Two layers, of which only the first one has its weights."""
    parts = [layers.Dense(3), layers.Dense(2)]
    parts[0](X)
    return parts


def loss(parts):
    return ops.mean((parts[1](parts[0](X)) - 1.0) ** 2)


@pytest.mark.in_turn(14, broad=9)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("optimizer", "way"), [*((name, "minimize") for name in OPTIMIZERS), ("SGD", "build"), ("SGD", "apply")]
)
def test_a_structure_of_layers_is_refused(optimizer, kind, way):
    parts = half_built()
    before, made = parts[0].kernel.numpy(), OPTIMIZERS[optimizer]()
    with pytest.raises(ArgumentTypeError, match=r"got 'dense' \(Dense\) as variable") as caught:
        WAYS[way](made, parts, KINDS[kind](parts))
    np.testing.assert_array_equal(parts[0].kernel.numpy(), before)
    assert not parts[1].built
    loss(parts)
    variables = eval(caught.value.instead.partition(", once")[0], {"parts": parts})
    made.minimize(lambda: loss(parts), variables)
    assert all(np.asarray(v.value).any() for v in variables)
    assert not np.array_equal(parts[0].kernel.numpy(), before)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", ["list", "tuple", "dict", "beside Variables"])
def test_gradients_take_built_layers_only(kind):
    parts = half_built()
    with pytest.raises(GradientError, match="made 'kernel', 'bias'"):
        gx.value_and_grad(lambda: loss(parts), wrt=KINDS[kind](parts))()
    assert gx.value_and_grad(lambda: loss(parts), wrt=KINDS[kind](parts))()[0] > 0
