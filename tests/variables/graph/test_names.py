"""Any name that a domain uses works as an attribute, or is refused where it is assigned, in three beats.

All names at once are put on one object for each kind of value; it is trained for a step, compiled, copied, saved and
restored. What holds Variables is found under its name and comes back.
"""

import copy
import functools
import re
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import AssignmentError, GraftaxError
from graftax.variables.graph import reserved
from graftax.variables.graph.module import Module

DOMAIN = """
    edges children slots owner path losses policy adapters history fingerprint graph state states variables_ units seen
    resting frozen input_shape carried pending held node nodes parent parents roots root leaf leaves key keys value
    values items role roles tree table title call_ built freeze summary metrics optimizer objectives compiled rules
    slot others gathered iterations variables trainable_variables submodules name dtype add_loss apply update build
    call fit compile explain result reset step steps record records plan limits scope storage spec memo touched watched
    captured walked asked scale noise seed generator shape stop_training get_state ensure_state arguments untracked form
    formula ranges keeps averaged trainable weights elementwise index data env agent layers memory
    _owner _edges _slots _pending _captured _seed_root _watched _name _frozen _call _title _compiled _plans _policy
    _losses _functions _objectives _limits _rules _move _records _regularized _state _graph _path _built _kept
""".split()

X, Y = np.ones((4, 2), "float32"), np.ones((4, 3), "float32")


def helper(*args, **kwargs):
    return 7


def nodes_of(value):
    if isinstance(value, gx.Variable):
        return [value]
    if isinstance(value, Module):
        return value.variables
    if isinstance(value, dict):
        value = list(value.values())
    return [v for part in value for v in nodes_of(part)] if isinstance(value, list | tuple) else []


@functools.cache
def first_of(number):
    return gx.Variable(np.float32(number))


def var(number=1.0):
    return copy.deepcopy(first_of(number))  # ten thousand are made here, and copies are made in no time


def part():
    holder = Module()
    holder.inside = var(2.0)
    return holder


KINDS = {
    "int": lambda: 3,
    "str": lambda: "text",
    "none": lambda: None,
    "array": lambda: np.arange(3.0),
    "function": lambda: helper,
    "variable": var,
    "module": part,
    "modules": lambda: [part(), part()],
    "variables": lambda: {"a": var(), "b": var(3.0)},
}


CLASS_KINDS = {
    "constant": lambda name: 7,
    "property": lambda name: property(lambda self: 7),
    "method": lambda name: lambda self, *args, **kwargs: 7,
}


class Plain(Module):
    base = Module

    def __init__(self):
        super().__init__()
        self.w = var()

    def __call__(self, x):
        return x * self.w


class OwnLayer(gx.Layer):
    base = gx.Layer

    def build(self, input_shape):
        self.w = self.add_weight((2, 3))

    def call(self, x):
        return x @ self.w


class OwnModel(gx.Model):
    base = gx.Model

    def __init__(self):
        super().__init__()
        self.dense = gx.layers.Dense(3)

    def call(self, x):
        return self.dense(x)


class OwnOptimizer(gx.Optimizer):
    base = gx.Optimizer

    def __init__(self):
        super().__init__(0.5)

    def create_slots(self, variable):
        return {"moment": gx.Slot()}

    def update(self, gradient, value, slots, step):
        return value - step.learning_rate * gradient, {"moment": slots.moment + gradient}


class OwnMetric(gx.metrics.Metric):
    base = gx.metrics.Metric

    def __init__(self):
        super().__init__()
        self.total = self.add_variable(())

    def update(self, x):
        self.total.assign_add(ops.sum(x))

    def result(self):
        return self.total.value


class OwnLoss(gx.losses.Loss):
    base = gx.losses.Loss

    def call(self, y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 2, axis=-1)


FAMILIES = (Plain, OwnLayer, OwnModel, OwnOptimizer, OwnMetric, OwnLoss)


def three_beats(error):
    text = str(error)
    assert isinstance(error, GraftaxError), f"{type(error).__name__}: {text}"
    assert re.search(r"why: .+\n\s*instead: .+", text, re.DOTALL), text


