"""Whole models in files: what comes back, what is refused, and that nothing of a file is run."""

import copy
import pickle
import sys

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import ArgumentError, ArgumentTypeError, GraftaxError

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(8, 4)).astype("float32")
Y = DRAWS.normal(size=(8, 2)).astype("float32")


class Scaled(gx.Layer):
    def __init__(self, factor, activation=None, name=None):
        super().__init__(name)
        self.factor = factor
        self.activation = activation

    def build(self, input_shape):
        self.gain = self.add_weight((input_shape[-1],), initializer="ones")

    def call(self, x):
        y = x * self.gain * self.factor
        return y if self.activation is None else self.activation(y)


class Net(gx.Model):
    def __init__(self, width, depth=1):
        super().__init__(name="net")
        self.body = [layers.Dense(width) for _ in range(depth)]
        self.head = layers.Dense(2)

    def call(self, x):
        for layer in self.body:
            x = layer(x)
        return self.head(x)


def twice(x):
    return 2 * x


def graph():
    x = gx.Input((4,), name="x")
    h = layers.Dense(3, activation="tanh", kernel_regularizer=gx.regularizers.L2(0.01), name="h")(x)
    shared = layers.Dense(3, kernel_initializer=gx.initializers.HeNormal())
    y = ops.concatenate([shared(h), shared(h + 1), x[:, ::2] * np.float32([1, 2])], axis=-1)
    return gx.Model(x, layers.Dense(2)(y), name="graph")


def functions():
    x = gx.Input((4,))
    return gx.Model(x, layers.Dense(2)(layers.Lambda(twice)(Scaled(3, activation=twice)(x))))


def operand():
    x = gx.Input((2,))
    return gx.Model(x, x * gx.Variable([2.0, 3.0]))


def nested():
    a, b = gx.Input((4,), name="a"), gx.Input((None, 4), name="b")
    inner = gx.Sequential([layers.Dense(3), layers.LeakyReLU(0.2)], name="inner")
    pooled = layers.Bidirectional(layers.LSTM(2))(b)
    return gx.Model({"a": a, "b": b}, [inner(a), {"p": pooled, "q": layers.Dropout(0.5)(inner(a))}])


MODELS = {
    "graph": (graph, X, ()),
    "sequential": (lambda: gx.Sequential([gx.Input((4,)), layers.Dense(3, "relu"), layers.Dense(2)], name="s"), X, ()),
    "built later": (lambda: gx.Sequential([layers.Dense(3), gx.activations.relu, layers.Dense(2)]), X, ()),
    "subclass": (lambda: Net(3, depth=2), X, [Net]),
    "functions": (functions, X, {"Scaled": Scaled, "twice": twice}),
    "operand": (operand, X[:, :2], ()),
    "nested": (nested, {"a": X, "b": np.stack([X, X], axis=1)}, ()),
    "without weights": (lambda: gx.Sequential([gx.Input((4,)), layers.ReLU()]), X, ()),
    "mixed": (lambda: gx.Sequential([layers.Dense(3, dtype="mixed_bfloat16"), layers.Dense(2)]), X, ()),
}


