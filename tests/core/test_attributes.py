"""Attributes that a layer, a model, an optimizer has not: the line for it here runs, and misspelt ones are found."""

import copy

import numpy as np
import pytest

import graftax
import graftax as gx
from graftax.core.attributes import OF_LAYERS, OF_MODULES, OF_OPTIMIZERS
from graftax.core.errors import ArgumentError, MissingAttributeError, NotBuiltError, ShapeError

X = np.ones((2, 3), "float32")


class Net(gx.Model):
    def __init__(self):
        super().__init__()
        self.hidden = gx.layers.Dense(4)

    def call(self, x):
        return self.hidden(x)


def built(make):
    it = make()
    it(X)
    return it


THINGS = {
    "an unbuilt layer": ("layer", lambda: gx.layers.Dense(4), OF_LAYERS),
    "a built layer": ("layer", lambda: built(lambda: gx.layers.Dense(4)), OF_LAYERS),
    "an unbuilt model": ("model", Net, OF_LAYERS),
    "a built model": ("model", lambda: built(Net), OF_LAYERS),
    "an unbuilt Sequential": ("model", lambda: gx.Sequential([gx.layers.Dense(4)]), OF_LAYERS),
    "an optimizer": ("optimizer", lambda: gx.optimizers.Adam(), OF_OPTIMIZERS),
    "a metric": ("module", lambda: gx.metrics.Mean(), OF_MODULES),
}
CASES = [(thing, name) for thing, (_, _, answers) in THINGS.items() for name in answers]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder for each of the things, with a checkpoint of one like it that is built; and those that are built."""
    folders, ready = {}, {}
    for thing, (noun, make, _) in THINGS.items():
        folders[thing] = tmp_path_factory.mktemp("thing")
        twin = built(make) if noun in ("layer", "model") else make()
        gx.Checkpoint(**{noun: twin}).save(folders[thing] / "checkpoint")
        if "unbuilt" not in thing:
            ready[thing] = twin
    return folders, ready


@pytest.mark.parametrize(("thing", "name"), CASES, ids=lambda value: value)
def test_a4_methods_of_keras_and_torch_are_answered_with_a_line_that_runs(thing, name, saved, monkeypatch, capsys):
    noun, make, _ = THINGS[thing]
    folders, ready = saved
    it = ready[thing] if thing in ready else make()
    if hasattr(type(it), name):
        assert "layer" not in thing, "models and metrics have a few more methods"
        return
    with pytest.raises(MissingAttributeError) as caught:
        getattr(it, name)
    assert caught.value.reason
    assert "not built" not in str(caught.value)
    monkeypatch.chdir(folders[thing])
    weight = gx.Variable([1.0])
    given = {noun: it, "x": X, "graftax": graftax, "copy": copy, "variables": [weight]}
    given |= {"loss_fn": lambda: weight.value.sum(), "fn": lambda w: w**2}
    line = caught.value.instead.replace('save("checkpoint")', f'save("{name}")')
    exec(line, given)


@pytest.mark.parametrize(
    ("make", "name", "meant"),
    [
        (lambda: built(lambda: gx.layers.Dense(4)), "kernal", "layer.kernel"),
        (lambda: gx.layers.Dense(4), "unit", "layer.units"),
        (lambda: gx.layers.Dense(4), "trainable_variabels", "layer.trainable_variables"),
        (Net, "hiden", "model.hidden"),
        (Net, "layrs", "dir(model)"),
        (lambda: gx.Sequential([]), "layrs", "model.layers"),
        (lambda: gx.optimizers.Adam(), "learning_rte", "optimizer.learning_rate"),
        (lambda: gx.metrics.Mean(), "resullt", "module.result"),
        (lambda: gx.layers.Dense(4), "nothing_like_it", "dir(layer)"),
    ],
)
def test_a4_misspelt_attributes_name_the_real_one(make, name, meant):
    with pytest.raises(MissingAttributeError) as caught:
        getattr(make(), name)
    assert caught.value.instead == meant
    assert "not built" not in str(caught.value)


class Late(gx.Layer):
    """Names that are made in different ways."""

    def build(self, input_shape):
        self.first = self.add_weight((1,))
        self.more()

    def more(self):
        self.second = self.add_weight((1,))

    def call(self, x):
        self.seen = x
        return x


class Computed(gx.Layer):
    def build(self, input_shape):
        for i in range(3):
            setattr(self, f"w{i}", self.add_weight((1,)))


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (gx.layers.Dense(2), "kernel"),
        (gx.layers.Dense(2), "bias"),
        (gx.layers.Dense(2), "kernl"),
        (gx.layers.LSTM(2), "recurrent_kernel"),
        (gx.layers.BatchNormalization(), "moving_mean"),
        (gx.layers.Embedding(2, 2), "embeddings"),
        (Late(), "first"),
        (Late(), "second"),
        (Late(), "seen"),
        (Computed(), "w1"),
    ],
    ids=lambda value: str(value),
)
def test_a4_only_what_a_layer_will_have_is_said_to_wait_for_the_build(layer, name):
    with pytest.raises(MissingAttributeError, match="which is not built") as caught:
        getattr(layer, name)
    assert "layer.build(input_shape)" in caught.value.instead
    with pytest.raises(MissingAttributeError) as caught:
        layer.state_dict  # noqa: B018
    assert "not built" not in str(caught.value)


@pytest.mark.broad
def test_a4_every_weight_of_every_layer_is_known_before_it_is_built():
    images, steps = np.ones((1, 6, 6, 2), "float32"), np.ones((1, 6, 2), "float32")
    for make, x in (
        (lambda: gx.layers.Dense(2), X),
        (lambda: gx.layers.Conv2D(2, 2), images),
        (lambda: gx.layers.Conv1D(2, 2), steps),
        (lambda: gx.layers.LSTM(2), steps),
        (lambda: gx.layers.GRU(2), steps),
        (lambda: gx.layers.BatchNormalization(), X),
        (lambda: gx.layers.LayerNormalization(), X),
        (lambda: gx.layers.Embedding(9, 2), X.astype("int32")),
        (lambda: gx.layers.MultiHeadAttention(2, 2), steps),
    ):
        layer = make()
        layer.build_for(x)
        for name in {path.split("/")[0] for path in layer.named_variables()}:
            fresh = make()
            if name not in vars(fresh):
                with pytest.raises(MissingAttributeError, match="which is not built"):
                    getattr(fresh, name)


def test_a4_a_property_that_fails_inside_tells_its_own_error():
    class Odd(gx.Layer):
        @property
        def twice(self):
            return self.no_such_thing * 2

    with pytest.raises(MissingAttributeError, match="no_such_thing"):
        Odd().twice  # noqa: B018


def test_a4_private_and_special_names_are_plain_misses():
    for it in (gx.layers.Dense(2), gx.optimizers.Adam(), gx.metrics.Mean()):
        for name in ("_repr_html_", "__array__", "_x"):
            with pytest.raises(AttributeError) as caught:
                getattr(it, name)
            assert type(caught.value) is AttributeError


# --- the names of Keras that a layer has ------------------------------------------------------------------------------


@pytest.mark.broad
def test_a4_weights_are_weights_and_state_without_seeds():
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.BatchNormalization(), gx.layers.Dropout(0.5, seed=1)])
    model(X, training=True)
    paths = [v.path.split("/", 2)[-1] for v in model.weights]
    assert paths == ["kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance"]
    assert [v.path for v in model.trainable_weights] == [v.path for v in model.trainable_variables]
    assert [v.path.split("/")[-1] for v in model.non_trainable_weights] == ["moving_mean", "moving_variance"]
    assert any(v.role == "seed" for v in model.non_trainable_variables)
    other = copy.deepcopy(model)
    for v in other.weights:
        v.assign(v * 0 + 2)
    model.set_weights(other.get_weights())
    assert all((array == 2).all() for array in model.get_weights())


def test_a4_an_attribute_called_weights_is_the_users():
    class Mixture(gx.Layer):
        def __init__(self):
            super().__init__()
            self.weights = gx.Variable([0.5, 0.5])

    mixture = Mixture()
    assert [v.path for v in mixture.trainable_variables] == ["weights"]
    assert mixture.weights.shape == (2,)
    assert [array.shape for array in built_of(mixture).get_weights()] == [(2,)]


def built_of(layer):
    layer.build((1,))
    return layer


def test_a4_set_weights_takes_all_or_none():
    layer = built(lambda: gx.layers.Dense(4))
    before = layer.get_weights()
    with pytest.raises(ArgumentError, match="1 arrays for 2 weights"):
        layer.set_weights(before[:1])
    with pytest.raises(ShapeError, match=r"shape \(3,\) for 'bias'"):
        layer.set_weights([before[0] + 1, np.ones(3)])
    np.testing.assert_array_equal(layer.get_weights()[0], before[0])
    for act in (lambda it: it.get_weights(), lambda it: it.set_weights([])):
        with pytest.raises(NotBuiltError):
            act(gx.layers.Dense(2))
