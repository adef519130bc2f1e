"""Arguments of constructors that are large: what is kept of them, in memory and in files of whole models."""

import gc
import weakref

import numpy as np

import graftax as gx
from graftax import ops


class Lookup(gx.Layer):
    def __init__(self, vectors):
        super().__init__()
        self.vectors = vectors if isinstance(vectors, gx.Variable) else gx.Variable(vectors, trainable=False)

    def call(self, x):
        return ops.take(self.vectors, x, axis=0)


def saved(argument, path):
    model = gx.Sequential([gx.Input((2,), dtype="int32"), Lookup(argument)])
    model.save(path)
    loaded = gx.load_model(path, custom=[Lookup])
    np.testing.assert_array_equal(loaded[0].vectors, model[0].vectors)
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()), model


def test_a_variable_is_kept_once_and_an_array_beside_what_is_made_of_it(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(500, 16)).astype("float32")
    once, model = saved(gx.Variable(vectors, trainable=False), tmp_path / "variable")
    alive = weakref.ref(vectors)
    twice, other = saved(vectors, tmp_path / "array")
    assert once < 1.5 * vectors.nbytes
    assert twice > 2 * vectors.nbytes  # as docs/graphs_of_layers.md says
    del vectors
    gc.collect()
    assert alive() is not None
    del other
    gc.collect()
    assert alive() is None
    assert model[0].vectors.shape == (500, 16)
