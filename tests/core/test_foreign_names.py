"""Names and keywords that Keras, torch and JAX have and graftax has not are answered with the line to write."""

import inspect
import re

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentTypeError, MissingAttributeError
from graftax.core.foreign_keywords import KEYWORDS as FOREIGN_KEYWORDS
from graftax.core.foreign_keywords import WORDS
from graftax.core.foreign_names import NAMES
from graftax.core.known_names import closest
from graftax.core.missing_names import SPACES, public_names

ASKED = {
    "layers.LayerNorm": "graftax.layers.LayerNormalization",
    "layers.Linear": "graftax.layers.Dense(units)",
    "layers.Conv2d": "graftax.layers.Conv2D",
    "layers.BatchNorm2d": "graftax.layers.BatchNormalization()",
    "layers.Sequential": "graftax.Sequential",
    "layers.relu": "graftax.layers.ReLU",
    "losses.MSELoss": "graftax.losses.MeanSquaredError()",
    "losses.meansquarederror": "graftax.losses.MeanSquaredError",
    "metrics.Acuracy": "graftax.metrics.Accuracy",
    "metrics.Nonsense": "dir(graftax.metrics)",
    "initializers.xavier_uniform": "graftax.initializers.GlorotUniform()",
    "initializers.he_normal": "graftax.initializers.HeNormal",
    "optimizers.CosineDecay": "graftax.optimizers.schedules.CosineDecay",
    "optimizers.schedules.StepLR": "graftax.optimizers.schedules.ExponentialDecay(1e-2, 100, 0.1, staircase=True)",
    "reparam.Lora": "graftax.reparam.LoRA",
    "activations.ReLU": "graftax.activations.relu",
    "regularizers.l2": "graftax.regularizers.L2",
    "constraints.maxnorm": "graftax.constraints.MaxNorm",
    "random.gaussian": "graftax.random.normal(shape)",
    "adapters.lists": "dir(graftax.adapters)",
    "layers.InstanceNorm2d": "graftax.layers.InstanceNormalization()",
    "layers.ConvTranspose3d": "graftax.layers.Conv3DTranspose(filters, kernel_size)",
    "layers.RNNCell": "graftax.layers.SimpleRNNCell(units)",
    "callbacks.SwapEMAWeights": "graftax.callbacks.SwapAverages()",
    "EarlyStopping": "graftax.callbacks.EarlyStopping()",
    "nn": "graftax.layers, graftax.activations and graftax.ops",
    "keras": "graftax.layers, graftax.Model and graftax.Sequential",
    "optim": "graftax.optimizers",
    "Dense": "graftax.layers.Dense",
    "Metric": "graftax.metrics.Metric",
    "Loss": "graftax.losses.Loss",
    "schedules": "graftax.optimizers.schedules",
    "vmap": "graftax.vectorized_map",
    "Variabel": "graftax.Variable",
}


@pytest.mark.parametrize("dotted", ASKED)
def test_a4_a_name_from_elsewhere_is_answered_with_the_line(dotted):
    space, _, name = dotted.rpartition(".")
    found = gx
    for part in filter(None, space.split(".")):
        found = getattr(found, part)
    with pytest.raises(MissingAttributeError) as caught:
        getattr(found, name)
    assert caught.value.instead == ASKED[dotted]
    assert caught.value.reason
    assert not hasattr(found, "__no_such_hook__")


@pytest.mark.parametrize("space", ["", *SPACES])
def test_a4_every_namespace_answers(space):
    module = gx
    for part in filter(None, space.split(".")):
        module = getattr(module, part)
    with pytest.raises(AttributeError) as caught:
        module.no_such_name  # noqa: B018
    assert space == "ops" or isinstance(caught.value, MissingAttributeError)
    assert list(public_names(space))


