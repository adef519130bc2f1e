"""What surrounds the making of a layer's weights, whoever asks for it: a first call, or ``layer.build(shape)``."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from graftax.core import tree, user_line
from graftax.core.dtypes import is_floating
from graftax.core.errors import GraftaxError, MissingAttributeError, NotBuiltError
from graftax.core.known_names import closest
from graftax.core.later import import_later
from graftax.core.scopes import ScopeStack
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.core.wrapping import wraps
from graftax.layers import several_shapes, shapes
from graftax.layers.inputs_of_call import building_line
from graftax.layers.policy import DTypePolicy
from graftax.layers.signature import Signature
from graftax.layers.undoing import undone_if_raised
from graftax.layers.weight_settings import refuse_foreign, refuse_late
from graftax.variables import creation, masks
from graftax.variables.calls import CallContext, contexts
from graftax.variables.graph.kept_names import COMPUTED_NAMES, MACHINERY, names_kept_by
from graftax.variables.graph.module import Module, walk, walk_with_edges
from graftax.variables.graph.reserved import LOSS
from graftax.variables.state import storage
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.core import attributes
else:
    attributes = import_later("graftax.core.attributes")

_under_way: ScopeStack[Any] = ScopeStack("build")
_called: ScopeStack[Any] = ScopeStack("build in a call")


class Built:
    """The attribute ``built``: a function being compiled that reads it depends on what it was at that time."""

    def __get__(self, layer: Buildable | None, kind: type[Buildable]) -> bool:
        if layer is None:
            return False
        storage.changing(layer, "built")
        return bool(layer.__dict__.get("built", False))

    def __set__(self, layer: Buildable, value: bool) -> None:
        layer.__dict__["built"] = value


class Buildable(Module):
    """The part of a layer that makes weights, once, when the shape of its input is known."""

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_input_shape", "_gx_first_call", "_gx_first_named"})
    _gx_built_later = True

    built: Built = Built()
    """Whether its weights are there."""
    _gx_input_shape: Any = None  # or a structure of shapes
    _gx_first_call: tuple[Any, ...] | None = None
    """Shapes and dtypes of the arguments of the first call, in which it was built."""
    _gx_first_named: Mapping[str, Any] = MappingProxyType({})
    """The same of what it was given by keyword."""
    _gx_of_weights: ClassVar[frozenset[str]] = frozenset()
    """Arguments that only the making of weights reads: another value later would be used for nothing."""
    _gx_of_constructor: ClassVar[frozenset[str]] = frozenset()
    """Those that only the constructor reads."""

    def _gx_given(self, name: str, value: object) -> Any:
        refuse_foreign(self, name, value)
        if name in self.__dict__:
            refuse_late(self, name, value)
        return value

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        if "build" in vars(cls):
            cls.build = wrap_build(cls.build)  # type: ignore[method-assign]

    # --- what the layer says ------------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Make the weights; called once, before the first `call`, with the shape (or shapes) of its input."""

    def build_for(self, *args: Any, **kwargs: Any) -> Any:
        """Make all weights below for inputs like these, computing nothing; give the shapes and dtypes of the output."""
        raise undefined_error(self, "build_for(*args, **kwargs)")

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the output for a shape of the input; builds the layer if need be."""
        raise undefined_error(self, "compute_output_shape(input_shape)")

    @property
    def _gx_dtypes(self) -> DTypePolicy:
        raise undefined_error(self, "_gx_dtypes")

    def _gx_example_of(self, shape: object) -> Array:
        """Return zeros of a shape, as an input for which the layer is built."""
        raise undefined_error(self, "_gx_example_of(shape)")

    # --- what is known of it ------------------------------------------------------------------------------------------

    @property
    def _gx_lacks_weights(self) -> bool:  # type: ignore[override]
        return not is_built(self) and makes_weights(type(self))

    def _gx_mark_built(self) -> None:
        """Note that the weights are there; for subclasses that build in another way than through `build`."""
        object.__setattr__(self, "built", True)
        for scope in self._gx_captured:
            scope.waiting.discard(self)
            scope.check()

    def _gx_require_built(self, purpose: str) -> None:
        """Raise if there are no weights yet."""
        if not is_built(self):
            layer: Any = self  # which has a call
            raise NotBuiltError(
                f"{self._gx_title()} is not built, which {purpose} needs",
                "its weights are made at the first call, when the input's shape is known",
                f"call it on an example first: {building_line(layer)}",
            )

    def _gx_title(self) -> str:
        return f"layer {self._gx_path or self.name!r} ({type(self).__name__})"

    def _gx_explain_missing(self, name: str, message: str) -> MissingAttributeError:
        return missing_attribute(self, name, message)


def wrap_build(build: Callable[..., None]) -> Callable[..., None]:
    """Return a ``build`` that makes the weights under the creators its layer remembers, of real values, and says so.

    It makes them once: for a layer that is built, it builds what is not built below, or raises for another shape. Where
    it raises, the layer and those below are as before.
    """
    several = several_shapes.names_of_shapes(build)

    @wraps(build)
    @door
    def run_several(self: Buildable, *args: Any, **named: Any) -> None:
        found = several_shapes.bind_shapes(build, self._gx_title(), args, named)
        if [*found] == [*several[:1]]:  # the shape of its input, the others being left out
            make(self, found[several[0]], lambda shape: build(self, shape))
        else:
            make(self, found, lambda shapes: build(self, **shapes), by_name=True)

    @wraps(build)
    @door
    def run(self: Buildable, input_shape: object) -> None:
        several_shapes.check_takes_one(build, type(self))
        make(self, input_shape, lambda shape: build(self, shape))

    def make(self: Buildable, input_shape: object, build: Callable[[Any], None], by_name: bool = False) -> None:
        if any(layer is self for layer in _under_way.items):  # by way of super().build(input_shape)
            build(input_shape)
            return
        called = _called.top is self
        if not called and input_shape is not None and not by_name:
            input_shape = shapes.check_shapes("build", input_shape)
        if is_built(self):
            shapes.require_compatible(self._gx_title(), type(self), self._gx_input_shape, input_shape)
            _build_below(self, input_shape, by_name)
            return
        if (prepare := again.top) is not None:
            prepare(self)
        frame = storage.frames.top
        pending = self._gx_pending
        with undone_if_raised(self), nullcontext() if pending is None else pending.building(self):
            if frame is not None:
                frame.build(self, done=False)
            # weights have real values, also where a trace builds, and what `build` calls belongs to no call around it
            with (
                creation.reenter_scopes(self._gx_captured),
                storage.concretely(),
                contexts.replaced(()),
                _under_way.entered(self),
            ):
                build(input_shape)
            if frame is not None:
                frame.build(self, done=True)
            self._gx_input_shape = input_shape
            self._gx_mark_built()
            if not called:
                _build_below(self, input_shape, by_name)

    return run_several if several else run


def is_building() -> bool:
    """Return True inside of the build of a layer."""
    return _under_way.top is not None


def is_built(layer: Buildable) -> bool:
    """Return whether the weights are there, for what makes them."""
    return bool(layer.__dict__.get("built", False) or type(layer).built)


def makes_weights(kind: type[Buildable]) -> bool:
    """Return whether layers of a class may have weights of their own: its `build` or `call` keeps something.

    What has none needs no building: dropout, activations, models that only hold other layers. A `build` of a user
    always counts, whatever it does.
    """
    if kind not in _makes_weights:
        defined = next(base.__module__ for base in kind.__mro__ if "build" in vars(base))
        ours = defined in MACHINERY or defined.startswith("graftax.layers.")
        _makes_weights[kind] = not ours or bool(names_kept_by(kind, ("build", "call")))
    return _makes_weights[kind]


_makes_weights: weakref.WeakKeyDictionary[type[Any], bool] = weakref.WeakKeyDictionary()


def build_in_call(layer: Buildable, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Make the weights of a layer in its first call, which will build the layers below itself."""
    found = several_shapes.of_call(type(layer).build, layer._gx_title(), signature, args, kwargs)
    object.__setattr__(layer, "_gx_first_call", tuple(tree.map_structure(_outline_of, one) for one in args))
    named = {name: tree.map_structure(_outline_of, one) for name, one in kwargs.items()}
    object.__setattr__(layer, "_gx_first_named", named)
    with _called.entered(layer):
        if several_shapes.names_of_shapes(type(layer).build):
            layer.build(**found)
        else:
            layer.build(found)


