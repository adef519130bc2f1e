"""Creators with a selector: what it matches, and what it says when that is nothing."""

import pytest

from graftax.core.errors import SelectorError
from graftax.core.typedefs import VariableLike
from graftax.variables.creation import variable_creator_scope
from graftax.variables.graph.module import Module
from tests.variables.creators import Logger, Scale, X, identity

# --- where= ---------------------------------------------------------------------------------------------------------


def test_where_selects():
    logger = Logger()
    with variable_creator_scope(logger, where="**/kernel"):
        Scale()(X)
    assert logger.paths == ["kernel"]


def test_where_that_matches_nothing_raises_at_the_end_with_candidates():
    with (
        pytest.raises(SelectorError, match=r"identity.*'\*\*/kernl' matches none of 2 variables") as caught,
        variable_creator_scope(identity, where="**/kernl"),
    ):
        Scale()(X)
    assert "kernel" in caught.value.instead


def test_where_waits_until_what_was_made_under_it_is_built():
    with variable_creator_scope(identity, where="**/kernl"):
        first, second = Scale(), Scale()
    first(X)
    with pytest.raises(SelectorError, match="kernl"):
        second(X)


def test_where_is_content_with_a_match_after_the_end():
    logger = Logger()
    with variable_creator_scope(logger, where="**/bias"):
        layer = Scale()
    layer(X)
    assert logger.paths == ["bias"]


def test_where_says_nothing_after_another_error():
    with pytest.raises(ZeroDivisionError), variable_creator_scope(identity, where="**/kernl"):
        raise ZeroDivisionError


def test_where_and_parts_of_the_whole():
    outer_whole, outer_part = Logger(), Logger()

    def halves(next_creator, spec):
        if spec.role != "weight" or len(spec.shape) != 2:
            return next_creator(spec)
        return Halves(next_creator, spec)

    with (
        variable_creator_scope(outer_whole, where="**/kernel"),
        variable_creator_scope(outer_part, where="**/left"),
        variable_creator_scope(halves),
    ):
        Scale()(X)
    assert outer_whole.paths == ["kernel/left", "kernel/right"]
    assert outer_part.paths == ["kernel/left"]


class Halves(Module, VariableLike):
    def __init__(self, next_creator, spec):
        self.left = next_creator(spec.replace(name="left", shape=(spec.shape[0], 1)))
        self.right = next_creator(spec.replace(name="right", shape=(1, spec.shape[1])))

    @property
    def value(self):
        return self.left @ self.right
