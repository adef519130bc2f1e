"""Layer: `__init__` stores, `build` makes weights, `call` computes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from graftax import tree
from graftax.backend import registry
from graftax.errors import DTypeError, NotBuiltError, StateError
from graftax.layers import building, shapes
from graftax.layers.call_context import named_part
from graftax.layers.call_errors import explained_call
from graftax.layers.description import all_numbers
from graftax.layers.policy import DTypePolicy, as_policy
from graftax.module import Child, Module, walk
from graftax.reparam.base import Reparam
from graftax.reparam.places import is_trainable
from graftax.short_traceback import door, shorten
from graftax.transforms import eager_call
from graftax.transforms.state import Abstract
from graftax.typedefs import Array, ArrayLike, Initializer, Shape, VariableLike, unwrap
from graftax.variables import initializers, storage
from graftax.variables.calls import CallContext, contexts
from graftax.variables.node import Edge
from graftax.variables.spec import Constraint, Regularizer, VariableSpec, sizes
from graftax.variables.variable import Variable, make


class Signature(NamedTuple):
    """What a layer's `call` takes beside its inputs."""

    takes_training: bool
    default_training: bool | None
    takes_mask: bool


@cache
def signature_of(call: Callable[..., Any]) -> Signature:
    """Looked up once for each `call`."""
    parameters = inspect.signature(call).parameters
    training = parameters.get("training")
    default = training.default if training is not None else None
    return Signature(training is not None, default if isinstance(default, bool) else None, "mask" in parameters)


