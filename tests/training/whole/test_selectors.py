"""Selectors in the rules of an optimizer are saved with a model, and select the same when it is loaded."""

import re

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.ones((4, 3), "float32")


class Narrow(layers.Dense):
    pass


@gx.select
def large(variable):
    return variable.size > 4


def small(variable):
    return variable.size <= 4


def model(selector):
    made = gx.Sequential([Narrow(2, name="one"), layers.Dense(1, name="two")])
    made(X)
    gx.graft(made, gx.reparam.LoRA(rank=1, name="poet"), where="**/kernel")
    made.unfreeze("**")
    made.compile(gx.optimizers.SGD(0.1, rules=[(selector, {"weight_decay": 0.5})]), "mse")
    return made


KINDS = {
    "glob": gx.select("**/down"),
    "is_adapter": gx.is_adapter,
    "not": ~gx.is_adapter,
    "or text": gx.select("**/down") | "**/bias",
    "and": gx.is_adapter & "**/up",
    "three": gx.select("**") & "**/up" & ~gx.select("layers/0/**"),
    "both signs": (gx.select("**/down") & gx.is_adapter) | ~gx.select("**/kernel/**"),
    "role": gx.select("role:weight") & "**/bias",
    "several": gx.select("**/down", ["**/bias", "**/up"]),
    "regex": gx.select(re.compile("DOWN$", re.IGNORECASE)),
    "bare regex": re.compile("down$"),
    "named": gx.adapters.named("poet"),
    "class": gx.select(layers.Dense) & "**/bias",
    "own class": gx.select(Narrow) & "**/bias",
    "own selector": large | "**/bias",
    "own predicate": gx.select(small) & "**/bias",
    "bare predicate": small,
}
OWN = {"own selector": {"large": large}, "own predicate": {"small": small}, "bare predicate": {"small": small}}


def chosen(one):
    (rule,) = one.optimizer.rules
    return [v.path for v in one.variables if gx.select(rule[0]).matches(v)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_rule_selects_the_same(kind, tmp_path):
    one = model(KINDS[kind])
    one.save(tmp_path / "m")
    other = gx.load_model(tmp_path / "m", custom={"Narrow": Narrow, **OWN.get(kind, {})})
    assert chosen(other) == chosen(one) != []
    assert [gx.select(rule[0]).text for rule in other.optimizer.rules] == [
        gx.select(rule[0]).text for rule in one.optimizer.rules
    ]
    logs = [m.fit(X, X[:, :1], epochs=2, verbose=0).history["loss"] for m in (one, other)]
    assert logs[0] == logs[1]


def test_a_predicate_without_a_name_is_refused_and_nothing_is_saved(tmp_path):
    with pytest.raises(gx.errors.ArgumentError, match=r"rules\[0\]\[0\].*<lambda>") as caught:
        model(gx.select("**/bias") | (lambda variable: variable.ndim > 1)).save(tmp_path / "m")
    assert "a function with a name" in caught.value.instead
    assert not (tmp_path / "m").exists()
