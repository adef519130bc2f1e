"""What functions of the library put onto a model that is made already comes back with it, or is refused by name."""

from functools import partial

import numpy as np
import pytest

import graftax as gx
from graftax import layers, reparam
from graftax.training.whole.description import Describing
from graftax.variables.graph.module import walk_with_edges
from graftax.variables.graph.node import holds_node

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(8, 4)).astype("float32")
Y = DRAWS.normal(size=(8, 2)).astype("float32")


def body():
    return [
        layers.Dense(3, activation="tanh", name="one", kernel_regularizer=gx.regularizers.L2(0.01)),
        layers.Dropout(0.3, seed=1, name="drop"),
        layers.Dense(3, name="two"),
        layers.Dense(3, name="three"),
        layers.Dense(2, name="out"),
    ]


class Net(gx.Model):
    def __init__(self):
        super().__init__()
        self.layers = body()
        self._scale, self.steps = 1.0, [1, 2]

    def call(self, x):
        for one in self.layers:
            x = one(x)
        return x * self._scale


def row():
    return gx.Sequential(body())


def graph():
    x = h = gx.Input((4,))
    for one in body():
        h = one(h)
    return gx.Model(x, h)


KINDS = {"sequential": row, "graph": graph, "subclass": Net}


def adapters(model, *names):
    for name in names or ("a", "b"):
        gx.graft(model, reparam.LoRA(1, name=name), where="**/kernel")
    for i, v in enumerate(v for v in model.variables if gx.is_adapter(v)):
        v.assign(v.value + 0.01 * (i + 1))


def compiled(model, **options):
    optimizer = options.pop("optimizer", None) or gx.optimizers.Adam(0.01, accumulation_steps=2, ema_momentum=0.9)
    model.compile(optimizer, options.pop("loss", None) or gx.losses.Huber(0.5), metrics=["mae"], **options)
    model.fit(X, Y, batch_size=4, epochs=1, shuffle=False, verbose=0)


def trained(model):
    compiled(model)
    model.optimizer.learning_rate = 0.5
    model.optimizer.clipnorm = 0.125


def used(*names):
    def use(model):
        adapters(model)
        gx.adapters.use(model, *names)

    return use


def dropped(how):
    def drop(model):
        adapters(model)
        how(model, "a")

    return drop


def pruned(model):
    gx.graft(model, reparam.Mask(), where="**/kernel")
    reparam.prune(model, 0.5)


def tied(model):
    one, two = model.get_layer("one"), model.get_layer("two")
    two.bias.assign(one.bias)
    gx.graft(model, reparam.Shared(one.bias), where=f"{at(model, 'two')}/bias")


def tied_to_a_later_one(model):
    two = model.get_layer("two")
    gx.graft(model, reparam.Shared(two.bias), where=f"{at(model, 'one')}/bias")


def tied_and_adapted(model):
    other = model.get_layer("three")
    other.kernel.assign(model.get_layer("two").kernel)
    gx.graft(model, reparam.Shared(model.get_layer("two").kernel), where=f"{at(model, 'three')}/kernel")
    gx.graft(model, reparam.LoRA(1, name="a"), where=f"{at(model, 'two')}/kernel")
    gx.graft(model, reparam.LoRA(1, name="b"), where=f"{at(model, 'three')}/kernel")


def thawed(model):
    model.trainable = False
    model.unfreeze("**/bias")


def layer(model, name):
    return next(one for one in model.layers if one.name == name)


def at(model, name):
    return f"layers/{[one.name for one in model.layers].index(name)}"


def _set(path, name, value):
    def put(model):
        holder, _, weight = path.partition("/")
        node = layer(model, holder)
        setattr(getattr(node, weight) if weight else node, name, value)

    return put


