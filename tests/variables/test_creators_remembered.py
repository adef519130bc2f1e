"""Creators of layers that are built later, and values that wait for what a creator makes."""

import copy
import functools
from contextlib import nullcontext

import pytest

from graftax.core.errors import CreatorError
from graftax.reparam.low_rank import LowRank
from graftax.variables.creation import variable_creator_scope
from graftax.variables.graph.adoption import set_pending
from graftax.variables.variable import Variable
from tests.variables.creators import Logger, Scale, X

# --- layers that are built later ------------------------------------------------------------------------------------


def test_a_layer_constructed_under_a_scope_remembers_it():
    logger = Logger()
    with variable_creator_scope(logger):
        layer = Scale()
    layer(X)
    assert logger.paths == ["kernel", "bias"]


def test_a_remembered_scope_lies_outside_the_active_ones():
    log = []
    with variable_creator_scope(Logger("remembered", log)):
        layer = Scale()
    with variable_creator_scope(Logger("active", log)):
        layer(X)
    assert log[:4] == ["enter active", "enter remembered", "exit remembered", "exit active"]


def test_no_scope_applies_twice():
    logger = Logger()
    with variable_creator_scope(logger):
        Scale()(X)
    assert logger.paths == ["kernel", "bias"]


def test_a_layer_remembers_only_what_was_active():
    with variable_creator_scope(early := Logger()):
        pass
    layer = Scale()
    with variable_creator_scope(late := Logger()):
        pass
    layer(X)
    assert early.specs == late.specs == []


def test_a_copy_of_an_unbuilt_layer_remembers():
    logger = Logger()
    with variable_creator_scope(logger):
        layer = Scale()
    copy.deepcopy(layer)(X)
    assert logger.paths == ["kernel", "bias"]


# --- values that wait -----------------------------------------------------------------------------------------------


def test_vc21_values_wait_for_the_parts_that_a_creator_makes():
    values = {"left": [[1.0], [2.0], [3.0]], "right": [[1.0, 1.0]]}

    class Waiting:
        def claim(self, edge, variable):
            if edge in values:
                variable.assign(values[edge])

        def child(self, edge):
            return self if edge == "kernel" else None

        def hung_on(self, module):
            """Nothing has to be told."""

        def building(self, module):
            return nullcontext()

        def is_of(self, other):
            return other is self

    with variable_creator_scope(LowRank(rank=1)):
        layer = Scale()
        set_pending(layer, Waiting())
        layer(X)
    assert layer.kernel.numpy().tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_a_partial_and_a_callable_object_are_named_in_errors():
    def base(next_creator, spec, extra):
        return None

    with variable_creator_scope(functools.partial(base, extra=1)), pytest.raises(CreatorError, match="partial"):
        Variable(1.0)
