"""Branches that may read and write Variables: plain Python eagerly, one program when compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from graftax.backend import registry, traced_checks
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, IndexRangeError, ShapeError
from graftax.core.scopes import ScopeStack
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.core.user_functions import check_functions, check_takes
from graftax.ops.checks import is_outside
from graftax.transforms.flow.attribute_changes import require_no_changes
from graftax.transforms.lifting.agreement import as_dtypes, common_dtypes
from graftax.transforms.lifting.carried import broadcast_mask, masks_of, set_masks
from graftax.transforms.lifting.outline import Outline, order_like
from graftax.transforms.lifting.parts import Part, Threaded

Branch = Callable[..., Any]


@door
def cond(pred: ArrayLike, true_fn: Branch, false_fn: Branch, *operands: Any) -> Any:
    """Return ``true_fn(*operands)`` if ``pred``, else ``false_fn(*operands)``.

    With a concrete predicate this is Python's ``if``. With a traced one both functions are traced and one is run; what
    either writes to Variables counts only if it is the one that runs. Plain attributes of Modules, which would change
    with the trace of either, may not change then.

    Args:
        pred: One truth value.
        true_fn: One branch; it may read and write Variables.
        false_fn: The other; with a traced predicate, its results have the same structure, shapes and dtypes.
        *operands: Passed to the branch.

    Raises:
        ShapeError: the predicate is no scalar, or shapes of the results differ.
        DTypeError: the predicate is no truth value or integer, or dtypes of the results differ.
        ArgumentError: the structures of the results differ.
        StateError: with a traced predicate, a branch changes a plain attribute of a Module.

    Example:
        >>> import graftax as gx
        >>> halve = gx.jit(lambda x: cond(x > 1, lambda v: v / 2, lambda v: v, x))
        >>> float(halve(4.0)), float(halve(0.5))
        (2.0, 0.5)
    """
    check_functions("cond", "graftax.cond(pred, lambda: a, lambda: b)", true_fn, false_fn)
    check_takes("cond", "true_fn", true_fn, ["operand"] * len(operands), _OPERANDS)
    check_takes("cond", "false_fn", false_fn, ["operand"] * len(operands), _OPERANDS)
    flag = predicate("cond", pred)
    if registry.current().arrays.is_concrete(flag):
        note_choice()
        return true_fn(*operands) if bool(flag) else false_fn(*operands)
    transforms = registry.current().control_flow

    def choose(branches: Sequence[Callable[[Any], Any]], state: object) -> Any:
        return transforms.cond(flag, branches[0], branches[1], state)

    return _run_branch("cond", ["true_fn", "false_fn"], choose, [true_fn, false_fn], operands)


@door
def switch(index: ArrayLike, branches: Sequence[Branch], *operands: Any) -> Any:
    """Return ``branches[index](*operands)``.

    Args:
        index: An integer. A traced one out of range takes the nearest branch, unless compiled with ``checked=True``.
        branches: Functions, as for `cond`.
        *operands: Passed to the branch.

    Raises:
        IndexRangeError: a concrete index is not in ``[0, len(branches))``.
        DTypeError: the index is no integer, or dtypes of the results differ.
        ShapeError: the index is no scalar, or shapes of the results differ.
        ArgumentTypeError: the branches are no list of functions.
        ArgumentError: there are no branches, or the structures of their results differ.
        StateError: with a traced index, a branch changes a plain attribute of a Module.

    Example:
        >>> switch(1, [lambda x: x, lambda x: -x], 3)
        -3
    """
    arrays = registry.current().arrays
    if not isinstance(branches, list | tuple):
        raise ArgumentTypeError(
            f"switch got branches of type {type(branches).__name__}",
            "they are a list of functions",
            "switch(i, [f, g])",
        )
    check_functions("switch", "graftax.switch(index, [lambda: a, lambda: b])", *branches)
    if not branches:
        raise ArgumentError("switch got no branches", "there is nothing to choose from", "switch(i, [f, g])")
    for i, branch in enumerate(branches):
        check_takes("switch", f"branches[{i}]", branch, ["operand"] * len(operands), _FOR_BRANCHES)
    where = arrays.asarray(unwrap(index))
    if "int" not in str(where.dtype):
        raise DTypeError(f"switch got an index of dtype {where.dtype}", "it is an integer", 'ops.cast(index, "int32")')
    if tuple(where.shape):
        raise ShapeError(f"switch got an index of shape {tuple(where.shape)}", "it is one integer", _ROWS)
    if arrays.is_concrete(where):
        if not 0 <= int(where) < len(branches):
            raise _no_branch(len(branches), where)
        note_choice()
        return branches[int(where)](*operands)
    if traced_checks.is_checking():  # programs cannot raise; without checks the nearest branch is taken
        traced_checks.emit(partial(_no_branch, len(branches)), is_outside(len(branches), where), where)

    def choose(functions: Sequence[Callable[[Any], Any]], state: object) -> Any:
        return registry.current().control_flow.switch(where, functions, state)

    return _run_branch("switch", [f"branch {i}" for i in range(len(branches))], choose, branches, operands)


_OPERANDS = "graftax.cond(pred, lambda x: -x, lambda x: x, x): what follows the functions is given to both"
_FOR_BRANCHES = "graftax.switch(i, [lambda x: -x, lambda x: x], x): what follows the branches is given to each"


def _no_branch(count: int, index: Array) -> IndexRangeError:
    return IndexRangeError(f"switch got the index {int(index)}", f"it is not in [0, {count})", "an index of a branch")


def _run_branch(
    name: str,
    labels: Sequence[str],
    choose: Callable[[Sequence[Callable[[Any], Any]], Any], Any],
    functions: Sequence[Branch],
    operands: Sequence[Any],
) -> Any:
    transforms = registry.current().control_flow
    parts: list[Part] = []
    shapes: list[Any] = []  # of the masks of the results, once they are known and differ

    def with_masks(function: Branch, first: Outline | None) -> Callable[[list[Any]], tuple[Any, Any]]:
        def run(_: list[Any]) -> tuple[Any, Any]:
            made = function(*operands)
            made = made if first is None else order_like(first.structure, len(first.leaves), made)
            found = masks_of(transforms.flatten(made)[0])
            if shapes:
                found = [s and broadcast_mask(mask, s) for mask, s in zip(found, shapes, strict=True)]
            return made, found

        return run

    for label, function in zip(labels, functions, strict=True):  # each looks at the first
        part = Part(name, with_masks(function, parts[0].outlines[0] if parts else None), (), (function, *operands))
        parts.append(require_no_changes(name, label, part))
    outlines = [part.outlines[0] for part in parts]
    dtypes = common_dtypes(name, labels, outlines, "result")
    shapes = _mask_shapes(parts)
    if shapes:  # a branch without a mask where another one has it gives one in which all counts
        parts = [Part(name, with_masks(function, outlines[0]), ()) for function in functions]
    threaded = Threaded(*parts)

    def branch(part: Part) -> Callable[[Any], Any]:
        bound = threaded.bind(part)

        def run(state: Any) -> Any:
            leaves, after = bound.run(bound.closed, state, ())
            return [*as_dtypes(leaves[: len(dtypes)], dtypes), *leaves[len(dtypes) :]], after

        return run

    leaves, after = choose([branch(part) for part in parts], threaded.state())
    threaded.commit(after)
    results = leaves[: len(dtypes)]
    set_masks(results, transforms.unflatten(parts[0].outlines[1].structure, leaves[len(dtypes) :]))
    return transforms.unflatten(outlines[0].structure, results)


def _mask_shapes(parts: Sequence[Part]) -> list[Any]:
    """Return for each result the shape of its mask in one branch or another, None for none; nothing if all agree."""
    unflatten = registry.current().tracing.unflatten
    found = [
        [None if mask is None else tuple(mask.shape) for mask in unflatten(masks.structure, masks.leaves)]
        for masks in (part.outlines[1] for part in parts)
    ]
    if all(one == found[0] for one in found):
        return []
    return [max((s for s in each if s is not None), key=len, default=None) for each in zip(*found, strict=True)]


_ROWS = "ops.where(condition, a, b) for a choice element by element, vectorized_map for one row by row"


def predicate(name: str, pred: ArrayLike) -> Any:
    """Return one truth value as an array of bools; raise if it is none."""
    flag: Any = registry.current().arrays.asarray(unwrap(pred))
    if tuple(flag.shape):
        raise ShapeError(f"{name} got a predicate of shape {tuple(flag.shape)}", "it is one truth value", _ROWS)
    if str(flag.dtype) == "bool":
        return flag
    if "int" not in str(flag.dtype):
        raise DTypeError(f"{name} got a predicate of dtype {flag.dtype}", "it is a truth value", "x > 0, or x != 0")
    return flag != 0


class EagerChoices:
    """Whether Python chose a branch by a value, while this was entered in `watching`; compiled, all would count."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made = False


watching: ScopeStack[EagerChoices] = ScopeStack("watch of eager choices")


def note_choice() -> None:
    """Tell all that watch: what this step depends on says nothing of the next."""
    for choices in watching.items:
        choices.made = True