SETTERS = {
    "nothing": lambda model: None,
    "dtype policy of all": lambda model: gx.set_dtype_policy("mixed_bfloat16", model),
    "dtype policy of one": lambda model: gx.set_dtype_policy("mixed_bfloat16", model, where=at(model, "two")),
    "remat policy": lambda model: gx.set_remat_policy("full", model, where="layers/*"),
    "remat policy taken back": lambda model: [
        gx.set_remat_policy(policy, model, where=at(model, "two")) for policy in ("dots", None)
    ],
    "adapters in use": used("b"),
    "adapters at rest": used(),
    "adapters in another order": used("b", "a"),
    "an adapter removed": dropped(gx.adapters.remove),
    "an adapter merged": dropped(gx.adapters.merge),
    "adapters frozen": lambda model: [adapters(model), model.freeze(gx.adapters.named("a"))],
    "frozen weights": lambda model: model.freeze(f"{at(model, 'one')}/**"),
    "a frozen layer": _set("two", "trainable", False),
    "a frozen model, thawed in part": thawed,
    "a weight made not to be trained": _set("two/kernel", "trainable", False),
    "a regularizer": _set("two/kernel", "regularizer", gx.regularizers.L2(0.5)),
    "a regularizer taken away": _set("one/kernel", "regularizer", None),
    "a regularizer of an expression": lambda model: [
        adapters(model, "a"),
        setattr(layer(model, "two").kernel, "regularizer", "l2"),
    ],
    "a constraint": _set("two/kernel", "constraint", gx.constraints.MaxNorm(0.1)),
    "an activation": _set("two", "activation", gx.activations.relu),
    "an activation with settings": _set("two", "activation", partial(gx.activations.gelu, approximate=False)),
    "a rate": _set("drop", "rate", 0.75),
    "grafts": lambda model: [
        gx.graft(model, reparam.WeightNorm(), where=f"{at(model, 'one')}/kernel"),
        gx.graft(model, reparam.FakeQuant(4), where=f"{at(model, 'two')}/kernel", tolerance=1.0),
        gx.graft(model, reparam.LoRA(1), where=f"{at(model, 'two')}/kernel"),
    ],
    "pruned weights": pruned,
    "tied weights": tied,
    "weights tied to later ones": tied_to_a_later_one,
    "tied weights with adapters": tied_and_adapted,
    "what an optimizer got later": trained,
    "eager steps": lambda model: compiled(model, run_eagerly=True),
    "steps per execution": lambda model: compiled(model, steps_per_execution=2),
    "a loss scale": lambda model: compiled(model, optimizer=gx.optimizers.SGD(0.1, loss_scale="dynamic")),
    "weights set": lambda model: model.set_weights([w * 0.5 for w in model.get_weights()]),
}

_FOR_NOW = {
    *("_gx_made_with", "_gx_creators", "_gx_owner_ref", "_gx_edges", "_gx_first_call", "_gx_first_named"),
    *("_gx_seed_root", "_gx_looked_through", "_gx_objectives", "_gx_functions", "_gx_watched", "_gx_parts"),
    *("_gx_history", "_gx_limits", "_gx_never_called", "_gx_plans", "_gx_input_shape", "_gx_casts", "_gx_graph"),
    *("_gx_captured", "_gx_pending", "_gx_added", "_storage", "stop_training", "_gx_recorded"),
    "_gx_changed_by_forward",  # known once a weight has been computed
}
"""What belongs to one run of a program; anything else that a part of a model has is compared."""
_AT_FIRST = (("_gx_remat", None), ("_gx_frozen", False))


def everything(model):
    return {
        "/".join(map(str, (*edges, name))): _shown(value)
        for edges, node in walk_with_edges(model)
        for name, value in vars(node).items()
        if name not in _FOR_NOW and not holds_node(value) and (name, value) not in _AT_FIRST
    }


def _shown(value):
    try:
        return Describing().value(value, "")
    except gx.errors.GraftaxError:
        return repr(value)


def check(model, path, custom=()):
    """Save and load, under another global policy; compare what there is, what is computed, and the next steps."""
    wanted = np.asarray(model(X), "float32")
    model.save(path)
    gx.set_dtype_policy("mixed_float16")
    try:
        again = gx.load_model(path, custom=custom)
    finally:
        gx.set_dtype_policy("float32")
    np.testing.assert_array_equal(np.asarray(again(X), "float32"), wanted)
    assert everything(again) == everything(model)
    for one in (model, again):
        if one._gx_objectives is None:
            one.compile(gx.optimizers.SGD(0.1, momentum=0.9), "mse")
    assert again._gx_run_eagerly is model._gx_run_eagerly
    assert again.steps_per_execution == model.steps_per_execution
    logs = [m.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0).history for m in (model, again)]
    assert logs[0] == logs[1]
    np.testing.assert_array_equal(np.asarray(again(X)), np.asarray(model(X)))
    for one in (model, again):
        one.trainable = True
    assert [v.path for v in again.trainable_variables] == [v.path for v in model.trainable_variables]
    return again


QUICK = {"dtype policy of one", "adapters in use", "a regularizer"}
CASES = [
    pytest.param(setter, kind, marks=() if setter in QUICK and kind == "sequential" else pytest.mark.slow)
    for setter in SETTERS
    for kind in KINDS
]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("setter", "kind"), CASES)
def test_what_was_set_comes_back(setter, kind, tmp_path):
    gx.set_random_seed(0)
    model = KINDS[kind]()
    model(X)
    SETTERS[setter](model)
    check(model, tmp_path / "m", [Net] if kind == "subclass" else ())
