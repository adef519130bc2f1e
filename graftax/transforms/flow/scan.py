"""Loops over rows: one traced body, run for each row in order, that may read and write Variables."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.free_sizes import is_free
from graftax.core.short_traceback import door
from graftax.core.static_numbers import check_known
from graftax.core.user_functions import check_functions, check_takes
from graftax.transforms.compile.pure import compile_if_possible
from graftax.transforms.flow.body import trace_until_stable
from graftax.transforms.lifting.agreement import as_dtypes, common_length
from graftax.transforms.lifting.carried import Carry, masks_of, masks_of_rows, set_masks
from graftax.transforms.lifting.outline import Outline, arrays_of
from graftax.transforms.lifting.parts import Bound, Threaded


@door
def scan(
    fn: Callable[[Any, Any], tuple[Any, Any]],
    init: object,
    xs: object = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Run ``carry, y = fn(carry, x)`` for each row of ``xs``, from ``init``, in one compiled loop.

    ``fn`` is traced at each eager call, so that nothing it reads is ever stale, and compiled where that is new; inside
    `graftax.jit` both is once for all. What it assigns to Variables, one step sees from the step before.

    Args:
        fn: Takes the carry and a row; returns the next carry, of the same structure, shapes and dtypes, and a result.
            It may read and write Variables, and layers may be built in it.
        init: The first carry: any structure of arrays.
        xs: Any structure of arrays with the same number of rows. Defaults to None, to pass None ``length`` times.
        length: How many steps. Defaults to the number of rows, which it must equal if there are any.
        reverse: Whether to go from the last row to the first; results stay with their rows. Defaults to False.

    Returns:
        The last carry, and the results of all steps, stacked.

    Shape:
        ``(rows, ...) -> (rows, ...)``

    Raises:
        ArgumentError: the structure of the carry changes, or the number of steps is unclear.
        ShapeError: a shape of the carry changes, or the numbers of rows differ.
        DTypeError: a dtype of the carry changes.

    Example:
        >>> import graftax as gx
        >>> last, sums = scan(lambda total, x: (total + x, total + x), 0.0, gx.ops.asarray([1.0, 2.0, 3.0]))
        >>> float(last), sums.tolist()
        (6.0, [1.0, 3.0, 6.0])
    """
    check_functions("scan", "graftax.scan(fn, init, xs)", fn)
    check_takes("scan", "fn", fn, ["carry", "x"], "graftax.scan(lambda carry, x: (carry + x, carry), init, xs)")
    transforms = registry.current().control_flow
    rows, rows_structure = arrays_of(xs)
    steps = _steps("scan", xs, Outline(rows_structure, rows), length)
    own = Carry("scan", init)
    kept, count = len(own.leaves), len(rows)
    # a mask of an array of rows is cut with it, so it goes with the rows
    found_masks = masks_of_rows("scan", transforms.flatten(xs)[0])
    rows += [mask for mask in found_masks if mask is not None]

    def step(values: list[Any]) -> tuple[Any, Any]:
        carry, row, row_masks = values[:kept], values[kept : kept + count], iter(values[kept + count :])
        set_masks(row, [None if mask is None else next(row_masks) for mask in found_masks])
        made = fn(own.unpack(carry), transforms.unflatten(rows_structure, row))
        if not isinstance(made, tuple) or len(made) != 2:
            raise ArgumentTypeError(
                f"the function of a scan returned {'one array' if hasattr(made, 'shape') else repr(made)}",
                "it gives back the next carry and the result of the step",
                "return carry, y (None where there is no result)",
            )
        return own.pack(made[0]), (made[1], masks_of(transforms.flatten(made[1])[0]))

    part, start, _ = trace_until_stable(
        "scan", fn, step, Outline(own.structure, own.leaves), [_Row(row.shape[1:], row.dtype) for row in rows]
    )
    threaded = Threaded(part)
    after, last, stacked = _run(threaded.bind(part), threaded.state(), start, rows, steps, reverse)
    threaded.commit(after)
    results, result_masks = transforms.unflatten(part.outlines[1].structure, stacked)
    set_masks(transforms.flatten(results)[0], result_masks)
    return own.unpack(last), results


