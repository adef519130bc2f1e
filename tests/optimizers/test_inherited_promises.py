"""Subclasses of optimizers with an update of their own: compiled steps give what eager steps give."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops


def _moved(kind, compiled, steps=2):
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape).astype("float32") for shape in ((3, 2), (2, 3), (3,), (2,))]
    variables = [gx.Variable(value) for value in values]
    optimizer = kind(0.1)
    gradients = [rng.normal(size=value.shape).astype("float32") for value in values]

    def step():
        optimizer.apply(gradients, variables)

    run = gx.jit(step) if compiled else step
    for _ in range(steps):
        run()
    return [variable.numpy() for variable in variables]


def _normalized(base):
    class Normalized(base):
        def update(self, gradient, value, slots, step):
            factor = 10.0 if ops.ndim(gradient) == 1 else 1.0
            return super().update(factor * gradient / ops.norm(gradient), value, slots, step)

    return Normalized


@pytest.mark.broad
@pytest.mark.parametrize("base", [gx.optimizers.SGD, gx.optimizers.Adam], ids=["sgd", "adam"])
def test_a_rule_that_looks_at_whole_variables(base):
    kind = _normalized(base)
    for here, there in zip(_moved(kind, False), _moved(kind, True), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-5)


@pytest.mark.slow
def test_of_every_elementwise_optimizer():
    known = [getattr(gx.optimizers, name) for name in dir(gx.optimizers)]
    kinds = {one for one in known if getattr(one, "elementwise", False)}
    assert len(kinds) >= 20
    for base in sorted(kinds, key=lambda one: one.__name__):
        kind = _normalized(base)
        assert kind.elementwise is False
        for here, there in zip(_moved(kind, False), _moved(kind, True), strict=True):
            np.testing.assert_allclose(here, there, rtol=2e-5, err_msg=base.__name__)


@pytest.mark.broad
def test_an_update_put_on_one_object():
    def changed(rate):
        optimizer = gx.optimizers.SGD(rate)
        rule = optimizer.update
        object.__setattr__(optimizer, "update", lambda g, value, slots, step: rule(g / ops.norm(g), value, slots, step))
        return optimizer

    for here, there in zip(_moved(changed, False), _moved(changed, True), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-5)


def test_lazy_rows_need_the_promise():
    layer = gx.layers.Embedding(4, 2)
    layer.build((None,))
    optimizer = _normalized(gx.optimizers.SGD)(0.1, lazy=True)
    rows = gx.IndexedRows(np.array([1]), np.ones((1, 2), "float32"), (4, 2))
    with pytest.raises(gx.errors.ArgumentError, match="does not promise to be elementwise"):
        optimizer.apply([rows], [layer.embeddings])


class Ignoring(gx.optimizers.LAMB):
    def update(self, gradient, value, slots, step):
        return value - step.learning_rate * gradient, {}


class Using(gx.optimizers.LAMB):
    def update(self, gradient, value, slots, step):
        return super().update(2.0 * gradient, value, slots, step)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_decay_that_nobody_takes(compiled):
    w = gx.Variable([1.0, 2.0])
    optimizer = Ignoring(0.1, weight_decay=0.1)

    def step():
        optimizer.apply([[1.0, 1.0]], [w])

    run = gx.jit(step) if compiled else step
    with pytest.raises(gx.errors.ArgumentError, match="Ignoring.update with weight_decay=0.1") as caught:
        run()
    assert "decays_inside = False" in caught.value.instead
    assert w.numpy().tolist() == [1.0, 2.0]
    assert int(optimizer.iterations) == 0


def test_a_decay_that_is_taken_or_off():
    w = gx.Variable([1.0, 2.0])
    Ignoring(0.5).apply([[1.0, 1.0]], [w])
    assert w.numpy().tolist() == [0.5, 1.5]
    Using(0.1, weight_decay=0.1).apply([[1.0, 1.0]], [w])

    class Outside(Ignoring):
        decays_inside = False

    w.assign([1.0, 2.0])
    Outside(0.5, weight_decay=0.5).apply([[0.0, 0.0]], [w])
    assert w.numpy().tolist() == [0.75, 1.5]


def test_update_all_that_ignores_the_decay():
    class Plain(gx.optimizers.Prodigy):
        def update_all(self, moving):
            return [(one.value - one.gradient, {}) for one in moving]

    w = gx.Variable([1.0, 2.0])
    with pytest.raises(gx.errors.ArgumentError, match="Plain.update_all with weight_decay"):
        Plain(weight_decay=0.1).apply([[1.0, 1.0]], [w])
