"""A flag that promises something of a method does not hold for the method that a subclass puts in its place."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import graftax as gx
from graftax.core.promises import replaces, withdraw
from graftax.generation.sampler import Sampler
from graftax.layers.layer import Layer
from graftax.losses.loss import Loss
from graftax.metrics.reduction import SampleMetric
from graftax.optimizers.engine.rule import Rule
from graftax.reparam.adapted import Adapter
from graftax.reparam.lora import LoRAAdapter
from graftax.variables.base_initializer import BaseInitializer


class Promise(NamedTuple):
    """A flag, the method that it is about, and a class of graftax that has it."""

    root: type[Any]
    method: str
    example: type[Any]


def own(self: object, *args: Any, **kwargs: Any) -> None:
    """Stand for a method that somebody has written."""


PROMISES = {
    "elementwise": Promise(Rule, "update", gx.optimizers.Adam),
    "supports_masking": Promise(Layer, "call", gx.layers.Dense),
    "_gx_mixes_features": Promise(Layer, "call", gx.layers.Dense),
    "form": Promise(Loss, "call", gx.losses.CategoricalCrossentropy),
    "checks_mask": Promise(Loss, "check_targets", gx.losses.CTC),
    "form of metrics": Promise(SampleMetric, "values", gx.metrics.CategoricalAccuracy),
    "_counts_batches": Promise(SampleMetric, "values", gx.metrics.MeanMetricWrapper),
    "draws": Promise(BaseInitializer, "__call__", gx.initializers.Zeros),
    "draws of samplers": Promise(Sampler, "sample", gx.generation.GreedySampler),
    "additive": Promise(Adapter, "__call__", LoRAAdapter),
}

# What a subclass keeps beside a method of its own, and why that is right.
KEPT = {
    "compiles_call": "classes of graftax alone compile their calls: see test_a_call_from_elsewhere_is_not_compiled",
    "calls_python": "True is the careful answer: steps wait for Python",
    "_gx_reads_trainable": "True is the careful answer: layers of a stack of which one is frozen are told apart",
    "_gx_mixes_samples": "True is the careful answer: a mask reaches the layer in TimeDistributed",
    "_gx_hands_on_masks": "the mask is that which the layers inside have set, or none",
    "_gx_asks_for_mask": "True is the careful answer: what compute_mask gives is checked",
    "_broadcasts": "of check_inputs, whichever call asks it",
    "_gx_takes_wide": "True is the careful answer: fractions come unrounded",
    "_gx_requires_columns": "of tables, whose labels are compared whatever is computed",
    "_gx_in_a_row": "how it is constructed, from a list of layers",
    "_gx_built_later": "Variables may be made after the construction by any build",
    "_gx_in_tree": "of SeedGenerator, which has no method to replace",
    "_calculates": "integers are taken as fractions, which holds more numbers",
    "compares": "an own call without an own among is an error: see tests/losses/test_own_among.py",
    "decays_inside": "an own update that ignores the decay is an error: see tests/optimizers",
    "averages_itself": "the average is computed from slots, whoever gives them their values",
    "main_only": "where a callback runs: what it writes to is one place, whatever is written",
    "are_local": "what the rows of a process are, which a class says of itself",
    "any_made": "a note, whether there has been a distribution",
    "distributes": "a note of a scope",
    "_gx_resets_slots": "optimizers make slots anew from create_slots, whichever that is",
    "stop_training": "a note of a model in training",
    "allows_callback": "a note of a frame",
    "passing": "a note of a buffer",
}


@pytest.mark.parametrize("name", PROMISES)
def test_another_method_has_promised_nothing(name):
    flag, (root, method, example) = name.split()[0], PROMISES[name]
    default, promised = vars(root)[flag], getattr(example, flag)
    assert promised != default
    replaced = type("Replaced", (example,), {method: own})
    assert getattr(replaced, flag) == default
    assert getattr(type("Below", (replaced,), {}), flag) == default
    assert getattr(type("Mixed", (type("Mixin", (), {method: own}), example), {}), flag) == default
    assert getattr(example, flag) == promised


@pytest.mark.parametrize("name", PROMISES)
def test_the_same_method_keeps_the_promise(name):
    flag, (root, method, example) = name.split()[0], PROMISES[name]
    promised = getattr(example, flag)
    assert getattr(type("Plain", (example,), {"other": own}), flag) == promised
    assert getattr(type("Says", (example,), {method: own, flag: promised}), flag) == promised
    # said before there is a method, it is said of all that follow
    family = type("Family", (root,), {flag: promised})
    assert getattr(type("Member", (family,), {method: own}), flag) == promised
    mixed = type("Mixed", (type("Mixin", (), {flag: promised}), root), {method: own})
    assert getattr(mixed, flag) == promised


def _flags() -> Iterator[tuple[str, type[Any]]]:
    seen, left = set(), [kind for kind in object.__subclasses__() if kind.__module__.startswith("graftax.")]
    while left:
        kind = left.pop()
        if kind in seen:
            continue
        seen.add(kind)
        left += [one for one in type.__subclasses__(kind) if one.__module__.startswith("graftax.")]
        for name, value in vars(kind).items():
            if isinstance(value, bool) and ".backend." not in kind.__module__ and ".export." not in kind.__module__:
                yield name, kind


@pytest.mark.broad
def test_every_flag_of_a_class_is_decided():
    decided = {name.split()[0] for name in PROMISES} | set(KEPT)
    set_in = [(name, kind) for name, kind in _flags() if not name.startswith("__") and name not in decided]
    # of a class without subclasses, and of objects: notes, which nothing promises
    notes = {"_gx_warned", "_gx_makes_mask", "_gx_casts", "_gx_frozen", "_gx_watched", "_gx_lacks_weights"}
    notes |= {
        "_gx_looked_through",
        "_gx_looked_for_unheld",
        "_gx_run_eagerly",
        "_gx_decay_in_doubt",
        "_gx_is_asked",
        "autocast",
        "stateful",
    }
    left = {name: kind.__qualname__ for name, kind in set_in if name not in notes}
    assert {name: of for name, of in left.items() if not _is_small(name)} == {}


def _is_small(name: str) -> bool:
    """Tell whether a flag is of classes that nobody derives from: values and helpers."""
    kinds = [kind for found, kind in _flags() if found == name]
    return not any(issubclass(kind, gx.Module) or kind.__subclasses__() for kind in kinds)


@pytest.mark.broad
def test_a_call_from_elsewhere_is_not_compiled():
    seen = []

    class Watching(gx.layers.Dense):
        def call(self, x):
            seen.append(type(x).__name__)
            return super().call(x)

    layer, x = Watching(2), np.ones((2, 3), "float32")
    for _ in range(3):
        layer(x)
    assert len(seen) == 3
    assert not any("Tracer" in kind for kind in seen)


def test_withdraw_leaves_the_default():
    class Root:
        flag = False

        def method(self) -> None: ...

    class Below(Root):
        def method(self) -> None: ...

    withdraw(Below, Root, "flag", "method")
    assert "flag" not in vars(Below)
    assert replaces(Below, Root, "flag", "method") is False
