import ast
import inspect

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.layers import dense
from graftax.layers.call_context import call_context


def x(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def test_it_stays_under_40_lines_of_code():
    """Law 3: features graft from outside, so this class does not grow."""
    [cls] = [node for node in ast.parse(inspect.getsource(dense)).body if isinstance(node, ast.ClassDef)]
    docstrings = {
        line
        for node in ast.walk(cls)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    source = inspect.getsource(dense).splitlines()
    code = [
        n
        for n in range(cls.lineno, cls.end_lineno + 1)
        if n not in docstrings and source[n - 1].strip() and not source[n - 1].strip().startswith("#")
    ]
    assert 20 < len(code) < 40


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (2, 1, 3, 5), (0, 5), (2, 0, 5)])
def test_values(shape):
    layer = layers.Dense(4, activation="relu", bias_initializer="ones")
    out = layer(x(*shape))
    assert out.shape == (*shape[:-1], 4)
    np.testing.assert_allclose(out, np.maximum(x(*shape) @ layer.kernel.numpy() + 1, 0), rtol=1e-5, atol=1e-6)


def test_values_and_gradients_are_those_of_torch(torch):
    layer = layers.Dense(4, activation="gelu", bias_initializer="ones")
    layer(x(2, 3, 5))
    grads = gx.grad(lambda: ops.sum(layer(x(2, 3, 5)) ** 2), wrt=[layer.kernel, layer.bias])()
    kernel, bias = (torch.tensor(v.numpy(), requires_grad=True) for v in (layer.kernel, layer.bias))
    out = torch.nn.functional.gelu(torch.tensor(x(2, 3, 5)) @ kernel + bias)
    np.testing.assert_allclose(layer(x(2, 3, 5)), out.detach(), rtol=1e-5, atol=1e-6)
    (out**2).sum().backward()
    np.testing.assert_allclose(grads[0], kernel.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(grads[1], bias.grad, rtol=1e-4, atol=1e-5)


def test_without_a_bias():
    layer = layers.Dense(4, use_bias=False)
    np.testing.assert_allclose(layer(x(3, 5)), x(3, 5) @ layer.kernel.numpy(), rtol=1e-5, atol=1e-6)
    assert layer.bias is None
    assert [v.path for v in layer.variables] == ["kernel"]


def test_defaults():
    layer = layers.Dense(300)
    layer(x(2, 500))
    bound = np.sqrt(6 / 800)
    kernel = layer.kernel.numpy()
    assert abs(kernel).max() <= bound
    assert abs(kernel).max() > 0.99 * bound
    assert not layer.bias.numpy().any()
    assert [v.name for v in layer.variables] == ["kernel", "bias"]


def test_kl2_another_last_axis():
    layer = layers.Dense(2, name="head")
    layer(x(3, 4))
    for call in (layer, gx.jit(lambda x: layer(x))):
        with pytest.raises(gx.errors.ShapeError, match=r"last axis is 5(.|\n)*'head' \(Dense\)(.|\n)*made for 4"):
            call(x(3, 5))


def test_scalars_and_structures_are_refused():
    for wrong in (np.float32(1), {"a": x(2, 3)}, [x(2, 3), x(2, 3)]):
        with pytest.raises(gx.errors.ShapeError, match=r"layer 'dense' \(Dense\)"):
            layers.Dense(2)(wrong)


def test_integers_are_not_cast():
    with pytest.raises(gx.errors.DTypeError, match="cast"):
        layers.Dense(2)(np.ones((2, 3), "int32"))


def test_units_may_be_a_numpy_integer():
    layer = layers.Dense(np.array([3, 9]).max() + 1)
    assert layer(x(2, 5)).shape == (2, 10)
    assert type(layer.units) is int


@pytest.mark.parametrize("units", [0, -1, 2.0, True, None])
def test_units_are_checked(units):
    with pytest.raises(gx.errors.ArgumentError, match=r"units=(.|\n)*above 0\n.*units=[82]"):
        layers.Dense(units)


@pytest.mark.parametrize(
    "option", ["activation", "kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_constraint"]
)
def test_unknown_names_are_refused(option):
    with pytest.raises(gx.errors.ArgumentError, match="'nonsense'"):
        layers.Dense(2, **{option: "nonsense"})


def test_regularizers_are_collected():
    layer = layers.Dense(3, kernel_regularizer=gx.regularizers.L2(0.5), bias_regularizer=lambda b: ops.sum(b) + 7)
    layer(x(2, 4))
    kernel, bias = layer.losses
    assert float(kernel) == pytest.approx(0.5 * float((layer.kernel.numpy() ** 2).sum()), rel=1e-5)
    assert float(bias) == 7
    layer.kernel.trainable = False
    assert [float(loss) for loss in layer.losses] == [7]


def test_constraints_wait_at_the_variable():
    layer = layers.Dense(3, kernel_constraint="non_neg", bias_constraint=gx.constraints.UnitNorm())
    layer(x(2, 4))
    assert isinstance(layer.kernel.constraint, gx.constraints.NonNeg)
    assert isinstance(layer.bias.constraint, gx.constraints.UnitNorm)


def test_a_mask_passes():
    layer, data = layers.Dense(3), ops.asarray(x(2, 4, 5))
    mask = ops.asarray([[True, True, False, False]] * 2)
    with call_context() as context:
        context.set_mask(data, mask)
        out = layer(data)
        assert context.mask_of(out) is mask
