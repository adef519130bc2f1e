"""Expressions behind weights that exist already."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, CreatorError, GraftError, SelectorError
from graftax.core.selectors import compile_selector
from graftax.reparam import LoRA, LowRank, WeightNorm

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)


def net():
    model = gx.Sequential([layers.Dense(5, activation="tanh"), layers.Dense(2)])
    model(X)
    return model


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("creator", [LoRA(2), WeightNorm(), LowRank(5)], ids=repr)
def test_the_function_stays_and_comes_back(creator):
    model = net()
    before = np.asarray(model(X))
    done = gx.graft(model, creator, where="**/kernel")
    assert [one.path for one in done] == ["layers/0/kernel", "layers/1/kernel"]
    assert all(one.error <= 1e-6 for one in done)
    np.testing.assert_allclose(model(X), before, atol=1e-6)
    assert gx.ungraft(model) == ["layers/0/kernel", "layers/1/kernel"]
    assert all(isinstance(layer.kernel, gx.Variable) for layer in model.layers)
    assert [v.path for v in model.trainable_variables] == [
        f"layers/{i}/{name}" for i in (0, 1) for name in ("kernel", "bias")
    ]
    np.testing.assert_allclose(model(X), before, atol=1e-6)


@pytest.mark.broad
def test_the_variable_that_was_there_is_the_base_and_keeps_its_slots():
    model = net()
    kernel, optimizer = model.layers[0].kernel, gx.optimizers.Adam(1e-2)

    @gx.jit
    def step():
        loss, gradients = gx.value_and_grad(lambda: ops.mean(model(X) ** 2), wrt=model.trainable_variables)()
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    first = float(step())
    momentum = optimizer.slot(kernel, "momentum").numpy()
    assert np.abs(momentum).max() > 0
    gx.graft(model, LoRA(2), where="layers/0/kernel")
    weight = model.layers[0].kernel
    assert weight.base is kernel
    assert not kernel.trainable
    frozen = kernel.numpy()
    for _ in range(5):
        last = float(step())
    assert last < first
    np.testing.assert_array_equal(kernel.numpy(), frozen)
    assert float(ops.sum(ops.abs(weight.adapters["lora"].up.value))) > 0
    value = weight.numpy()
    gx.ungraft(model)
    assert model.layers[0].kernel is kernel
    assert kernel.trainable
    np.testing.assert_allclose(kernel.numpy(), value, rtol=1e-6)
    np.testing.assert_array_equal(optimizer.slot(kernel, "momentum").numpy(), momentum)
    step()
    assert np.abs(kernel.numpy() - value).max() > 0


@pytest.mark.broad
def test_grafts_stack_and_fold_back_at_once():
    layer = layers.Dense(3)
    before = np.asarray(layer(X))
    gx.graft(layer, WeightNorm(), where="kernel")
    gx.graft(layer, LoRA(1), where="kernel")
    assert [v.path for v in layer.variables] == [
        "kernel/base/direction",
        "kernel/base/magnitude",
        "kernel/adapters/lora/down",
        "kernel/adapters/lora/up",
        "bias",
    ]
    lora = ["kernel/adapters/lora/down", "kernel/adapters/lora/up"]
    assert [v.path for v in layer.trainable_variables] == [*lora, "bias"]
    np.testing.assert_allclose(layer(X), before, atol=1e-6)
    gx.ungraft(layer)
    assert isinstance(layer.kernel, gx.Variable)
    np.testing.assert_allclose(layer(X), before, atol=1e-6)


@pytest.mark.broad
def test_what_moves_too_far_is_refused_and_nothing_changes():
    model = net()
    before = [v.numpy() for v in model.variables]
    with pytest.raises(GraftError, match="tolerance") as caught:
        gx.graft(model, LowRank(1))
    assert "layers/0/kernel" in str(caught.value)
    assert all(np.array_equal(v.numpy(), old) for v, old in zip(model.variables, before, strict=True))
    done = gx.graft(model, LowRank(1), tolerance=1.0)
    u, s, v = np.linalg.svd(before[0], full_matrices=False)
    assert done[0].error == pytest.approx(np.linalg.norm(s[1:]) / np.linalg.norm(s), rel=1e-4)
    np.testing.assert_allclose(done[0].weight.numpy(), s[0] * np.outer(u[:, 0], v[0]), atol=1e-5)


def test_a_failure_halfway_undoes_what_was_frozen():
    model, calls = net(), []

    def second_time(next_creator, spec):
        calls.append(spec.path)
        if len(calls) == 2:
            raise ZeroDivisionError
        return LoRA(1)(next_creator, spec)

    with pytest.raises(ZeroDivisionError):
        gx.graft(model, second_time, where="**/kernel")
    assert all(v.trainable for v in model.variables)
    assert isinstance(model.layers[0].kernel, gx.Variable)


def test_tied_weights_are_replaced_everywhere_at_once():
    class Tied(gx.Module):
        def __init__(self):
            self.a = gx.Variable(np.eye(3, dtype="float32"))
            self.again = [self.a, {"third": self.a}]

    tied = Tied()
    done = gx.graft(tied, WeightNorm())
    assert len(done) == 1
    assert tied.a is tied.again[0] is tied.again[1]["third"] is done[0].weight
    assert len(tied.variables) == 2

    class Fixed(gx.Module):
        def __init__(self):
            self.pair = (gx.Variable(np.eye(3, dtype="float32")),)

    with pytest.raises(ArgumentError, match="tuple"):
        gx.graft(Fixed(), WeightNorm())


def test_a_penalty_stays_with_the_place():
    layer = layers.Dense(3, kernel_regularizer="l2")
    layer(X)
    before = float(layer.losses[0])
    gx.graft(layer, WeightNorm(), where="kernel")
    assert float(layer.losses[0]) == pytest.approx(before, rel=1e-5)
    gx.ungraft(layer)
    layer.kernel.assign(layer.kernel * 2)
    assert float(layer.losses[0]) == pytest.approx(4 * before, rel=1e-5)


@pytest.mark.broad
def test_fit_and_checkpoints_go_on(tmp_path):
    model = net()
    model.compile(gx.optimizers.Adam(1e-2), "mse")
    y = np.ones((3, 2), "float32")
    model.fit(X, y, verbose=0)
    gx.graft(model, LoRA(2), where="**/kernel")
    losses = model.fit(X, y, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    gx.Checkpoint(model=model).save(tmp_path / "c")
    other = net()
    gx.graft(other, LoRA(2), where="**/kernel")
    gx.Checkpoint(model=other).restore(tmp_path / "c")
    np.testing.assert_array_equal(np.asarray(other(X)), np.asarray(model(X)))


@pytest.mark.broad
def test_where_goes_by_the_path_from_the_module_that_is_given():
    model = net()
    gx.graft(model.layers[1], WeightNorm(), where="kernel")
    assert isinstance(model.layers[0].kernel, gx.Variable)
    seen = []
    gx.graft(model, WeightNorm(), where=lambda v: seen.append(v.path) or v.shape == (4, 5))
    assert seen == ["layers/0/kernel", "layers/0/bias", "layers/1/kernel", "layers/1/bias"]
    every = compile_selector("**/kernel") & ~compile_selector("layers/0/**")
    assert gx.ungraft(model, every) == ["layers/1/kernel"]


def test_errors():
    model = net()
    with pytest.raises(SelectorError, match="attention"):
        gx.graft(model, LoRA(1), where="**/attention/**")
    with pytest.raises(SelectorError):
        gx.ungraft(model)
    with pytest.raises(GraftError, match="passed on"):
        gx.graft(model, LoRA(1), where="**/bias")
    with pytest.raises(CreatorError, match="None"):
        gx.graft(model, lambda next_creator, spec: None)
    with pytest.raises(ArgumentError, match="rank"):
        LoRA(0)
    with pytest.raises(ArgumentError, match="alpha"):
        LoRA(2, alpha=0)


def test_weight_norm_is_that_of_torch():
    torch = pytest.importorskip("torch")
    layer = layers.Dense(3, use_bias=False)
    layer(X)
    gx.graft(layer, WeightNorm(), where="kernel")
    theirs = torch.nn.Linear(4, 3, bias=False)
    theirs.weight.data = torch.from_numpy(layer.kernel.numpy().T.copy())
    theirs = torch.nn.utils.parametrizations.weight_norm(theirs)
    (theirs(torch.from_numpy(X)) ** 3).sum().backward()
    parts = theirs.parametrizations.weight
    direction, magnitude = gx.grad(
        lambda: ops.sum(layer(X) ** 3), wrt=[layer.kernel.direction, layer.kernel.magnitude]
    )()
    np.testing.assert_allclose(direction, parts.original1.grad.numpy().T, atol=1e-4)
    np.testing.assert_allclose(magnitude, parts.original0.grad.numpy()[:, 0], rtol=1e-4, atol=1e-4)


def test_lora_at_creation_scales_its_product():
    with gx.variable_creator_scope(LoRA(rank=2, alpha=8)):
        layer = layers.Dense(3, use_bias=False)
        start = np.asarray(layer(X))
    weight = layer.kernel
    np.testing.assert_allclose(start, X @ weight.base.numpy(), atol=1e-6)
    lora = weight.adapters["lora"]
    lora.up.assign(np.ones((2, 3)))
    expected = weight.base.numpy() + 4 * lora.down.numpy() @ np.ones((2, 3))
    np.testing.assert_allclose(weight.numpy(), expected, atol=1e-5)
    assert np.abs(lora.down.numpy()).max() <= 1 / 2  # uniform up to 1 / sqrt(4)


@pytest.mark.broad
def test_the_base_of_a_part_is_not_the_weight():
    """Though it has its shape: one half of a product of full rank, masked."""

    def creator(next_creator, spec):
        return gx.reparam.LoRA(rank=3)(lambda part: gx.reparam.Mask()(next_creator, part), spec)

    layer = gx.layers.Dense(3)
    x = np.ones((1, 3), "float32")
    before, kernel = layer(x), layer.kernel
    gx.graft(layer, creator, where="kernel")
    np.testing.assert_array_equal(layer(x), before)
    assert layer.kernel.base.base is kernel
    assert len({id(v) for v in layer.variables}) == 7


def test_a_value_that_its_own_constraint_changes_is_said():
    layer = gx.layers.Dense(3, kernel_constraint="non_neg")
    layer.build((None, 4))
    with pytest.raises(GraftError, match="its own constraint") as error:
        gx.graft(layer, gx.reparam.WeightNorm(), where="kernel")
    assert "weight.assign" in error.value.instead
    layer.kernel.assign(layer.kernel.constraint(layer.kernel.value))
    before = layer.kernel.numpy()
    gx.graft(layer, gx.reparam.WeightNorm(), where="kernel")
    np.testing.assert_allclose(layer.kernel.numpy(), before, atol=1e-6)
