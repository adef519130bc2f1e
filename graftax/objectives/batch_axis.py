"""Functions of users for losses and metrics: what they return, and whether its first axis is that of samples.

Weights and masks are laid along this axis. A function that reduces it, and leaves another axis of the same size, would
get weights of samples for time steps or features, and nothing but its shape at another batch size tells that. The same
holds for targets of samples that a function lays along another axis of the predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graftax import ops
from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError, GraftaxError, ShapeError
from graftax.core.foreign_errors import translate
from graftax.core.ours import is_ours
from graftax.core.typedefs import Array, Shape
from graftax.transforms.lifting.frames import Abstract
from graftax.variables.state import storage


def is_of_user(function: Callable[..., Any]) -> bool:
    """Return True unless a function is one of graftax, whose shapes are known.

    Example:
        >>> is_of_user(ops.mean), is_of_user(max)
        (False, True)
    """
    return not is_ours(function)


def check_returned(role: str, function: Callable[..., Any], result: object) -> None:
    """Raise unless a function has returned one array or number; a list of numbers is one, too.

    Args:
        role: What the function is for: ``"loss"`` or ``"metric"``.
        function: The function, for the message.
        result: What it returned.

    Raises:
        ArgumentTypeError: it returned None, or several things.
    """
    is_several = isinstance(result, tuple | dict) or (isinstance(result, list) and any(map(_is_no_number, result)))
    if result is not None and not is_several:
        return
    got = f"a {type(result).__name__} of {len(result)}" if isinstance(result, tuple | dict | list) else "None"
    raise ArgumentTypeError(
        f"the {role} {_name_of(function)} returned {got}",
        f"a {role} is one array, with one value for each sample, or one number",
        "return ops.mean((y_true - y_pred) ** 2, axis=-1)" + ("" if result is None else ", and nothing beside it"),
    )


def check_batch_axis(
    role: str,
    function: Callable[..., Any],
    call: Callable[[Any, Any], Any],
    y_true: object,
    y_pred: object,
    values: Array,
    weights: Sequence[tuple[str, Any]],
) -> None:
    """Raise if weights or masks have an axis of samples, and the values of a function do not.

    Args:
        role: What the function is for: ``"loss"`` or ``"metric"``.
        function: The function that somebody wrote, for the message.
        call: Computes the values of targets and predictions.
        y_true: Targets, or a structure of them.
        y_pred: Predictions, or a structure of them.
        values: What ``call`` gave for these.
        weights: Weights and masks, each with its name.

    Raises:
        ShapeError: the first axis of the values is not that of samples, or weights have axes that the values lack.
    """
    shapes = [tuple(leaf.shape) for leaf in tree.flatten((y_true, y_pred)) if hasattr(leaf, "shape")]
    firsts = {tuple(leaf.shape)[:1] for leaf in tree.flatten(y_pred) if hasattr(leaf, "shape")}
    if len(firsts) != 1 or () in firsts:
        return
    [(batch,)] = firsts
    given_shapes = [(name, tuple(ops.shape(one))) for name, one in weights]
    along = [(name, shape) for name, shape in given_shapes if shape[:1] == (batch,)]
    if not along:
        return
    got = f"the {role} {_name_of(function)} returned shape {list(values.shape)} for a batch of {batch}"
    beside = ", with " + " and ".join(f"{name} {list(shape)}" for name, shape in along)
    keep = f"a {role} that keeps the first axis, such as ops.mean(..., axis=-1); graftax takes the mean over samples"
    if values.shape[:1] != (batch,):
        raise ShapeError(got + beside, "each sample has a weight or a mask, and so needs a value of its own", keep)
    if any(size == batch for shape in shapes for size in shape[1:]):
        larger = _shape_of_larger(call, y_true, y_pred, batch)
        if larger is not None and larger[:1] != (batch + 1,):
            raise ShapeError(
                got + beside,
                f"its first axis is not that of samples, but another one of the same size: for a batch of {batch + 1} "
                f"it returns shape {list(larger)}",
                keep,
            )
    for name, shape in along:
        if not _can_broadcast(shape, tuple(values.shape)):
            raise ShapeError(
                f"{got}, with {name} {list(shape)}",
                f"the {name} has numbers for parts of a sample, such as time steps, and these values have not",
                f"a {role} with a value for each element of the {name}, such as ops.mean(..., axis=-1)"
                + (_OR_TAKE_IT if name == "mask" else _OR_WEIGH_WHOLES),
            )


def check_targets_axis(
    role: str, function: Callable[..., Any], call: Callable[[Any, Any], Any], y_true: Any, y_pred: Any
) -> None:
    """Raise if a function lays the samples of targets along another axis of predictions, or the other way round.

    ``(3,) - (3, 3)`` broadcasts, and is wrong; ``(4,) - (4, 3)`` fails. So it is tried with one sample more, where
    sizes are equal by chance. What works there, such as pairs of samples, is meant; so is what would fail even with the
    right axes.

    Args:
        role: What the function is for: ``"loss"`` or ``"metric"``.
        function: The function that somebody wrote, for the message.
        call: Computes the values of targets and predictions.
        y_true: Targets, or a structure of them.
        y_pred: Predictions, or a structure of them.

    Raises:
        ShapeError: it does.
    """
    shapes = {name: tuple(getattr(one, "shape", ())) for name, one in (("y_true", y_true), ("y_pred", y_pred))}
    (short, samples), (long, several) = sorted(shapes.items(), key=lambda pair: len(pair[1]))
    if len(samples) != 1 or samples[0] == 1 or several[:1] != samples or samples[0] not in several[1:]:
        return
    batch = samples[0]
    try:
        _trace_larger(call, y_true, y_pred, batch)
    except Exception as error:  # noqa: BLE001 - a function may be written for one batch size alone
        told = translate(error) or error
        first = str(told).partition("\n")[0]
        if not isinstance(told, GraftaxError) or f"[{batch + 1}]" not in first:
            return
    else:
        return
    right = (batch, *[1] * (len(several) - 1))
    y_true, y_pred = (ops.reshape(one, right) if one.ndim == 1 else one for one in (y_true, y_pred))
    if _shape_of_larger(call, y_true, y_pred, batch) is not None:
        raise ShapeError(
            f"the {role} {_name_of(function)} got y_true {list(shapes['y_true'])} and y_pred {list(shapes['y_pred'])}",
            f"it lays the samples of {short} along another axis of {long}, which has the same size by chance: for a "
            f"batch of {batch + 1} it fails, with {first}",
            f"{short}[:{', None' * (len(several) - 1)}] in place of {short}"
            + f", or targets of shape {right}" * (short == "y_true"),
        )


_OR_WEIGH_WHOLES = (
    "; or one weight for each sample, which gx.data.bucket(..., weights=None) leaves as they are given: it adds none "
    "for positions"
)
_OR_TAKE_IT = (
    "; or one that takes the mask, def loss(y_true, y_pred, mask=None), and leaves out by itself what that hides"
)


def _can_broadcast(shape: Shape, values: Shape) -> bool:
    """Return True if weights can be spread over values: an axis is missing at the end, has size 1, or that of values.

    Example:
        >>> (
        ...     _can_broadcast((4,), (4, 3)),
        ...     _can_broadcast((4, 3, 1), (4, 3)),
        ...     _can_broadcast((4, 3), (4,)),
        ...     _can_broadcast((4, 3), (4, 1)),
        ... )
        (True, True, False, False)
    """
    if shape == (*values, 1):
        return True
    return len(shape) <= len(values) and all(a in (1, b) for a, b in zip(shape, values, strict=False))


def _shape_of_larger(call: Callable[[Any, Any], Any], y_true: object, y_pred: object, batch: int) -> Shape | None:
    """Return the shape of the values for one sample more; None if the function fails there."""
    try:
        return _trace_larger(call, y_true, y_pred, batch)
    except Exception:  # noqa: BLE001 - a function may be written for one batch size alone
        return None


def _trace_larger(call: Callable[[Any, Any], Any], y_true: object, y_pred: object, batch: int) -> Shape:
    """Return the shape of the values for one sample more, computing nothing where the backend can do without."""

    def grown(leaf: Any) -> Any:
        return ops.concatenate([leaf, leaf[:1]], axis=0) if tuple(ops.shape(leaf))[:1] == (batch,) else leaf

    def run() -> Any:
        return ops.asarray(call(*tree.map_structure(grown, (y_true, y_pred))))

    backend = registry.current()
    if not backend.has("tracing"):
        return tuple(run().shape)

    def framed() -> Any:
        with storage.frames.entered(Abstract(storage.frames.top, backend.tracing.level())):
            return run()

    return tuple(backend.tracing.eval_shape(framed).shape)


def _is_no_number(value: object) -> bool:
    return not isinstance(value, bool | int | float)


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__)).rpartition("<locals>.")[2]
