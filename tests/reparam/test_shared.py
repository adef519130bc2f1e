"""Shared: one Variable behind several weights."""

import contextlib
import copy

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError, DTypeError, GraftError, ShapeError
from graftax.reparam import LoRA, LowRank, Shared, WeightNorm

IDS = np.array([[3, 1, 0]])


def tied(creator=None):
    """A model whose output layer is its embedding transposed."""
    embedding = gx.layers.Embedding(7, 4)
    vectors = embedding(IDS)
    with gx.variable_creator_scope(Shared(embedding.embeddings, transpose=True), where="kernel"):
        output = gx.layers.Dense(7)
        output(vectors)
    return gx.Sequential([embedding, output])


@pytest.mark.broad
def test_counts_once_and_has_the_sum_of_both_gradients():
    model = tied()
    table = model.layers[0].embeddings
    assert [v.path for v in model.trainable_variables] == ["layers/0/embeddings", "layers/1/bias"]
    t = table.numpy().astype("float64")
    logits = t[IDS[0]] @ t.T
    np.testing.assert_allclose(model(IDS)[0], logits, atol=1e-5)
    (gradient,) = gx.jit(lambda: gx.grad(lambda: ops.sum(model(IDS) ** 2), wrt=[table])())()
    expected = 2 * logits.T @ t[IDS[0]]
    np.add.at(expected, IDS[0], 2 * logits @ t)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_training_checkpoint_and_copy_keep_the_tie(tmp_path):
    model = tied()
    optimizer = gx.optimizers.Adam(0.1)
    weights = model.trainable_variables
    before = model.layers[0].embeddings.numpy()
    optimizer.apply(gx.grad(lambda: ops.sum(model(IDS) ** 2), wrt=weights)(), weights)
    np.testing.assert_allclose(np.abs(model.layers[0].embeddings.numpy() - before).max(), 0.1, rtol=1e-2)
    gx.Checkpoint(model=model).save(tmp_path / "c")
    other = tied()
    gx.Checkpoint(model=other).restore(tmp_path / "c").assert_consumed()
    twin = copy.deepcopy(other)
    for one in (other, twin):
        np.testing.assert_allclose(one(IDS), model(IDS), atol=1e-6)
        np.testing.assert_array_equal(one.layers[1].kernel.numpy(), one.layers[0].embeddings.numpy().T)
    assert len(twin.variables) == 2


def test_across_layers_and_behind_an_expression():
    with gx.variable_creator_scope(LowRank(1)):
        first = gx.layers.Dense(3, use_bias=False)
        first.build((3,))
    with gx.variable_creator_scope(Shared(first.kernel)):
        second = gx.layers.Dense(3, use_bias=False)
        second.build((3,))
    model = gx.Sequential([first, second])
    assert [v.path for v in model.variables] == ["layers/0/kernel/left", "layers/0/kernel/right"]
    second.kernel.assign(np.ones((3, 3), "float32"))
    np.testing.assert_allclose(first.kernel.numpy(), 1, rtol=1e-5)


@pytest.mark.broad
def test_graft_ties_equal_weights_only_and_ungraft_unties():
    model = tied()
    gx.ungraft(model, where="layers/1/kernel", untie=True)
    table, kernel = model.layers[0].embeddings, model.layers[1].kernel
    assert len(model.variables) == 3
    before = table.numpy()
    kernel.assign_add(np.ones((4, 7), "float32"))
    with pytest.raises(GraftError, match="'layers/1/kernel' and layers/0/embeddings"):
        gx.graft(model, Shared(table, transpose=True), where="layers/1/kernel")
    np.testing.assert_array_equal(table.numpy(), before)
    kernel.assign(before.T)
    gx.graft(model, Shared(table, transpose=True), where="layers/1/kernel")
    assert len(model.variables) == 2


@pytest.mark.broad
@pytest.mark.parametrize("whole", [True, False], ids=["by the model", "by the layer"])
@pytest.mark.parametrize("first", [True, False], ids=["tied at creation", "tied afterwards"])
def test_the_tie_follows_what_comes_to_stand_for_the_source(first, whole):
    model = tied()
    embedding, output = model.layers
    if not first:
        gx.ungraft(model, where="layers/1/kernel", untie=True)
        gx.graft(model, Shared(embedding.embeddings, transpose=True), where="layers/1/kernel")
    table, (root, where) = embedding.embeddings, (model, "layers/0/embeddings") if whole else (embedding, "embeddings")

    def check():
        np.testing.assert_allclose(output.kernel.numpy(), embedding.embeddings.numpy().T, rtol=1e-6)

    gx.graft(root, LoRA(2), where=where)
    assert len(model.variables) == 4
    embedding.embeddings.adapters["lora"].up.assign(np.ones((2, 4), "float32"))
    assert not np.allclose(embedding.embeddings.numpy(), table.numpy())
    check()
    twin = copy.deepcopy(model)
    assert [v.path for v in twin.variables] == [v.path for v in model.variables]
    gx.adapters.merge(root, "lora")
    assert embedding.embeddings is table
    check()
    gx.graft(root, WeightNorm(), where=where)
    gx.ungraft(root, where=where)
    embedding.embeddings.assign_add(np.ones((7, 4), "float32"))
    check()
    gx.graft(model, LoRA(1))  # both at once
    with pytest.raises(GraftError, match="'layers/1/kernel' is Adapted over 'layers/0/embeddings', to which"):
        gx.ungraft(model)
    gx.ungraft(model, untie=True)
    assert [v.path for v in model.trainable_variables] == [
        "layers/0/embeddings",
        "layers/1/kernel",
        "layers/1/bias",
    ]


