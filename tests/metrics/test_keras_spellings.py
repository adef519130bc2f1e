"""Metrics as people write and call them for Keras."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import losses, metrics, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, MissingAttributeError


class Positives(metrics.Metric):
    """Written for Keras: every method has its name."""

    def __init__(self, name="positives", **options):
        super().__init__(name=name, **options)
        self.total = self.add_weight(name="total", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(ops.sum(ops.cast(ops.asarray(y_true), "float32")))

    def result(self):
        return self.total

    def reset_state(self):
        super().reset_state()
        self.total.assign_add(0.5)


class Distance(metrics.Mean):
    """A mean of what its own update computes."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        super().update_state(ops.abs(ops.asarray(y_true) - ops.asarray(y_pred)), sample_weight)


class Doubled(Distance):
    def update(self, y_true, y_pred, sample_weight=None):
        super().update(y_true, y_pred, sample_weight)
        super().update_state(y_true, y_pred, sample_weight)


class Noted:
    def update_state(self, value):
        self.seen = value


class FromMixin(Noted, metrics.Mean):
    pass


def test_a4_every_metric_has_both_spellings():
    for cls in vars(metrics).values():
        if isinstance(cls, type) and issubclass(cls, metrics.Metric) and cls is not metrics.Metric:
            assert cls.update is cls.update_state
            assert cls.reset is cls.reset_state
    metric = metrics.MeanSquaredError()
    metric.update_state([[0.0]], [[2.0]])
    assert float(metric.result()) == 4
    metric.reset_state()
    assert float(metric.result()) == 0


def test_a4_what_a_subclass_defines_runs_under_either_name():
    metric = Positives()
    metric.update([1, 1], [0, 0])
    assert float(metric([1], [0])) == 3
    metric.reset()
    assert float(metric.result()) == 0.5
    assert [v.path for v in metric.variables] == ["total"]
    assert (metric.total.shape, metric.total.role) == ((), "metric")


@pytest.mark.broad
def test_a4_overridden_methods_of_built_in_metrics_are_never_passed_over():
    for metric, count in ((Distance(), 2), (Doubled(), 4)):
        assert float(metric([1.0, 2.0], [1.0, 5.0])) == 1.5
        assert float(metric.count) == count
        step = gx.jit(lambda y, p, metric=metric: metric.update(y, p))
        step(np.ones(2, "float32"), np.zeros(2, "float32"))
        assert float(metric.count) == 2 * count
    metric = FromMixin()
    metric.update(7)
    assert metric.seen == 7
    for other in (copy.deepcopy(Distance()), pickle.loads(pickle.dumps(Distance()))):
        assert float(other([1.0], [3.0])) == 2


def test_a4_two_methods_of_one_meaning_are_refused():
    with pytest.raises(
        ArgumentTypeError, match=r"(?s)Torn defines both update and update_state.*update_state = update"
    ):

        class Torn(metrics.Mean):
            def update(self, values):
                pass

            def update_state(self, values):
                pass

    class Same(metrics.Mean):
        def update(self, values):
            super().update(values)

        update_state = update

    assert float(Same()([2.0])) == 2


def test_a4_a_name_in_place_of_a_shape():
    with pytest.raises(ArgumentTypeError, match=r'(?s)the shape comes first.*name="total"'):
        metrics.Mean().add_weight("total")


@pytest.mark.parametrize("name", ["MatthewsCorrelation", "cohen_kappa"])
def test_a5_metrics_that_there_are_not_say_so_and_suggest_no_other(name):
    with pytest.raises(ArgumentError) as caught:
        metrics.get(name)
    assert caught.value.reason == "graftax has no such metric"
    assert "metric='" not in caught.value.instead
    assert "Metric of your own" in caught.value.instead
    with pytest.raises(MissingAttributeError, match="no such metric"):
        getattr(metrics, name)


@pytest.mark.parametrize("name", ["PolyLoss", "fenchel_young"])
def test_a5_losses_that_there_are_not_say_so_and_suggest_no_other(name):
    with pytest.raises(ArgumentError) as caught:
        losses.get(name)
    assert caught.value.reason == "graftax has no such loss"
    assert "loss='" not in caught.value.instead
    with pytest.raises(MissingAttributeError, match="no such loss"):
        getattr(losses, name)


