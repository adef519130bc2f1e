"""Adapters by name: added, stacked, switched, removed, merged, over every weight that has them."""

import copy
import threading

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftError, SelectorError
from graftax.reparam import DoRA, LoRA, LowRank, WeightNorm, adapters
from tests.interrupts import interrupts

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)


def net(*creators):
    model = gx.Sequential([layers.Dense(5, activation="tanh"), layers.Dense(2)])
    model(X)
    for creator in creators:
        gx.graft(model, creator, where="**/kernel")
    return model


def trained(model, name, step=0.3):
    """The adapter of that name, moved away from where it does nothing."""
    for i, v in enumerate(v for v in model.variables if gx.adapters.named(name)(v)):
        v.assign_add(np.cos(np.arange(v.size, dtype="float32") + i).reshape(v.shape) * np.float32(step))
    return model


A, B = LoRA(2, alpha=4, name="a"), LoRA(1, name="b")


def delta(weight, name):
    adapter = weight.adapters[name]
    return adapter.scale * adapter.down.numpy() @ adapter.up.numpy()


def test_a_second_graft_joins_on_top_and_keeps_paths_and_function():
    model = trained(net(A), "a")
    paths, before = [v.path for v in model.variables], np.asarray(model(X))
    first = model.layers[0].kernel.adapters["a"]
    base = model.layers[0].kernel.base
    gx.graft(model, B, where="layers/0/kernel")
    weight = model.layers[0].kernel
    assert weight.adapters["a"] is first
    assert weight.base is base
    assert [v.path for v in model.variables if not gx.adapters.named("b")(v)] == paths
    assert gx.adapters.names(model) == gx.adapters.active(model) == ["a", "b"]
    np.testing.assert_array_equal(model(X), before)
    with pytest.raises(GraftError, match="has an adapter 'a' already"):
        gx.graft(model, LoRA(3, name="a"), where="**/kernel")
    np.testing.assert_array_equal(model(X), before)
    with gx.variable_creator_scope(A), gx.variable_creator_scope(B):  # the same at creation; none adapts the other
        layer = layers.Dense(3, use_bias=False)
        layer(X)
    assert [v.path for v in layer.variables] == [
        "kernel/base",
        *(f"kernel/adapters/{n}/{p}" for n in "ab" for p in ("down", "up")),
    ]


def test_switching_stacks_rests_and_gives_the_base_back_exactly():
    model = net()
    before = np.asarray(model(X))
    for creator in (A, B):
        gx.graft(model, creator, where="**/kernel")
    trained(trained(model, "a"), "b")
    weight = model.layers[0].kernel
    base = weight.base.numpy()
    for chosen in ((), ("a",), ("b",), ("b", "a")):
        gx.adapters.use(model, *chosen)
        assert gx.adapters.active(model) == list(chosen)
        np.testing.assert_allclose(weight.numpy(), base + sum(delta(weight, name) for name in chosen), atol=1e-6)
        moving = {gx.reparam.adapted.adapter_of(v) for v in model.trainable_variables}
        assert moving == {None, *chosen}
    full = weight.numpy()
    with gx.adapters.disabled(model):
        np.testing.assert_array_equal(model(X), before)
    np.testing.assert_array_equal(weight.numpy(), full)
    model.freeze(gx.adapters.named("a"))
    gx.adapters.use(model, "b")
    gx.adapters.use(model, "a", "b")
    assert {gx.reparam.adapted.adapter_of(v) for v in model.trainable_variables} == {None, "b"}
    twin = copy.deepcopy(model)
    gx.adapters.use(twin)
    assert gx.adapters.active(model) == ["a", "b"]
    np.testing.assert_allclose(weight.numpy(), full, atol=1e-6)


