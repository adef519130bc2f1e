"""Settings by variable, and the table that explains them."""

import copy
import pickle
import re

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, SelectorError
from graftax.optimizers import SGD, Adam, AdamW
from graftax.optimizers.schedules import Constant


class Block(gx.Module):
    def __init__(self):
        super().__init__()
        self.kernel = gx.Variable([[1.0, 1.0]])
        self.bias = gx.Variable([1.0])


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(), Block()]
        self.head = gx.Variable([1.0])


def moved(optimizer, net=None):
    """By how much each variable falls under a gradient of ones."""
    net = net or Net()
    optimizer.apply([np.ones(v.shape, "float32") for v in net.variables], net.variables)
    return {path: float(1 - v.numpy().ravel()[0]) for path, v in net.named_variables().items()}


def test_each_setting_acts_on_what_it_selects():
    found = moved(
        SGD(
            0.5,
            weight_decay=0.5,
            rules=[
                ("**/bias", {"weight_decay": 0.0}),
                ("blocks/1/**", {"learning_rate_multiplier": 0.5}),
                ("head", {"frozen": True}),
                ("blocks/0/kernel", {"l2": 2.0, "weight_decay": 0.0}),
            ],
        )
    )
    assert found == {
        "blocks/0/kernel": 0.5 * (1 + 2),
        "blocks/0/bias": 0.5,
        "blocks/1/kernel": 0.25 * 0.5 + 0.25,
        "blocks/1/bias": 0.25,
        "head": 0.0,
    }


def test_later_rules_win_key_by_key():
    rules = [
        ("**", {"learning_rate_multiplier": 0.5, "weight_decay": 1.0}),
        ("**/bias", {"learning_rate_multiplier": 2.0}),
    ]
    assert moved(SGD(0.5, rules=rules))["blocks/0/bias"] == 1.0 + 1.0
    assert moved(SGD(0.5, rules=rules[::-1]))["blocks/0/bias"] == 0.25 + 0.25
    assert moved(SGD(0.5, rules=rules))["head"] == 0.25 + 0.25


@pytest.mark.parametrize(
    "selector", [re.compile("bias$"), lambda v: v.path.endswith("bias"), ["blocks/0/bias", "blocks/1/bias"]]
)
def test_anything_that_selects(selector):
    found = moved(SGD(1.0, rules=[(selector, {"frozen": True})]))
    assert [path for path, by in found.items() if by == 0] == ["blocks/0/bias", "blocks/1/bias"]


@pytest.mark.parametrize("use", ["apply", "build", "explain"])
def test_a_rule_that_selects_nothing_raises_and_nothing_moves(use):
    net, optimizer = Net(), SGD(1.0, rules=[("**/bias", {"frozen": True}), ("**/gamma", {"frozen": True})])
    with pytest.raises(SelectorError, match=r"'\*\*/gamma' matches none of 5 variables"):
        moved(optimizer, net) if use == "apply" else getattr(optimizer, use)(net)
    assert net.head.numpy().tolist() == [1.0]


def test_a_rule_selects_the_parts_of_an_expression_with_their_weight_and_takes_combinations():
    net = Net()
    gx.graft(net, gx.reparam.WeightNorm(), where="blocks/0/kernel")
    selector = gx.select("**/kernel") & ~gx.select("blocks/1/**")
    optimizer = SGD(1.0, rules=[(selector, {"frozen": True}), ("**/magnitude", {"frozen": False})])
    still = [path for path, by in moved(pickle.loads(pickle.dumps(optimizer)), net).items() if by == 0]
    assert still == ["blocks/0/kernel/direction"]
    with pytest.raises(SelectorError, match=r"haed/\*\*', a part of"):
        moved(SGD(rules=[(gx.select("**/kernel") & ~gx.select("haed/**"), {"frozen": True})]))