@pytest.mark.parametrize(
    ("get", "wrong", "right"),
    [
        (losses.get, "cross_entropy", "SparseCategoricalCrossentropy for labels"),
        (losses.get, "BCEWithLogitsLoss", "BinaryCrossentropy(from_logits=True)"),
        (losses.get, "rmse", "with the metric rmse"),
        (losses.get, "mes", "loss='mse'"),
        (losses.get, "huberr", "loss='huber'"),
        (metrics.get, "accurracy", "metric='accuracy'"),
        (metrics.get, "rsme", "metric='rmse'"),
        (lambda name: getattr(losses, name), "MSE", "graftax.losses.MeanSquaredError"),
        (lambda name: getattr(losses, name), "CrossEntropyLoss", "SparseCategoricalCrossentropy(from_logits=True)"),
        (lambda name: getattr(losses, name), "BinaryCrossEntropi", "graftax.losses.BinaryCrossentropy"),
        (lambda name: getattr(metrics, name), "Huber", 'graftax.metrics.get("huber")'),
        (lambda name: getattr(metrics, name), "Acuracy", "graftax.metrics.Accuracy"),
    ],
)
def test_a5_remedies_are_right(get, wrong, right):
    with pytest.raises((ArgumentError, MissingAttributeError)) as caught:
        get(wrong)
    assert right in caught.value.instead


def test_a5_modules_have_no_other_attributes_than_they_say():
    for module in (losses, metrics):
        assert not hasattr(module, "__wrapped__")
        assert not hasattr(module, "CohenKappa")
        assert all(hasattr(module, name) for name in module.__all__)
        for answers in (module._CLASSES, __import__(f"{module.__name__}.foreign_names", fromlist="x").NAMES):
            for _, instead in answers.values():  # what is suggested exists
                for word in instead.replace("(", " ").replace(",", " ").split():
                    if word.startswith(("graftax.losses.", "graftax.metrics.")):
                        assert hasattr(module, word.split(".")[2])
                    elif word[0].isupper() and word.endswith(("entropy", "Error", "Huber", "Poisson", "Divergence")):
                        assert hasattr(module, word)
    for name in ("mape", "msle", "cosine_similarity", "hinge", "squared_hinge", "huber", "kl_divergence", "kld"):
        assert metrics.get(name).name == name


@pytest.mark.parametrize(
    "name", ["MSE", "MeanSquaredError", "mse", "KLD", "logcosh", "MSLE", "Poisson", "SquaredHinge"]
)
def test_spellings_of_keras_are_names(name):
    assert isinstance(losses.get(name), losses.Loss)
    assert metrics.get(name).name == name
    pair = [[0.25, 0.75]], [[0.5, 0.5]]
    assert float(metrics.get(name)(*pair)) == pytest.approx(float(losses.get(name)(*pair)))


def test_spellings_of_other_registries():
    assert repr(gx.initializers.get("GlorotUniform")) == repr(gx.initializers.get("glorot_uniform"))
    assert repr(gx.regularizers.get("L2")) == repr(gx.regularizers.get("l2"))
    assert repr(gx.constraints.get("NonNeg")) == repr(gx.constraints.get("non_neg"))
    for get, wrong in (
        (gx.initializers.get, gx.initializers.Zeros),
        (gx.regularizers.get, gx.regularizers.L2),
        (gx.constraints.get, gx.constraints.NonNeg),
    ):
        with pytest.raises(ArgumentError, match=rf"a class\n(.|\n)*{wrong.__name__}\(\)"):
            get(wrong)
        with pytest.raises(ArgumentTypeError, match="it is called with"):
            get(lambda: 0)
    with pytest.raises(ArgumentError, match="regularizer="):
        gx.regularizers.get(["l2"])
    with pytest.raises(ArgumentError, match=r"Constant\(None\)"):
        gx.initializers.get(None)
