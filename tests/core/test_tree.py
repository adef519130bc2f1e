"""Nested structures against jax.tree, the reference for those it knows."""

from collections import OrderedDict, defaultdict, namedtuple

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graftax.core import tree
from graftax.core.errors import ArgumentError

Point = namedtuple("Point", "x y")
nests = st.recursive(
    st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Point, inner, inner)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda d: dict(sorted(d.items())))
    ),
    max_leaves=12,
)


@given(nests)
def test_leaves_are_those_of_jax(nest):
    assert tree.flatten(nest) == jax.tree.leaves(nest)


@given(nests)
def test_rebuild_undoes_flatten(nest):
    again = tree.rebuild(nest, iter(tree.flatten(nest)))
    assert again == nest
    assert jax.tree.structure(again) == jax.tree.structure(nest)


@given(nests)
def test_map_is_that_of_jax(nest):
    assert tree.map_structure(lambda a, b: a + 2 * b, nest, nest) == jax.tree.map(lambda a: 3 * a, nest)


def test_none_is_a_leaf():
    assert tree.flatten([None, {"a": None}]) == [None, None]


def test_paths():
    nest = {"a": [1, Point(2, {"z": 3})], "b": (4,)}
    assert tree.flatten_with_paths(nest) == [("a/0", 1), ("a/1/x", 2), ("a/1/y/z", 3), ("b/0", 4)]
    assert tree.flatten_with_paths(5) == [("", 5)]


def test_types_of_containers_are_kept():
    factory = defaultdict(list, a=1)
    doubled = tree.map_structure(lambda x: 2 * x, {"d": factory, "o": OrderedDict(b=1, a=2), "p": Point(1, 2)})
    assert doubled["d"] == {"a": 2}
    assert doubled["d"].default_factory is list
    assert list(doubled["o"].items()) == [("b", 2), ("a", 4)]
    assert isinstance(doubled["o"], OrderedDict)
    assert doubled["p"] == Point(2, 4)


def test_map_pairs_dicts_by_key_whatever_their_order():
    assert tree.map_structure(lambda a, b: (a, b), {"x": 1, "y": 2}, {"y": 20, "x": 10}) == {"x": (1, 10), "y": (2, 20)}


@pytest.mark.parametrize("other", [[1], [1, 2, 3], {"a": 1, "b": 2}, 1, [1, [2]]])
def test_map_refuses_other_structures(other):
    with pytest.raises(ArgumentError, match="same nesting"):
        tree.map_structure(lambda a, b: a, [1, 2], other)


def test_reorder_puts_the_keys_of_dicts_in_order():
    Pair = namedtuple("Pair", "x y")
    found = tree.reorder({"b": Pair({"z": 1, "a": 2}, [3]), "a": 4}, {"a": 0, "b": Pair({"a": 0, "z": 0}, [0])})
    assert list(found) == ["a", "b"]
    assert found["b"] == Pair({"a": 2, "z": 1}, [3])
    assert list(found["b"].x) == ["a", "z"]


def test_reorder_leaves_what_differs():
    assert tree.reorder({"b": 1}, {"c": 1}) == {"b": 1}
    assert tree.reorder([1, 2], [1]) == [1, 2]
    assert tree.reorder(3, {"a": 1}) == 3


def test_reorder_keeps_what_a_dict_carries():
    given = defaultdict(list, {"b": 1, "a": 2})
    found = tree.reorder(given, {"a": 0, "b": 0})
    assert list(found) == ["a", "b"]
    assert found["c"] == []
