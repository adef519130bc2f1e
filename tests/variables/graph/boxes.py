"""Modules that take anything, for tests of the object graph."""

from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class Box(Module):
    """Takes any attributes."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


def var(value=0.0, **options):
    return Variable(value, **options)


def paths(module):
    return [v.path for v in module.variables]
