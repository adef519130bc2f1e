"""A new attribute whose name is a slip of a setting is warned of; notes of the program's own are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import graftax as gx


class Own(gx.layers.Dense):
    def call(self, x):
        return super().call(x) * getattr(self, "unit", 1.0) + self.activatio

    def freeze(self) -> None:
        self.trainble = False


def freeze(layer: gx.Layer) -> None:
    layer.trainble = False


SLIPS: list[tuple[Callable[[], Any], str, object, str]] = [
    (lambda: gx.layers.Dense(2), "trainble", False, "trainable"),
    (lambda: gx.layers.Dense(2), "kernel_regulariser", "l2", "kernel_regularizer"),
    (lambda: gx.layers.Dense(2), "kernelRegularizer", "l2", "kernel_regularizer"),
    (lambda: gx.layers.BatchNormalization(), "momentun", 0.9, "momentum"),
    (lambda: gx.Sequential([gx.layers.Dense(2)]), "stop_trainning", True, "stop_training"),
    (lambda: gx.losses.MeanSquaredError(), "reducton", "sum", "reduction"),
    (lambda: gx.metrics.Mean(), "dtpe", "float32", "dtype"),
    (lambda: gx.regularizers.L1L2(l1=0.1), "L1", 0.1, "l1"),
    (lambda: Own(2), "use_bais", False, "use_bias"),
]

NOTES: list[tuple[Callable[[], Any], str]] = [
    (lambda: gx.layers.Dense(2), "activations"),  # what somebody records
    (lambda: gx.layers.Dense(2), "act"),
    (lambda: gx.layers.Dense(2), "units_"),
    (lambda: gx.layers.Dense(2), "_trainble"),
    (lambda: gx.layers.Dense(2), "note"),
    (lambda: gx.Sequential([gx.layers.Dense(2)]), "history"),
    (lambda: gx.Sequential([gx.layers.Dense(2)]), "names"),
    (lambda: gx.metrics.Mean(), "best"),
    (lambda: Own(2), "activatio"),  # its own class reads it
]


@pytest.mark.parametrize(("make", "name", "value", "meant"), SLIPS, ids=lambda one: one if type(one) is str else "")
def test_a_slip_is_warned_of(make: Callable[[], Any], name: str, value: object, meant: str) -> None:
    it = make()
    with pytest.warns(UserWarning, match=rf"{type(it).__name__}\.{name} = .*Did you mean {meant}\?"):
        setattr(it, name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        setattr(it, name, value)  # it is known now


@pytest.mark.parametrize(("make", "name"), NOTES, ids=lambda one: one if type(one) is str else "")
def test_a_note_is_not(make: Callable[[], Any], name: str) -> None:
    it = make()
    setattr(it, name, 3)
    assert getattr(it, name) == 3


def test_a_method_of_the_object_says_what_it_means() -> None:
    own = Own(2)
    own.freeze()
    assert not own.trainble
    freeze(Own(2))  # its class has that name
    with pytest.warns(UserWarning, match="Did you mean trainable"):
        freeze(gx.layers.Dense(2))


class Numbered(gx.Layer):
    def __init__(this) -> None:
        super().__init__()
        for name in ("a", "b", "c"):
            setattr(this, f"block_{name}", gx.layers.Dense(1))


@pytest.mark.filterwarnings("error")
def test_a_class_names_its_attributes_in_a_loop_whatever_its_first_argument_is_called() -> None:
    assert len(list(Numbered().submodules)) >= 3
