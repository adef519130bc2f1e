"""What the `call` of a layer takes beside its inputs, and where each argument stands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from graftax.core.errors import ArgumentTypeError
from graftax.core.static_numbers import is_traced


class Signature(NamedTuple):
    """The parameters of a `call`."""

    positions: Mapping[str, int]
    """All that may be given by name, and where they stand if given by position; -1 for by name only."""
    first: str | None
    """The first argument, whose shape a layer is built for; empty where any number of arrays comes, None for none."""
    default_training: bool | None
    masks: Mapping[str, str]
    """By argument, the parameter that takes its mask: ``value_mask`` for ``value``, ``mask`` for the first one."""
    takes_all: bool
    """Whether it takes arguments of any name."""

    @property
    def takes_training(self) -> bool:
        """Return whether it is told if this is training."""
        return "training" in self.positions

    def argument_of(self, name: str | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return what a call has for a parameter; None for nothing."""
        position = self._position(name)
        return args[position] if 0 <= position < len(args) else kwargs.get(name or "")

    def _position(self, name: str | None) -> int:
        return self.positions.get(name, -1) if name else 0

    def training_flag(self, args: tuple[Any, ...], kwargs: dict[str, Any], outer: bool | None) -> bool | None:
        """Return the flag of a call, or that of the call around it, or the default; taken away where `call` takes none.

        Raises:
            ArgumentTypeError: it is neither True nor False.
        """
        flag = self.argument_of("training", args, kwargs) if self.takes_training else kwargs.pop("training", None)
        if flag is None:
            return outer if outer is not None else self.default_training
        if not isinstance(flag, bool | int | np.bool_) or flag not in (0, 1):
            raise _no_flag(flag)
        return bool(flag)

    def put(
        self, name: str, value: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call with another value for a parameter."""
        position = self._position(name)
        if 0 <= position < len(args):
            return (*args[:position], value, *args[position + 1 :]), kwargs
        return args, {**kwargs, name: value}


def _no_flag(flag: object) -> ArgumentTypeError:
    """Return the error for what is neither True nor False, or became an array on the way through a function."""
    if hasattr(flag, "dtype") and is_traced(flag):
        return ArgumentTypeError(
            "training= that came as an argument of a compiled function",
            "there it is an array without a value, as each argument is, and a program is written either for training "
            "or for use",
            "a function that says which: gx.jit(lambda x: model(x, training=True))(x) in place of "
            "gx.jit(model)(x, training=True)",
        )
    return ArgumentTypeError(
        f"training={flag!r}", "it is True or False, and known while a program is written", "training=True"
    )


@cache
def signature_of(call: Callable[..., Any]) -> Signature:
    """Return the signature of a `call`, which is looked up once."""
    parameters = list(inspect.signature(call).parameters.values())[1:]
    first: str | None
    by_place = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    positions = {name: i for i, name in enumerate(by_place)}
    positions.update({p.name: -1 for p in parameters if p.kind is p.KEYWORD_ONLY})
    if by_place:
        first = by_place[0]
    elif any(p.kind is p.VAR_POSITIONAL for p in parameters):
        first = ""
    else:
        first = next((name for name in positions if name not in ("mask", "training")), None)
    masks = {name: f"{name}_mask" for name in positions if f"{name}_mask" in positions}
    if first is not None and first not in masks and "mask" in positions:
        masks[first] = "mask"
    training = next((p.default for p in parameters if p.name == "training"), None)
    default = training if isinstance(training, bool) else None
    return Signature(positions, first, default, masks, any(p.kind is p.VAR_KEYWORD for p in parameters))
