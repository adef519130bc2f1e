"""A creator that makes layers whose weights it sees would make layers without end: it is told so at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import CreatorRecursionError
from graftax.core.typedefs import Array
from graftax.variables.creation import NextCreator
from graftax.variables.spec import VariableSpec

NETS: dict[str, Callable[[int], Any]] = {
    "dense": lambda size: layers.Dense(size),
    "sequential": lambda size: gx.Sequential([layers.Dense(8), layers.Dense(size)]),
    "built_at_once": lambda size: gx.Sequential([gx.Input((4,)), layers.Dense(8), layers.Dense(size)]),
}


def computed_by(net: Callable[[int], Any], early: bool) -> type[gx.Reparam]:
    class Computed(gx.Reparam):
        def __init__(self, next_creator: NextCreator, spec: VariableSpec) -> None:
            super().__init__(spec)
            self.z = next_creator(spec.replace(name="z", shape=(1, 4)))
            self.net = net(int(np.prod(spec.shape)))
            if early:
                self.net(self.z)

        def forward(self) -> Array:
            return ops.reshape(self.net(self.z), self.shape)

    return Computed


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())
def test_vc9_a_creator_that_meets_the_weights_of_its_own_layers_is_told(net: Any, early: bool) -> None:
    with (
        pytest.raises(CreatorRecursionError, match=r'instead: where= .* such as where="layers/\*/kernel"') as caught,
        gx.variable_creator_scope(computed_by(net, early), where="**/kernel"),
    ):
        gx.Sequential([gx.Input((2,)), layers.Dense(2)])
    assert len(str(caught.value).splitlines()) < 20


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("name", ["dense", "sequential"])  # what is built at once has paths of its own
def test_a_narrower_where_ends_it(name: str, early: bool) -> None:
    with gx.variable_creator_scope(computed_by(NETS[name], early), where="layers/*/kernel"):
        model = gx.Sequential([gx.Input((2,)), layers.Dense(2)])
    assert model(np.ones((3, 2), "float32")).shape == (3, 2)


def test_layers_that_are_built_before_the_scope_end_it() -> None:
    net = NETS["built_at_once"](4)
    with gx.variable_creator_scope(computed_by(lambda size: net, False), where="**/kernel"):
        model = gx.Sequential([gx.Input((2,)), layers.Dense(2)])
    assert model(np.ones((3, 2), "float32")).shape == (3, 2)


@pytest.mark.broad
def test_creators_may_nest_a_few_layers() -> None:
    made = []

    def thrice(next_creator: NextCreator, spec: VariableSpec) -> Any:
        made.append(spec.path)
        if len(made) > 3:
            return next_creator(spec)
        return computed_by(NETS["dense"], True)(next_creator, spec)

    with gx.variable_creator_scope(thrice, where="**/kernel"):
        assert layers.Dense(2)(np.ones((3, 2), "float32")).shape == (3, 2)
    assert len(made) == 4
