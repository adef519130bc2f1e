"""What surrounds the making of a layer's weights, whoever asks for it: a first call, or ``layer.build(shape)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from graftax import user_line
from graftax.errors import MissingAttributeError
from graftax.module import walk
from graftax.scopes import ScopeStack
from graftax.variables import creation, storage
from graftax.variables.calls import CallContext, contexts
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.layers.layer import Layer

_under_way: ScopeStack[Any] = ScopeStack("build")


def whole(build: Callable[..., None]) -> Callable[..., None]:
    """A ``build`` that makes the weights under the creators that its layer remembers, of real values, and notes it."""

    @wraps(build)
    def run(self: Layer, input_shape: Any) -> None:
        if any(layer is self for layer in _under_way.items):  # by way of super().build(input_shape)
            build(self, input_shape)
            return
        with (
            creation.remembered(self._captured),
            storage.concretely(),
            contexts.replaced(()),
            _under_way.entered(self),
        ):
            build(self, input_shape)
        self.input_shape = input_shape
        self.mark_built()

    return run


def missing_attribute(self: Layer, name: str) -> Any:
    """What `Layer` answers where nothing is found: its weights are missing until it is built."""
    try:
        return object.__getattribute__(self, name)
    except AttributeError as error:
        if name.startswith("_") or hasattr(type(self), name) or self.__dict__.get("built", False):
            raise
        raise MissingAttributeError(
            f"{name!r} of {self._title()}, which is not built",
            f"{error}; weights are made at the first call, when the input's shape is known",
            "call it on an example first: layer(x[:1]); or layer.build(input_shape)",
        ) from None


def note_dtypes(layer: Layer, weight: Any) -> None:
    """Note whether weights have to be cast where the layer reads them: a creator may store them in another dtype."""
    stored = (v.dtype for v in walk(weight) if isinstance(v, Variable) and v.role == "weight")
    if any("float" in dtype and dtype != layer.policy.compute_dtype for dtype in stored):
        object.__setattr__(layer, "_casts", True)


def warn_if_not_held(layer: Layer, context: CallContext) -> None:
    """Warn of a layer that is built inside of another's call, which does not hold it."""
    root = context.root
    if layer.owner is not None or root is None or root is layer:
        return
    for _ in walk(root):  # adopts what was appended to lists since
        pass
    if layer.owner is None:
        user_line.warn(
            f"{layer._title()} is built in a call of {root.path or root.name!r} ({type(root).__name__}), which "
            "does not hold it: its weights are neither trained nor saved with it, and new ones are made if it "
            "is made again. "
            f"Hold it: self.{layer.name} = {type(layer).__name__}(...) in __init__.",
        )
