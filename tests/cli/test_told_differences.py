"""``graftax ckpt diff`` shows each kind of fact that a checkpoint can hold, changed alone."""

import json

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.index import NodeRecord

X = np.ones((2, 3), "float32")


def program(alpha=1.0, adapters=("a", "b"), layer=gx.layers.Dense):
    gx.set_random_seed(1)
    net = gx.Sequential([layer(2)])
    net(X)
    for name in adapters:
        gx.graft(net, gx.reparam.LoRA(1, alpha=alpha, name=name), where="**/kernel")
    optimizer = gx.optimizers.Adam(0.1)
    optimizer.build(net.trainable_variables)
    return {
        "net": net,
        "optimizer": optimizer,
        "held": {"x": gx.Variable([1.0]), "y": gx.Variable([1.0]), "z": gx.Variable([1.0])},
        "row": [gx.Variable([1.0])],
        "metric": gx.metrics.F1Score(),
    }


def tie(roots, one, other):
    roots["held"][one] = roots["held"][other]


class Learner(gx.optimizers.Adam):
    """The same rule under another name."""


def columns(names):
    def know(roots):
        roots["net"]._gx_columns = type(roots["net"]._gx_columns)(x=names)

    return know


def relearn(roots):
    roots["optimizer"] = Learner(0.1)
    roots["optimizer"].build(roots["net"].trainable_variables)


FACTS = {
    "trainable": (lambda r: setattr(r["held"]["x"], "trainable", False), "~ held/x  trainable=True", "trainable=False"),
    "frozen": (lambda r: r["net"].freeze("layers/0/bias"), "~ net/layers/0/bias  trainable=True", "frozen=True"),
    "frozen_below": (lambda r: setattr(r["net"], "trainable", False), "~ net  frozen=nothing", "frozen=True"),
    "role": (lambda r: r["held"].update(x=gx.Variable([1.0], role="state")), "~ held/x  role='weight'", "role='state'"),
    "adapters_in_use": (lambda r: gx.adapters.use(r["net"], "b"), "active=['a', 'b']", "active=['b']"),
    "settings": (
        lambda r: setattr(r["net"].layers[0].kernel.adapters["a"], "scale", 2.0),
        "~ net/layers/0/kernel/adapters/a  scale=1.0",
        "scale=2.0",
    ),
    "columns": (columns(("p", "q", "r")), "~ net  columns=nothing", "'p', 'q', 'r'"),
    "class": (relearn, "~ optimizer  class='Adam'", "class='Learner'"),
    "keeper": (relearn, "keeper='Adam'", "keeper='Learner'"),
    "container": (lambda r: r.update(row=tuple(r["row"])), "~ row  class='list'", "class='tuple'"),
    "keys": (
        lambda r: r["held"].update({7: gx.Variable([1.0])}),
        "~ held  keys that are numbers=nothing",
        "keys that are numbers=[7]",
    ),
    "unused": (lambda r: r.pop("metric"), "~ metric  class='F1Score'", "not there"),
    "random": (lambda r: gx.random.normal((2,)), "~ gx.random  ", "stream"),
}


@pytest.mark.broad
@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_changed_alone_is_shown(fact, ckpt):
    change, before, after = FACTS[fact]
    roots = program()
    gx.Checkpoint(**roots).save("one")
    change(roots)
    gx.Checkpoint(**roots).save("other")
    code, out, _ = ckpt("diff", "one", "other")
    assert (code, before in out, after in out) == (1, True, True), out
    assert ckpt("diff", "one", "one")[0] == 0


@pytest.mark.broad
@pytest.mark.parametrize(
    ("ties", "shown"),
    [
        ((("y", "x"), None), "~ held/y  tied to held/x -> on its own"),
        ((("z", "x"), ("z", "y")), "~ held/z  tied to held/x -> tied to held/y"),
    ],
    ids=["untied", "otherwise"],
)
def test_what_is_tied_is_shown(ties, shown, ckpt):
    for name, way in zip(("one", "other"), ties, strict=True):
        roots = program()
        if way is not None:
            tie(roots, *way)
        gx.Checkpoint(**roots).save(name)
    code, out, _ = ckpt("diff", "one", "other")
    assert (code, shown in out) == (1, True), out
    assert shown.split()[1] not in [line[2:] for line in out.splitlines() if line[:1] in "+-"]


def test_labels_are_shown_and_are_no_difference(ckpt):
    w = gx.Variable([1.0])
    for i, name in enumerate(("one", "other")):
        gx.Checkpoint(w=w).save(name, step=i, meta={"note": name})
    code, out, _ = ckpt("diff", "one", "other")
    assert code == 0
    assert "  step  0 -> 1\n  meta note  'one' -> 'other'\n" in out
    assert json.loads(ckpt("diff", "one", "other", "--json")[1])["labels"]["step"] == ["0", "1"]


def test_selectors_choose_among_facts_too(ckpt):
    w, v = gx.Variable([1.0]), gx.Variable([1.0])
    gx.Checkpoint(w=w, v=v).save("one")
    w.trainable = False
    gx.Checkpoint(w=w, v=v).save("other")
    assert ckpt("diff", "one", "other", "--only", "v")[0] == 0
    assert ckpt("diff", "one", "other", "--only", "w")[0] == 1
    assert ckpt("diff", "one", "other", "--skip", "w", "--skip", "gx.random")[0] == 0


def test_show_has_settings_and_columns(ckpt):
    roots = program()
    columns(("p", "q", "r"))(roots)
    gx.Checkpoint(net=roots["net"]).save("one")
    out = ckpt("show", "one")[1]
    assert all(text in out for text in ("scale=1.0", "active=['a', 'b']", "'p', 'q', 'r'")), out
    entries = {entry["path"]: entry for entry in json.loads(ckpt("show", "one", "--json")[1])["entries"]}
    assert entries["net/layers/0/kernel/adapters/a"]["says"] == {"scale": 1.0}


def test_the_attributes_of_the_format_are_known():
    """A new attribute of a node needs a row above: `describe_node` shows what there is, the description says what."""
    said = NodeRecord.__doc__ or ""
    assert all(f"``{name}``" in said for name in ("adapter", "frozen", "resting", "keeper", "active", "facts"))