def _flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in _flat(part)] if isinstance(value, list) else [np.asarray(value)]


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_and_computes_the_same(name, tmp_path):
    make, x, custom = MODELS[name]
    model = make()
    wanted = _flat(model(x))
    model.save(tmp_path / "m")
    again = gx.load_model(tmp_path / "m", custom=custom)
    for one, other in zip(_flat(again(x)), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert type(again) is type(model)
    assert again.name == model.name
    assert [v.path for v in again.variables] == [v.path for v in model.variables]
    assert not {id(v) for v in again.variables} & {id(v) for v in model.variables}


@pytest.mark.broad
def test_training_goes_on_to_the_same_bits(tmp_path):
    model = graph()
    optimizer = gx.optimizers.AdamW(
        gx.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5), rules=[("**/bias", {"weight_decay": 0.0})]
    )
    model.compile(optimizer, gx.losses.Huber(delta=0.5), metrics=["mae", gx.metrics.RootMeanSquaredError()])
    model.fit(X, Y, epochs=2, batch_size=4, shuffle=False, verbose=0)
    model.save(tmp_path / "m")
    again = gx.load_model(tmp_path / "m")
    assert int(again.optimizer.iterations) == 4
    logs = [m.fit(X, Y, batch_size=4, shuffle=False, verbose=0).history for m in (model, again)]
    assert {name: numbers[-1] for name, numbers in logs[0].items()} == {
        name: numbers[-1] for name, numbers in logs[1].items()
    }
    for one, other in zip(model.variables, again.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.broad
def test_grafts_by_whichever_way_they_came(tmp_path):
    model = graph()
    gx.graft(model, gx.reparam.LoRA(rank=1), where="**/h/kernel")
    gx.graft(model, gx.reparam.LoRA(rank=2, name="more"), where="**/h/kernel")
    with gx.variable_creator_scope(gx.reparam.WeightNorm(), where="**/kernel"):
        x = gx.Input((4,))
        outer = gx.Model(x, layers.Dense(2)(model(x)) + layers.Dense(2)(x))
    for v in outer.variables:
        if v.trainable:
            v.assign(v.value + 0.1)
    outer.save(tmp_path / "m")
    again = gx.load_model(tmp_path / "m")
    np.testing.assert_array_equal(again(X), outer(X))
    assert [v.path for v in again.trainable_variables] == [v.path for v in outer.trainable_variables]


def test_what_is_frozen_and_what_was_changed_later(tmp_path):
    model = gx.Sequential([gx.Input((4,)), layers.Dense(3), layers.Dropout(0.1), layers.Dense(2)])
    model.freeze("layers/0/**")
    model.layers[1].rate = 0.25
    model.save(tmp_path / "m")
    again = gx.load_model(tmp_path / "m")
    assert [v.path for v in again.trainable_variables] == ["layers/2/kernel", "layers/2/bias"]
    assert again.layers[1].rate == 0.25


@pytest.mark.broad
@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_saved_as_well(how, tmp_path):
    model = how(graph())
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(gx.load_model(tmp_path / "m")(X), model(X))


def test_arguments_that_cannot_be_copied_stand_in_no_way(tmp_path):
    class Reads(gx.Layer):
        def __init__(self, numbers):
            super().__init__()
            self.numbers = list(numbers)

        def call(self, x):
            return x

    layer = Reads(n for n in (1, 2))
    assert copy.deepcopy(layer).numbers == [1, 2]
    with pytest.raises(ArgumentError, match="lost what its constructor was given"):
        gx.Sequential([copy.deepcopy(layer)]).save(tmp_path / "m")


def test_saving_draws_nothing(tmp_path):
    def draws(saves):
        gx.set_random_seed(3)
        model = gx.Sequential([gx.Input((4,)), layers.Dense(2), layers.Dropout(0.5)])
        if saves:
            model.save(tmp_path / "m")
        return [
            *(v.numpy() for v in gx.Sequential([gx.Input((4,)), layers.Dense(2)]).variables),
            gx.random.normal((2,)),
        ]

    for one, other in zip(draws(False), draws(True), strict=True):
        np.testing.assert_array_equal(one, other)


REFUSED = {
    "a lambda": (lambda: gx.Sequential([gx.Input((4,)), layers.Lambda(lambda x: x)]), r"layers\[0\]\.function"),
    "a loss": (lambda: compiled(loss=lambda y, p: p), r"compile\(loss=\.\.\.\)"),
    "an initializer": (
        lambda: gx.Sequential([layers.Dense(2, kernel_initializer=lambda key, shape, dtype: ops.zeros(shape))]),
        r"kernel_initializer",
    ),
    "what was put there": (lambda: with_more_layers(), r"extra is Dense"),
    "an open file": (lambda: gx.Sequential([Scaled(sys.stdout)]), r"layers\[0\]\.factor"),
}


def compiled(loss):
    model = gx.Sequential([gx.Input((4,)), layers.Dense(2)])
    model.compile("sgd", loss)
    return model


def with_more_layers():
    model = Net(3)
    model.extra = layers.Dense(2)
    return model


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_rebuilt_fails_at_save_by_name(name, tmp_path):
    make, said = REFUSED[name]
    model = make()
    with pytest.raises(ArgumentError, match=said):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


class Doubling(gx.Layer):
    def call(self, x):
        return 2 * x


def halved(x):
    return x / 2


def test_classes_are_given_and_all_that_are_given_are_used(tmp_path):
    gx.Sequential([gx.Input((4,)), Scaled(2)]).save(tmp_path / "m")
    with pytest.raises(ArgumentError, match="'Scaled', which is none of graftax's"):
        gx.load_model(tmp_path / "m")
    model = gx.Sequential([gx.Input((4,)), Scaled(2), Doubling(), gx.layers.Activation(halved), Scaled(3)])
    model.save(tmp_path / "all")
    with pytest.raises(ArgumentError, match="'Scaled', 'Doubling', 'halved', which are none") as told:
        gx.load_model(tmp_path / "all")
    assert "{'Scaled': Scaled, 'Doubling': Doubling, 'halved': halved}" in told.value.instead
    with pytest.raises(ArgumentError, match="'Doubling', 'halved', which are none") as told:
        gx.load_model(tmp_path / "all", custom=[Scaled])
    assert "{'Scaled': Scaled, 'Doubling': Doubling, 'halved': halved}" in told.value.instead
    gx.load_model(tmp_path / "all", custom=[Scaled, Doubling, halved])
    with pytest.raises(ArgumentError, match="custom= has Net"):
        gx.load_model(tmp_path / "m", custom=[Scaled, Net])
    with pytest.raises(ArgumentTypeError, match="classes and functions"):
        gx.load_model(tmp_path / "m", custom={"Scaled": 3})
    assert gx.load_model(tmp_path / "m", custom=Scaled).layers[0].factor == 2


def test_no_module_that_a_file_names_is_imported(tmp_path):
    model = gx.Sequential([gx.Input((4,)), layers.Dense(2)])
    for name in ("os.system", "layers.os", "custom.os", "layers._answering", "builtins.eval", "ops.built"):
        said = {"format": 1, "model": ["object", 0, "made", name, [], []], "input_shape": None, "grafts": []}
        gx.Checkpoint(model=model).save(tmp_path / name, meta={"graftax.model": {**said, "compile": None}})
        with pytest.raises(ArgumentError, match=r"the file has"):
            gx.load_model(tmp_path / name)


@pytest.mark.parametrize(
    "described",
    [
        None,
        ["seen", 7],
        ["what"],
        ["object", 0, "made", "layers.Dense", 3, []],
        [
            "object",
            0,
            "graph",
            "Model",
            [None, None],
            [],
            [],
            [["system", ["tuple", []], ["dict", []], None, False]],
            0,
            0,
        ],
        ["object", 0, "made", "layers.Dense", [2], []],
        ["array", "object", [1], b"12345678"],
    ],
)
def test_a_damaged_description_is_an_error(described, tmp_path):
    said = {"format": 1, "model": described, "input_shape": None, "grafts": [], "compile": None}
    gx.Checkpoint(v=gx.Variable(1.0)).save(tmp_path / "m", meta={"graftax.model": said})
    with pytest.raises(GraftaxError):
        gx.load_model(tmp_path / "m")


def test_a_checkpoint_of_values_is_no_whole_model(tmp_path):
    model = graph()
    model.save_weights(tmp_path / "w")
    with pytest.raises(ArgumentError, match="holds no whole model"):
        gx.load_model(tmp_path / "w")


@pytest.mark.broad
def test_weights_alone(tmp_path):
    model, other = graph(), graph()
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    model.save_weights(tmp_path / "w")
    model.save(tmp_path / "m")
    for path in ("w", "m"):
        for v in other.variables:
            v.assign(v.value * 0)
        other.load_weights(tmp_path / path)
        np.testing.assert_array_equal(other(X), model(X))
    later = gx.Sequential([layers.Dense(2)])
    built = gx.Sequential([gx.Input((4,)), layers.Dense(2)])
    built.save_weights(tmp_path / "b")
    later.load_weights(tmp_path / "b")
    np.testing.assert_array_equal(later(X), built(X))
    with pytest.raises(GraftaxError):
        gx.Sequential([gx.Input((4,)), layers.Dense(3)]).load_weights(tmp_path / "b")
    with pytest.raises(GraftaxError):
        built.save_weights(tmp_path / "b")
    built.save_weights(tmp_path / "b", overwrite=True)
