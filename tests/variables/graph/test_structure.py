"""The count of structural changes: it moves after a change can be seen, so that nobody caches what was before it."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.checkpoint.trained_as_saved import set_frozen
from graftax.layers.undoing import undone_if_raised
from graftax.transforms.compile.guard import Guard
from graftax.variables.graph.module import walk
from graftax.variables.graph.structure import Structure, structure


def net():
    model = gx.Sequential([layers.Dense(3), layers.Dense(2)])
    model(np.ones((1, 3), "float32"))
    return model


def adapted():
    model = net()
    gx.graft(model, gx.reparam.LoRA(1), where="**/kernel")
    return model


def tied():
    first = layers.Dense(3, use_bias=False)
    first.build((None, 3))
    with gx.variable_creator_scope(gx.reparam.Shared(first.kernel), where="kernel"):
        second = layers.Dense(3, use_bias=False)
        second.build((None, 3))
    return gx.Sequential([first, second])


def fail_in_a_build(model):
    try:
        with undone_if_raised(model):
            model.layers[0].note = 7
            model.layers.append(layers.Dense(1))
            raise RuntimeError
    except RuntimeError:
        pass


def average(model):
    optimizer = model.layers[0].optimizer = gx.optimizers.SGD(0.1, ema_momentum=0.5)
    weights = model.trainable_variables
    optimizer.apply([np.ones(w.shape, "float32") for w in weights], weights)
    with optimizer.averaged():
        pass


CHANGES = {
    "remove": (adapted, lambda m: gx.adapters.remove(m, "lora")),
    "merge": (adapted, lambda m: gx.adapters.merge(m, "lora")),
    "use": (adapted, lambda m: gx.adapters.use(m)),
    "ungraft": (adapted, gx.ungraft),
    "ungraft ties": (tied, gx.ungraft),
    "graft": (net, lambda m: gx.graft(m, gx.reparam.WeightNorm(), where="**/kernel")),
    "freeze": (net, lambda m: m.freeze()),
    "a setting": (net, lambda m: setattr(m.layers[0], "note", 4)),
    "a penalty": (net, lambda m: setattr(m.layers[0].kernel, "regularizer", "l2")),
    "restore of what is frozen": (net, lambda m: set_frozen(m, True)),
    "a build that fails": (net, fail_in_a_build),
    "averages": (net, average),
}


@pytest.mark.broad
@pytest.mark.parametrize(("make", "change"), CHANGES.values(), ids=CHANGES)
def test_the_count_moves_after_the_change(make, change, monkeypatch):
    model = make()
    for node in walk(model):
        object.__setattr__(node, "_gx_watched", True)  # as if a trace depended on it
    found = []

    def seen():
        return [(id(node), node._gx_fingerprint()) for node in walk(model)]

    def bump(self):
        self.version += 1
        found.append(seen())  # as another thread would, and keep it while the count stays

    monkeypatch.setattr(Structure, "bump", bump)
    change(model)
    assert found
    assert found[-1] == seen()


def test_what_another_thread_changes_during_a_comparison_is_seen_by_the_next_one(monkeypatch):
    box = gx.Module()
    box.scale = 2.0
    f = gx.jit(lambda x: x * box.scale)
    assert float(f(np.float32(1))) == 2.0
    compared = Guard._current_prints

    def then_change(self, place, node):
        found = compared(self, place, node)
        if node is box:
            monkeypatch.setattr(Guard, "_current_prints", compared)
            box.scale = 3.0  # after it was looked at, and before the guard notes what it has compared
        return found

    monkeypatch.setattr(Guard, "_current_prints", then_change)
    structure.bump()
    f(np.float32(1))
    assert float(f(np.float32(1))) == 3.0
