"""Containers: which ones are followed, and what is in them."""

from array import array
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest

from graftax.variables.graph.config_objects import is_config
from graftax.variables.graph.containers import (
    COMPARED_BYTES,
    LONG,
    elements_of,
    is_container,
    is_small_array,
    size_of,
)
from graftax.variables.graph.prints import ids_in, print_of

OBJECTS = np.array([1.0, "a"], dtype=object)
FOLLOWED = [
    [1],
    (1,),
    {"a": 1},
    {1},
    OrderedDict(a=1),
    defaultdict(list, a=[1]),
    deque([1]),
    MappingProxyType({"a": 1}),
]
FOLLOWED += [partial(print, 1, sep=""), OBJECTS, np.array(None, dtype=object)]
NOT_FOLLOWED = [frozenset([1]), "a", b"a", iter([1]), {}.keys(), np.ones(2), deque(range(LONG + 1)), UserDict()]
NOT_FOLLOWED += [MappingProxyType(dict.fromkeys(range(LONG + 1))), np.array([None] * (LONG + 1)), object()]


@pytest.mark.parametrize("value", FOLLOWED, ids=lambda value: type(value).__name__)
def test_what_is_a_container(value):
    assert is_container(value)
    assert size_of(value) == len(list(elements_of(value))) or isinstance(value, partial)


@pytest.mark.parametrize("value", NOT_FOLLOWED, ids=lambda value: type(value).__name__)
def test_what_is_none(value):
    assert not is_container(value)


@pytest.mark.parametrize("value", [UserDict(a=1), UserList([1]), ChainMap({"a": 1})], ids=lambda v: type(v).__name__)
def test_what_keeps_all_in_attributes_is_followed_as_a_config_object(value):
    assert is_config(value)


def test_numbers_in_arrays_are_followed_up_to_a_size():
    small = [np.ones(2), bytearray(b"a"), array("d", [1.0])]
    large = [np.ones(COMPARED_BYTES), bytearray(COMPARED_BYTES + 1), array("d", bytes(COMPARED_BYTES + 8))]
    assert [is_small_array(one) for one in (*small, *large)] == [True] * 3 + [False] * 3
    assert not any(map(is_small_array, [OBJECTS, b"a", [1.0], memoryview(b"a")]))


ALIKE_BUT_DIFFERENT = [
    (deque([1]), deque([1], maxlen=2)),
    (deque([1]), [1]),
    (array("i", [1]), array("I", [1])),
    (bytearray(b"a"), bytearray(b"b")),
    (np.array([[1], [2]], dtype=object), np.array([1, 2], dtype=object)),
    (partial(print, 1), partial(print, 2)),
    (partial(print, sep="a"), partial(print, sep="b")),
    (partial(print), partial(len)),
    (MappingProxyType({"a": 1}), MappingProxyType({"a": 1.0})),
    (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
]


@pytest.mark.parametrize(("one", "other"), ALIKE_BUT_DIFFERENT, ids=lambda value: type(value).__name__)
def test_prints_tell_apart_what_is_different(one, other):
    assert print_of(one) != print_of(other)
    assert print_of(one) == print_of(one)


CHANGING = [deque([1.5, "a"]), MappingProxyType({"a": 1.5}), OBJECTS]


@pytest.mark.parametrize("value", CHANGING, ids=lambda value: type(value).__name__)
def test_ids_stay_while_the_content_does(value):
    assert [*ids_in(value)] == [*ids_in(value)] != []
