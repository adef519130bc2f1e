"""Signature: one function of an artefact, with its inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from graftax.backend import registry
from graftax.backend.host import no_plain_numbers
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError, ExportError
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door
from graftax.core.typedefs import ArrayLike, unwrap
from graftax.core.user_functions import check_takes
from graftax.core.wrapping import function_name
from graftax.export.sizes import check_constraints
from graftax.export.spec import Spec, with_none
from graftax.layers.layer import Layer
from graftax.variables import masks
from graftax.variables.graph.module import Module

InputLike: TypeAlias = "Spec | ArrayLike | dict[str, Any] | list[Any] | tuple[Any, ...] | None"
"""The description of one argument: a Spec, an example, or a structure of these."""


class Signature:
    """A function to export, with its inputs.

    Args:
        fn: The function; a Module stands for its call with ``training=False``, a model that overrides ``predict_step``
            for that, as in `predict`. For the call of such a model, give ``lambda x: model(x, training=False)``.
        *inputs: For each argument a `Spec`, or an example, whose first axis is then free and called ``batch``; or
            dicts, lists and tuples of these. Examples are also used for the comparison.
        constraints: Constraints on sizes, such as ``"time >= 2"``. Defaults to none.
        assigns: Whether the function may assign Variables, as a training step does; the artefact then has their new
            values after each call. Defaults to False.
        fold: Whether weights that are expressions are computed at the export, so that the program has plain weights;
            or a selector of such weights. Expressions that store integers, or that assign Variables when they are
            computed, are not folded, and none is if the signature assigns. Defaults to True.

    Raises:
        ArgumentError: a constraint cannot be read, or ``fold`` is given to a signature that assigns.
        ArgumentTypeError: ``fn`` is not a function, or an input is neither a Spec nor an array.
        ExportError: an example carries a mask.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(2)
        >>> signature = Signature(layer, Spec("batch 3"))
        >>> signature.names, signature.free
        (['x'], ['batch'])
    """

    def __init__(
        self,
        fn: Callable[..., Any] | Module,
        *inputs: InputLike,
        constraints: Sequence[str] = (),
        assigns: bool = False,
        fold: bool | SelectorLike = True,
    ) -> None:
        if not callable(fn):
            raise ArgumentTypeError(
                f"Signature got {fn!r:.60} of type {type(fn).__name__}",
                "a signature is a function, or a Module that can be called, and its inputs",
                'graftax.export.Signature(model, graftax.export.Spec("batch 8"))',
            )
        check_takes("Signature", "fn", fn, ["input"] * len(inputs), 'Signature(fn, Spec("batch 8"), Spec("batch 2"))')
        if isinstance(constraints, str):
            raise ArgumentTypeError(f"constraints={constraints!r}", "it is a list", f"constraints=[{constraints!r}]")
        if assigns and fold is not True:
            raise ArgumentError(
                f"fold={fold!r} with assigns=True",
                "a function that assigns may move what an expression is computed from, so all of them stay live",
                "no fold=",
            )
        self.fn: Any = fn
        self.structure = tuple(_to_spec(one, fn) for one in inputs)
        self.examples = tuple(_examples(one) for one in inputs)
        self.assigns = bool(assigns)
        self.fold = fold
        self.arguments = _argument_names(fn, len(inputs))
        self.constraints = check_constraints(constraints, self.free)

    @property
    def specs(self) -> list[Spec]:
        """Return the Specs of all inputs, as a flat list."""
        return [leaf for leaf in tree.flatten(self.structure) if leaf is not None]

    @property
    def names(self) -> list[str]:
        """Return the names of all inputs; those in structures have names such as ``batch/tokens``."""
        named = dict(zip(self.arguments, self.structure, strict=True))
        return [path for path, leaf in tree.flatten_with_paths(named) if leaf is not None]

    @property
    def free(self) -> list[str]:
        """Return the names of the free sizes."""
        return list(dict.fromkeys(name for spec in self.specs for name in spec.names))

    @property
    def example(self) -> list[Any] | None:
        """Return example arrays, one for each Spec; None unless all inputs were given as examples."""
        leaves = [leaf for leaf in tree.flatten(self.examples) if leaf is not None]
        return None if any(isinstance(leaf, Spec) for leaf in leaves) else leaves

    def __repr__(self) -> str:
        inputs = ", ".join(map(repr, self.specs))
        return f"Signature({_name_of(self.fn)}, {inputs}{', assigns=True' if self.assigns else ''})"


Signature.__init__ = door(Signature.__init__)  # type: ignore[method-assign]


def function_of(fn: Any) -> Callable[..., Any]:
    """Return the function of a signature; for a Module, its call with ``training=False``, or what `predict` runs."""
    if not isinstance(fn, Layer):
        return fn  # type: ignore[no-any-return]
    step: Callable[[object], Any] | None = getattr(fn, "_gx_own_predict_step", None)
    if step is None:
        return lambda *args: fn(*args, training=False)

    def predict(*args: object) -> Any:
        if len(args) != 1:
            raise ExportError(
                f"{type(fn).__name__} with {len(args)} inputs, whose predict_step takes one",
                "the program of a model computes what its predict does, and predict_step is overridden",
                "a function, for the call of the model: "
                "Signature(lambda a, b: model(a, b, training=False), Spec(...), Spec(...))",
            )
        try:
            return step(args[0])
        except ExportError as error:
            error.add_context(f"{type(fn).__name__}.predict_step, which the program of the model computes")
            raise

    return predict


def masked_input_error(name: str) -> ExportError:
    """Return the error for an input with a mask, which a program cannot have."""
    return ExportError(
        f"{name} carries a mask",
        "a program takes arrays alone, and would compute as if nothing were masked",
        "the mask as an argument: "
        'Signature(lambda x, mask: module(x, mask=mask), Spec("batch time 8"), Spec("batch time", "bool")); '
        "the layer that makes the mask as a part of what is exported; or a Spec alone, if the mask is to be left out",
    )


def _name_of(fn: Any) -> str:
    return type(fn).__name__ if isinstance(fn, Module) else function_name(fn)


def _to_spec(value: object, fn: object) -> Any:
    """Return an input with a Spec in place of each example."""
    if value is None or isinstance(value, Spec):
        return value
    if isinstance(value, tuple | list) and {type(one) for one in value} == {int, type(None)}:
        raise with_none(f"the shape {value!r} as an input", value)
    if isinstance(value, dict) or (isinstance(value, tuple | list) and not _is_numbers(value)):
        return tree.map_structure(lambda leaf: _to_spec(leaf, fn), value)
    array = _array(value, fn)
    return Spec(("batch", *array.shape[1:]) if array.ndim else (), str(array.dtype))


def _examples(value: object) -> Any:
    if value is None or isinstance(value, Spec):
        return value
    if isinstance(value, dict) or (isinstance(value, tuple | list) and not _is_numbers(value)):
        return tree.map_structure(_examples, value)
    return _array(value, None)


def _is_numbers(value: object) -> bool:
    """Return True for nested lists of numbers, which are one array."""
    leaves = tree.flatten(value)
    return bool(leaves) and all(isinstance(leaf, bool | int | float | complex | np.generic) for leaf in leaves)


def _array(value: Any, fn: object) -> np.ndarray[Any, Any]:
    """Return an example on the host, in the dtype that arrays of the backend have."""
    if masks.mask_of(value) is not None or masks.mask_of(unwrap(value)) is not None:
        raise masked_input_error(f"an example for {_name_of(fn)}")
    value = unwrap(value)
    if (unfit := no_plain_numbers(value, "an example")) is not None:
        raise unfit
    if not (hasattr(value, "shape") and hasattr(value, "dtype")) and not isinstance(
        value, bool | int | float | complex | list | tuple
    ):
        raise ArgumentTypeError(
            f"an input of Signature({_name_of(fn)}, ...) of type {type(value).__name__}: {value!r:.60}",
            "an input is a Spec, an example array, or a structure of these",
            'graftax.export.Spec("batch 8")',
        )
    arrays = registry.current().arrays
    return arrays.to_numpy(arrays.asarray(value))


def _argument_names(fn: Any, count: int) -> list[str]:
    """Return the names of the first arguments of a function; ``x``, ``x1``, ... if they are not known."""
    called = fn.call if isinstance(fn, Layer) else fn
    try:
        parameters = [
            p.name
            for p in inspect.signature(called).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):  # a function without a signature
        parameters = []
    rest = [name for i in range(count) if (name := f"x{i}" if i else "x") not in parameters]
    return [*parameters, *rest][:count] if len(parameters) + len(rest) >= count else [f"x{i}" for i in range(count)]
