"""Where torch, which keeps channels first, has features in another order, followed from inputs to weights.

The calls of a module are recorded on values that are not there, and each value gets a `Form`. A Flatten of an image
gives features whose order differs; layers that work on each element hand it on, a concatenation joins orders, and a
layer with weights along the features has rows in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from graftax.checkpoint.foreign.layer_rules import rule_of
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.errors import GraftaxError
from graftax.ops.symbolic import MetSymbolic, Origin, Spec, Symbolic, leaves, map_leaves, origins_behind
from graftax.ops.symbolic_array import SymbolicArray
from graftax.variables.graph.module import Module

Order: TypeAlias = np.ndarray[Any, Any]
"""For each feature here its place there."""
_KINDS = {
    "reshape.Flatten": "flatten",
    "reshape.Reshape": "reshape",
    "time_distributed.TimeDistributed": "each step",
    "bidirectional.Bidirectional": "both ways",
    "dense.Dense": "dense",
    "recurrent.Recurrent": "recurrent",
    "batch_normalization.BatchNormalization": "by feature",
    "layer_normalization.LayerNormalization": "by feature",
    "rms_normalization.RMSNormalization": "by feature",
    "relu_layers.PReLU": "by feature",
    "conv.Conv": "channels",
    "depthwise_conv.DepthwiseConv": "channels",
    "separable_conv.SeparableConv": "channels",
    "conv_transpose.ConvTranspose": "channels",
    "pooling.Pooling": "channels",
    "adaptive_pooling.AdaptivePooling": "channels",
    "embedding.Embedding": "steps",
    "multi_head_attention.MultiHeadAttention": "steps",
    "merge.Concatenate": "join",
    "reshape.Permute": "move",
}
_ROWS = 3  # of the values that are followed: calls may compute with the number
_JOINING = ("concatenate", "concat", "hstack")
_RESHAPING = ("reshape",)
_MOVING = ("transpose", "moveaxis", "swapaxes", "rearrange", "einsum", "rot90")


@dataclass(frozen=True)
class Form:
    """What is known of a value.

    Args:
        has_channels: Whether torch has its last axis first, as it has those of images; None where axes were moved.
        order: The order of its last axis, where that differs. Defaults to None, the same.
        is_known: Whether that order is known. Defaults to True.
        made_of: What a Reshape to an image was made of. Defaults to None.
    """

    has_channels: bool | None = False
    order: Order | None = None
    is_known: bool = True
    made_of: Symbolic | None = None


@dataclass
class FeatureOrders:
    """The layers, by id, whose weights have rows, or columns, in another order in torch.

    Args:
        rows: Orders of the first axis of weights.
        columns: Those of the last axis.
        open: The layers with weights whose order could not be found out.
    """

    rows: dict[int, Order] = field(default_factory=dict)
    columns: dict[int, Order] = field(default_factory=dict)
    open: dict[int, Any] = field(default_factory=dict)

    def put(self, orders: dict[int, Order], layer: Any, order: Order) -> None:
        """Note an order of a layer, which is open if it has another one from another call."""
        if id(layer) in orders and not np.array_equal(orders[id(layer)], order):
            self.open[id(layer)] = layer
        orders[id(layer)] = order


def feature_orders(module: Module) -> FeatureOrders | None:
    """Return the orders of the weights of a module; None where its calls cannot be followed.

    Args:
        module: The module, which is built.
    """
    for args, kwargs in _arguments_of(module):
        follower = _Follower()
        try:
            given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, Symbolic)]
            follower.follow(module, args, kwargs, [_form_of_input(leaf) for leaf in given])
        except (GraftaxError, MetSymbolic, TypeError, ValueError, AttributeError, IndexError, KeyError):
            continue
        return follower.found
    return None


def _arguments_of(module: Module) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield arguments for a call: like those of its first call, and as the shape of its input says."""
    first: Any = getattr(module, "_gx_first_call", None)
    if first:
        named: Any = getattr(module, "_gx_first_named", None) or {}
        args = tuple(tree.map_structure(_value_like, one) for one in first)
        yield args, {name: tree.map_structure(_value_like, one) for name, one in named.items()}
    shape: Any = getattr(module, "input_shape", None)
    for dtype in ("float32", "int32") if shape is not None else ():
        yield (_values_of(shape, dtype),), {}


def _value_like(outline: Any) -> Any:
    """Return a value of the shape and dtype of an argument; the argument itself if it was plain."""
    if not outline.dtype:
        return outline.plain
    return _value((_ROWS, *outline.shape[1:]) if outline.shape else (), outline.dtype)


def _values_of(shape: Any, dtype: str) -> Any:
    if isinstance(shape, tuple) and all(one is None or isinstance(one, int) for one in shape):
        return _value((_ROWS, *shape[1:]), dtype)
    parts = shape.items() if isinstance(shape, dict) else enumerate(shape)
    made = {key: _values_of(part, dtype) for key, part in parts}
    return made if isinstance(shape, dict) else type(shape)(made.values())


