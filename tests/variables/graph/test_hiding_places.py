"""Containers in which the object graph is not looked for tell when Variables are put there."""

import collections
import types
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers


def objects(*elements):
    found = np.empty(len(elements), object)
    for i, element in enumerate(elements):
        found[i] = element
    return found


PLACES = {
    "set": lambda v: {v},
    "frozenset": lambda v: frozenset([v]),
    "deque": lambda v: collections.deque([1, v]),
    "ndarray": objects,
    "mappingproxy": lambda v: types.MappingProxyType({"a": v}),
    "UserDict": lambda v: collections.UserDict(a=v),
    "UserList": lambda v: collections.UserList([v]),
    "ChainMap": lambda v: collections.ChainMap({"a": v}),
    "dict_values": lambda v: {"a": v}.values(),
    "dict_items": lambda v: {"a": v}.items(),
    "dict_keys": lambda v: {v: 1}.keys(),
}
HELD = {
    "a layer": lambda: layers.Dense(2),
    "a module": gx.Module,
    "a generator": gx.SeedGenerator,
}


@pytest.mark.parametrize("inside", [False, True], ids=["directly", "in a list"])
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_put_where_nobody_looks_is_told_at_the_assignment(place, held, inside):
    module, container = gx.Module(), PLACES[place](HELD[held]())
    with pytest.warns(UserWarning, match=rf"Module\.parts is an? {place}.* neither trained nor saved.* Use a list or"):
        module.parts = [container] if inside else container


@pytest.mark.parametrize("place", sorted(PLACES.keys() - {"set", "frozenset", "dict_keys"}))
def test_variables_are_told_too_and_lists_of_them(place):
    module = gx.Module()
    for held in (gx.Variable(1.0), [gx.Variable(1.0)]):
        with pytest.warns(UserWarning, match="neither trained nor saved"):
            module.parts = PLACES[place](held)


@pytest.mark.parametrize("place", PLACES)
def test_other_content_is_nobodys_business(place):
    module = gx.Module()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.parts = PLACES[place]("text")
        module.numbers = np.ones(3)
