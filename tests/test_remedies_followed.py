"""Remedies with a number in them work when they are followed: the number that a message tells is tried."""

import inspect
import math
import re

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, optimizers, reparam
from graftax.core.errors import GraftaxError, GraftError
from graftax.optimizers import schedules
from graftax.reparam.distance import tolerance_for


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "make",
    [reparam.SpectralNorm, lambda: reparam.LowRank(1), reparam.Orthogonal, lambda: reparam.Orthogonal("matrix_exp")],
    ids=["SpectralNorm", "LowRank", "Orthogonal", "matrix_exp"],
)
def test_x5_the_tolerance_that_graft_tells_is_enough(make, seed):
    random = np.random.default_rng(seed)
    layer = layers.Dense(4)
    layer.build((None, 5))
    size = random.uniform(0.2, 3.0)
    layer.kernel.assign(random.normal(size=(5, 4)).astype("float32") * size)
    with pytest.raises(GraftError) as caught:
        gx.graft(layer, make(), where="kernel")
    told = re.search(r"tolerance=([\d.e+-]+)$", caught.value.instead)[1]
    (done,) = gx.graft(layer, make(), where="kernel", tolerance=float(told))
    assert done.error <= float(told) <= max(1.2 * done.error, done.error + 0.011)


@pytest.mark.broad
@pytest.mark.parametrize("seed", range(6))
def test_x5_the_tolerance_that_merge_tells_is_enough(seed):
    random = np.random.default_rng(seed)
    layer = layers.Dense(6, use_bias=False)
    layer.build((None, 5))
    gx.graft(layer, reparam.Int4(), where="kernel", tolerance=math.inf)
    gx.graft(layer, reparam.LoRA(rank=1, name="poet"), where="kernel")
    layer.kernel.adapters["poet"].up.assign(random.normal(size=(1, 6)).astype("float32") * random.uniform(1, 3))
    with pytest.raises(GraftError) as caught:
        gx.adapters.merge(layer, "poet", tolerance=1e-3)
    told = re.search(r"tolerance=([\d.e+-]+)", caught.value.instead)[1]
    gx.adapters.merge(layer, "poet", tolerance=float(told))


def test_x5_a_tolerance_is_never_below_the_error():
    for error in np.geomspace(1e-8, 1e4, 997):
        assert error <= float(tolerance_for(float(error))) <= 1.2 * error
    assert eval(tolerance_for(math.inf)) == math.inf


def test_x5_nan_is_told_to_be_mended_and_not_to_be_tolerated():
    layer = layers.Dense(4)
    layer.build((None, 5))
    layer.kernel.assign(np.full((5, 4), np.nan, "float32"))
    with pytest.raises(GraftError, match="is nan") as caught:
        gx.graft(layer, reparam.WeightNorm(), where="kernel")
    weight, ops = layer.kernel, gx.ops
    exec(caught.value.instead.removesuffix(" first"), {"weight": weight, "ops": ops})
    assert np.isfinite(layer.kernel.numpy()).all()


# --- constructors: what is told for a bad number is taken -------------------------------------------------------------

GOOD = {
    layers.Dense: (4,),
    layers.Conv1D: (4, 2),
    layers.Conv2D: (4, 2),
    layers.Embedding: (5, 3),
    layers.LSTM: (4,),
    layers.GRU: (4,),
    layers.MultiHeadAttention: (2, 4),
    layers.Dropout: (0.5,),
    layers.MaxPooling2D: (),
    layers.AveragePooling1D: (),
    layers.BatchNormalization: (),
    layers.LayerNormalization: (),
    layers.RotaryEmbedding: (),
    losses.Huber: (),
    losses.BinaryCrossentropy: (),
    losses.CategoricalCrossentropy: (),
    metrics.TopKCategoricalAccuracy: (),
    metrics.BinaryAccuracy: (),
    reparam.LoRA: (2,),
    reparam.DoRA: (2,),
    reparam.LowRank: (2,),
    reparam.SpectralNorm: (),
    reparam.FakeQuant: (),
    reparam.Positive: (),
    reparam.PruningSchedule: (0.5, 100),
    reparam.VariationalNormal: (),
    optimizers.SGD: (),
    optimizers.Adam: (),
    optimizers.RMSprop: (),
    optimizers.Lion: (),
    optimizers.Muon: (),
    schedules.CosineDecay: (0.1, 100),
    schedules.ExponentialDecay: (0.1, 100, 0.5),
    schedules.LinearWarmup: (10, 0.1),
    schedules.OneCycle: (0.1, 100),
    gx.initializers.RandomNormal: (),
    gx.initializers.VarianceScaling: (),
    gx.regularizers.L2: (),
    gx.constraints.MaxNorm: (),
}
BAD = (-1, 0, -0.5, 1.5, 7, math.nan, "x")


def slips():
    for kind, given in GOOD.items():
        for name in inspect.signature(kind.__init__).parameters:
            for bad in BAD:
                yield kind, given, name, bad


def made(kind, given, **changed):
    names = list(inspect.signature(kind.__init__).parameters)[1:]
    return kind(**(dict(zip(names, given, strict=False)) | changed))


@pytest.mark.broad
def test_x5_what_a_constructor_tells_for_a_number_is_taken():
    wrong, followed = [], 0
    for kind, given, name, bad in slips():
        if name in ("self", "options", "name"):
            continue
        try:
            made(kind, given, **{name: bad})
        except GraftaxError as error:
            told = re.match(rf"{name}=([-\w.()\[\], e+\"']+?)(;|$| or |,? and |, or )", error.instead)
            if told is None:
                continue
            try:
                value = eval(told[1])
            except (SyntaxError, NameError):
                continue
            followed += 1
            try:
                made(kind, given, **{name: value})
            except GraftaxError as again:
                wrong.append(f"{kind.__name__}({name}={bad!r}): {error.instead} -> {again.received}: {again.reason}")
    assert followed > 80
    assert wrong == []