def test_a_rule_may_select_what_is_not_given_but_hangs_in_the_same_model():
    net = Net()
    net.blocks[0].trainable = False
    optimizer = SGD(1.0, rules=[("blocks/0/**", {"weight_decay": 0.5})])
    optimizer.apply([[1.0]], [net.head])
    with pytest.raises(SelectorError):
        SGD(1.0, rules=[("blocks/0/**", {"weight_decay": 0.5})]).apply([[1.0]], [Block().bias])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (("**", {"decay": 0.1}), "sets 'decay'"),
        (("**", {"weight_decay": "much"}), "weight_decay='much'"),
        (("**", {"frozen": 1}), "frozen=1"),
        (("**",), "a pair"),
        (("**", 0.1), "a pair"),
    ],
)
def test_rules_that_cannot_be_read(rule, message):
    with pytest.raises(ArgumentError, match=message):
        SGD(0.1, rules=[rule])


def test_a_selector_that_cannot_be_read():
    with pytest.raises(SelectorError, match="empty selector"):
        SGD(0.1, rules=[("", {"frozen": True})])


def test_frozen_by_a_rule_means_no_slot_and_no_part_in_the_global_norm():
    net = Net()
    optimizer = Adam(0.1, global_clipnorm=1.0, rules=[("blocks/**", {"frozen": True})])
    optimizer.build(net)
    assert {r.variable.path for r in optimizer.slots()} == {"head"}
    seen = moved(SGD(1.0, global_clipnorm=0.5, rules=[("blocks/**", {"frozen": True})]))
    assert seen["head"] == 0.5


def test_the_multiplier_acts_on_a_schedule_too_and_on_the_decay():
    rules = [("head", {"learning_rate_multiplier": 0.5})]
    assert moved(SGD(Constant(0.5), weight_decay=1.0, rules=rules))["head"] == 0.25 + 0.25


def test_compiled_as_eager():
    rules = [("**/bias", {"learning_rate_multiplier": 0.5}), ("blocks/**", {"weight_decay": 0.1})]
    eager, net, optimizer = moved(AdamW(0.1, rules=rules)), Net(), AdamW(0.1, rules=rules)
    gx.jit(lambda: optimizer.apply([np.ones(v.shape, "float32") for v in net.variables], net.variables))()
    for path, v in net.named_variables().items():
        np.testing.assert_allclose(1 - v.numpy().ravel()[0], eager[path], rtol=1e-5)


def test_rules_survive_copies():
    optimizer = SGD(1.0, rules=[("**/bias", {"frozen": True})])
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert moved(copied)["blocks/0/bias"] == 0.0
        assert copied.rules == optimizer.rules
    net = Net()
    moved(optimizer, net)
    copy.deepcopy(optimizer).apply([[1.0]], [gx.Variable([1.0])])  # was checked already


# --- explain ----------------------------------------------------------------------------------------------------------


def test_explain_says_what_holds_and_why():
    net = Net()
    net.blocks[1].trainable = False
    rules = [
        ("**/bias", {"weight_decay": 0.0}),
        ("head", {"frozen": True}),
        ("blocks/0/**", {"learning_rate_multiplier": 0.1}),
    ]
    found = AdamW(0.5, weight_decay=0.1, rules=rules).explain(net)
    kernel, bias, frozen, _, head = found.rows
    assert (kernel.path, kernel.shape, kernel.weight_decay, kernel.l2) == ("blocks/0/kernel", (1, 2), 0.1, 0.0)
    assert kernel.learning_rate == pytest.approx(0.05)
    assert kernel.slots == ("momentum", "velocity")
    assert bias.weight_decay == 0.0
    assert bias.by == ("'**/bias'", "'blocks/0/**'")
    assert (frozen.frozen, head.frozen, kernel.frozen) == ("not trainable", "by a rule", "")
    lines = str(found).splitlines()
    assert lines[0].startswith("AdamW(learning_rate=0.5, weight_decay=0.1")
    assert lines[1].split() == ["variable", "shape", "learning", "rate", "weight", "decay", "slots", "rules"]
    assert (
        lines[3] == "blocks/0/bias    (1,)    0.05           0             momentum, velocity  '**/bias', 'blocks/0/**'"
    )
    assert "frozen" in lines[4]
    assert len(lines) == 7


