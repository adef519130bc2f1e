"""What surrounds the making of a layer's weights, whoever asks for it: a first call, or ``layer.build(shape)``."""

from __future__ import annotations

import dis
import inspect
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from graftax import user_line
from graftax.attributes import OF_LAYERS, missing
from graftax.errors import MissingAttributeError
from graftax.known_names import closest
from graftax.module import walk
from graftax.scopes import ScopeStack
from graftax.variables import creation, storage
from graftax.variables.calls import CallContext, contexts
from graftax.variables.variable import Variable
from graftax.wrapping import wraps

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
    """What `Layer` answers where nothing is found: a weight is missing until it is built, anything else for good."""
    try:
        return object.__getattribute__(self, name)
    except AttributeError as error:
        if name.startswith("_") or hasattr(type(self), name):
            raise
        said = str(error)
    later = () if self.__dict__.get("built", False) else made_by(type(self))
    near = name if name in later else None
    if near is None and name not in OF_LAYERS:
        own = [known for known in (*vars(self), *dir(type(self))) if not known.startswith("_")]
        near = closest(name, later) if closest(name, own) is None else None
    if near is None and (name in OF_LAYERS or not _COMPUTED_NAMES.intersection(later)):
        raise missing(self, name, "model" if hasattr(type(self), "fit") else "layer", OF_LAYERS, self._title())
    raise MissingAttributeError(
        f"{name!r} of {self._title()}, which is not built",
        f"{said if near in (None, name) else f'it will have {near!r}'}; weights are made at the first call, when the "
        "input's shape is known",
        "call it on an example first: layer(x[:1]); or layer.build(input_shape)",
    )


_COMPUTED_NAMES = frozenset({"setattr", "__setattr__", "__dict__", "vars"})
_made_by: weakref.WeakKeyDictionary[type[Any], frozenset[str]] = weakref.WeakKeyDictionary()


def made_by(kind: type[Layer]) -> frozenset[str]:
    """Names that `build` and `call` of a class assign, they or what they call; and by what else they may make some."""
    if kind not in _made_by:
        found: set[str] = set()
        seen: set[CodeType] = set()
        waiting = [code for name in ("build", "call") for code in _codes(kind, name)]
        while waiting:
            code = waiting.pop()
            if code in seen:
                continue
            seen.add(code)
            found.update(step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR")
            found.update(_COMPUTED_NAMES.intersection(code.co_names))
            waiting += [below for name in code.co_names for below in _codes(kind, name)]
        _made_by[kind] = frozenset(name for name in found if not name.startswith("_") or name in _COMPUTED_NAMES)
    return _made_by[kind]


def _codes(kind: type[Layer], name: str) -> Iterator[CodeType]:
    """The code of a method, as each class above defines it, but for the machinery of `Module` and of layers."""
    for base in kind.__mro__:
        method = inspect.unwrap(vars(base)[name]) if callable(vars(base).get(name)) else None
        if isinstance(method, FunctionType) and base.__module__ not in ("graftax.module", "graftax.layers.layer"):
            yield method.__code__


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