# --- lines of models: what is told in place of a line of another library runs as it stands ----------------------------

LINES = {
    # what was written: the whole line that is told
    "gx.Input(batch_shape=(4, 10, 1))": "gx.Input((10, 1), batch_size=4)",
    "gx.Input(batch_shape=(None, 10))": "gx.Input((10,))",
    'gx.Input(batch_shape=[4, None], name="a")': 'gx.Input((None,), batch_size=4, name="a")',
    "gx.Input((10,), batch_shape=(4, 10))": "gx.Input((10,), batch_size=4)",
    "gx.Input(batch_input_shape=(4, 10, 1))": "gx.Input((10, 1), batch_size=4)",
    "gx.Input(input_shape=(3,))": "gx.Input((3,))",
    "gx.Input(tensor=np.ones((5, 3), 'float32'))": 'gx.Input((3,), dtype="float32")',
    "gx.Input((3,), sparse=True)": "gx.Input((3,))",
    "gx.Input((3,), ragged=False, optional=True)": "gx.Input((3,))",
    "gx.Input(3)": "gx.Input((3,))",
    "gx.Input(10, 1)": "gx.Input((10, 1))",
    "gx.Input(None, 3)": "gx.Input((None, 3))",
    "gx.Input((-1, 3))": "gx.Input((None, 3))",
    "gx.layers.InputLayer(batch_shape=(4, 3))": "gx.layers.InputLayer((3,), batch_size=4)",
    "gx.layers.InputLayer(input_shape=(3,))": "gx.layers.InputLayer((3,))",
    "gx.Sequential(inputs=inputs, outputs=outputs)": "gx.Model(inputs, outputs)",
    "gx.Sequential(inputs, outputs)": "gx.Model(inputs, outputs)",
    "gx.Sequential({'a': layers[0]})": "gx.Sequential([*by_name.values()])",
    "gx.Sequential(modules=layers)": "gx.Sequential(layers)",
    "gx.Model(input=inputs, output=outputs)": "gx.Model(inputs, outputs)",
    "gx.Model(layers=layers)": "gx.Sequential(layers)",
    "gx.Model(layers)": "gx.Sequential(layers)",
    "gx.layers.LSTM(num_hidden=4)": "units=4",
    "gx.layers.LSTM(4, inner_activation='sigmoid')": "recurrent_activation='sigmoid'",
    "gx.layers.LSTM(4, dropout_U=0.1)": "recurrent_dropout=0.1",
    "gx.layers.RNN(cells=gx.layers.LSTMCell(3))": "cell=...",
    "gx.layers.GRU(4, unroll=True)": "leave it out: the steps run in one compiled loop",
}


def told_for(line, names):
    with pytest.raises(GraftaxError) as caught:
        eval(line, names)
    assert caught.value.__cause__ is None  # nothing from inside of graftax is shown with it
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value.instead


def names_of_a_model():
    inputs = gx.Input((3,))
    parts = [layers.Dense(2)]
    return {"gx": gx, "np": np, "inputs": inputs, "outputs": parts[0](inputs), "layers": parts}


@pytest.mark.parametrize("line", LINES)
def test_x5_what_is_told_for_a_line_of_another_library_runs(line):
    names = names_of_a_model()
    told = told_for(line, names)
    assert told == LINES[line]
    if told.startswith("gx."):
        if "values()" in told:
            names["by_name"] = {"a": layers.Dense(2)}
        assert eval(told, names) is not None


STATEFUL = {
    "layer": lambda: layers.LSTM(4, stateful=True),
    "of a cell": lambda: layers.RNN(layers.GRUCell(4), stateful=True),
    "both ways": lambda: layers.Bidirectional(layers.LSTM(4, stateful=True)),
    "in a model": lambda: gx.Sequential([layers.Dense(3), layers.SimpleRNN(4, stateful=True)]),
}


@pytest.mark.broad
@pytest.mark.parametrize("kind", STATEFUL)
@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("gx.Input((10, 1))", "gx.Input((10, 1), batch_size=4)"),
        ('gx.Input((None, 3), name="z")', 'gx.Input((None, 3), batch_size=4, name="z")'),
        ('gx.Input((10, 1), dtype="float16")', 'gx.Input((10, 1), dtype="float16", batch_size=4)'),
    ],
)
def test_x5_a_layer_that_keeps_states_is_told_the_size_of_a_batch(kind, entry, told):
    ways = {
        "sequential": "gx.Sequential([ENTRY, make()])",
        "graph": "make()(ENTRY)",
        "after a layer": "make()(gx.layers.Dense(2)(ENTRY))",
    }
    for way in ways.values():
        names = {"gx": gx, "make": STATEFUL[kind]}
        assert told_for(way.replace("ENTRY", entry), names) == f"{told}, with the size of your batches"
        eval(way.replace("ENTRY", told), names)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("gx.Input((None,))", "gx.Input((8,))"),
        ('gx.Input((4, None), batch_size=2, name="z")', 'gx.Input((4, 8), batch_size=2, name="z")'),
    ],
)
def test_x5_a_size_that_weights_need_is_told_with_the_shape_of_the_input(entry, told):
    names = {"gx": gx, "make": lambda: layers.Dense(3)}
    assert told_for(f"make()({entry})", names) == f"{told}, with your size in place of 8"
    eval(f"make()({told})", names)