def test_explain_shows_l2_only_where_there_is_some_and_takes_lists():
    net = Net()
    assert " l2" not in str(SGD(0.5).explain(net))
    table = str(SGD(0.5, l2=0.25).explain([net.head]))
    assert " l2 " in table
    assert "0.25" in table
    assert len(table.splitlines()) == 3


def test_explain_makes_no_slots():
    net, optimizer = Net(), Adam()
    optimizer.explain(net)
    assert list(optimizer.slots()) == []


def test_a_variable_in_a_rule_acts_without_a_new_trace():
    numbers = {key: gx.Variable(0.5, trainable=False) for key in ("weight_decay", "l2", "learning_rate_multiplier")}
    net, inner = Net(), SGD(0.5, rules=[("**", {"learning_rate_multiplier": 0.5})])
    rules = [
        ("blocks/0/**", {key: numbers[key] for key in ("weight_decay", "l2")}),
        ("blocks/1/**", {"learning_rate_multiplier": numbers["learning_rate_multiplier"]}),
        ("head", {"optimizer": inner, "learning_rate_multiplier": numbers["learning_rate_multiplier"]}),
    ]
    optimizer = SGD(0.5, rules=rules)
    step = gx.jit(lambda: optimizer.apply([np.ones(v.shape, "float32") for v in net.variables], net.variables))
    seen = {}
    for name, number in (("before", 0.5), ("after", 1.0)):
        for variable in net.variables:
            variable.assign(np.ones(variable.shape, "float32"))
        for variable in numbers.values():
            variable.assign(number)
        step()
        seen[name] = [float(1 - v.numpy().ravel()[0]) for v in (*net.blocks[0].variables, net.blocks[1].bias, net.head)]
    assert seen["before"] == [0.5 * (0.5 + 1.5)] * 2 + [0.5 * 0.5, 0.5 * 0.5 * 0.5]
    assert seen["after"] == [0.5 * (1 + 2)] * 2 + [0.5, 0.5 * 0.5]
    assert step.trace_count == 1
    rates = {row.path: (row.learning_rate, row.weight_decay) for row in optimizer.explain(net).rows}
    assert (rates["blocks/0/bias"], rates["blocks/1/bias"], rates["head"]) == ((0.5, 1.0), (0.5, 0.0), (0.25, 0.0))


def test_an_adaptive_limit_in_a_rule_may_be_a_variable():
    limit, w = gx.Variable(0.5, trainable=False), gx.Variable([2.0])
    optimizer = SGD(1.0, rules=[("**", {"adaptive_clip": limit})])
    for expected, number in ((1.0, 0.5), (0.75, 0.25)):
        limit.assign(number)
        optimizer.apply([[100.0]], [w])
        assert w.numpy().tolist() == [expected]


def test_numbers_of_numpy_in_a_rule():
    setting = {"weight_decay": np.float32(0.5), "learning_rate_multiplier": np.int64(2), "frozen": np.bool_(False)}
    assert moved(SGD(0.5, rules=[("**", setting)]))["head"] == 1 * 0.5 + 1


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        ({"l2": gx.Variable([0.5, 1.0])}, '"l2": 0.1'),
        ({"l2": None}, '"l2": 0.1'),
        ({"frozen": gx.Variable(1.0)}, '"frozen": True'),
        ({"optimizer": "sgd"}, '"optimizer": graftax.optimizers.SGD(0.1)'),
    ],
)
def test_what_a_rule_cannot_set_is_said_with_what_it_can(setting, instead):
    with pytest.raises(ArgumentError, match="rules= sets") as error:
        SGD(0.1, rules=[("**", setting)])
    assert error.value.instead == instead
