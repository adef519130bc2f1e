"""Graphs of layers of one shape, written alike in both libraries: files of Keras number layers by their depth."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

keras = pytest.importorskip("keras")
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras with NumPy 2.4

WIDTH = 4
X = np.random.default_rng(0).normal(size=(3, WIDTH)).astype("float32")


class Ours:
    """What both libraries have, by the same names."""

    layers, Input, Model, Sequential = layers, gx.Input, gx.Model, gx.Sequential


def branches(lib):
    given = lib.Input((WIDTH,))
    skip = lib.layers.Dense(WIDTH, activation="tanh")(given)
    deep = lib.layers.Dense(WIDTH)(lib.layers.Dense(WIDTH, activation="relu")(given))
    return lib.Model(given, lib.layers.Add()([skip, deep]))


def residual_with_projection(lib):
    given = lib.Input((WIDTH,))
    x = given
    for _ in range(3):
        shortcut = lib.layers.BatchNormalization()(lib.layers.Dense(WIDTH)(x))
        inner = lib.layers.BatchNormalization()(lib.layers.Dense(WIDTH, activation="relu")(x))
        inner = lib.layers.BatchNormalization()(lib.layers.Dense(WIDTH)(inner))
        x = lib.layers.Add()([inner, shortcut])
    return lib.Model(given, lib.layers.Dense(WIDTH)(x))


def nested(lib):
    inner, given = branches(lib), lib.Input((WIDTH,))
    side = lib.layers.Dense(WIDTH)(given)
    row = lib.Sequential([lib.layers.Dense(WIDTH), lib.layers.Dense(WIDTH, activation="relu")])
    return lib.Model(given, lib.layers.Add()([side, row(inner(lib.layers.Dense(WIDTH)(given)))]))


def shared(lib):
    given = lib.Input((WIDTH,))
    one, two = lib.layers.Dense(WIDTH), lib.layers.Dense(WIDTH, activation="tanh")
    x = one(given)
    return lib.Model(given, lib.layers.Add()([two(x), one(two(lib.layers.Dense(WIDTH)(x)))]))


def with_operators(lib):
    given = lib.Input((WIDTH,))
    a = lib.layers.Dense(WIDTH)(given)
    b = lib.layers.Dense(WIDTH, activation="relu")(given)
    return lib.Model(given, lib.layers.Dense(WIDTH)(a * b + 1.0) + b)


def several_outputs(lib):
    given = lib.Input((WIDTH,))
    trunk = lib.layers.Dense(WIDTH, activation="relu")(given)
    near = lib.layers.Dense(WIDTH)(trunk)
    far = lib.layers.Dense(WIDTH)(lib.layers.Dense(WIDTH, activation="tanh")(trunk))
    return lib.Model(given, [far, near])


def drawn(seed):
    def make(lib):
        rng = np.random.default_rng(seed)
        values, known = [lib.Input((WIDTH,))], []
        for _ in range(int(rng.integers(3, 9))):
            kind = rng.random()
            pick = [values[i] for i in rng.integers(0, len(values), 2)]
            if kind < 0.6:
                known.append(lib.layers.Dense(WIDTH, activation=["relu", "tanh", None][int(rng.integers(3))]))
                values.append(known[-1](pick[0]))
            elif kind < 0.75 and known:
                values.append(known[int(rng.integers(len(known)))](pick[0]))
            elif kind < 0.9:
                values.append(lib.layers.Add()(pick))
            else:
                values.append(pick[0] * 2.0)
        last = lib.layers.Add()([lib.layers.Dense(WIDTH)(values[-1]), *values[-3:]])
        return lib.Model(values[0], last)

    return make


MADE = [branches, residual_with_projection, shared, with_operators, several_outputs]
WRITTEN = {one.__name__: one for one in MADE} | {f"drawn {seed}": drawn(seed) for seed in range(25)}


def compare(make, suffix, tmp_path, names=None):
    theirs, ours = make(keras), make(Ours)
    rng = np.random.default_rng(1)
    theirs.set_weights([(rng.random(w.shape) * 0.5 + 0.1).astype("float32") for w in theirs.get_weights()])
    path = str(tmp_path / f"net{suffix}")
    theirs.save(path) if suffix == ".keras" else theirs.save_weights(path)
    gx.checkpoint.load_foreign(path, ours, names=names)
    expected, found = theirs(X), ours(X)
    expected, found = ([one] if not isinstance(one, list) else one for one in (expected, found))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, np.asarray(other), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("suffix", [".weights.h5", ".keras"])
@pytest.mark.parametrize("name", WRITTEN)
def test_layers_of_one_shape_are_told_apart(name, suffix, tmp_path):
    compare(WRITTEN[name], suffix, tmp_path)


@pytest.mark.parametrize("suffix", [".weights.h5", ".keras"])
def test_models_in_a_model_are_named(suffix, tmp_path):
    with pytest.raises(gx.errors.MissingInCheckpoint, match="neither names nor order decide"):
        compare(nested, suffix, tmp_path)
    compare(nested, suffix, tmp_path, names={"layers/3": "functional", "layers/4": "sequential"})


def skip_branch(lib, names):
    given = lib.Input((WIDTH,))
    skip = lib.layers.Dense(WIDTH, name=names[0])(given)
    h = given
    for name in names[1:]:
        h = lib.layers.Dense(WIDTH, name=name, activation="tanh")(h)
    return lib.Model(given, lib.layers.Add()([h, skip]))


class NoGraph(gx.Model):
    def __init__(self, names):
        super().__init__()
        self.order = names
        for i, name in enumerate(names):
            setattr(self, name, layers.Dense(WIDTH, activation="tanh" if i else None))

    def call(self, x):
        h = x
        for name in self.order[1:]:
            h = getattr(self, name)(h)
        return h + getattr(self, self.order[0])(x)


@pytest.mark.parametrize("suffix", [".weights.h5", ".keras"])
def test_a_model_that_is_no_graph_has_the_names_of_the_layers(suffix, tmp_path):
    names = ["skip", "one", "two", "three"]
    theirs = skip_branch(keras, names)
    path = str(tmp_path / f"net{suffix}")
    theirs.save(path) if suffix == ".keras" else theirs.save_weights(path)
    same, other = NoGraph(names), NoGraph(["short", "a", "b", "c"])
    same(X), other(X)
    gx.checkpoint.load_foreign(path, same)
    np.testing.assert_allclose(same(X), np.asarray(theirs(X)), rtol=2e-5, atol=2e-5)
    with pytest.warns(UserWarning, match=r"(?s)graph of Keras with branches.*short, a, b, c have the order.*names="):
        gx.checkpoint.load_foreign(path, other)
    gx.checkpoint.load_foreign(path, other, names=dict(zip(other.order, names, strict=True)))
    np.testing.assert_allclose(other(X), np.asarray(theirs(X)), rtol=2e-5, atol=2e-5)