@pytest.mark.broad
def test_an_optimizer_keeps_what_stays_and_starts_what_is_new_in_one_compiled_step():
    model, optimizer = net(A), gx.optimizers.Adam(1e-2, weight_decay=0.1)

    @gx.jit
    def step():
        loss, gradients = gx.value_and_grad(lambda: ops.mean(model(X) ** 2), wrt=model.trainable_variables)()
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    step()
    step()
    weight = model.layers[0].kernel
    a = weight.adapters["a"].up
    momentum = optimizer.slot(a, "momentum").numpy()
    assert np.abs(momentum).max() > 0
    gx.graft(model, B, where="**/kernel")
    gx.adapters.use(model, "b")
    still = a.numpy()
    traces = step.trace_count
    step()
    assert step.trace_count == traces + 1
    np.testing.assert_array_equal(a.numpy(), still)
    np.testing.assert_array_equal(optimizer.slot(a, "momentum").numpy(), momentum)
    b = model.layers[0].kernel.adapters["b"].up
    assert np.abs(b.numpy()).max() > 0
    fresh = 0.1 * np.sign(optimizer.slot(b, "momentum").numpy())  # one step of Adam: (1 - 0.9) g
    assert (np.sign(b.numpy()) == -np.sign(fresh)).all()


@pytest.mark.broad
def test_remove_and_merge():
    model = trained(trained(net(A, B), "a"), "b")
    weight, kernel = model.layers[0].kernel, model.layers[0].kernel.base
    full, full_output = weight.numpy(), np.asarray(model(X))
    gx.adapters.merge(model, "b")  # sums overtake one another
    assert gx.adapters.names(model) == ["a"]
    np.testing.assert_allclose(weight.numpy(), full, atol=1e-6)
    gx.adapters.merge(model, "a")
    assert model.layers[0].kernel is kernel
    assert kernel.trainable
    np.testing.assert_allclose(model(X), full_output, atol=1e-5)
    assert len(model.trainable_variables) == 4

    model = trained(net(A, B), "b")
    gx.adapters.remove(model, "a", "b")
    assert [type(layer.kernel) for layer in model.layers] == [gx.Variable, gx.Variable]
    model = trained(net(A, B), "a")
    full_output = np.asarray(model(X))
    gx.ungraft(model)
    np.testing.assert_allclose(model(X), full_output, atol=1e-5)


@pytest.mark.broad
def test_merge_refuses_what_would_change_the_function():
    model = trained(trained(net(A, DoRA(1, name="d")), "a"), "d")
    before = np.asarray(model(X))
    with pytest.raises(GraftError, match="'d' applies after 'a'"):
        gx.adapters.merge(model, "d")
    gx.adapters.use(model, "d")
    with pytest.raises(GraftError, match="'a' is not in use"):
        gx.adapters.merge(model, "a")
    gx.adapters.use(model, "a", "d")
    np.testing.assert_array_equal(model(X), before)
    gx.adapters.merge(model, "a")
    np.testing.assert_allclose(model(X), before, atol=1e-5)
    gx.adapters.merge(model, "d")
    np.testing.assert_allclose(model(X), before, atol=1e-5)

    with gx.variable_creator_scope(LowRank(1)):  # a base that cannot have any value
        model = net()
    gx.graft(model, A, where="**/kernel")
    trained(model, "a")
    before = np.asarray(model(X))
    with pytest.raises(GraftError, match="its norm away"):
        gx.adapters.merge(model, "a")
    np.testing.assert_array_equal(model(X), before)
    assert gx.adapters.active(model) == ["a"]
    gx.ungraft(model)
    np.testing.assert_allclose(model(X), before, atol=1e-5)


def test_names_must_be_there():
    plain, model = net(), net(A)
    for act in (gx.adapters.use, gx.adapters.remove, gx.adapters.merge):
        with pytest.raises(GraftError, match="has no adapters"):
            act(plain, "a")
        with pytest.raises(GraftError, match="'poet'") as caught:
            act(model, "poet")
        assert "'a'" in str(caught.value)
        with pytest.raises(GraftError, match="twice"):
            act(model, "a", "a")
    for act in (lambda: gx.adapters.remove(model), lambda: gx.adapters.merge(model), lambda: gx.adapters.named()):
        with pytest.raises(GraftError, match="without a name"):
            act()
    with pytest.raises(SelectorError, match="named"):
        model.freeze(gx.adapters.named("poet"))
    for bad in ("", "a/b", 3):
        with pytest.raises(ArgumentError, match="name="):
            LoRA(1, name=bad)