def _value(shape: tuple[int | None, ...], dtype: str) -> SymbolicArray:
    return SymbolicArray(Origin(None, (), {}, Spec(shape, dtype), is_input=True), 0)


def _form_of_input(value: Symbolic) -> Form:
    return Form(has_channels=value.ndim > 3 and is_floating(value.spec.dtype))


class _Follower:
    """Follows values through the calls of modules."""

    def __init__(self) -> None:
        self.found = FeatureOrders()
        self._forms: dict[tuple[int, int], Form] = {}

    def follow(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], forms: list[Form]) -> list[Form]:
        """Return the forms of the results of a call of a module that has other modules, from those of its arguments."""
        given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, Symbolic)]
        self._forms |= {value.key: form for value, form in zip(given, forms, strict=True)}
        out = type(module).call(module, *args, **kwargs)
        known = {value.origin.number for value in given}
        for origin in origins_behind(out):
            if origin.number not in known and not origin.is_input:
                for place, form in enumerate(self._of_call(origin)):
                    self._forms[origin.number, place] = form
        return [self._forms.get(leaf.key, Form()) for leaf in leaves(out) if isinstance(leaf, Symbolic)]

    def _of_call(self, origin: Origin) -> list[Form]:
        given = [leaf for leaf in leaves((origin.args, origin.kwargs)) if isinstance(leaf, Symbolic)]
        forms = [self._forms.get(value.key, Form()) for value in given]
        layer = origin.callee
        if isinstance(layer, str):
            out = self._of_op(layer, origin, given, forms)
        elif (kind := rule_of(layer, _KINDS)) is not None:
            out = self._of_kind(kind, layer, origin, given, forms)
        elif any(hasattr(type(one), "call") for one in layer.submodules):
            return self._inside(layer, origin, given, forms)
        else:
            out = self._of_elements(origin, forms, layer if _has_weights(layer) else None)
        return [out] * len(origin.specs)

    def _inside(self, layer: Any, origin: Origin, given: list[Symbolic], forms: list[Form]) -> list[Form]:
        fresh = {value.key: _value(value.shape, value.spec.dtype) for value in given}
        args, kwargs = (
            map_leaves(lambda leaf: fresh[leaf.key] if isinstance(leaf, Symbolic) else leaf, part)
            for part in (origin.args, origin.kwargs)
        )
        try:
            found = self.follow(layer, args, kwargs, forms)
        except (GraftaxError, MetSymbolic, TypeError, ValueError, AttributeError, IndexError, KeyError):
            found = []
        return (
            found if len(found) == len(origin.specs) else [self._of_elements(origin, forms, layer)] * len(origin.specs)
        )

    # --- layers -------------------------------------------------------------------------------------------------------

    def _of_kind(self, kind: str, layer: Any, origin: Origin, given: list[Symbolic], forms: list[Form]) -> Form:
        form, value = forms[0], given[0]
        if kind == "join":
            return _join(given, forms, layer.axis)
        if kind in ("flatten", "reshape"):
            return _reshaped(value, form, origin.specs[0].shape)
        if kind == "move":
            return _moved(form, layer.dims[-1] == len(layer.dims))
        if kind == "each step":
            return self._of_each_step(layer.layer, value, form)
        if kind == "channels":
            return self._of_channels(layer, form)
        if kind == "by feature":
            self._set_rows(layer, form)
            return form
        inner = [layer.forward_layer, layer.backward_layer] if kind == "both ways" else [layer]
        for one in inner if kind in ("dense", "recurrent", "both ways") else []:
            self._set_rows(one, form)
        if kind == "steps" and not form.is_known:
            self.found.open[id(layer)] = layer
        return Form()

    def _of_each_step(self, inner: Any, value: Symbolic, form: Form) -> Form:
        step = _value((_ROWS, *value.shape[2:]), value.spec.dtype)
        self._forms[step.key] = form
        found = leaves(inner(step))
        return self._of_call(found[0].origin)[found[0].place] if len(found) == 1 else Form(is_known=False)

    def _of_channels(self, layer: Any, form: Form) -> Form:
        if form.made_of is not None:
            self._order_columns(form.made_of, form.order)
        elif (form.order is not None or not form.is_known) and _has_weights(layer):
            self.found.open[id(layer)] = layer
        return Form(has_channels=True)

    def _set_rows(self, layer: Any, form: Form) -> None:
        if not form.is_known:
            self.found.open[id(layer)] = layer
        elif form.order is not None and form.made_of is None:
            self.found.put(self.found.rows, layer, form.order)

    def _order_columns(self, value: Symbolic, order: Order | None) -> None:
        """Give the layers that made the features of a later image columns in the order that torch has there."""
        while order is not None:
            layer = value.origin.callee
            kind = None if isinstance(layer, str) or layer is None else rule_of(layer, _KINDS)
            if kind == "dense":
                self.found.put(self.found.columns, layer, order)
                return
            if kind == "by feature":
                self.found.put(self.found.rows, layer, order)
            before = [leaf for leaf in leaves(value.origin.args) if isinstance(leaf, Symbolic)]
            if value.origin.is_input or len(before) != 1 or before[0].shape != value.shape:
                return
            value = before[0]

    # --- ops, and layers that work on each element --------------------------------------------------------------------

    def _of_op(self, name: str, origin: Origin, given: list[Symbolic], forms: list[Form]) -> Form:
        if name in _JOINING:
            return _join(given, forms, origin.kwargs.get("axis", origin.args[1] if len(origin.args) > 1 else 0))
        if name in _RESHAPING:
            return _reshaped(given[0], forms[0], origin.specs[0].shape)
        out = self._of_elements(origin, forms, None)
        if name not in _MOVING or not forms:
            return out
        axes = origin.kwargs.get("axes", origin.args[1] if len(origin.args) > 1 else None)
        last = axes[-1] if isinstance(axes, list | tuple) and axes else None
        return _moved(out, name == "transpose" and last in (-1, given[0].ndim - 1))

    def _of_elements(self, origin: Origin, forms: list[Form], weighted: Any) -> Form:
        """Return the form of what keeps the last axis as it is, or else one whose order is not known."""
        if not forms:
            return Form()
        told = [form for form in forms if form.order is not None or not form.is_known or form.made_of is not None]
        if not told:
            same = origin.specs and len(origin.specs[0].shape) > 2
            images = [form.has_channels for form in forms]
            return Form(has_channels=(None if None in images else any(images)) if same else False)
        sizes = {leaf.shape[-1:] for leaf in origin.parents()} | {origin.specs[0].shape[-1:]}
        alike = all(_is_same(form.order, told[0].order) and form.is_known for form in told)
        if weighted is not None and told[0].made_of is None:
            self.found.open[id(weighted)] = weighted
        if len(sizes) == 1 and alike and (len(told) == len(forms) or len(forms) == 1):
            return told[0]
        return Form(is_known=False)


