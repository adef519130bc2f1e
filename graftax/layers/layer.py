"""Layer: `__init__` stores, `build` makes weights, `call` computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from graftax.backend import registry
from graftax.core import tree
from graftax.core.descriptors import Fallback
from graftax.core.errors import DTypeError
from graftax.core.later import import_later
from graftax.core.promises import withdraw
from graftax.core.short_traceback import door, shorten
from graftax.core.typedefs import Array, ArrayLike, Calls, Initializer, Shape
from graftax.layers import added_losses, building, dropped_masks, lost_masks, masking, shapes
from graftax.layers.added_losses import AddsLosses, keep_penalty
from graftax.layers.arguments import check_flag
from graftax.layers.call_context import name_part
from graftax.layers.explained_calls import ExplainedCall
from graftax.layers.inputs import inputs_in
from graftax.layers.policy import DTypePolicy, as_policy
from graftax.layers.signature import signature_of
from graftax.layers.table_columns import KnowsColumns
from graftax.ops.symbolic import MetSymbolic
from graftax.transforms.compile import layer_call as eager_call
from graftax.transforms.flow.remat import remat
from graftax.transforms.lifting.frames import Abstract
from graftax.variables import constraints, given_states, initializers, masks, regularizers
from graftax.variables.calls import CallContext, contexts
from graftax.variables.constraints import ConstraintLike
from graftax.variables.contradictions import check_asked
from graftax.variables.graph.module import Child
from graftax.variables.graph.node import Edge
from graftax.variables.graph.plain_objects import forget_added, look_for_lost, note_added
from graftax.variables.graph.reserved import OF_LAYERS, Words
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.spec import VariableSpec, sizes
from graftax.variables.state import storage
from graftax.variables.variable import Variable, make

if TYPE_CHECKING:
    from graftax.layers import call_errors, symbolic_call
else:
    call_errors = import_later("graftax.layers.call_errors")
    symbolic_call = import_later("graftax.layers.symbolic_call")

R = TypeVar("R")


class Layer(AddsLosses, KnowsColumns):
    """The base of all layers: subclass it, store settings in `__init__`, make weights in `build`, compute in `call`.

    The first call builds, with the shape of the first argument. Floating inputs are cast to the compute dtype of the
    layer's policy. A ``training`` argument that is not given is inherited from the layer whose call this is part of.

    Args:
        name: Its name in messages and summaries. Defaults to None, the class name in snake case.
        trainable: Whether its Variables may be trained. Defaults to True.
        dtype: A `DTypePolicy` or its name. Defaults to None, the global policy.

    Example:
        >>> import numpy as np, graftax as gx
        >>> class Scale(Layer):
        ...     def build(self, input_shape):
        ...         self.factor = self.add_weight((input_shape[-1],), initializer="ones", name="factor")
        ...
        ...     def call(self, x):
        ...         return x * self.factor
        >>> layer = Scale()
        >>> layer(np.ones((2, 3), "float32")).shape, [v.path for v in layer.trainable_variables]
        ((2, 3), ['factor'])
    """

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_plans", "_gx_warned", "_gx_looks", "_gx_casts"})
    _gx_words: ClassVar[Words] = OF_LAYERS
    supports_masking: ClassVar[bool] = False
    """Whether a mask passes through unchanged, since each position is computed on its own; else it stops here, with a
    warning, unless layers inside took it. Where `call` takes no mask, hidden nan and infinities reach it as zeros.
    A subclass with another `call` has it only if it says so itself."""
    _gx_hands_on_masks: ClassVar[bool] = False  # whether the layers inside give the output its mask
    _gx_asks_for_mask: ClassVar[bool] = False  # whether its compute_mask gives what somebody else has said
    _gx_mixes_features: ClassVar[bool] = False  # whether the last axis of the output has other positions than the input
    _gx_mixes_samples: ClassVar[bool] = False  # whether what it computes of one sample depends on the others
    _gx_takes_wide: ClassVar[bool] = False  # whether fractions reach `call` in float32 at least, unrounded
    _gx_reads_trainable: ClassVar[bool] = False  # whether `call` computes something else where the layer is frozen
    _gx_input_dtype: ClassVar[str | None] = None
    """The dtype of inputs for `compute_output_shape`, where it is not the compute dtype."""

    compiles_call: ClassVar[bool] = False
    """Whether eager calls run as one program, for graftax's own classes: one from elsewhere runs as it is written. A
    layer that says so adds no losses, makes no mask out of none, and looks at no values."""
    calls_python: ClassVar[bool] = False
    """Whether `call` runs Python by `graftax.py_function`: the steps that `fit`, ``evaluate`` and ``predict`` compile
    for a model with such a layer wait for Python, as with ``graftax.jit(step, allow_callback=True)``."""

    _gx_policy: DTypePolicy | None = None
    _gx_unnamed = 0
    _gx_warned = False
    _gx_plans: eager_call.Plans | None = None
    _gx_makes_mask = False  # whether the class defines compute_mask
    _gx_remat: Literal["full", "dots", "dots_without_batch"] | None = None  # what `set_remat_policy` says
    _gx_casts = False  # whether a weight is stored in another dtype than the policy's

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        cls._gx_makes_mask = cls.compute_mask is not Layer.compute_mask
        if not cls._gx_hands_on_masks:
            withdraw(cls, Layer, "supports_masking", "call")
            withdraw(cls, Layer, "_gx_mixes_features", "call")

    def __init__(self, name: str | None = None, trainable: bool = True, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name)
        self._gx_policy = as_policy(dtype)
        if not check_flag("trainable", trainable):
            self.trainable = False

    # --- for subclasses ---------------------------------------------------------------------------------------------

    @building.wrap_build
    def build(self, input_shape: Any) -> None:
        """Make the weights; called once, before the first `call`, with the shape (or shapes) of its input."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; subclasses must define it, with any arguments they like."""
        raise call_errors.no_call(self)

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return the mask of the output, given that of the input; None for none."""
        if self._gx_hands_on_masks:
            return None  # the layers inside have set it
        if mask is None or self.supports_masking:
            return mask
        dropped_masks.warn(self)
        return None

    @door
    def add_weight(
        self,
        shape: Shape,
        initializer: str | Initializer | ArrayLike = "glorot_uniform",
        name: str | None = None,
        dtype: str | None = None,
        trainable: bool = True,
        role: str = "weight",
        regularizer: RegularizerLike = None,
        constraint: ConstraintLike = None,
        autocast: bool = True,
    ) -> Variable:
        """Make a Variable of this layer, through the creators in scope.

        Args:
            shape: Its shape.
            initializer: A name, a function of ``(key, shape, dtype)``, a number or an array. Defaults to
                ``"glorot_uniform"``.
            name: Its name, without a slash. Defaults to None: it is called after its attribute, and selectors of
                creators see no name.
            dtype: Its dtype. Defaults to None, the policy's variable dtype.
            trainable: Whether optimizers may move it. Defaults to True.
            role: ``"weight"``, or ``"state"`` for what the layer itself updates. Defaults to ``"weight"``.
            regularizer: A penalty on its value, collected in `losses`. Defaults to None, no penalty.
            constraint: A projection that optimizers apply after each update. Defaults to None, no constraint.
            autocast: Whether `call` reads it in the compute dtype; False: in its own, as state. Defaults to True.

        Returns:
            The Variable, or the `VariableLike` that a creator put in its place.

        Raises:
            ArgumentError: what is asked for cannot be, such as training what holds integers or is no weight.
        """
        label = name
        if label is None:
            label = f"weight_{self._gx_unnamed}"
            object.__setattr__(self, "_gx_unnamed", self._gx_unnamed + 1)
        spec = VariableSpec(
            shape=sizes(shape),
            dtype=registry.current().arrays.canonical_dtype(dtype) if dtype else self._gx_dtypes.variable_dtype,
            initializer=initializers.get(initializer),
            trainable=check_flag("trainable", trainable),
            role=role,
            name=name,
            path="/".join(filter(None, (self._gx_path, label))),
            owner=self,
            regularizer=regularizers.get(regularizer),
            constraint=constraints.get(constraint),
            autocast=check_flag("autocast", autocast),
        )
        check_asked(spec)
        weight = make(spec)
        building.note_dtypes(self, weight)
        keep_penalty(self, weight, spec.regularizer)
        note_added(self, weight)
        return weight

    def _gx_replace_child(self, edges: tuple[Edge, ...], old: Child, new: Child) -> None:
        """Put another weight or layer in the place of one."""
        super()._gx_replace_child(edges, old, new)
        forget_added(self, old)
        building.note_dtypes(self, new)

    # --- for users --------------------------------------------------------------------------------------------------

    @property
    def _gx_dtypes(self) -> DTypePolicy:
        return self._gx_policy if self._gx_policy is not None else as_policy(None)

    @Fallback
    def policy(self) -> DTypePolicy:
        """Return the dtype policy."""
        return self._gx_dtypes

    @property
    def _gx_call_dtype(self) -> str | None:
        """Return the dtype in which fractions reach `call`; None for that in which they come."""
        policy = self._gx_dtypes
        return policy.wide_dtype if self._gx_takes_wide else policy.compute_dtype

    @property
    def dtype(self) -> str:
        """Return the dtype of its weights."""
        return self._gx_dtypes.variable_dtype

    @property
    def compute_dtype(self) -> str:
        """Return the dtype in which it computes."""
        return self._gx_dtypes.compute_dtype

    def _gx_record_again(self) -> None:
        """Record again the calls of layers below, which a copy has forgotten; a model that is a graph does so."""

    if TYPE_CHECKING:  # what a checker should know: it gives what `call` gives

        def __call__(self: Calls[R], *args: Any, **kwargs: Any) -> R: ...

    else:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Build if need be, then compute."""
            try:
                if given_states.calls:
                    given_states.begin(self)
                if self.compiles_call:
                    if masks.entries or (kwargs and any(name.endswith("mask") for name in kwargs)):
                        return self._gx_call_with_masks(args, kwargs)
                    out = self._gx_call_compiled(args, kwargs)
                    if out is not eager_call.MISSED:
                        return out
                return self._gx_call_traced(args, kwargs)
            except MetSymbolic:
                pass  # what is raised below must not show it
            except Exception as error:
                shorten(error)
                raise
            return symbolic_call.record_call(self, args, kwargs)

    def _gx_call_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if storage.frames.read() and (path := self._gx_path):
            with name_part(path):
                return self._gx_call(*args, **kwargs)
        return self._gx_call(*args, **kwargs)

    def _gx_call_compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the eager call as one program, or `eager_call.MISSED`."""
        plans = self._gx_plans
        if plans is None:
            plans = eager_call.Plans()
            object.__setattr__(self, "_gx_plans", plans)
        return eager_call.call(plans, self, self._gx_call, args, kwargs)

    def _gx_call_with_masks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute an eager call with masks: a program takes them as arguments; the output gets its own afterwards."""
        if storage.frames.top is not None or self._gx_hands_on_masks:
            return self._gx_call_traced(args, kwargs)
        signature = signature_of(type(self).call)
        if masking.is_told_none(self, signature, args, kwargs):  # a program that is given the masks would not know
            return self._gx_call_traced(args, kwargs)
        found = masking.masks_of_call(signature, args, self._gx_named_masks(args, kwargs))
        given = masking.by_name(self, signature, args, kwargs, found)
        out = self._gx_call_compiled(args, given) if given is not None else eager_call.MISSED
        if out is eager_call.MISSED:
            return self._gx_call_traced(args, kwargs)
        if found and contexts.top is not None:
            contexts.top.masks_met = True
        first = signature.argument_of(signature.first, args, kwargs)
        return masking.with_mask(self, out, first, signature, found, args, given or {})

    def _gx_call(self, *args: Any, **kwargs: Any) -> Any:
        storage.touch(self)
        outer = contexts.top
        signature = signature_of(type(self).call)
        training = signature.training_flag(args, kwargs, None if outer is None else outer.training)
        context = CallContext(self, training, outer)
        if outer is None or outer.root is None:  # the outermost call: terms of an earlier one are no part of this loss
            added_losses.forget(self, context.number, context.frames)
        with contexts.entered(context), ExplainedCall(self, args, kwargs):
            is_first = not building.is_built(self)
            if is_first and (prepare := building.again.top) is not None:
                prepare(self)
            # before building, which sees the dtype and shape that `call` will see
            args, kwargs = inputs_in(self._gx_call_dtype, args, kwargs)
            first = signature.argument_of(signature.first, args, kwargs)
            if is_first:
                building.warn_if_not_held(self, context)
                building.build_in_call(self, signature, args, kwargs)
            found: dict[str, Any] = {}
            told_none = masking.is_told_none(self, signature, args, kwargs)
            if kwargs or masks.any_set():
                args, kwargs, found = masking.receive_masks(self, signature, args, self._gx_named_masks(args, kwargs))
                if found and outer is not None and (signature.masks or not told_none):
                    outer.masks_met = True
            if training is not None and signature.takes_training:
                args, kwargs = signature.put("training", training, args, kwargs)
            call, watch = lost_masks.watched(self, found, args, kwargs)
            if self._gx_remat is not None and storage.frames.top is not None:
                call = remat(call, None if self._gx_remat == "full" else self._gx_remat)
            policy = self._gx_dtypes
            # where nothing is cast, the scope is left alone: it costs as much as a small layer
            if self._gx_casts or policy.compute_dtype != policy.variable_dtype or storage.autocast.items:
                with storage.autocast.entered(policy.compute_dtype):
                    out = call(*args, **kwargs)
            else:
                out = call(*args, **kwargs)
            if out is None:
                raise call_errors.no_output_error(self._gx_title())
            if is_first:
                look_for_lost([self])
            if found or self._gx_makes_mask or (masks.entries and (watch is not None or masks.watches.get())):
                met = context.masks_met
                out = masking.with_mask(self, out, first, signature, found, args, kwargs, met, watch, told_none)
        return out

    def _gx_named_masks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by name, with each mask under the name of the argument whose mask it is."""
        return kwargs

    @door
    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the output for a shape (or structure of shapes) of the input; None stands for any size.

        Builds the layer if need be; computes nothing.

        Example:
            >>> import graftax as gx
            >>> gx.layers.Dense(2).compute_output_shape((None, 7))
            (None, 2)
        """
        input_shape = shapes.check_shapes("compute_output_shape", input_shape)
        first, second = (self._gx_abstract_shapes(shapes.fill_unknown(input_shape, size)) for size in (8, 16))
        return tree.map_structure(shapes.merge, first, second)

    @door
    def build_for(self, *args: Any, **kwargs: Any) -> Any:
        """Make all weights below for inputs like these, computing nothing; give the shapes and dtypes of the output."""
        backend = registry.current()
        if not backend.has("tracing"):
            return self(*args, **kwargs)
        transforms = backend.tracing

        def run() -> Any:
            with storage.frames.entered(Abstract(storage.frames.top, transforms.level())):
                return self(*args, **kwargs)

        return transforms.eval_shape(run)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _gx_abstract_shapes(self, input_shape: object) -> Any:
        example = shapes.map_shapes(self._gx_example_of, input_shape)
        try:
            found = self.build_for(example)
        except DTypeError:  # an Embedding somewhere below takes integers
            found = self.build_for(tree.map_structure(lambda leaf: leaf.astype("int32"), example))
        return tree.map_structure(lambda leaf: shapes.ShapeLeaf(leaf.shape), found)

    def _gx_example_of(self, shape: Any) -> Array:
        sizes = tuple(8 if size is None else size for size in shape)
        dtype = self._gx_input_dtype or self._gx_dtypes.compute_dtype
        return registry.current().arrays.numpy.zeros(sizes, dtype)  # type: ignore[no-any-return]
