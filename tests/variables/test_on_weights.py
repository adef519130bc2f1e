"""What hangs on a weight, its regularizer or constraint, is a part of the object graph, wherever it was set."""

import copy
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.variables.graph.node import Leaf

X = np.ones((4, 3), "float32")
Y = np.ones((4, 2), "float32")


class Pull(gx.regularizers.BaseRegularizer, gx.Module):
    """A regularizer whose strength is trained."""

    def __init__(self, strength=0.5):
        super().__init__()
        self.strength = strength
        self.s = gx.Variable(strength)

    def __call__(self, value):
        return ops.exp(-self.s) * ops.sum(value**2) + self.s


class Ball(gx.constraints.BaseConstraint, gx.Module):
    """A constraint whose radius is a Variable."""

    def __init__(self, radius=0.5):
        super().__init__()
        self.radius = radius
        self.s = gx.Variable(radius, trainable=False)

    def __call__(self, value):
        return ops.clip(value, -self.s, self.s)


class Own(gx.Layer):
    """A layer whose weight has what is given, in no attribute of the layer."""

    def __init__(self, how, kind, thing):
        super().__init__()
        self.how = how
        self.given = lambda: {kind: thing}

    def build(self, shape):
        if self.how == "add_weight":
            self.kernel = self.add_weight((shape[-1], 2), **self.given())
        else:
            weight = gx.Variable(np.full((shape[-1], 2), 0.3, "float32"), **self.given())
            self.weights_of_all = [{"first": weight}]

    def call(self, x):
        return x @ (self.kernel if self.how == "add_weight" else self.weights_of_all[0]["first"])


KINDS = {"regularizer": Pull, "constraint": Ball}
WAYS = ("constructor", "later", "Variable", "add_weight", "expression", "before graft", "on a part")


def make(kind, how, start=0.5):
    """Return a model, and what hangs on one of its weights."""
    gx.set_random_seed(0)
    thing = KINDS[kind](start)
    if how == "constructor":
        layer = layers.Dense(2, **{f"kernel_{kind}": thing})
    elif how in ("Variable", "add_weight"):
        layer = Own(how, kind, thing)
    else:
        layer = layers.Dense(2)
    model = gx.Sequential([layer])
    model(X)
    if how in ("later", "before graft"):
        setattr(layer.kernel, kind, thing)
    if how in ("expression", "before graft", "on a part"):
        layer.kernel.assign(ops.clip(layer.kernel, -start, start))
        gx.graft(layer, gx.reparam.LoRA(rank=1), where="kernel")
    if how == "expression":
        setattr(layer.kernel, kind, thing)
    elif how == "on a part":
        setattr(layer.kernel.adapters["lora"].up, kind, thing)
    model.compile(gx.optimizers.SGD(0.1), "mse")
    return model, thing


def thing_of(model):
    (found,) = [node for node in model.submodules if isinstance(node, Pull | Ball)]
    return found


table = pytest.mark.parametrize(("kind", "how"), [(kind, how) for kind in KINDS for how in WAYS])


@table
def test_its_variable_is_in_the_graph_once_with_a_path_that_leads_there(kind, how):
    model, thing = make(kind, how)
    assert [one is thing.s for one in model.variables].count(True) == 1
    assert thing.s.path.startswith("layers/0/")
    assert any(variable is thing.s for variable in model.named_variables().values())
    assert thing.s.path in gx.state(model)
    assert type(thing).__name__ in str(model) or how == "on a part"  # a weight is one word there
    assert thing_of(model) is thing


@table
def test_it_is_saved_and_restored(kind, how, tmp_path):
    model, thing = make(kind, how)
    thing.s.assign(0.25)
    model.save_weights(tmp_path / "c")
    one, its = make(kind, how)
    gx.Checkpoint(model=one).restore(tmp_path / "c").assert_consumed()
    other, of_other = make(kind, how)
    other.load_weights(tmp_path / "c")
    assert (float(its.s), float(of_other.s)) == (0.25, 0.25)


@table
def test_a_copy_has_its_own(kind, how):
    model, thing = make(kind, how)
    again = copy.deepcopy(model)
    thing_of(again).s.assign(0.25)
    assert float(thing.s) == 0.5
    assert len(again.variables) == len(model.variables)
    assert [v.path for v in again.variables] == [v.path for v in model.variables]


@table
def test_a_whole_model_has_it(kind, how, tmp_path):
    model, thing = make(kind, how)
    thing.s.assign(0.25)
    model.save(tmp_path / "m")
    own = [Own] if how in ("Variable", "add_weight") else []
    again = gx.load_model(tmp_path / "m", custom=[KINDS[kind], *own])
    assert float(thing_of(again).s) == 0.25


@pytest.mark.in_turn(10, broad=7)
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("by", ["fit", "minimize", "compiled minimize"])
def test_what_a_regularizer_has_is_trained(how, by):
    model, thing = make("regularizer", how)
    if by == "fit":
        model.fit(X, Y, verbose=0)
    else:
        optimizer = gx.optimizers.SGD(0.1)

        def step():
            optimizer.minimize(lambda: ops.mean((model(X) - Y) ** 2) + sum(model.losses), model)

        (gx.jit(step) if by == "compiled minimize" else step)()
    assert float(thing.s) != 0.5