@pytest.mark.broad
def test_ungraft_of_a_transposed_tie_asks():
    model = tied()
    gx.graft(model, LoRA(2), where="layers/0/embeddings")
    before = [v.path for v in model.variables]
    with pytest.raises(GraftError, match="'layers/1/kernel' is tied to 'layers/0/embeddings', transposed") as raised:
        gx.ungraft(model)
    assert [v.path for v in model.variables] == before
    assert raised.value.instead == (
        "ungraft(..., untie=True), if that is meant; where=['layers/0/embeddings'], without it"
    )
    assert gx.ungraft(model, where=["layers/0/embeddings"]) == ["layers/0/embeddings"]
    assert [v.path for v in model.variables] == ["layers/0/embeddings", "layers/1/bias"]
    assert gx.ungraft(model, untie=True) == ["layers/1/kernel"]
    assert len(model.variables) == 3


def alike(count, source=None, **options):
    """Dense layers with one kernel: that of the first one, unless it is given."""
    made = []
    for _ in range(count):
        scope = [] if source is None else [gx.variable_creator_scope(Shared(source), where="kernel")]
        with contextlib.ExitStack() as stack:
            for one in scope:
                stack.enter_context(one)
            layer = gx.layers.Dense(3, use_bias=False, **(options if source is not None else {}))
            layer.build((None, 3))
        source = layer.kernel if source is None else source
        made.append(layer)
    return made


@pytest.mark.broad
def test_ungraft_of_ties_makes_one_variable_that_is_trained_as_before():
    first, second, third = alike(3)
    with gx.variable_creator_scope(Shared(second.kernel), where="kernel"):  # a tie of a tie
        fourth = gx.layers.Dense(3, use_bias=False)
        fourth.build((None, 3))
    model = gx.Sequential([fourth, third, second, first])  # the source comes last
    gx.graft(model, LoRA(1), where="layers/3/kernel")
    x = np.ones((2, 3), "float32")
    before = model(x)
    kernel = first.kernel.base
    assert sorted(gx.ungraft(model)) == [f"layers/{i}/kernel" for i in range(4)]
    assert [layer.kernel is kernel for layer in model.layers] == [True] * 4
    assert len(model.variables) == 1
    np.testing.assert_allclose(model(x), before, rtol=1e-6)
    optimizer = gx.optimizers.SGD(0.1)
    optimizer.minimize(lambda: ops.sum(model(x)), model.trainable_variables)
    assert first.kernel is fourth.kernel


def test_ungraft_of_weights_tied_to_one_that_no_layer_holds():
    model = gx.Sequential(alike(2, gx.Variable(np.eye(3, dtype="float32"))))
    assert [v.path for v in model.variables] == ["layers/0/kernel/source"]
    gx.ungraft(model)
    assert [v.path for v in model.variables] == ["layers/0/kernel"]
    assert model.layers[1].kernel is model.layers[0].kernel


def test_ungraft_of_a_tie_to_a_weight_elsewhere_leaves_that_where_it_is():
    first, second = alike(2)
    outer = gx.Sequential([first])
    gx.ungraft(second)
    assert second.kernel is first.kernel
    assert first.kernel.path == outer.variables[0].path == "layers/0/kernel"


@pytest.mark.parametrize("options", [{"kernel_regularizer": "l2"}, {"kernel_constraint": "non_neg"}], ids=["l2", "neg"])
def test_ungraft_of_a_tie_with_a_penalty_of_its_own_asks(options):
    model = gx.Sequential(alike(1, gx.Variable(np.eye(3, dtype="float32")), **options))
    with pytest.raises(GraftError, match="of its own"):
        gx.ungraft(model)


def test_ungraft_of_a_tie_to_what_stays_an_expression_asks():
    model = gx.Sequential(alike(2))
    gx.graft(model, WeightNorm(), where="layers/0/kernel")
    with pytest.raises(GraftError, match="which stays an expression"):
        gx.ungraft(model, where="layers/1/kernel")


def test_what_holds_the_source_can_stand_for_it():
    model = tied()
    before = model(IDS)
    gx.graft(model, Shared(model.layers[1].kernel, transpose=True), where="layers/0/embeddings")
    np.testing.assert_allclose(model(IDS), before, rtol=1e-6)
    assert len(model.variables) == 2


def test_refused():
    table = gx.Variable(np.ones((7, 4), "float32"))
    with pytest.raises(ArgumentTypeError, match="source=Dense"):
        Shared(gx.layers.Dense(3))
    with gx.variable_creator_scope(Shared(table)), pytest.raises(ShapeError, match="transpose=True"):
        gx.Variable(np.ones((4, 7), "float32"))
    with gx.variable_creator_scope(Shared(table, transpose=True)), pytest.raises(ShapeError, match="where="):
        gx.Variable(np.ones((4, 6), "float32"))
    with gx.variable_creator_scope(Shared(table)), pytest.raises(DTypeError, match="one dtype"):
        gx.Variable(np.ones((7, 4), "float16"))
    assert repr(Shared(table)) == "Shared('variable', transpose=False)"
