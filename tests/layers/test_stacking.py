import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.layers.likeness import first_difference

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
STEPS = np.random.default_rng(1).normal(size=(2, 5, 4)).astype("float32")


RUNS = []


class Counted(gx.Layer):
    """Counts how often its Python runs, in what no program depends on."""

    def build(self, input_shape):
        self.kernel = self.add_weight((input_shape[-1],) * 2, name="kernel")

    def call(self, x):
        RUNS.append(None)
        return ops.tanh(x @ self.kernel)


@pytest.mark.broad
@pytest.mark.parametrize("remat", [False, True])
def test_a_stack_is_its_layers_one_after_the_other(remat):
    blocks = gx.stack(layers.TransformerEncoder(6, 2), 3, remat=remat)
    expected = blocks(STEPS)
    x = STEPS
    for layer in blocks.layers:
        x = layer(x)
    np.testing.assert_allclose(expected, x, rtol=1e-5, atol=1e-6)
    weights = blocks.get_weights()
    assert len({w.tobytes() for w in weights if w.ndim == 2 and w.std()}) == 3 * 6

    def loss(x):
        return ops.sum(blocks(x) ** 2)

    def plain(x):
        for layer in blocks.layers:
            x = layer(x)
        return ops.sum(x**2)

    for wrt in (None, blocks):
        one, other = ((gx.grad(f) if wrt is None else gx.grad(f, wrt=wrt.trainable_variables)) for f in (loss, plain))
        for a, b in zip(gx.jit(one)(ops.asarray(STEPS)), gx.jit(other)(ops.asarray(STEPS)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.broad
def test_compiled_code_has_one_of_them():
    blocks = gx.stack(Counted(), 20)
    blocks.build_for(X)
    RUNS.clear()
    gx.jit(lambda x: blocks(x))(X)
    assert len(RUNS) <= 3


@pytest.mark.broad
def test_state_and_random_draws_are_each_layers_own():
    class Block(gx.Layer):
        """A norm with moving statistics, and a dropout."""

        def __init__(self):
            super().__init__()
            self.norm, self.drop = layers.BatchNormalization(momentum=0.5), layers.Dropout(0.5)

        def call(self, x):
            return self.drop(self.norm(x + 1))

    gx.set_random_seed(0)
    one = gx.stack(Block(), 3)
    one.build_for(X)
    state = gx.state(one)
    eager = np.asarray(one(X, training=True))
    after = gx.state(one)
    for path, variable in one.named_variables().items():
        variable.assign(state[path])
    np.testing.assert_allclose(gx.jit(lambda x: one(x, training=True))(X), eager, rtol=1e-5, atol=1e-5)
    for path, value in gx.state(one).items():
        np.testing.assert_allclose(value, after[path], rtol=1e-5, atol=1e-5, err_msg=path)
    means = [np.asarray(value) for path, value in after.items() if path.endswith("moving_mean")]
    assert not np.allclose(means[0], means[1])
    seeds = [np.asarray(value).tolist() for path, value in after.items() if "seed" in path]
    assert len({tuple(seed) for seed in seeds}) == 3


@pytest.mark.broad
def test_it_trains_with_grafts_and_is_saved(tmp_path):
    model = gx.Sequential([gx.stack(layers.Dense(4, "tanh"), 3), layers.Dense(1)])
    model.build_for(X)
    gx.graft(model, gx.reparam.LoRA(rank=2), where="layers/0/layers/*/kernel")
    model.compile("sgd", "mse")
    first = model.train_on_batch(X, X[:, :1])
    assert model.fit(X, X[:, :1], epochs=3, verbose=0).history["loss"][-1] < (first if np.isscalar(first) else 1e9)
    gx.Checkpoint(model=model).save(tmp_path / "one")
    before = np.asarray(model(X))
    for v in model.trainable_variables:
        v.assign(v.value * 0)
    gx.Checkpoint(model=model).restore(tmp_path / "one")
    np.testing.assert_array_equal(model(X), before)


@pytest.mark.broad
def test_masks_reach_each_layer():
    shown = np.array([[True, True, True, False, False], [True] * 5])
    blocks = gx.stack(layers.TransformerEncoder(6, 2), 2)
    eager = np.asarray(blocks(STEPS, mask=shown))
    np.testing.assert_allclose(eager[0, :3], blocks(STEPS[:1, :3])[0], rtol=1e-4, atol=1e-5)
    compiled = np.asarray(gx.jit(lambda x, m: blocks(x, mask=m))(STEPS, shown))
    np.testing.assert_allclose(compiled[shown], eager[shown], rtol=1e-4, atol=1e-5)


def test_bad_input_is_refused():
    built = layers.Dense(4)
    built(X)
    with pytest.raises(gx.errors.ArgumentError, match="which is built"):
        gx.stack(built, 2)
    with pytest.raises(gx.errors.ArgumentTypeError, match="one unbuilt layer") as caught:
        gx.stack(abs, 2)
    assert "graftax.stack(graftax.layers.TransformerEncoder(64, num_heads=4), 3)" in caught.value.instead
    with pytest.raises(gx.errors.ArgumentTypeError, match=r"of type list(.|\n)*graftax.vectorized_map"):
        gx.stack([layers.Dense(4), layers.Dense(4)], 2)
    with pytest.raises(gx.errors.ArgumentError, match="n=0"):
        gx.stack(layers.Dense(4), 0)
    with pytest.raises(gx.errors.ShapeError, match="the input of the next one"):
        gx.stack(layers.Dense(3), 2)(X)


class Scaled(gx.Layer):
    """With state that each call changes."""

    def build(self, input_shape):
        self.kernel = self.add_weight((input_shape[-1],) * 2, name="kernel")
        self.seen = self.add_weight((2,), initializer="zeros", trainable=False, role="state", name="seen")

    def call(self, x):
        self.seen.assign_add(ops.mean(x) * np.ones(2, "float32"))
        return ops.tanh(x @ self.kernel)


def step_of(model, optimizer):
    @gx.jit
    def step(x):
        trained = model.trainable_variables
        loss, gradients = gx.value_and_grad(lambda: ops.mean(model(x) ** 2), wrt=trained)()
        optimizer.apply(gradients, trained)
        return loss

    return step


@pytest.mark.broad
def test_the_step_to_compile_does_not_grow_with_the_layers():
    lengths = []
    for count in (3, 20):  # more than a pack of small ones holds
        blocks = gx.stack(layers.Dense(4, "tanh"), count)
        blocks.build_for(X)
        lengths.append(step_of(blocks, gx.optimizers.Adam(0.1)).lower(X).text.count("\n"))
    assert lengths[0] == lengths[1]


@pytest.mark.broad
@pytest.mark.parametrize("width", [4, pytest.param(130, marks=pytest.mark.slow)])  # 130: too large to be packed alone
def test_layers_whose_buffers_are_one_train_as_layers_one_by_one(width):
    x = np.random.default_rng(0).normal(size=(3, width)).astype("float32")
    blocks = gx.stack(Scaled(), 3)
    plain = gx.Sequential([Scaled() for _ in range(3)])
    blocks.build_for(x), plain.build_for(x)
    for ours, theirs in zip(blocks.layers, plain.layers, strict=True):
        theirs.kernel.assign(ours.kernel), theirs.seen.assign(ours.seen)
    steps = [step_of(one, gx.optimizers.Adam(0.1)) for one in (blocks, plain)]
    for _ in range(3):
        np.testing.assert_allclose(steps[0](x), steps[1](x), rtol=1e-5)
    assert len({id(layer.kernel._storage.place[0]) for layer in blocks.layers}) == 1
    blocks.layers[1].kernel.assign(blocks.layers[1].kernel * 2)
    plain.layers[1].kernel.assign(plain.layers[1].kernel * 2)
    np.testing.assert_allclose(steps[0](x), steps[1](x), rtol=1e-5)
    for ours, theirs in zip(blocks.layers, plain.layers, strict=True):
        np.testing.assert_allclose(ours.kernel, theirs.kernel, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.seen, theirs.seen, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_layers_of_which_some_are_frozen_train_as_layers_one_by_one():
    blocks = gx.stack(layers.Dense(4, "tanh"), 3)
    blocks.build_for(X)
    before = [layer.kernel.numpy() for layer in blocks.layers]
    blocks.layers[1].trainable = False
    step_of(blocks, gx.optimizers.SGD(0.1))(X)
    moved = [not np.array_equal(layer.kernel, old) for layer, old in zip(blocks.layers, before, strict=True)]
    assert moved == [True, False, True]


class WithScale(gx.Layer):
    """Multiplies by a number that is a plain attribute, and counts its calls in a weight that is not trained."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = scale

    def build(self, input_shape):
        self.w = self.add_weight((input_shape[-1],), "ones", name="w")
        self.calls = self.add_weight((), "zeros", name="calls", trainable=False)

    def call(self, x):
        self.calls.assign_add(1.0)
        return x * self.w * self.scale


class Negated(WithScale):
    def call(self, x):
        return -super().call(x)


@pytest.mark.broad
@pytest.mark.parametrize("remat", [False, True])
def test_compiled_stacks_keep_what_a_call_assigns_to_a_weight(remat):
    blocks = gx.stack(WithScale(), 3, remat=remat)
    run = gx.jit(lambda: blocks(X))
    run(), run()
    assert [float(layer.calls) for layer in blocks.layers] == [2, 2, 2]
    gx.grad(lambda x: ops.sum(blocks(x)))(X)
    assert [float(layer.calls) for layer in blocks.layers] == [3, 3, 3]


def other_scale(blocks):
    blocks.layers[1].scale = 5.0


def other_class(blocks):
    blocks.layers[1] = Negated(5.0)
    blocks.layers[1].build_for(X)


def config_in_a_list(blocks):
    for layer in blocks.layers:
        layer.scale = 1.0
        layer.more = [{"k": 2.0}]
    blocks.layers[1].more[0]["k"] = 3.0
    blocks.layers[1].scale = 5.0


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("change", [other_scale, other_class, config_in_a_list])
@pytest.mark.parametrize("when", ["before the first call", "after it"])
def test_layers_of_a_stack_have_their_own_settings(change, when):
    blocks = gx.stack(WithScale(), 3)
    run = gx.jit(lambda: blocks(X))
    if when == "after it":
        np.testing.assert_allclose(run(), X, rtol=1e-6)
    else:
        blocks.build_for(X)
    change(blocks)
    sign = -1 if change is other_class else 1
    np.testing.assert_allclose(run(), sign * 5 * X, rtol=1e-6)
    np.testing.assert_allclose(blocks(X), sign * 5 * X, rtol=1e-6)


@pytest.mark.broad
def test_settings_of_built_in_layers_in_a_stack_are_their_own():
    drops = gx.stack(layers.Dropout(0.0), 2)
    drops.layers[1].rate = 0.9
    assert np.mean(np.asarray(gx.jit(lambda: drops(np.ones((40, 40), "float32"), training=True))()) == 0) > 0.5
    dense = gx.stack(layers.Dense(4), 2)
    dense(X)
    dense.layers[1].activation = gx.activations.relu
    first = X @ dense.layers[0].kernel.numpy()
    np.testing.assert_allclose(dense(X), np.maximum(first @ dense.layers[1].kernel.numpy(), 0), rtol=1e-5, atol=1e-6)


def test_adapters_in_use_in_one_layer_of_a_stack_count_there():
    dense = gx.stack(layers.Dense(4), 2)
    dense(X)
    gx.graft(dense, gx.reparam.LoRA(rank=2, name="a"), where="**/kernel")
    for v in dense.variables:
        v.assign(np.random.default_rng(len(v.path)).normal(size=v.shape).astype("float32"))
    gx.adapters.use(dense.layers[1])
    expected = X
    for layer in dense.layers:
        expected = expected @ layer.kernel.numpy() + layer.bias.numpy()
    np.testing.assert_allclose(gx.jit(lambda: dense(X))(), expected, rtol=1e-4)


def test_one_layer_of_a_stack_may_be_grafted():
    blocks = gx.stack(layers.Dense(4), 2)
    blocks(X)
    gx.graft(blocks, gx.reparam.LoRA(rank=1), where="layers/1/kernel")
    assert "number of parts" in first_difference(*blocks.layers)
    with gx.run_eagerly():
        expected = np.asarray(blocks(X))
    np.testing.assert_allclose(gx.jit(lambda x: blocks(x))(X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_like_layers_of_a_stack_are_traced_as_one():
    for make in (lambda: layers.TransformerEncoder(8, 2), lambda: layers.Dense(4, "relu", kernel_regularizer="l2")):
        blocks = gx.stack(make(), 3)
        blocks(STEPS if isinstance(blocks.layers[0], layers.TransformerEncoder) else X)
        assert [first_difference(blocks.layers[0], layer) for layer in blocks.layers] == [None] * 3