def test_a4_pooling_has_the_short_names_of_keras():
    x = np.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    assert float(gx.layers.MaxPool2D()(x).max()) == 15
    for short, long in (("AvgPool3D", "AveragePooling3D"), ("GlobalAvgPool1D", "GlobalAveragePooling1D")):
        assert getattr(gx.layers, short) is getattr(gx.layers, long)


def test_a4_no_entry_hides_a_name_that_there_is():
    bare = {name for space in ("", "layers", "losses", "metrics", "initializers") for name in public_names(space)}
    assert {name for name in NAMES if name in bare and "." not in name} == set()


KEYWORDS = [
    (lambda: gx.layers.Dense(3, input_shape=(2,)), "sizes of inputs are known at the first call"),
    (lambda: gx.layers.Dense(out_features=3), "units=3"),
    (lambda: gx.layers.Dense(3, activation_fn="relu"), "activation='relu'"),
    (lambda: gx.layers.Dense(3, bais=True), "leave it out"),
    (lambda: gx.layers.Dense(3, use_bais=True), "use_bias=True"),
    (lambda: gx.layers.Conv2D(3, kernel=5), "kernel_size=5"),
    (lambda: gx.layers.Conv2D(3, 3, stride=2), "strides=2"),
    (lambda: gx.layers.MaxPooling2D(kernel_size=2), "pool_size=2"),
    (lambda: gx.layers.Dropout(p=0.5), "rate=0.5"),
    (lambda: gx.layers.Embedding(num_embeddings=3, output_dim=2), "input_dim=3"),
    (lambda: gx.layers.BatchNormalization(eps=1e-3), "epsilon=0.001"),
    (lambda: gx.layers.MultiHeadAttention(2, 2, dropout_rate=0.1), "dropout=0.1"),
    (lambda: gx.layers.LSTM(3, batch_first=True), "the batch is the first axis"),
    (lambda: gx.Sequential(layer=[]), "layers=[]"),
    (lambda: gx.losses.BinaryCrossentropy(from_logit=True), "from_logits=True"),
    (lambda: gx.losses.SparseCategoricalCrossentropy(ignore_index=0), "ignore_class=0"),
    (lambda: gx.metrics.MeanSquaredError(nam="x"), "name='x'"),
    (lambda: gx.initializers.RandomNormal(std=1.0), "stddev=1.0"),
    (lambda: gx.regularizers.L2(factor=1.0), "leave it out"),
    (lambda: gx.constraints.MaxNorm(max_norm=1.0), "max_value=1.0"),
    (lambda: gx.optimizers.Adam(lr=0.1), "learning_rate=0.1"),
    (lambda: gx.optimizers.Adam(betas=(0.9, 0.99)), "beta_1=0.9, beta_2=0.99"),
    (
        lambda: gx.optimizers.Adam(decay=0.1),
        "learning_rate=graftax.optimizers.schedules.InverseTimeDecay(rate, 1, decay)",
    ),
    (lambda: gx.optimizers.SGD(0.1, weigth_decay=0.1), "weight_decay=0.1"),
    (lambda: gx.optimizers.schedules.CosineDecay(0.1, T_max=3), "decay_steps=3"),
    (lambda: gx.reparam.LoRA(r=3), "rank=3"),
    (lambda: gx.reparam.SpectralNorm(n_power_iterations=3), "iterations=3"),
    (lambda: gx.SeedGenerator(sed=1), "seed=1"),
]


@pytest.mark.parametrize(("make", "instead"), KEYWORDS)
def test_a4_a_keyword_that_a_constructor_does_not_take_names_the_right_one(make, instead):
    with pytest.raises(ArgumentTypeError) as caught:
        make()
    assert instead in caught.value.instead
    assert caught.value.reason.startswith("it takes ")


def constructors():
    for space in SPACES:
        for name in public_names(space) if space not in ("ops", "backend", "adapters", "activations") else ():
            module = gx
            for part in space.split("."):
                module = getattr(module, part)
            kind = getattr(module, name)
            if inspect.isclass(kind) and hasattr(kind.__init__, "__wrapped__"):
                yield kind


