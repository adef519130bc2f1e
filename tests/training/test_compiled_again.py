"""A model that is compiled again with the same objects is as after the first time, whatever these hold."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import tree
from tests.training.losses_built_late import Lazy, Learned

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


class Scaled(gx.losses.Loss):
    """A trained scale, a counter, random noise."""

    def __init__(self):
        super().__init__()
        self.scale = gx.Variable(1.0)
        self.calls = gx.Variable(0.0, trainable=False)
        self.seed = gx.SeedGenerator(1)

    def call(self, y_true, y_pred):
        self.calls.assign_add(1.0)
        noise = 0.1 * gx.random.normal(y_pred.shape, seed=self.seed)
        return ops.mean((y_true - y_pred * self.scale + noise) ** 2, axis=-1)


class Inner(gx.losses.Loss):
    """Holds another loss."""

    def __init__(self):
        super().__init__()
        self.inner = Scaled()

    def call(self, y_true, y_pred):
        return self.inner.call(y_true, y_pred)


class Share(gx.metrics.Metric):
    """Has Variables."""

    def __init__(self):
        super().__init__()
        self.total = self.add_variable((), name="total")

    def update(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(ops.mean(y_pred))

    def result(self):
        return self.total.value


class Penalty(gx.Module):
    """A regularizer with a Variable."""

    def __init__(self):
        self.factor = gx.Variable(0.5)

    def __call__(self, value):
        return ops.sum((self.factor * value) ** 2)


ARGUMENTS = {
    "loss": lambda: {"loss": Scaled()},
    "its method": lambda: {"loss": Scaled().call},
    "in another": lambda: {"loss": Inner()},
    "unbuilt": lambda: {"loss": Learned()},
    "lazy": lambda: {"loss": Lazy()},
    "by name": lambda: {"loss": {"a": Scaled(), "b": "mse"}},
    "in a list": lambda: {"loss": ["mse", Scaled()]},
    "one for both": lambda: {"loss": dict.fromkeys("ab", Scaled())},
    "factor": lambda: {"loss": "mse", "loss_weights": {"a": gx.Variable(0.5, trainable=False), "b": 1.0}},
    "metric": lambda: {"loss": "mse", "metrics": [Share()]},
    "weighted metric": lambda: {"loss": Scaled(), "weighted_metrics": [Share()]},
    "optimizer": lambda: {"loss": Scaled(), "optimizer": gx.optimizers.Adam(0.1)},
    "optimizers": lambda: {
        "loss": "mse",
        "optimizer": gx.optimizers.SGD(0.1, rules=[("**/bias", {"optimizer": gx.optimizers.Adam(0.1)})]),
    },
}

LATE = ("unbuilt", "lazy")


def _model(arguments, times):
    gx.set_random_seed(0)
    x = gx.Input((3,))
    several = any(isinstance(arguments.get(name), dict | list) for name in ("loss", "loss_weights"))
    outputs = {name: gx.layers.Dense(3, kernel_regularizer=Penalty())(x) for name in "ab"}
    model = gx.Model(x, outputs if several else outputs["a"])
    for _ in range(times):
        model.compile(**{"optimizer": gx.optimizers.SGD(0.1), **arguments})
    return model


def _values(model):
    found = {path: value.numpy() for path, value in model.named_variables().items()}
    return found | {f"optimizer/{path}": value.numpy() for path, value in model.optimizer.named_variables().items()}


def _require_equal(one, other):
    ours, theirs = _values(one), _values(other)
    assert list(ours) == list(theirs)
    for path, value in ours.items():
        np.testing.assert_array_equal(value, theirs[path], err_msg=path)


def _fit(model):
    y = _targets(model)
    model.fit(X, y, epochs=2, batch_size=4, shuffle=False, verbose=0)
    return model


@pytest.mark.in_turn(15, broad=4)
@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("kind", ARGUMENTS)
def test_it_is_as_after_the_first_time(kind, times, tmp_path):
    once = _model(ARGUMENTS[kind](), 1)
    paths = [[v.path for v in some] for some in (once.variables, once.trainable_variables)]
    _fit(once)
    again = _model(ARGUMENTS[kind](), times)
    assert [[v.path for v in some] for some in (again.variables, again.trainable_variables)] == paths
    _require_equal(once, _fit(again))
    again.save_weights(tmp_path / "w")
    fresh = _model(ARGUMENTS[kind](), times)
    fresh.load_weights(tmp_path / "w")
    twin = copy.deepcopy(again)
    assert twin.evaluate(X, _targets(twin), verbose=0) == again.evaluate(X, _targets(again), verbose=0)
    _require_equal(_fit(twin), _fit(again))
    assert again.compiled_loss is not twin.compiled_loss if hasattr(again, "compiled_loss") else True


def _classes(model):
    given = tree.flatten(list(model.objectives.given_arguments().values()))
    return list({Penalty, *(type(one) for one in given if type(one).__module__ == __name__)})


def _targets(model):
    return {"a": X, "b": X} if isinstance(model(X), dict) else X


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", [kind for kind in ARGUMENTS if kind not in ("its method", *LATE)])
def test_a_model_that_was_loaded_is_compiled_again(kind, tmp_path):
    model = _fit(_model(ARGUMENTS[kind](), 1))
    model.save(tmp_path / "m")
    loaded = gx.load_model(tmp_path / "m", custom=_classes(model))
    _require_equal(model, loaded)
    for _ in range(2):
        given = loaded.objectives.given_arguments()
        loaded.compile(
            loaded.optimizer, given["loss"], given["metrics"], given["weighted_metrics"], given["loss_weights"]
        )
        assert list(loaded.named_variables()) == list(model.named_variables())
    if given["metrics"] is None and given["weighted_metrics"] is None:
        _require_equal(_fit(loaded), _fit(model))


@pytest.mark.broad
@pytest.mark.parametrize("kind", LATE)
def test_a_file_of_a_whole_model_says_that_its_loss_is_built_by_a_call(kind, tmp_path):
    model = _fit(_model(ARGUMENTS[kind](), 1))
    with pytest.raises(gx.errors.ArgumentError, match="compiled_loss"):
        model.save(tmp_path / "m")


def test_the_loss_that_a_model_holds_is_given_again():
    model = _model({"loss": Scaled()}, 1)
    for _ in range(3):
        model.compile("sgd", model.compiled_loss)
        assert [v.path for v in model.trainable_variables][-1] == "compiled_loss/scale"


@pytest.mark.broad
def test_a_loss_is_given_to_one_model_and_its_outer_one():
    loss = Scaled()
    inner = _model({"loss": loss}, 1)
    outer = gx.Sequential([gx.Input((3,)), inner])
    for _ in range(3):
        outer.compile(gx.optimizers.SGD(0.1), loss)
        before = float(loss.scale)
        outer.fit(X, X, verbose=0)
        assert float(loss.scale) != before
