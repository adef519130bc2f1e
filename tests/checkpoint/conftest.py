"""Small stand-ins for layers and an optimizer, and drafts of checkpoints without any program behind them."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.arrays import to_bytes
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.commit import Draft
from graftax.checkpoint.index import Kind, NodeRecord
from graftax.checkpoint.layout import Item
from graftax.variables.graph.module import Module, SlotRecord


class Dense(Module):
    """A layer that is built later, like those of graftax.layers."""

    def __init__(self, units):
        self.units = units
        self.built = False
        self.kernel = self.bias = None

    def build(self, inputs):
        self.kernel = gx.Variable(np.full((inputs, self.units), 0.5, "float32"))
        self.bias = gx.Variable(np.zeros(self.units, "float32"))
        self.built = True


class Stack(Module):
    def __init__(self, *units, inputs=None):
        self.layers = [Dense(n) for n in units]
        if inputs is not None:
            self.build(inputs)

    def build(self, inputs):
        for layer in self.layers:
            layer.build(inputs)
            inputs = layer.units


class Optimizer(Module):
    """Keeps slots by (name, variable), out of the object graph."""

    untracked = frozenset({"made"})

    def __init__(self, *names):
        self.names = names or ("momentum",)
        self.iterations = gx.Variable(0, trainable=False, role="counter")
        self.made = {}

    def _gx_slot_records(self):
        return [SlotRecord(name, variable, slot) for (name, _), (variable, slot) in self.made.items()]

    slots = _gx_slot_records

    def _gx_ensure_slot(self, name, variable):
        if name not in self.names:
            return None
        key = (name, id(variable))
        if key not in self.made:
            zeros = np.zeros(variable.shape, variable.dtype)
            self.made[key] = (variable, gx.Variable(zeros, trainable=False, role="slot"))
        return self.made[key][1]


class Position(Module):
    """Plain Python state, such as that of a data iterator."""

    def __init__(self, state):
        self.position = state

    def get_state(self):
        return self.position

    def set_state(self, state):
        self.position = state


class Box(Module):
    """Anything under attributes."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


def number(value):
    return gx.Variable(np.float32(value))


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Nothing here waits for a device: what a power loss does is played through in memory."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def toys():
    return SimpleNamespace(
        Dense=Dense, Stack=Stack, Optimizer=Optimizer, Position=Position, Box=Box, number=number, draft=draft
    )


def draft(arrays, **fields):
    """A checkpoint with one dict of arrays under the root ``values``."""
    items = [Item(a.dtype.name, a.shape, f"values/{name}", to_bytes(a, name)) for name, a in arrays.items()]
    edges = tuple((name, i + 1) for i, name in enumerate(arrays))
    leaves = [NodeRecord(Kind.VARIABLE, "Variable", (), (i, True, "weight", {})) for i in range(len(items))]
    return Draft(items, [NodeRecord(Kind.DICT, "dict", edges), *leaves], {"values": 0}, **fields)


@pytest.fixture
def saved(tmp_path):
    """Save roots, return the path."""

    def save(**roots):
        path = tmp_path / f"c{len(list(tmp_path.iterdir()))}"
        Checkpoint(**roots).save(path, step=3, meta={"note": (1, np.float32(2))})
        return path

    return save


@pytest.fixture
def attack(record_property):
    """Notes an attack and how often it was made, for the table that tools/make_faults_table.py writes."""

    def note(what, **counts):
        for unit, count in counts.items():
            record_property("attack", [what, unit.replace("_", " "), count])

    return note
