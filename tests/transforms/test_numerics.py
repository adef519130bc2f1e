"""find_nan, gradcheck, run_eagerly and fit(check_nans=True)."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import errors

ONES = np.ones((2, 3), "float32")


class Site(gx.Layer):
    """Makes a nan in the chosen way."""

    def __init__(self, how):
        super().__init__()
        self.how = how
        self.dense = gx.layers.Dense(3, kernel_initializer="ones")

    def call(self, x):
        return self.how(self.dense(x))


def in_scan(x):
    return gx.scan(lambda c, r: (ops.sqrt(c - r), c), x[0], x)[0]


def in_while(carry):
    return carry[0] + 1, ops.log(carry[1] - 4)


FORWARD = {
    "log": lambda x: ops.log(-x),
    "sqrt": lambda x: ops.sqrt(-x),
    "divide": lambda x: ops.divide(x - x, x - x),
    "power": lambda x: ops.power(-x, 0.5),
    "arcsin": lambda x: ops.arcsin(x + 1),
    "log1p": lambda x: ops.log1p(-x - 1),
    "subtract": lambda x: ops.subtract(ops.exp(x * 100), ops.exp(x * 100)),
    "multiply": lambda x: ops.multiply(ops.exp(x * 100), x - x),
    "inside a cond": lambda x: gx.cond(x[0, 0] > 0, lambda: ops.log(-x), lambda: x),
    "inside a scan": in_scan,
    "inside a while loop": lambda x: gx.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, ops.log(c[1] - 4)), (0, x))[
        1
    ],
    "inside remat": lambda x: gx.remat(lambda x: ops.log(-x))(x),
    "inside jit": lambda x: gx.jit(lambda x: ops.log(-x))(x),
    "rows": lambda x: gx.vectorized_map(lambda r: ops.log(-r), x),
}
BACKWARD = {
    "sqrt": lambda x: ops.sqrt(x - x),
    "power": lambda x: ops.power(x - x, 0.5),
    "norm": lambda x: ops.sqrt(ops.sum(ops.square(x - x), axis=-1)),
    "rule": gx.custom_gradient(lambda x: (x * 2, lambda g: ops.log(-g))),
    "masked": lambda x: ops.where(x > 100, ops.log(x - x), 0.0),
    "scan": lambda x: gx.scan(lambda c, r: (ops.sqrt(r - r) + c, None), x[0], x)[0],
}


@pytest.mark.broad
@pytest.mark.parametrize("backward", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["forward", "backward"])
def test_a_planted_nan_is_found_at_its_site(backward):
    missed = []
    for name, how in (BACKWARD if backward else FORWARD).items():
        model = gx.Sequential([Site(lambda x: x), Site(how)])
        model(ONES)
        before = [v.numpy() for v in model.variables]

        def step(model=model):
            return gx.grad(lambda: ops.sum(model(ONES)), wrt=model)()

        culprit = gx.find_nan(step) if backward else gx.find_nan(lambda model=model: model(ONES))
        found = culprit is not None and culprit.kind == "nan" and culprit.layer == "layers/1"
        if not found or culprit.backward != backward or culprit.place is None or culprit.place[0] != __file__:
            missed.append((name, str(culprit)))
        for v, old in zip(model.variables, before, strict=True):
            np.testing.assert_array_equal(v.numpy(), old)
    assert not missed, missed


def test_nan_of_constants_is_found():
    """The cotangent of a sum is a constant of the program."""
    rule = gx.custom_gradient(lambda x: (x * 2, lambda g: ops.log(-g)))
    w = gx.Variable([1.0, 2.0])
    culprit = gx.find_nan(lambda: gx.grad(lambda: ops.sum(rule(w * 3)), wrt=w)())
    assert (culprit.kind, culprit.op, culprit.backward) == ("nan", "log", True)


@pytest.mark.broad
def test_what_is_fine_or_comes_in_bad():
    x = np.array([1.0, np.inf, np.nan], "float32")
    assert gx.find_nan(lambda x: ops.sum(ops.where(ops.isfinite(x), x, 0.0)), x) is None
    assert "the argument 'x' has nan already" in str(gx.find_nan(lambda x: x + 1, x))
    w = gx.Variable([np.inf], name="w")
    assert gx.find_nan(lambda: w - w).infinity.given == "the Variable 'w'"
    culprit = gx.find_nan(lambda x: ops.exp(x * 100), 1.0)
    assert (culprit.kind, culprit.op) == ("inf", "exp")
    assert (culprit.inputs[0].low, culprit.outputs[0].infinities) == (100.0, 1)
    inside = gx.find_nan(lambda: gx.scan(lambda c, r: (c - 1.0, ops.log(c)), ops.asarray(1.5), None, length=3))
    assert inside.inside == ("step 2 of 3 of a scan",)


def test_fit_raises_at_the_bad_step_and_keeps_the_state_before_it():
    model = gx.Sequential([gx.layers.Dense(3), Site(ops.log), gx.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((6, 3), "float32")
    model(x)
    for v in (model.layers[0].kernel, model.layers[1].dense.kernel):
        v.assign(np.ones(v.shape, "float32"))
    x[4] = -1.0
    y = np.zeros((6, 1), "float32")
    with pytest.raises(errors.NumericsError, match=r"log made nan(.|\n)*layer: layers/1(.|\n)*epoch 1, step 3 of it"):
        model.fit(x, y, batch_size=2, shuffle=False, verbose=0, check_nans=True)
    assert all(np.isfinite(v.numpy()).all() for v in model.variables)
    assert int(model.optimizer.iterations) == 2
    model.fit(x[:4], y[:4], batch_size=2, verbose=0, check_nans=True)
    model.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(errors.ArgumentError, match="run_eagerly"):
        model.fit(x, y, verbose=0, check_nans=True)


def infinite(written):
    """Return a loss that is infinite, with finite gradients."""
    if written == "where":
        return lambda y, p: ops.where(p[:, 0] > 100, p[:, 0], float("inf"))
    if written == "add":
        return lambda y, p: ops.mean(p) * 0 + float("inf")
    return lambda y, p: ops.exp(gx.stop_gradient(ops.mean(p)) * 0 + 100) + ops.mean(p)


@pytest.mark.broad
@pytest.mark.parametrize("made_by", ["where", "add", "exp"])
def test_a_loss_that_is_infinite_alone(made_by):
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), infinite(made_by))
    written = made_by != "exp"
    reason = "it takes the number from a constant" if written else "what goes in is finite"
    told = rf"(?s)^{made_by} made inf.*the result 'loss' is inf.*{reason}"
    with pytest.raises(errors.NumericsError, match=told):
        model.fit(ONES, ONES[:, :1], verbose=0, check_nans=True)


@pytest.mark.broad
def test_gradcheck_names_the_worst_element():
    wrong = gx.custom_gradient(lambda x: (x**2, lambda g: ops.where(ops.arange(x.size) == 40, 0.0, 2 * g * x)))
    x = np.linspace(1, 2, 64, dtype="float32")
    with pytest.raises(errors.GradientError, match=r"args/0\[40\]: its gradient is 0"):
        gx.gradcheck(wrong, [x])
    right = gx.gradcheck(lambda x: x**2, [x])
    assert right.error < 1
    assert right.evaluations == 8
    layer = gx.Sequential([gx.layers.Dense(4, activation="tanh"), gx.layers.Dropout(0.5)])
    found = gx.gradcheck(lambda x: layer(x, training=True), [ONES], variables=layer)
    assert found.error < 1
    for args, variables in (([1], None), ([np.zeros((0,), "float32")], None)):
        with pytest.raises(errors.ArgumentError, match="nothing to check"):
            gx.gradcheck(lambda x: x, args, variables)


@pytest.mark.broad
def test_fn21_run_eagerly_gives_the_same_with_real_values():
    v, seeds, seen = gx.Variable(1.0), gx.SeedGenerator(3), []

    @gx.jit
    def step(x):
        v.assign_add(x)
        seen.append(x)
        draw = gx.random.uniform((2,), seed=seeds)
        return {"sum": v * 2 + gx.jit(lambda y: y + 1)(x), "draw": draw, "one": 1}

    def both(eager):
        v.assign(1.0)
        seeds.__init__(3)
        if not eager:
            return [step(2.0), step(3.0)], float(v)
        with gx.run_eagerly():
            results = [step(2.0), step(3.0)]
            assert [float(x) for x in seen[-2:]] == [2.0, 3.0]
            with pytest.raises(errors.CompileError, match="returned"):
                gx.jit(object)()
            return results, float(v)

    (compiled, end), (eager, same) = both(False), both(True)
    assert end == same
    for one, other in zip(compiled, eager, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(one[name], other[name])


def test_run_eagerly_for_good_and_undone_by_exceptions():
    v = gx.Variable(1.0)

    @gx.jit
    def fails():
        v.assign(5.0)
        raise KeyError

    gx.run_eagerly(True)
    try:
        with pytest.raises(KeyError):
            fails()
        assert float(v) == 1.0
        with gx.run_eagerly(False):
            traced = gx.jit(lambda x: x)
            traced(1.0)
        assert traced.trace_count == 1
        with pytest.raises(errors.CompileError, match="allow_callback"):
            gx.jit(lambda x: gx.py_function(lambda x: x, [x]))(1.0)
    finally:
        gx.run_eagerly(False)
    double = gx.jit(lambda x: x * 2)
    double(1.0)
    assert double.trace_count == 1
    with pytest.raises(errors.ArgumentTypeError):
        gx.run_eagerly("yes")
