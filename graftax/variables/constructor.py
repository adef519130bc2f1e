"""The arguments of a constructor, for whoever asks a class: help(), editors, documentation tools."""

from __future__ import annotations

import inspect
from typing import Any


class ConstructorSignature:
    """The ``__signature__`` of a class: that of its ``__init__``, where ``__new__`` takes anything to pass it on.

    Example:
        >>> class Base:
        ...     __signature__ = ConstructorSignature()
        ...
        ...     def __new__(cls, *args, **kwargs):
        ...         return super().__new__(cls)
        ...
        ...     def __init__(self, units): ...
        >>> inspect.signature(Base)
        <Signature (units)>
    """

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        first = next(base for base in owner.__mro__ if {"__init__", "__new__"} & vars(base).keys())
        if instance is not None or "__init__" not in vars(first):  # an instance is called, and has arguments of its own
            raise AttributeError("__signature__")
        signature = inspect.signature(owner.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])