class _Row(NamedTuple):
    shape: tuple[int, ...]
    dtype: Any


def _run(
    step: Bound, state: list[Any], start: list[Any], rows: list[Any], steps: int, reverse: bool
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the state after, the last carry, the stacked results; compiled once for all scans that do the same."""
    transforms = registry.current().control_flow
    dtypes = [str(leaf.dtype) for leaf in start]
    unbound = step._replace(closed=[])  # without arrays, for others to use

    def loop(closed: list[Any], state: list[Any], start: list[Any], rows: list[Any]) -> Any:
        def body(carry: Any, row: Any) -> Any:
            new, after = unbound.run(closed, carry[0], [*carry[1], *row])
            return (after, as_dtypes(new[: len(dtypes)], dtypes)), new[len(dtypes) :]

        (after, last), stacked = transforms.scan(body, (state, start), rows, steps, reverse)
        return after, last, stacked

    # eager: the same loop is met again and again, in a loop of Python or in training without jit
    run = loop
    if not transforms.staged_within(None) and (program := step.program.key) is not None:
        key = program, step.reads, step.writes, step.constants, tuple(dtypes), steps, reverse
        run = _loops.find(key, loop)
    result: tuple[list[Any], list[Any], list[Any]] = run(step.closed, state, start, rows)
    return result


class _Loops:
    """Compiled loops, those used last."""

    def __init__(self, most: int) -> None:
        self._kept = most
        self.compiled: OrderedDict[Hashable, Callable[..., Any]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function compiled, or the one of the same key that was."""
        with self._lock:
            if key not in self.compiled:  # under the lock: two threads would compile it twice
                self.compiled[key] = compile_if_possible(function)
                if len(self.compiled) > self._kept:
                    self.compiled.popitem(last=False)
            self.compiled.move_to_end(key)
            return self.compiled[key]


_loops = _Loops(most=128)


@door
def map_fn(fn: Callable[[Any], Any], xs: object) -> Any:
    """Apply ``fn`` to each row, one after the other, and stack the results; a `scan` without a carry.

    Where rows need not see what the rows before them assigned, `graftax.vectorized_map` is faster.

    Args:
        fn: Takes a row; it may read and write Variables.
        xs: Any structure of arrays with the same number of rows.

    Shape:
        ``(rows, ...) -> (rows, ...)``

    Example:
        >>> import graftax as gx
        >>> seen = gx.Variable(0, trainable=False)
        >>> map_fn(lambda x: x * seen.assign_add(1), gx.ops.asarray([5, 5, 5])).tolist(), int(seen)
        ([5, 10, 15], 3)
    """
    check_functions("map_fn", "graftax.map_fn(fn, xs)", fn)
    check_takes("map_fn", "fn", fn, ["x"], "graftax.map_fn(lambda x: x[0] + x[1], (a, b)): one structure of rows")
    if not registry.current().control_flow.flatten(xs)[0]:
        raise ArgumentError(
            f"map_fn got xs={xs!r:.60}",
            "it holds no array, and there is nothing to run over",
            "graftax.map_fn(fn, xs), where xs is an array of rows, or a structure of such arrays",
        )
    return scan(lambda _, x: (None, fn(x)), None, xs)[1]


def _steps(name: str, xs: object, rows: Outline, length: int | None) -> int:
    if length is not None and not is_free(length) and (type(length) is not int or length < 0):
        check_known(f"{name}: length", length)
        raise ArgumentError(f"{name} got length={length!r}", "it is a number of steps", "length=10")
    if not rows.leaves:
        if length is None:
            got = "neither xs nor length" if xs is None else f"xs={xs!r:.60}, which holds no array, and no length"
            raise ArgumentError(f"{name} got {got}", "how many steps there are is not known", "length=10")
        return length
    found = common_length(name, rows.paths("xs"), rows.leaves)
    if length is not None and length != found:
        raise ArgumentError(
            f"{name} got length={length} and {found} rows", "there is one step for each row", "no length"
        )
    return found