def hands_on(kind):
    """Whether Python misses a required argument before a base sees the keyword."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return any(p.kind is p.VAR_KEYWORD for p in parameters) and parameters[0].default is inspect.Parameter.empty


KINDS = sorted({kind for kind in constructors() if not hands_on(kind)}, key=str)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a4_every_constructor_refuses_what_it_does_not_take(kind):
    with pytest.raises(TypeError, match=rf"{kind.__name__}(\(\))? got no_such_keyword=1"):
        kind(no_such_keyword=1)


def test_a4_every_layer_loss_metric_rule_and_creator_is_among_them():
    names = {kind.__name__ for kind in constructors()}
    for space in ("layers", "losses", "metrics", "optimizers.schedules", "reparam"):
        module = gx.optimizers.schedules if "." in space else getattr(gx, space)
        classes = {name for name in public_names(space) if inspect.isclass(getattr(module, name))}
        own = {getattr(module, name).__name__ for name in classes if "__init__" in vars(getattr(module, name))}
        assert own - names - {"DTypePolicy"} == set()


def test_a4_signatures_stay_what_they_are():
    assert list(inspect.signature(gx.layers.Dense.__init__).parameters)[:3] == ["self", "units", "activation"]
    assert gx.layers.Dense.__init__.__name__ == "__init__"


def test_a4_classes_of_ones_own_are_answered_too():
    class Mine(gx.Layer):
        def __init__(self, depth, **options):
            super().__init__(**options)
            self.depth = depth

    with pytest.raises(ArgumentTypeError, match="Mine got dept=3") as caught:
        Mine(1, dept=3)
    assert caught.value.instead == "depth=3"
    assert Mine(depth=2, name="mine").name == "mine"


def test_tables_of_keywords_name_what_some_constructor_takes():
    taken = {name for kind in constructors() for name in inspect.signature(kind.__init__).parameters}
    for base in (gx.Optimizer, *gx.optimizers.Adam.__mro__[:-1]):
        taken |= set(inspect.signature(base.__init__).parameters)
    unknown = {near for nears in FOREIGN_KEYWORDS.values() for near in nears} | {needs for needs, _ in WORDS.values()}
    assert unknown - taken == set()


@pytest.mark.parametrize(
    ("given", "names", "meant"),
    [
        ("auc", ["acc", "mae", "accuracy"], None),
        ("mape", ["mae", "mse"], None),
        ("rmse", ["mse"], None),
        ("elu", ["relu"], None),
        ("Conv4D", ["Conv2D", "Conv3D"], None),
        ("beta_3", ["beta_1", "beta_2"], None),
        ("mean_squared_log_error", ["mean_squared_error"], None),
        ("minimum", ["maximum"], None),
        ("", ["a"], None),
        ("sparse", ["sparse_a", "sparse_b"], None),
        ("Adm", ["adam", "adan"], "adam"),
        ("msee", ["mse", "mae"], "mse"),
        ("gren", ["red", "green"], "green"),
        ("layer_norm", ["LayerNormalization"], "LayerNormalization"),
        ("acuracy", ["accuracy"], "accuracy"),
        ("weigth_decay", ["weight_decay"], "weight_decay"),
        ("L1L2", ["l1_l2", "l2"], "l1_l2"),
    ],
)
def test_a5_what_is_close_is_a_slip_and_not_another_thing(given, names, meant):
    assert closest(given, names) == meant


def test_a5_no_known_name_is_close_to_another_one_of_its_kind():
    for get in (gx.losses.get, gx.metrics.get, gx.activations.get, gx.initializers.get):
        with pytest.raises(gx.errors.ArgumentError) as caught:
            get("no such name")
        names = re.sub("^there are ", "", caught.value.instead).split("; ")[0].split(", ")
        assert len(names) > 5
        for name in names:
            assert closest(name, names) in (name, {"logcosh": "log_cosh"}.get(name))  # two spellings of one
