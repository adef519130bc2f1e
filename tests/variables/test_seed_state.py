"""The state of a random stream is there for whoever asks, before the first draw as after it."""

import copy
import inspect
import pickle

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, metrics, ops, optimizers
from graftax.core.errors import ArgumentError
from graftax.transforms.functional import functional_call, state
from graftax.variables.graph.module import Module

X = np.ones((4, 3), "float32")


class Noise(gx.Layer):
    """Draws in training only, and makes nothing for it in build."""

    def __init__(self, seed=None):
        super().__init__()
        self.stream = gx.SeedGenerator(seed)

    def call(self, x, training=None):
        return x + gx.random.normal(x.shape, seed=self.stream) if training else x


def draw(generator):
    return np.asarray(gx.random.normal((3,), seed=generator)).tolist()


SEEDS = pytest.mark.parametrize("seed", [None, 7], ids=["unseeded", "seeded"])


@SEEDS
@pytest.mark.parametrize(
    "ask",
    [
        lambda g: g.state,
        lambda g: g.variables,
        lambda g: g.named_variables(),
        lambda g: list(g._gx_children()),
        state,
        lambda g: Module._gx_children(g),
        copy.deepcopy,
        pickle.dumps,
    ],
)
def test_looking_does_not_change_what_is_drawn(seed, ask):
    drawn = []
    for looks in (False, True):
        gx.set_random_seed(3)
        root = Module()
        root.stream = gx.SeedGenerator(seed)
        if looks:
            ask(root.stream)
        drawn.append(draw(root.stream))
    assert drawn[0] == drawn[1]


@SEEDS
def test_the_state_has_a_value_before_the_first_draw(seed):
    generator = gx.SeedGenerator(seed)
    assert list(state(generator)) == ["state"]
    assert generator.state.assign([1, 2]).numpy().tolist() == [1, 2]
    other = gx.SeedGenerator(5)
    other.state.assign([1, 2])
    assert draw(generator) == draw(other)


@pytest.mark.broad
def test_a_generator_that_is_made_anew_starts_anew():
    generator = gx.SeedGenerator(3)
    step = gx.jit(lambda: gx.random.normal((3,), seed=generator))
    first = np.asarray(step()).tolist()
    generator.__init__(3)
    assert np.asarray(step()).tolist() == first
    del generator.state
    assert np.asarray(step()).tolist() == first


@SEEDS
def test_a_checkpoint_has_a_stream_that_never_drew(tmp_path, seed):
    w, generator = gx.Variable(0.0), gx.SeedGenerator(seed)
    gx.Checkpoint(w=w, g=generator).save(tmp_path / "c")
    fresh = gx.SeedGenerator(8)
    gx.Checkpoint(w=w, g=fresh).restore(tmp_path / "c").assert_consumed()
    gx.Checkpoint(g=fresh).save(tmp_path / "again")
    used = gx.SeedGenerator(9)
    used.next()
    gx.Checkpoint(g=used).restore(tmp_path / "again").assert_consumed()
    assert draw(generator) == draw(fresh) == draw(used)


def test_a_model_that_is_not_built_is_not_saved_as_its_streams(tmp_path):
    model = gx.Sequential([layers.Dense(2), layers.Dropout(0.5)])
    with pytest.raises(ArgumentError, match=r"but random streams: model/layers/1/seed_generator/state") as caught:
        gx.Checkpoint(model=model).save(tmp_path / "c")
    assert caught.value.instead == "build the model first: call it on an example"
    assert not (tmp_path / "c").exists()
    gx.Checkpoint(model=model).save(tmp_path / "seeds", only="role:seed")
    gx.Checkpoint(model=model, stream=gx.SeedGenerator()).save(tmp_path / "c")


def test_a_checkpoint_that_is_only_named_draws_nothing():
    def weights(names_it):
        gx.set_random_seed(0)
        first, second = layers.Dense(2), layers.Dropout(0.5)
        if names_it:
            gx.Checkpoint(second=second, first=first)
        first(X)
        return first.kernel.numpy().tolist()

    assert weights(True) == weights(False)


@pytest.mark.broad
def test_resuming_before_the_first_noise_is_exact(tmp_path):
    def build(seed):
        gx.set_random_seed(seed)
        model = gx.Sequential([Noise(), layers.Dropout(0.5)])
        model(X)
        return model

    model, other = build(0), build(1)
    gx.Checkpoint(m=model).save(tmp_path / "c")
    gx.Checkpoint(m=other).restore(tmp_path / "c").assert_consumed()
    np.testing.assert_array_equal(model(X, training=True), other(X, training=True))