@pytest.mark.broad
@pytest.mark.parametrize(
    ("layer", "x", "down"),
    [
        (layers.Conv2D(3, 2), np.ones((1, 4, 4, 2), "float32"), (8, 2)),
        (layers.Embedding(7, 4), np.array([[1, 6]]), (7, 2)),
    ],
    ids=["conv", "embedding"],
)
def test_kernels_of_more_axes_and_tables(layer, x, down):
    before = np.asarray(layer(x))
    (done,) = gx.graft(layer, LoRA(2), where=lambda v: v.ndim >= 2)
    assert done.weight.adapters["lora"].down.shape == down
    np.testing.assert_array_equal(layer(x), before)
    trained(layer, "lora")
    weight = done.weight
    np.testing.assert_allclose(
        weight.numpy().reshape(down[0], -1), weight.base.numpy().reshape(down[0], -1) + delta(weight, "lora"), atol=1e-6
    )


def test_rank_stabilized_scale():
    assert (LoRA(4, alpha=8).scale, LoRA(4, alpha=8, stabilized=True).scale) == (2, 4)
    assert repr(LoRA(4, stabilized=True)) == "LoRA(rank=4, alpha=4, name='lora', stabilized=True)"


@pytest.mark.broad
def test_over_an_expression():
    model = net(WeightNorm())
    before = np.asarray(model(X))
    gx.graft(model, A, where="**/kernel")
    gx.adapters.remove(trained(model, "a"), "a")
    np.testing.assert_array_equal(model(X), before)
    assert [v.path for v in model.trainable_variables] == [
        f"layers/{i}/{p}" for i in (0, 1) for p in ("kernel/direction", "kernel/magnitude", "bias")
    ]


def test_what_is_no_model_and_no_name_is_refused():
    layer = gx.layers.Dense(2)
    layer.build((None, 3))
    gx.graft(layer, gx.reparam.LoRA(1), where="kernel")
    for ask in (gx.adapters.names, gx.adapters.active):
        with pytest.raises(ArgumentTypeError, match="in place of a model"):
            ask("layer")
    for wrong in (1, ["lora"], None):
        with pytest.raises(GraftError, match="named"):
            gx.adapters.named(wrong)
        with pytest.raises(GraftError, match="merge"):
            gx.adapters.merge(layer, wrong)


def test_ctrl_c_while_adapters_are_switched_off_switches_them_on_again():
    layer = gx.layers.Dense(3)
    layer.build((2,))
    gx.graft(layer, LoRA(rank=1))

    def run():
        with adapters.disabled(layer):
            pass

    number = 0
    for number in interrupts(run, adapters.__file__):
        assert adapters.active(layer) == ["lora"], number
    assert number > 5


@pytest.mark.broad
def test_disabled_in_two_threads_is_refused_and_leaves_the_adapters_in_use():
    """The block that ended last put back what the other one had made of the model: adapters were off for ever."""
    layer = gx.layers.Dense(3)
    layer.build((2,))
    gx.graft(layer, LoRA(rank=1))
    inside, done = threading.Event(), threading.Event()

    def reference():
        with gx.adapters.disabled(layer):
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=reference)
    thread.start()
    assert inside.wait(10)
    assert gx.adapters.active(layer) == []  # the state of the model, in all threads
    try:
        with pytest.raises(GraftError, match="another thread is in such a block") as told, gx.adapters.disabled(layer):
            pass
    finally:
        done.set()
        thread.join()
    assert "copy.deepcopy(model)" in told.value.instead
    assert gx.adapters.active(layer) == ["lora"]
    with gx.adapters.disabled(layer), gx.adapters.disabled(layer):  # in one thread, one in the other
        assert gx.adapters.active(layer) == []
    assert gx.adapters.active(layer) == ["lora"]
