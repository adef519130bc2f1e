"""Several optimizers for the parts of one model, named in rules."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, SelectorError
from graftax.optimizers import SGD, Adam, AdamW, Muon, Sophia


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.body = [gx.Variable([[1.0, 2.0]]), gx.Variable([3.0])]
        self.head = gx.Variable([4.0, 5.0])
        self.table = gx.Variable([[1.0], [2.0], [3.0]])


def gradients(net, factor=1.0):
    return [np.full(v.shape, factor, "float32") for v in net.variables]


def mixed(**options):
    head = SGD(0.5, momentum=0.5, weight_decay=0.1, rules=[("head", {"learning_rate_multiplier": 0.5})])
    rules = [("head", {"optimizer": head}), ("table", {"optimizer": AdamW(0.1)}), ("body/1", {"weight_decay": 0.0})]
    return Adam(0.01, weight_decay=0.5, rules=rules, **options)


@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_each_variable_moves_as_its_optimizer_alone_would_move_it(run):
    net, apart = Net(), Net()
    optimizer = mixed()
    step = run(lambda: optimizer.apply(gradients(net), net.variables))
    for _ in range(3):
        step()
    alone = [
        (Adam(0.01, weight_decay=0.5), apart.body[0]),
        (Adam(0.01), apart.body[1]),
        (SGD(0.25, momentum=0.5, weight_decay=0.1), apart.head),
        (AdamW(0.1), apart.table),
    ]
    for _ in range(3):
        for one, variable in alone:
            one.apply([np.ones(variable.shape, "float32")], [variable])
    for a, b in zip(net.variables, apart.variables, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    assert [int(o.iterations) for o in (optimizer, *optimizer.others)] == [3, 3, 3]
    assert set(optimizer.named_variables()) >= {
        "slots/body/0/momentum", "others/0/slots/head/momentum", "others/1/slots/table/velocity", "others/0/iterations"
    }  # fmt: skip
    assert optimizer.slot(net.head, "momentum") is optimizer.others[0].slot(net.head, "momentum")


def test_explain_names_the_optimizer_of_each_variable():
    net = Net()
    found = mixed().explain(net)
    assert [row.optimizer for row in found.rows] == ["Adam", "Adam", "SGD", "AdamW"]
    assert [row.learning_rate for row in found.rows] == pytest.approx([0.01, 0.01, 0.25, 0.1])
    assert [row.weight_decay for row in found.rows] == [0.5, 0.0, 0.1, 0.004]
    assert found.rows[2].slots == ("momentum",)
    assert found.rows[2].by == ("'head'", "'head'")
    assert "optimizer" in str(found).splitlines()[1]


def test_decay_of_the_rule_around_wins_and_frozen_holds_in_both():
    net = Net()
    inner = SGD(1.0, weight_decay=0.5, rules=[("table", {"frozen": True})])
    rules = [("head", {"optimizer": inner, "weight_decay": 0.0}), ("table", {"optimizer": inner})]
    optimizer = SGD(1.0, rules=rules)
    optimizer.apply(gradients(net), net.variables)
    assert net.head.numpy().tolist() == [3.0, 4.0]
    assert net.table.numpy().ravel().tolist() == [1.0, 2.0, 3.0]
    assert optimizer.explain(net).rows[3].frozen == "by a rule"


@pytest.mark.broad
def test_one_global_norm_one_accumulation_one_average_for_all():
    net, apart = Net(), Net()
    options = {"global_clipnorm": 1.0, "accumulation_steps": 2, "ema_momentum": 0.5}
    optimizer = SGD(1.0, rules=[("head", {"optimizer": SGD(1.0)})], **options)
    plain = SGD(1.0, **options)
    for factor in (1.0, 3.0, 2.0, -5.0):
        optimizer.apply(gradients(net, factor), net.variables)
        plain.apply(gradients(apart, factor), apart.variables)
    with optimizer.averaged(), plain.averaged():
        for a, b in zip(net.variables, apart.variables, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


@pytest.mark.broad
def test_lazy_rows_for_the_table_alone():
    net = Net()
    optimizer = Muon(0.1, rules=[("table", {"optimizer": Adam(0.5, lazy=True)})])
    optimizer.apply([gx.IndexedRows([1, 1], [[1.0], [1.0]], (3, 1)), np.ones(2)], [net.table, net.head])
    np.testing.assert_allclose(net.table.numpy().ravel(), [1.0, 1.5, 3.0], rtol=1e-5)


def test_copies_pickles_and_checkpoints_have_all_of_them(tmp_path):
    net, optimizer = Net(), mixed()
    optimizer.apply(gradients(net), net.variables)
    others = [copy.deepcopy((net, optimizer)), pickle.loads(pickle.dumps((net, optimizer)))]
    fresh = Net(), mixed()
    gx.Checkpoint(model=net, optimizer=optimizer).save(tmp_path / "c")
    gx.Checkpoint(model=fresh[0], optimizer=fresh[1]).restore(tmp_path / "c")
    optimizer.apply(gradients(net, 0.5), net.variables)
    for other, its in [*others, fresh]:
        its.apply(gradients(other, 0.5), other.variables)
        for a, b in zip([*net.variables, *optimizer.variables], [*other.variables, *its.variables], strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.broad
def test_fit_with_several():
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(1)])
    x = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
    model(x)
    head = SGD(0.1, momentum=0.9)
    model.compile(Adam(0.01, rules=[("layers/1/**", {"optimizer": head})]), "mse")
    losses = model.fit(x, ops.sum(x, axis=1, keepdims=True), epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert {record.variable.path for record in head.slots()} == {"layers/1/kernel", "layers/1/bias"}


@pytest.mark.parametrize("inner", [Adam(ema_momentum=0.5), Adam(accumulation_steps=2), Adam(loss_scale=2.0)])
def test_what_is_done_once_belongs_to_the_one_around(inner):
    with pytest.raises(ArgumentError, match="by the optimizer around it"):
        SGD(0.1, rules=[("head", {"optimizer": inner})])


def test_what_is_no_optimizer_and_rules_within_that_select_nothing():
    with pytest.raises(ArgumentError, match="optimizer='adam'"):
        SGD(0.1, rules=[("head", {"optimizer": "adam"})])
    with pytest.raises(ArgumentTypeError, match="a rule names"):
        SGD(0.1, rules=[("head", {"optimizer": gx.optimizers.SAM(SGD(0.1))})])
    net = Net()
    with pytest.raises(SelectorError, match="tabel"):
        SGD(0.1, rules=[("head", {"optimizer": SGD(0.1, rules=[("tabel", {"frozen": True})])})]).explain(net)


@pytest.mark.parametrize("late", [{"accumulation_steps": 4}, {"loss_scale": "dynamic"}, {"ema_momentum": 0.9}], ids=str)
def test_what_is_done_once_belongs_to_the_one_around_also_when_it_is_set_later(late):
    net, inner = Net(), SGD(1.0)
    outer = SGD(0.1, rules=[("head", {"optimizer": inner})])
    for name, value in late.items():
        setattr(inner, name, value)
    before = [v.numpy() for v in net.variables]
    with pytest.raises(ArgumentError, match="by the optimizer around it"):
        outer.apply(gradients(net), net.variables)
    for a, v in zip(before, net.variables, strict=True):
        np.testing.assert_array_equal(a, v.numpy())


def squares(net):
    return ops.sum(ops.stack([ops.sum(v * v) for v in net.variables]))


@pytest.mark.broad
def test_an_optimizer_that_looks_at_the_loss_is_the_one_around():
    net = Net()
    inside = SGD(0.1, rules=[("head", {"optimizer": Sophia(0.1)})])
    with pytest.raises(ArgumentError, match=r"Sophia\(rules="):  # its curvature would stay 0
        inside.minimize(lambda: squares(net), net)
    around = Sophia(0.1, rules=[("head", {"optimizer": SGD(0.1)})])
    around.minimize(lambda: squares(net), net)
    np.testing.assert_allclose(net.head.numpy(), np.float32([4, 5]) * 0.8, rtol=1e-6)
    assert (around.slot(net.table, "hessian").numpy() > 0).all()
    for inner in inside.others:  # by hand, beside apply
        inner.update_hessian(lambda: squares(net), [net.head])
        assert (inner.slot(net.head, "hessian").numpy() > 0).all()