class Layer(Module):
    """The base of all layers: subclass it, store settings in `__init__`, make weights in `build`, compute in `call`.

    The first call builds, with the shape of the first argument. Floating inputs are cast to the compute dtype of the
    layer's policy. A ``training`` argument that is not given is inherited from the layer whose call this is part of.

    Args:
        name: Its name in messages and summaries; the class name in snake case unless told.
        trainable: Whether its Variables may be trained.
        dtype: A `DTypePolicy` or its name; the global policy unless told.

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

    untracked: ClassVar[frozenset[str]] = frozenset(
        {"_regularized", "_losses", "_call_number", "_plans", "_warned", "input_shape"}
    )
    supports_masking: ClassVar[bool] = False
    """Whether a mask passes through unchanged; otherwise it stops here, with a warning."""
    input_dtype: ClassVar[str | None] = None
    """The dtype of inputs for `compute_output_shape`, where it is not the compute dtype."""

    compiles_call: ClassVar[bool] = False
    """Whether eager calls run as one compiled program, for graftax's own classes: a subclass from elsewhere runs as it
    is written. A layer that says so adds no losses, makes no mask out of none, and looks at no values."""

    built = False
    input_shape: Any = None
    """The shape (or structure of shapes) that it was built for; None before."""
    _policy: DTypePolicy | None = None
    _unnamed = 0
    _call_number = 0
    _losses: tuple[int, list[Array]] = (0, [])
    _regularized: tuple[tuple[VariableLike, Regularizer], ...] = ()
    _warned = False
    _plans: eager_call.Plans | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        for scope in self._captured:
            scope.waiting.add(self)
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "build" in vars(cls):
            cls.build = building.whole(cls.build)  # type: ignore[method-assign]

    if not TYPE_CHECKING:  # a checker should see which attributes there are
        __getattr__ = building.missing_attribute

    def __init__(self, name: str | None = None, trainable: bool = True, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name)
        self._policy = as_policy(dtype)
        if not trainable:
            self.trainable = False

    # --- for subclasses ---------------------------------------------------------------------------------------------

    @building.whole
    def build(self, input_shape: Any) -> None:
        """Make the weights; called once, before the first `call`, with the shape (or shapes) of its input."""

    def call(self, x: Any) -> Any:
        """Compute the output; subclasses must define it, with any arguments they like."""
        raise StateError(
            f"{type(self).__name__} has no call()", "there is nothing to compute", "def call(self, x): return ..."
        )

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """The mask of the output, given that of the input; None for none."""
        if mask is None or self.supports_masking:
            return mask
        if not self._warned:
            object.__setattr__(self, "_warned", True)
            warnings.warn(
                f"the mask of the input of {self._title()} is dropped: the layer does not say what becomes of it. "
                "Set supports_masking = True on the class, or define compute_mask.",
                stacklevel=4,
            )
        return None

    def add_weight(
        self,
        shape: Shape,
        initializer: str | Initializer | ArrayLike = "glorot_uniform",
        name: str | None = None,
        dtype: str | None = None,
        trainable: bool = True,
        role: str = "weight",
        regularizer: Regularizer | None = None,
        constraint: Constraint | None = None,
    ) -> Variable:
        """Make a Variable of this layer, through the creators in scope.

        Args:
            shape: Its shape.
            initializer: A name, a function of ``(key, shape, dtype)``, a number or an array.
            name: Its name; called after its attribute unless told. Selectors of creators see a name only if it is
                given.
            dtype: Its dtype; the policy's variable dtype unless told.
            trainable: Whether optimizers may move it.
            role: ``"weight"``, or ``"state"`` for what the layer itself updates.
            regularizer: A penalty on its value, collected in `losses`.
            constraint: A projection that optimizers apply after each update.

        Returns:
            The Variable, or the `VariableLike` that a creator put in its place.
        """
        if name is None:
            label = f"weight_{self._unnamed}"
            object.__setattr__(self, "_unnamed", self._unnamed + 1)
        else:
            label = name
        prefix = self.path
        spec = VariableSpec(
            shape=sizes(shape),
            dtype=dtype or self.policy.variable_dtype,
            initializer=initializers.get(initializer),
            trainable=trainable,
            role=role,
            name=name,
            path=f"{prefix}/{label}" if prefix else label,
            owner=self,
            regularizer=regularizer,
            constraint=constraint,
        )
        weight = make(spec)
        if regularizer is not None:
            self._regularized = (*self._regularized, (weight, regularizer))
        return weight

    def add_loss(self, loss: ArrayLike) -> None:
        """Add a term to the loss of the model; to be called inside `call`, forgotten at the next outermost call."""
        number = contexts.top.number if contexts.top is not None else 0
        if self._losses[0] != number:
            object.__setattr__(self, "_losses", (number, []))
        self._losses[1].append(registry.current().arrays.asarray(unwrap(loss)))

    def replace_child(self, edges: tuple[Edge, ...], old: Child, new: Child) -> None:
        """Put another weight or layer in the place of one; the penalty of a weight goes with the place."""
        super().replace_child(edges, old, new)
        self._regularized = tuple(
            (cast(Any, new) if cast(Any, weight) is old else weight, penalty) for weight, penalty in self._regularized
        )

    # --- for users --------------------------------------------------------------------------------------------------

    @property
    def policy(self) -> DTypePolicy:
        """The dtype policy."""
        return self._policy if self._policy is not None else as_policy(None)

    @property
    def dtype(self) -> str:
        """The dtype of its weights."""
        return self.policy.variable_dtype

    @property
    def compute_dtype(self) -> str:
        """The dtype in which it computes."""
        return self.policy.compute_dtype

    @property
    def losses(self) -> list[Array]:
        """What `add_loss` got in the latest call, and penalties of trainable weights, of this layer and those below."""
        found = []
        for layer in walk(self):
            if isinstance(layer, Reparam) and is_trainable(layer):
                found += [] if (penalty := layer.penalty()) is None else [penalty]
            if isinstance(layer, Layer):
                if layer._losses[0] == self._call_number:
                    found += [loss for loss in layer._losses[1] if not _dead(loss)]
                found += [term(w.value) for w, term in layer._regularized if is_trainable(w)]
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build if need be, then compute."""
        try:
            if self.compiles_call and ((top := contexts.top) is None or not top.has_masks):
                plans = self._plans
                if plans is None:
                    plans = eager_call.Plans()
                    object.__setattr__(self, "_plans", plans)
                out = eager_call.call(plans, self, self._call, args, kwargs)
                if out is not eager_call.MISSED:
                    return out
            if storage.frames.top is not None and (path := self.path):
                with named_part(path):
                    return self._call(*args, **kwargs)
            return self._call(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        storage.touch(self)
        outer = contexts.top
        signature = signature_of(type(self).call)
        training = self._training(kwargs, signature, outer)
        context = CallContext(self, training, outer)
        object.__setattr__(self, "_call_number", context.number)
        with contexts.entered(context), self._explained(args, kwargs):
            args, kwargs = self._converted(args, kwargs, context)
            if not self.built:
                building.warn_if_not_held(self, context)
                first = args[0] if args else next(iter(kwargs.values()), None)
                building.build_in_call(self, tree.map_structure(shapes.shape_of, first))
            mask = context.mask_of(args[0]) if args else None
            if signature.takes_mask and "mask" not in kwargs:
                kwargs["mask"] = mask
            if signature.takes_training and training is not None:
                kwargs["training"] = training
            policy = self.policy
            if policy.compute_dtype != policy.variable_dtype or storage.autocast.items:
                with storage.autocast.entered(policy.compute_dtype):
                    out = self.call(*args, **kwargs)
            else:
                out = self.call(*args, **kwargs)
            makes_mask = type(self).compute_mask is not Layer.compute_mask
            if (makes_mask or mask is not None) and args and not any(out is leaf for leaf in tree.flatten(args[0])):
                context.set_mask(out, self.compute_mask(args[0], mask))
        return out

    @door
    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output for a shape (or structure of shapes) of the input; None stands for any size.

        Builds the layer if need be; computes nothing.

        Example:
            >>> import graftax as gx
            >>> gx.layers.Dense(2).compute_output_shape((None, 7))
            (None, 2)
        """
        first, second = (self._abstract_shapes(shapes.filled(input_shape, size)) for size in (8, 16))
        return tree.map_structure(shapes.merge, first, second)

    @door
    def build_for(self, *args: Any, **kwargs: Any) -> Any:
        """Make all weights below for inputs like these, computing nothing; give the shapes and dtypes of the output."""
        backend = registry.current()
        if not backend.has("transforms"):
            return self(*args, **kwargs)
        transforms = backend.transforms

        def run() -> Any:
            with storage.frames.entered(Abstract(storage.frames.top, transforms.level())):
                return self(*args, **kwargs)

        return transforms.eval_shape(run)

    def __repr__(self) -> str:
        built = "" if self.built else ", not built"
        return f"<{type(self).__name__} {self.path or self.name!r}{built}>"

    # --- inside -----------------------------------------------------------------------------------------------------

    def _training(self, kwargs: dict[str, Any], signature: Signature, outer: CallContext | None) -> bool | None:
        explicit = kwargs.get("training") if signature.takes_training else kwargs.pop("training", None)
        if explicit is not None:
            return cast(bool, explicit)
        if outer is not None and outer.training is not None:
            return outer.training
        return signature.default_training

    def _converted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], context: CallContext
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arrays = registry.current().arrays
        dtype = self.policy.compute_dtype
        if len(args) == 1 and not kwargs and arrays.is_array(args[0]) and args[0].dtype == dtype:
            return args, kwargs

        def convert(leaf: Any) -> Any:
            leaf = unwrap(leaf)
            if not hasattr(leaf, "dtype"):
                return leaf
            array = leaf if arrays.is_array(leaf) else arrays.asarray(leaf)
            kind = str(array.dtype)
            if kind != dtype and "float" in kind:
                cast_array = array.astype(dtype)
                context.set_mask(cast_array, context.mask_of(leaf))
                return cast_array
            return array

        if args and isinstance(args[0], list | tuple) and all_numbers(args[0]):
            args = (arrays.asarray(args[0]), *args[1:])
        return (
            tuple(tree.map_structure(convert, a) for a in args),
            {name: tree.map_structure(convert, value) for name, value in kwargs.items()},
        )

    def mark_built(self) -> None:
        """Note that the weights are there; for subclasses that build in another way than through `build`."""
        object.__setattr__(self, "built", True)
        for scope in self._captured:
            scope.waiting.discard(self)
            scope.check()

    def require_built(self, purpose: str) -> None:
        """Raise if there are no weights yet."""
        if not self.built:
            raise NotBuiltError(
                f"{self._title()} is not built, which {purpose} needs",
                "its weights are made at the first call, when the input's shape is known",
                "call it on an example first: model(x[:1])",
            )

    def _abstract_shapes(self, input_shape: Any) -> Any:
        arrays = registry.current().arrays
        dtype = self.input_dtype or self.compute_dtype
        example = shapes.map_shapes(lambda shape: arrays.numpy.zeros(shape, dtype), input_shape)
        try:
            found = self.build_for(example)
        except DTypeError:  # an Embedding somewhere below takes integers
            found = self.build_for(tree.map_structure(lambda leaf: leaf.astype("int32"), example))
        return tree.map_structure(lambda leaf: shapes.ShapeLeaf(leaf.shape), found)

    @contextmanager
    def _explained(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if (better := explained_call(self, self._title(), error, args, kwargs)) is not None:
                raise better from error
            raise

    def _title(self) -> str:
        return f"layer {self.path or self.name!r} ({type(self).__name__})"


def _dead(loss: Array) -> bool:
    """True for a value of a trace that is over."""
    backend = registry.current()
    return backend.has("transforms") and backend.transforms.leaks(loss, backend.transforms.level())
