"""Where torch, which keeps channels first, has features in another order, followed from inputs to weights.

The calls of a module are recorded on values that are not there, and each value gets a `Form`. A Flatten of an image
gives features whose order differs; layers that work on each element hand it on, a concatenation joins orders, and a
layer with weights along the features has rows in that order. Features that a Reshape makes an image of differ, too, as
soon as a later call takes the image for one: then the columns of the Dense that made them have that order, and all is
followed once more with what the Dense gives now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graftax.checkpoint.foreign.forms import Form, Order, is_same_order, joined, moved, reshaped
from graftax.checkpoint.foreign.layer_rules import rule_of
from graftax.checkpoint.foreign.same_values import SameValues, axes_of, has_weights
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.errors import GraftaxError
from graftax.core.typedefs import VariableLike
from graftax.ops.symbolic import MetSymbolic, Origin, Spec, Symbolic, leaves, map_leaves, origins_behind
from graftax.ops.symbolic_array import SymbolicArray
from graftax.variables.graph.module import Module

_KINDS = {
    "reshape.Flatten": "flatten",
    "reshape.Reshape": "reshape",
    "reshape.Permute": "move",
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
    "group_normalization.GroupNormalization": "channels",
    "global_pooling.GlobalPooling": "pixels",
    "up_sampling.UpSampling": "pixels",
    "zero_padding.ZeroPadding": "pixels",
    "zero_padding.Cropping": "pixels",
    "resizing.Resizing": "pixels",
    "spatial_dropout.SpatialDropout": "pixels",
    "embedding.Embedding": "steps",
    "multi_head_attention.MultiHeadAttention": "steps",
    "transformer.TransformerBlock": "steps",
    "merge.Concatenate": "join",
}
_ROWS = 3  # of the values that are followed: calls may compute with the number
_JOINING = ("concatenate", "concat", "hstack")
_MOVING = ("transpose", "moveaxis", "swapaxes", "rearrange", "rot90")
_ALONG_FEATURES = ("flip", "roll", "sort", "argsort", "cumsum", "cumprod")
_PRODUCTS = ("dot_product_attention", "matmul", "dot", "tensordot", "inner", "outer", "vdot", "einsum")
_UNFOLLOWED = (GraftaxError, MetSymbolic, TypeError, ValueError, AttributeError, IndexError, KeyError)


@dataclass
class FeatureOrders:
    """The layers, by id, whose weights have rows, or columns, in another order in torch.

    Args:
        rows: Orders of the first axis of weights.
        columns: Those of the last axis.
        open: The layers with weights whose order could not be found out.
        doubtful: Those that make images of which nothing tells whether torch has the channels first.
    """

    rows: dict[int, Order] = field(default_factory=dict)
    columns: dict[int, Order] = field(default_factory=dict)
    open: dict[int, Any] = field(default_factory=dict)
    doubtful: dict[int, Any] = field(default_factory=dict)

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
        columns: dict[int, Order] = {}
        try:
            while len((found := _followed(module, args, kwargs, columns)).columns) > len(columns):
                columns = found.columns
        except _UNFOLLOWED:
            continue
        return found
    return None


def _followed(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], columns: dict[int, Order]
) -> FeatureOrders:
    follower = _Follower(columns)
    given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, Symbolic)]
    for form in follower.follow(module, args, kwargs, [_form_of_input(leaf) for leaf in given]):
        follower.doubt(form)
    return follower.found


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
    """Follows values through the calls of modules.

    Args:
        columns: The orders of columns that are known.
    """

    def __init__(self, columns: dict[int, Order]) -> None:
        self.found = FeatureOrders(columns=dict(columns))
        self._known = columns
        self._forms: dict[tuple[int, int], Form] = {}
        self._same = SameValues()
        self._within: list[Any] = []

    def follow(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], forms: list[Form]) -> list[Form]:
        """Return the forms of the results of a call of a module that has other modules, from those of its arguments."""
        return [self._form_of(leaf) for leaf in self._results_of(module, args, kwargs, forms)]

    def doubt(self, form: Form) -> None:
        """Note that a value, which is perhaps an image, is used in a way that does not tell."""
        for image in form.images:
            for layer in self._same.makers_of(image.features) or [] if not image.is_flat else []:
                if id(layer) not in self._known:
                    self.found.doubtful[id(layer)] = layer

    def _form_of(self, value: Symbolic) -> Form:
        return self._forms.get(value.key, Form())

    def _results_of(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], forms: list[Form]
    ) -> list[Symbolic]:
        given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, Symbolic)]
        self._forms |= {value.key: form for value, form in zip(given, forms, strict=True)}
        out = type(module).call(module, *args, **kwargs)
        known = {value.origin.number for value in given}
        self._within.append(module)
        for origin in origins_behind(out):
            if origin.number not in known and not origin.is_input:
                for place, form in enumerate(self._of_call(origin)):
                    self._forms[origin.number, place] = form
        self._within.pop()
        return [leaf for leaf in leaves(out) if isinstance(leaf, Symbolic)]

    def _of_call(self, origin: Origin) -> list[Form]:
        given = list(origin.parents())
        forms = [self._form_of(value) for value in given]
        layer = origin.callee
        if isinstance(layer, str):
            out = self._of_op(layer, origin, given, forms)
        elif (kind := rule_of(layer, _KINDS)) is not None:
            out = self._of_kind(kind, layer, origin, given, forms)
        elif any(hasattr(type(one), "call") for one in layer.submodules):
            return self._inside(layer, origin, given, forms)
        else:
            out = self._of_elements(origin, forms, layer if has_weights(layer) else None)
        return [out] * len(origin.specs)

    def _inside(self, layer: Any, origin: Origin, given: list[Symbolic], forms: list[Form]) -> list[Form]:
        fresh = {value.key: _value(value.shape, value.spec.dtype) for value in given}
        args, kwargs = (
            map_leaves(lambda leaf: fresh[leaf.key] if isinstance(leaf, Symbolic) else leaf, part)
            for part in (origin.args, origin.kwargs)
        )
        for value in given:
            self._same.put(fresh[value.key], value)
        try:
            found = self._results_of(layer, args, kwargs, forms)
        except _UNFOLLOWED:
            found = []
        if len(found) != len(origin.specs):
            return [self._of_elements(origin, forms, layer)] * len(origin.specs)
        for place, value in enumerate(found):
            self._same.put(SymbolicArray(origin, place), value)
        return [self._form_of(value) for value in found]

    # --- layers -------------------------------------------------------------------------------------------------------

    def _of_kind(self, kind: str, layer: Any, origin: Origin, given: list[Symbolic], forms: list[Form]) -> Form:
        form, value = forms[0], given[0]
        if kind == "join":
            return self._joined(given, forms, layer.axis)
        if kind in ("flatten", "reshape"):
            return self._reshaped(value, form, origin)
        if kind == "move":
            return self._moved(form, (0, *layer.dims), layer.dims[-1] == len(layer.dims))
        if kind == "each step":
            return self._of_each_step(layer.layer, origin, form)
        if kind == "channels":
            return self._of_channels(layer, form, value.ndim)
        if kind == "pixels":
            return self._of_pixels(layer, form, origin)
        if kind == "by feature":
            return self._of_features(layer, form, value.ndim)
        inner = [layer.forward_layer, layer.backward_layer] if kind == "both ways" else [layer]
        for one in inner if kind in ("dense", "recurrent", "both ways") else []:
            self._set_rows(one, form)
        if kind == "steps" and (not form.is_known or form.order is not None):
            self.found.open[id(layer)] = layer
        self.doubt(form)
        return Form(order=self._known.get(id(layer)))

    def _of_each_step(self, inner: Any, origin: Origin, form: Form) -> Form:
        value = next(origin.parents())
        step = _value((_ROWS, *value.shape[2:]), value.spec.dtype)
        self._forms[step.key] = form
        self._same.put(step, value)
        found: list[Symbolic] = leaves(inner(step))
        if len(found) != 1:
            return Form(is_known=False)
        self._same.put(SymbolicArray(origin, 0), found[0])
        return self._of_call(found[0].origin)[found[0].place]

    def _of_channels(self, layer: Any, form: Form, rank: int) -> Form:
        if form.images:
            self._settle(form, layer)
        elif form.is_told and has_weights(layer):
            self.found.open[id(layer)] = layer
        return Form(has_channels=True) if rank > 2 else Form(is_known=not form.is_told)

    def _of_pixels(self, layer: Any, form: Form, origin: Origin) -> Form:
        """Return the form of what a layer has made of the places of an image, which has its channels."""
        if form.images and not any(image.is_flat for image in form.images):
            self._settle(form, layer)
            return Form(has_channels=True)
        if form.images and len(origin.specs[0].shape) < 3:  # a row of steps, as far as anybody can tell
            return Form()
        return self._of_elements(origin, [form], None)

    def _of_features(self, layer: Any, form: Form, rank: int) -> Form:
        if not form.images:
            self._set_rows(layer, form)
            return form
        axis = getattr(layer, "axis", None)
        by_channel = rule_of(layer, {"batch_normalization.BatchNormalization": True, "relu_layers.PReLU": True})
        if not by_channel and not (isinstance(axis, tuple) and len(axis) == rank - 1):
            return Form() if all(image.is_flat for image in form.images) else form  # a norm of the features of steps
        self._settle(form, layer)  # torch has the channels of these on the second axis
        return Form(has_channels=True)

    def _set_rows(self, layer: Any, form: Form) -> None:
        if not form.is_known:
            self.found.open[id(layer)] = layer
        elif form.order is not None:
            self.found.put(self.found.rows, layer, form.order)

    def _settle(self, form: Form, layer: Any) -> None:
        """Give the layers that made the features of an image columns in the order that torch has there."""
        for image in form.images:
            makers = self._same.makers_of(image.features)
            if makers is None:
                self.found.open[id(layer)] = layer
            for one in makers or []:
                self.found.put(self.found.columns, one, image.order)

    # --- changes of shape, ops, and layers that work on each element --------------------------------------------------

    def _reshaped(self, value: Symbolic, form: Form, origin: Origin) -> Form:
        out = reshaped(value, form, origin.specs[0].shape)
        if not out.is_known:
            self.doubt(form)
        return out

    def _moved(self, form: Form, axes: tuple[int, ...] | None, keeps_last: bool) -> Form:
        out = moved(form, axes, keeps_last)
        if not out.is_known:
            self.doubt(form)
        return out

    def _joined(self, given: list[Symbolic], forms: list[Form], axis: object) -> Form:
        out = joined(given, self._beside_images(forms), axis)
        for form in forms if not out.is_known else []:
            self.doubt(form)
        return out

    def _beside_images(self, forms: list[Form]) -> list[Form]:
        """Return forms in which what meets an image is one."""
        if not any(form.has_channels for form in forms):
            return forms
        for form in forms:
            self._settle(form, self._within[-1])
        return [Form(has_channels=True) if form.images else form for form in forms]

    def _of_op(self, name: str, origin: Origin, given: list[Symbolic], forms: list[Form]) -> Form:
        if name in _JOINING:
            return self._joined(given, forms, origin.kwargs.get("axis", origin.args[1] if len(origin.args) > 1 else 0))
        if name == "reshape":
            return self._reshaped(given[0], forms[0], origin)
        if name in _MOVING:
            axes = axes_of(name, origin, given[0].ndim)
            keeps_last = axes is not None and axes[-1] == len(axes) - 1
            return (
                self._moved(forms[0], axes, keeps_last) if len(forms) == 1 else self._of_elements(origin, forms, None)
            )
        weights = any(isinstance(leaf, VariableLike) for leaf in leaves((origin.args, origin.kwargs)))
        if name in _PRODUCTS:
            return self._of_product(forms, weights)
        if name in _ALONG_FEATURES and any(form.order is not None for form in forms):
            return Form(is_known=False)
        return self._of_elements(origin, forms, self._within[-1] if weights else None)

    def _of_product(self, forms: list[Form], weights: bool) -> Form:
        """Return the form of a product of matrices, in which a row of steps is one as it is."""
        for form in forms:
            self.doubt(form)
        told = [form for form in forms if form.order is not None or not form.is_known]
        if told and weights:
            self.found.open[id(self._within[-1])] = self._within[-1]
        images = [form for form in forms if form.has_channels is not False or any(not i.is_flat for i in form.images)]
        return Form(is_known=not told and not images)

    def _of_elements(self, origin: Origin, forms: list[Form], weighted: Any) -> Form:
        """Return the form of what keeps the last axis as it is, or else one whose order is not known."""
        forms = self._beside_images(forms)
        told = [form for form in forms if form.is_told]
        shape = origin.specs[0].shape
        if not told:
            channels = [form.has_channels for form in forms]
            return Form(has_channels=(None if None in channels else any(channels)) if len(shape) > 2 else False)
        if weighted is not None and not told[0].images:
            self.found.open[id(weighted)] = weighted
        sizes = {leaf.shape[-1:] for leaf in origin.parents()} | {shape[-1:]}
        images = tuple(image for form in forms for image in form.images)
        if images:
            whole = max((leaf.shape for leaf in origin.parents()), key=len)
            if len(sizes) == 1 and len(whole) == len(shape) and all(form.images or form.is_plain for form in forms):
                return Form(images=images)
            for form in forms:
                self.doubt(form)
            return Form(is_known=False)
        alike = all(is_same_order(form.order, told[0].order) and form.is_known for form in told)
        if len(sizes) == 1 and alike and (len(told) == len(forms) or len(forms) == 1):
            return told[0]
        return Form(is_known=False)
