"""What Python does with Modules is intercepted in one class, so that there is one place to read."""

import pytest

from graftax.core.keywords import Constructed
from graftax.layers.layer import Layer
from graftax.losses.loss import Loss
from graftax.metrics.metric import Metric
from graftax.optimizers.optimizer import Optimizer
from graftax.training.model import Model
from graftax.training.sequential import Sequential
from graftax.variables.graph.module import Module

HOOKS = ("__new__", "__init_subclass__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__")


def kinds(base):
    for kind in base.__subclasses__():
        if kind.__module__.startswith("graftax."):
            yield kind
            yield from kinds(kind)


def test_no_kind_of_module_intercepts_anything_itself():
    assert {Layer, Loss, Metric, Model, Optimizer, Sequential} <= set(kinds(Module))
    assert [(kind.__name__, hook) for kind in kinds(Module) for hook in HOOKS if hook in vars(kind)] == []


@pytest.mark.parametrize("hook", HOOKS)
def test_a_module_does_once(hook):
    places = [kind for kind in Module.__mro__[:-1] if hook in vars(kind)]
    also = [Constructed] if hook == "__init_subclass__" else []  # checks arguments, of what is no Module, too
    assert places == ([] if hook == "__getattribute__" else [Module, *also])


def test_a_class_is_prepared_by_its_bases_and_once():
    prepared = []

    class Base(Module):
        @classmethod
        def _gx_prepare_class(cls):
            super()._gx_prepare_class()
            prepared.append(cls.__name__)

    class Below(Base):
        pass

    assert Below.__name__ == "Below"
    assert prepared == ["Below"]


def test_what_is_given_may_be_changed_before_it_is_kept():
    class Halved(Module):
        def _gx_given(self, name, value):
            return value / 2 if name == "half" else value

    module = Halved()
    module.half, module.whole = 3.0, 3.0
    assert (module.half, module.whole) == (1.5, 3.0)