def _has_weights(layer: Module) -> bool:
    return any(variable.role in ("weight", "state") for variable in layer.variables)


def _is_same(one: Order | None, other: Order | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _moved(form: Form, keeps_last: bool) -> Form:
    """Return the form of a value whose axes were moved."""
    if keeps_last or form == Form():
        return form
    plain = form.order is None and form.is_known and form.made_of is None
    return Form(has_channels=None) if plain else Form(is_known=False)


def _reshaped(value: Symbolic, form: Form, shape: Any) -> Form:
    """Return the form of what is made of a value by a Flatten or another change of its shape."""
    before: tuple[Any, ...] = value.shape[1:]
    after = tuple(shape[1:])
    if not before or not after or None in before or None in after:
        plain = form.order is None and form.is_known and form.has_channels is False
        return Form() if plain else Form(is_known=False)
    if before == after:
        return form
    if after[-1] == prod(before) and value.shape[0] in (shape[0], prod(shape[:-1])):  # of each row, or step
        return _flattened(before, form)
    if len(before) == 1 and form.order is None and form.is_known:
        number = np.arange(prod(after)).reshape(after[-1], *after[:-1])
        return Form(order=np.moveaxis(number, 0, -1).reshape(-1), made_of=value)
    if before[-1] == after[-1]:  # the places of an image as steps, or the reverse
        return replace(form, has_channels=False)
    plain = form.order is None and form.is_known and form.has_channels is False
    return Form() if plain else Form(is_known=False)


def _flattened(sizes: Any, form: Form) -> Form:
    if form.made_of is not None or not form.is_known:
        return Form(is_known=form.made_of is not None)
    space, features = prod(sizes[:-1]), sizes[-1]
    if form.has_channels is None and space > 1 and features > 1:
        return Form(is_known=False)
    inner = np.arange(features) if form.order is None else form.order
    if form.has_channels and form.order is None:
        order = np.moveaxis(np.arange(space * features).reshape(features, *sizes[:-1]), 0, -1).reshape(-1)
    else:
        order = (np.arange(space)[:, None] * features + inner).reshape(-1)
    return Form(order=None if np.array_equal(order, np.arange(order.size)) else order)


def _join(given: list[Symbolic], forms: list[Form], axis: object) -> Form:
    """Return the form of several values, one after the other along an axis."""
    ranks = {value.ndim for value in given}
    if len(ranks) != 1 or not isinstance(axis, int) or any(value.shape[-1] is None for value in given):
        return Form(is_known=all(form.order is None and form.is_known for form in forms))
    rank = ranks.pop()
    if axis % rank != rank - 1:
        same = all(_is_same(form.order, forms[0].order) and form.is_known for form in forms)
        return forms[0] if same else Form(is_known=False)
    if not all(form.is_known for form in forms):
        return Form(is_known=False)
    has_channels = (
        None if any(form.has_channels is None for form in forms) else any(form.has_channels for form in forms)
    )
    if all(form.order is None for form in forms):
        return Form(has_channels)
    parts, begin = [], 0
    for value, form in zip(given, forms, strict=True):
        size = int(value.shape[-1] or 0)
        parts.append(begin + (np.arange(size) if form.order is None else form.order))
        begin += size
    return Form(has_channels, np.concatenate(parts))