def named(family, names, made, first):
    """An object to which ``__init__`` assigns values under these names; and the values of those not refused."""
    values = {}

    def assign(self):
        for name in names:
            value = made()
            try:
                setattr(self, name, value)
            except GraftaxError as error:
                three_beats(error)
            else:
                values[name] = value

    def init(self):
        if first:
            assign(self)
        family.__init__(self)
        if not first:
            assign(self)

    return type("Named", (family,), {"__init__": init})(), values


def in_class(family, names, made):
    """An object of a class that has values under these names; and the values of those not refused."""
    values = {}
    for name in names:
        value = made(name)
        try:
            type("Named", (family,), {name: value})
        except GraftaxError as error:
            three_beats(error)
        else:
            values[name] = value
    return type("Named", (family,), dict(values))(), values


def use(it):
    """Train it by a step, eagerly or compiled; the numbers that come out."""
    if isinstance(it, gx.Optimizer):
        w = gx.Variable(np.float32(2.0))
        gx.jit(lambda: it.minimize(lambda: w * w, [w]))()
        return w.numpy()
    if isinstance(it, gx.Model):
        it.compile(gx.optimizers.SGD(0.1), "mse")
        return np.float32(it.train_on_batch(X, Y)["loss"])
    if isinstance(it, gx.losses.Loss):
        return np.asarray(gx.jit(it)(Y, Y, sample_weight=np.ones(4, "float32"), mask=np.ones(4, bool)))
    out = gx.jit(it)(X) if isinstance(it, gx.metrics.Metric) else it(X)
    if isinstance(it, gx.metrics.Metric):
        it.reset()
        return np.asarray(out)
    gx.jit(lambda: gx.value_and_grad(lambda: gx.ops.sum(it(X)), wrt=it.w)())()
    return np.asarray(out)


def check(it, values, folder):
    """Use an object in every way; what its attributes hold is found and comes back."""
    assert np.isfinite(use(it)).all()
    for name, value in values.items():
        assert getattr(it, name) is value, name
    known = {id(v): path for path, v in it.named_variables().items()}
    for name, value in values.items():
        assert all(known[id(v)].split("/")[0] == name for v in nodes_of(value)), name
        assert all(v.path == known[id(v)] for v in nodes_of(value) if isinstance(v, gx.Variable)), name
    twin = copy.deepcopy(it)
    for name, value in values.items():
        assert len(nodes_of(getattr(twin, name))) == len(nodes_of(value)), name
        for number, v in enumerate(nodes_of(value)):
            v.assign(np.float32(number + 5.0))
    gx.Checkpoint(it=it, beside=var()).save(folder)
    gx.Checkpoint(it=twin, beside=var()).restore(folder)
    for name in values:
        assert [float(v) for v in nodes_of(getattr(twin, name))] == [
            n + 5.0 for n in range(len(nodes_of(values[name])))
        ]
    assert repr(it)