class Outline:
    """The shape and dtype of an argument of a call; empty for what is no array.

    Args:
        shape: Its shape.
        dtype: Its dtype.
        masked: Whether it carried a mask. Defaults to False.
        plain: The argument, if it is a number, a text or a flag. Defaults to None.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: str, masked: bool = False, plain: float | str | None = None
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.masked = masked
        self.plain = plain


def _outline_of(leaf: Any) -> Any:
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return Outline(tuple(leaf.shape), str(leaf.dtype), masks.mask_of(leaf) is not None)
    return None if leaf is None else Outline((), "", plain=leaf if type(leaf) in (bool, int, float, str) else None)


def unbuilt_below(layer: Buildable) -> list[Buildable]:
    """Return the layer and those below it that may have weights, but are not built; without those inside of losses."""
    found = [(edges, one) for edges, one in walk_with_edges(layer) if isinstance(one, Buildable)]
    return [one for edges, one in found if one._gx_lacks_weights and LOSS not in edges]


def _build_below(layer: Buildable, input_shape: Any, by_name: bool) -> None:
    """Build the layers below by a call on zeros; warn of those with weights that the call does not use."""
    if all(is_built(node) for node in walk(layer) if isinstance(node, Buildable)):
        return
    title, unbuilt = layer._gx_title(), unbuilt_below(layer)
    if input_shape is None and not unbuilt:
        return
    reason = f"{title} holds {_join_titles(unbuilt)}, and is to be built for the shape {input_shape!r:.80}"
    try:
        if input_shape is None:
            raise NotBuiltError(reason, "without a shape nothing can be called", f"{_call_of(layer)}, on an example")
        if by_name:
            layer.build_for(**several_shapes.example_of(type(layer), input_shape, layer._gx_example_of))
        else:
            layer.compute_output_shape(input_shape)
    except GraftaxError as error:
        error.add_context(f"{title}.build({input_shape!r:.80}), which calls it on zeros; None is tried as 8 and 16")
        raise
    if (unbuilt := unbuilt_below(layer)) and again.top is None:
        user_line.warn(
            f"{title}.build({input_shape!r:.80}) has not built {_join_titles(unbuilt)}: the call does not use it. It "
            f"has no weights, none are trained or saved; {unbuilt[0].name}.build(input_shape) makes them."
        )


again: ScopeStack[Callable[[Buildable], None]] = ScopeStack("a model made once more")
"""Entered where a model is made again as it was, its unused layers known; called with each layer to be built."""


def _join_titles(layers: list[Buildable]) -> str:
    names = ", ".join(f"{layer._gx_path or layer.name!r} ({type(layer).__name__})" for layer in layers[:3])
    return f"{names} and {len(layers) - 3} more" if len(layers) > 3 else names


def _call_of(layer: Buildable) -> str:
    return f"{layer.name}(x[:1])"


def missing_attribute(self: Buildable, name: str, message: str) -> MissingAttributeError:
    """Return the error for what a layer has not: a weight is missing until it is built, anything else for good."""
    later = () if self.__dict__.get("built", False) else names_made_by(type(self))
    near = name if name in later else None
    if near is None and name not in attributes.OF_LAYERS:
        misspelt = closest(name, attributes.public_names(self))
        near = closest(name, later) if misspelt is None else None
    else:
        misspelt = None
    if near is None and (misspelt or name in attributes.OF_LAYERS or not COMPUTED_NAMES.intersection(later)):
        return attributes.missing_attribute_error(
            self, name, "model" if hasattr(type(self), "fit") else "layer", attributes.OF_LAYERS, self._gx_title()
        )
    return MissingAttributeError(
        f"{name!r} of {self._gx_title()}, which is not built",
        f"{message if near in (None, name) else f'it will have {near!r}'}; "
        "weights are made at the first call, when the input's shape is known",
        "call it on an example first: layer(x[:1]); or layer.build(input_shape)",
    )


_made_by: weakref.WeakKeyDictionary[type[Any], frozenset[str]] = weakref.WeakKeyDictionary()


def names_made_by(kind: type[Buildable]) -> frozenset[str]:
    """Return names that `build` and `call` of a class assign, or what they call; and what else may make some."""
    if kind not in _made_by:
        found = names_kept_by(kind, ("build", "call"))
        _made_by[kind] = frozenset(name for name in found if not name.startswith("_") or name in COMPUTED_NAMES)
    return _made_by[kind]


def note_dtypes(layer: Buildable, weight: Any) -> None:
    """Note whether weights have to be cast where the layer reads them: a creator may store them in another dtype."""
    stored = (v.dtype for v in walk(weight) if isinstance(v, Variable) and v.role == "weight")
    if any(is_floating(dtype) and dtype != layer._gx_dtypes.compute_dtype for dtype in stored):
        object.__setattr__(layer, "_gx_casts", True)


def warn_if_not_held(layer: Buildable, context: CallContext) -> None:
    """Warn of a layer that is built inside of another's call, which does not hold it."""
    root = context.root
    if layer._gx_owner is not None or root is None or root is layer:
        return
    if not any(node is layer for node in walk(root)):  # also where the layer holds its parent, and so is owned by none
        user_line.warn(
            f"{layer._gx_title()} is built in a call of {root._gx_path or root.name!r} ({type(root).__name__}), which "
            "does not hold it: its weights are neither trained nor saved with it, and new ones are made if it "
            "is made again. "
            f"Hold it: self.{layer.name} = {type(layer).__name__}(...) in __init__.",
        )