@pytest.mark.broad
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["later", "expression", "on a part"])
def test_a_compiled_step_notices_what_is_set_after_it(kind, how):
    model, _ = make(kind, "before graft" if how != "later" else "constructor")
    weight = model.layers[0].kernel if how != "on a part" else model.layers[0].kernel.adapters["lora"].up
    model.fit(X, Y, verbose=0)
    new = KINDS[kind](0.125)
    setattr(weight, kind, new)
    model.fit(X, Y, verbose=0)
    assert [one is new.s for one in model.variables].count(True) == 1
    if kind == "regularizer":
        assert float(new.s) != 0.125
    else:
        assert float(ops.max(ops.abs(weight))) <= 0.125


class Grow(gx.Callback):
    def on_epoch_end(self, epoch, logs=None):
        thing = thing_of(self.model)
        thing.s.assign(thing.s * 1.5)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@table
def test_a_run_that_goes_on_has_it_as_it_was(kind, how, tmp_path):
    def run(folder, epochs):
        model, _ = make(kind, how)
        callbacks = [Grow(), gx.callbacks.ModelCheckpoint(tmp_path / folder)]
        return model.fit(X, Y, epochs=epochs, verbose=0, resume=tmp_path / folder, callbacks=callbacks).history["loss"]

    whole = run("whole", 4)
    run("parts", 2)
    assert run("parts", 4)[-2:] == whole[-2:]


@pytest.mark.broad
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["later", "Variable"])
def test_an_export_names_it(kind, how, tmp_path):
    model, thing = make(kind, how)
    model(X)
    step = gx.jit(lambda x: ops.sum(model(x)) + (sum(model.losses) if kind == "regularizer" else thing.s))
    step(X)
    gx.export.save(tmp_path / "e", {"f": gx.export.Signature(step, gx.export.Spec("batch 3"))}, roots={"model": model})
    assert f"model/{thing.s.path}" in gx.export.load(tmp_path / "e").values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ways", [("constructor", "later"), ("later", "constructor"), ("later", "before graft")])
def test_where_it_was_set_does_not_matter_for_a_checkpoint(kind, ways, tmp_path):
    before, now = ways
    model, thing = make(kind, before)
    thing.s.assign(0.25)
    model.save_weights(tmp_path / "c")
    other, its = make(kind, now)
    gx.Checkpoint(model=other).restore(tmp_path / "c", mode="overlap", settings="program")
    assert float(its.s) == 0.25


@pytest.mark.parametrize("kind", KINDS)
def test_files_from_before_lack_it(kind, tmp_path, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(Leaf, "_gx_hanging", lambda self: ())
        model, _ = make(kind, "later")
        model.save(tmp_path / "m")
    again = gx.load_model(tmp_path / "m", custom=[KINDS[kind]])
    assert float(thing_of(again).s) == 0.5
    other, its = make(kind, "later", 0.75)
    with pytest.raises(gx.errors.MissingInCheckpoint, match=rf"kernel\.{kind}/s"):
        other.load_weights(tmp_path / "m")
    gx.Checkpoint(model=other).restore(tmp_path / "m", only="model/**", skip=f"**/kernel.{kind}/**")
    assert float(its.s) == 0.75


@pytest.mark.parametrize("kind", KINDS)
def test_it_waits_for_a_layer_that_is_not_built(kind, tmp_path):
    model, thing = make(kind, "add_weight")
    thing.s.assign(0.25)
    model.save_weights(tmp_path / "c")
    new = KINDS[kind]()
    again = gx.Sequential([Own("add_weight", kind, new)])
    report = gx.Checkpoint(model=again).restore(tmp_path / "c")
    again(X)
    assert float(new.s) == 0.25
    report.assert_consumed()


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_that_has_it_in_an_attribute_keeps_that_path(kind):
    model, thing = make(kind, "constructor")
    assert thing.s.path == f"layers/0/kernel_{kind}/s"
    assert getattr(model.layers[0].kernel, kind) is thing
    late, other = make(kind, "later")
    assert other.s.path == f"layers/0/kernel.{kind}/s"
    setattr(late.layers[0].kernel, kind, None)
    assert not any(one is other.s for one in late.variables)


@pytest.mark.parametrize("kind", KINDS)
def test_tied_weights_have_it_once(kind):
    model, thing = make(kind, "later")
    twin = layers.Dense(2)
    twin.build((None, 3))
    twin.kernel = model.layers[0].kernel
    assert [one is thing.s for one in Pair(model.layers[0], twin).variables].count(True) == 1


class Pair(gx.Module):
    def __init__(self, one, other):
        self.one, self.other = one, other


@pytest.mark.parametrize("kind", KINDS)
def test_what_hangs_on_a_weight_of_a_frozen_layer_is_frozen(kind):
    layer = layers.Dense(2)
    layer.build((None, 3))
    layer.trainable = False
    thing = Pull()
    setattr(layer.kernel, kind, thing)
    assert not thing.s.trainable
    layer.trainable = True
    assert thing.s.trainable


class Plain:
    """No Module."""

    def __init__(self):
        self.s = gx.Variable(0.5)

    def __call__(self, value):
        return value * self.s


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["constructor", "later", "add_weight", "expression"])
def test_a_plain_object_with_variables_is_told_of(kind, how, monkeypatch):
    monkeypatch.setitem(KINDS, kind, lambda start: Plain())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model, _ = make(kind, how)
        _ = model.variables
    told = [str(one.message) for one in found if "neither trained nor saved" in str(one.message)]
    assert len(told) == 1
    assert "class Plain(gx.Module)" in told[0]


def test_a_plain_object_whose_variables_the_model_has_is_right():
    layer = layers.Dense(2)
    model = gx.Sequential([layer])
    model(X)
    plain = Plain()
    model.strength = plain.s
    layer.kernel.constraint = plain
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert any(one is plain.s for one in model.variables)