@pytest.mark.filterwarnings("ignore:.* has no slots of it")  # its variable is no root
@pytest.mark.in_turn(48, broad=26)
@pytest.mark.parametrize("first", [True, False], ids=["before_init", "after_init"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_o2_names_work_or_are_refused_where_they_are_assigned(family, kind, first, tmp_path):
    it, values = named(family, DOMAIN, KINDS[kind], first)
    assert len(values) >= 100
    if first and kind not in ("int", "variables"):  # what was there before is used like what came after
        assert all(getattr(it, name) is value for name, value in values.items())
    else:
        check(it, values, tmp_path / "all")


@pytest.mark.filterwarnings("ignore:.* has no slots of it")  # its variable is no root
@pytest.mark.in_turn(8, 1)
@pytest.mark.parametrize("kind", CLASS_KINDS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_names_work_or_are_refused_in_the_body_of_a_class(family, kind, tmp_path):
    methods = {name for name in DOMAIN if callable(getattr(family, name, None))}
    names = [name for name in DOMAIN if not (kind == "method" and name in methods)]  # which override what they should
    if kind == "property":
        names = [name for name in names if not isinstance(getattr(family, name, None), property)]
    it, values = in_class(family, names, CLASS_KINDS[kind])
    assert np.isfinite(use(it)).all()
    for name in values:
        found = getattr(it, name)
        assert (found() if kind == "method" else found) == 7, name
    twin = copy.deepcopy(it)
    gx.Checkpoint(it=it, beside=var()).save(tmp_path / "all")
    gx.Checkpoint(it=twin, beside=var()).restore(tmp_path / "all")
    assert len(values) >= 100


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_bases_keep_no_private_names_of_their_own(family):
    protocols = ("__", "_gx_", "_repr_html_")  # those of Python and of notebooks
    taken = {name for name in dir(family.base) if name.startswith("_") and not name.startswith(protocols)}
    it = family()
    use(it)
    assert not taken | {name for name in vars(it) if name.startswith("_") and not name.startswith("_gx_")}


def test_the_docs_list_the_names_that_are_taken():
    tables = {
        "any Module": reserved.OF_MODULES,
        "`Layer`": reserved.OF_LAYERS,
        "`Model`": reserved.OF_MODELS,
        "`Sequential`": reserved.OF_SEQUENTIAL,
        "`Optimizer`": reserved.OF_OPTIMIZERS,
        "`Metric`": reserved.OF_METRICS,
        "`Loss`": reserved.OF_LOSSES,
    }
    rows = [f"| {base} | {', '.join(f'`{name}`' for name in words)} |" for base, words in tables.items()]
    assert "\n".join(rows) in (Path(__file__).parents[3] / "docs" / "state_is_yours.md").read_text(encoding="utf-8")


def test_what_is_only_read_gives_way_and_is_told_otherwise():
    model = OwnModel()
    model.path, model.policy = "data/train", part()
    use(model)
    assert (model.path, model.dense.path) == ("data/train", "dense")
    assert model.dense.owner is model
    assert model.dense.policy.name == "float32"
    assert [v.path for v in model.policy.variables] == ["policy/inside"]


def test_a_method_may_be_replaced_by_what_is_made_of_it():
    class Compiled(OwnLayer):
        def __init__(self):
            super().__init__()
            self.call = gx.jit(self.call)

    layer = Compiled()
    np.testing.assert_allclose(layer(X), X @ layer.w.numpy(), rtol=1e-5)


def test_flags_take_truth_values_only():
    model = OwnModel()
    model.stop_training = model.built = model.supports_masking = True
    for name in ("stop_training", "built", "supports_masking"):
        with pytest.raises(GraftaxError, match=f"OwnModel.{name} got an object of type int"):
            setattr(model, name, 1)
        assert getattr(model, name) is True


def test_the_streams_of_a_module_are_saved_whatever_it_calls_built(tmp_path):
    class House(Module):
        def __init__(self):
            self.built = False
            self.noise = gx.random.SeedGenerator(3)

    house, twin = House(), House()
    gx.random.normal((2,), seed=house.noise)
    gx.Checkpoint(house=house).save(tmp_path / "house")
    gx.Checkpoint(house=twin).restore(tmp_path / "house")
    np.testing.assert_array_equal(
        np.asarray(gx.random.normal((2,), seed=house.noise)), np.asarray(gx.random.normal((2,), seed=twin.noise))
    )


@pytest.mark.parametrize("slots", ["rate", ("rate", "limit")], ids=["one", "two"])
def test_slots_of_a_class_are_refused(slots):
    """A weight in one would be neither trained nor saved."""
    with pytest.raises(AssignmentError, match="(?s)'rate'.*neither trained nor saved"):
        type("Net", (gx.Layer,), {"__slots__": slots})
    mixin = type("Mixin", (), {"__slots__": ("rate",)})
    with pytest.raises(AssignmentError, match="Mixin has __slots__ for 'rate', and Net is made of it"):
        type("Net", (mixin, gx.Layer), {})
    type("Net", (gx.Layer,), {"__slots__": ()})