@SEEDS
@pytest.mark.parametrize("how", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_draw_what_the_original_draws(seed, how):
    generator = gx.SeedGenerator(seed)
    assert draw(how(generator)) == draw(generator)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("compiled", [lambda f: f, gx.jit, jax.jit], ids=["eager", "gx.jit", "jax.jit"])
def test_functional_call_has_the_streams_of_a_layer_that_was_called_for_inference(compiled):
    layer = Noise()
    layer(X)
    run = compiled(lambda s: functional_call(layer, s, X, training=True))
    first, after = run(state(layer))
    second, _ = run(after)
    assert (np.asarray(first) != np.asarray(second)).all()
    np.testing.assert_allclose(first, layer(X, training=True), rtol=1e-6)


def test_creators_see_the_state_with_its_role_and_path_wherever_it_is_made():
    seen = []

    def creator(next_creator, spec):
        seen.append((spec.role, spec.path))
        return next_creator(spec)

    with gx.variable_creator_scope(creator, roles=("seed",)):
        model = Module()
        model.stream = gx.SeedGenerator(1)
    state(model)
    model.stream.next()
    assert seen == [("seed", "stream/state")]


@pytest.mark.broad
def test_a_state_made_inside_a_compiled_function_is_that_of_plain_code():
    drawn = []
    for compiled in (gx.jit, lambda f: f):
        generator = gx.SeedGenerator(3)
        step = compiled(lambda g=generator: (gx.random.normal((2,), seed=g), g.state.value)[0])
        drawn.append([np.asarray(step()).tolist() for _ in range(2)])
    np.testing.assert_allclose(*drawn, rtol=1e-6)


# --- the class of it --------------------------------------------------------------------------------------------------

STREAMS = {
    "Dropout": lambda: layers.Dropout(0.5),
    "MultiHeadAttention": lambda: layers.MultiHeadAttention(2, 4, dropout=0.5),
    "LSTM": lambda: layers.LSTM(2, dropout=0.5, recurrent_dropout=0.5),
    "GRU": lambda: layers.GRU(2, dropout=0.5, recurrent_dropout=0.5),
    "a layer of one's own": Noise,
}


def call(layer, **arguments):
    x = np.ones((2, 4, 6), "float32")
    return layer(x, x, **arguments) if isinstance(layer, layers.MultiHeadAttention) else layer(x, **arguments)


@pytest.mark.broad
@pytest.mark.parametrize("name", STREAMS)
def test_layers_that_are_built_make_nothing_more_in_training(name):
    layer = STREAMS[name]()
    assert [v.role for v in layer.variables] == ["seed"], "streams need no shape"
    call(layer)
    before = list(state(layer))
    twin = copy.deepcopy(layer)
    np.testing.assert_array_equal(call(layer, training=True), call(twin, training=True))
    assert list(state(layer)) == before


def public_modules():
    for space in (gx, layers, metrics, optimizers):
        for name in space.__all__ if hasattr(space, "__all__") else dir(space):
            kind = getattr(space, name)
            if inspect.isclass(kind) and issubclass(kind, Module) and not inspect.isabstract(kind):
                yield kind


def without_arguments(kinds):
    made = []
    for kind in dict.fromkeys(kinds):
        required = [
            p
            for p in inspect.signature(kind).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        if not required and kind is not gx.layers.Discretization:  # it takes one of two arguments
            made.append(kind)
    return made


@pytest.mark.in_turn(3, 1, broad=2)
@pytest.mark.parametrize("kind", without_arguments(public_modules()), ids=lambda kind: kind.__name__)
def test_whatever_needs_no_shapes_is_there_from_the_start(kind):
    thing = kind()
    before = set(Module.named_variables(thing))
    if isinstance(thing, gx.Optimizer):
        w = gx.Variable(np.ones((3, 2), "float32"))
        thing.minimize(lambda: ops.sum(w * w), [w])
    elif isinstance(thing, gx.SeedGenerator):
        thing.next()
    elif isinstance(thing, metrics.Metric) and kind not in (metrics.Metric, metrics.SampleMetric):
        of_labels = "Sparse" in kind.__name__ or kind is metrics.Perplexity
        labels = np.zeros(4, "int32") if of_labels else np.ones((4, 6), "float32")
        thing.update(labels, np.full((4, 6), 1.0 if kind is metrics.Accuracy else 0.5, "float32"))
    if not isinstance(thing, (metrics.FBetaScore, metrics.R2Score)):  # which learn how many numbers they keep
        assert set(Module.named_variables(thing)) == before


def test_lists_are_lists():
    """What public methods give back has a length, unless it is a stream of batches."""
    streams = {"epoch", "documents"}
    found = {
        f"{kind.__name__}.{name}"
        for kind in public_modules()
        for name, member in inspect.getmembers(kind)
        if not name.startswith("_") and name not in streams and inspect.isgeneratorfunction(member)
    }
    assert found == set()


def test_the_slots_of_an_optimizer_have_a_length():
    w = gx.Variable([1.0, 2.0])
    optimizer = optimizers.Adam()
    assert len(optimizer.slots()) == 0
    optimizer.minimize(lambda: ops.sum(w * w), [w])
    assert [record.name for record in optimizer.slots()] == ["momentum", "velocity"]
    assert Module()._gx_slot_records() == ()


def test_the_draws_of_a_layer_follow_from_where_it_lies_in_the_model():
    gx.set_random_seed(0)
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dropout(0.2)])
    assert "state" not in vars(model.layers[1].seed_generator)  # its path is known, and it is made, with the model
