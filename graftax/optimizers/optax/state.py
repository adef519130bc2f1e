"""What the state of a transformation of optax is made of: arrays with names, each of one variable or of none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_floating, is_inexact
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.typedefs import Array
from graftax.variables.state import storage


class Leaf(NamedTuple):
    """An array of a state: its name, whose it is (None for the whole optimizer's), its shape and dtype."""

    name: str
    path: str | None
    shape: tuple[int, ...]
    dtype: str


class StateLayout:
    """How the state of a transformation looks, for any variables.

    What is there without variables is the optimizer's own. All else has the path of a variable as a key on the way to
    it, and is named by the rest of that way.

    Args:
        tx: The transformation.

    Raises:
        ArgumentTypeError: it is none.
        ArgumentError: it has no state without variables, or one that cannot be kept.
    """

    def __init__(self, tx: Any) -> None:
        self.tx = _check_transformation(tx)
        self._plans: dict[Any, tuple[list[Leaf], Any]] = {}
        self.own: dict[str, Array] = {}
        self._backend = registry.current()
        with storage.concretely():
            flatten = self._backend.tracing.flatten_with_ways
            try:
                found, _ = flatten(tx.init({}))
            except Exception as error:
                raise ArgumentError(
                    f"Optax: init of the transformation, given no variables yet, raised {error!r:.200}",
                    "variables come one by one, and may be frozen: masks and labels have to be functions of the "
                    "parameters, and a state must not be one for all of them together",
                    "optax.masked(tx, lambda params: {path: 'bias' not in path for path in params}), or rules=; "
                    "graftax.optimizers.LBFGS for a line search",
                ) from error
            for way, value in found:
                if str(getattr(value, "dtype", "")).startswith("key<"):
                    raise ArgumentError(
                        f"Optax: the state has a key of jax.random at {_name(way)!r}",
                        "it is no array of numbers, which alone are kept",
                        "a transformation without random numbers",
                    )
                self.own[_name(way)] = self._backend.arrays.asarray(value)

    def __deepcopy__(self, memo: dict[int, Any]) -> StateLayout:
        return self  # no state is in here

    def plan(self, params: Mapping[str, Any]) -> tuple[list[Leaf], Any]:
        """Return the arrays of the state for such parameters, and its structure; nothing is computed."""
        key = tuple((path, tuple(value.shape), str(value.dtype)) for path, value in params.items())
        if key not in self._plans:
            transforms = self._backend.tracing
            with _explain_errors("init"):
                shapes = transforms.eval_shape(self.tx.init, dict(params))
            found, structure = transforms.flatten_with_ways(shapes)
            self._plans[key] = [self._leaf(way, leaf, params) for way, leaf in found], structure
        return self._plans[key]

    def _leaf(self, way: tuple[str, ...], value: Any, paths: Iterable[str]) -> Leaf:
        name, shape, dtype = _name(way), tuple(value.shape), str(value.dtype)
        if name in self.own and tuple(self.own[name].shape) == shape:
            return Leaf(name, None, shape, dtype)
        keys = {f"[{path!r}]": path for path in paths}
        places = [place for place, step in enumerate(way) if step in keys]
        if name in self.own or not places:
            raise ArgumentError(
                f"Optax: for {', '.join(map(repr, paths)):.100} the state has an array of shape {shape} at {name!r}",
                "without variables it has another one there, or none, so it is for all of them together; but they come "
                "one by one, and may be frozen",
                "a transformation that treats each variable alone",
            )
        place = places[-1]
        below = ("*", *way[place + 1 :]) if way[place + 1 :] else ()
        return Leaf(_name((*way[:place], *below)), keys[way[place]], shape, dtype)

    def begin(self, path: str, value: Array) -> dict[str, Array]:
        """Return the arrays of the state that one variable begins with.

        Raises:
            ArgumentError: what is the optimizer's own begins otherwise than without this variable.
        """
        backend = self._backend
        with registry.scope(backend), _explain_errors("init"):  # small initial values are computed on the host
            found, _ = backend.tracing.flatten_with_ways(self.tx.init({path: value}))
        begun: dict[str, Array] = {}
        for way, array in ((way, backend.arrays.asarray(array)) for way, array in found):
            leaf = self._leaf(way, array, (path,))
            if leaf.path is not None:
                begun[leaf.name] = array
                continue
            here, alone = (backend.arrays.to_numpy(one) for one in (array, self.own[leaf.name]))
            if not np.array_equal(here, alone, equal_nan=True):
                raise ArgumentError(
                    f"Optax: the state at {leaf.name!r} begins as {here} with {path!r}, and as {alone} without",
                    "it depends on the values of all variables together, and these come one by one",
                    "a transformation that is told the number, as optax.contrib.dog(init_step=('distance', 1e-6)) is",
                )
        return begun

    def update(self, gradients: Mapping[str, Array], state: list[Any], values: Mapping[str, Array]) -> tuple[Any, Any]:
        """Return the updates by path, and the arrays of the state after them, both in the order of `plan`."""
        transforms = self._backend.tracing
        _, structure = self.plan(values)
        with _explain_errors("update"):
            updates, after = self.tx.update(dict(gradients), transforms.unflatten(structure, state), dict(values))
        arrays, found = transforms.flatten(tree.reorder(after, transforms.unflatten(structure, state)))
        if found != structure:
            raise ArgumentError(
                f"Optax: after an update the state is {found!s:.300}",
                f"init gave another structure: {structure!s:.300}",
                "a transformation whose state keeps its structure",
            )
        leaves, _ = self.plan(values)
        _check_kinds(leaves, arrays)
        _check_updates(updates, values)
        return updates, arrays


def _check_kinds(leaves: list[Leaf], after: list[Any]) -> None:
    """Raise if what is to be kept was an integer and is a fraction now, of which the kept number would lose a part."""
    for leaf, new in zip(leaves, after, strict=True):
        dtype = str(getattr(new, "dtype", type(new).__name__))
        if is_inexact(dtype) and not is_inexact(leaf.dtype):
            raise ArgumentError(
                f"Optax: after an update the state at {leaf.name!r} has dtype {dtype}",
                f"init gave {leaf.dtype}, in which it is kept, and fractions would be cut off",
                "a transformation whose init gives the dtypes that update gives",
            )


def _check_updates(updates: Any, values: Mapping[str, Array]) -> None:
    """Raise unless there is an update for each variable and for nothing else, in its shape and as real numbers."""
    paths = list(updates) if isinstance(updates, Mapping) else None
    if paths is None or set(paths) != set(values):
        raise ArgumentError(
            f"Optax: update gave updates {type(updates).__name__ if paths is None else paths!r:.100}",
            f"it was given gradients of {', '.join(values):.100}, and each of these moves by its update",
            "return {path: -gradient for path, gradient in gradients.items()}, state",
        )
    for path, update in updates.items():
        shape, dtype = getattr(update, "shape", None), str(getattr(update, "dtype", ""))
        if shape is None or tuple(shape) != tuple(values[path].shape) or not is_floating(dtype):
            got = type(update).__name__ if shape is None else f"{dtype}{list(shape)}"
            raise ArgumentError(
                f"Optax: the update for {path!r} is {got}",
                f"it is added to a value of shape {tuple(values[path].shape)}, element by element",
                f"an update of dtype {values[path].dtype} in the shape of the gradient",
            )


def is_transformation(tx: object) -> bool:
    """Tell whether it looks like a transformation of optax; a class or function that makes one does not."""
    return not isinstance(tx, type) and all(callable(getattr(tx, name, None)) for name in ("init", "update"))


def _check_transformation(tx: object) -> Any:
    if is_transformation(tx):
        return tx
    if callable(tx):
        name = getattr(tx, "__name__", type(tx).__name__)
        raise ArgumentTypeError(
            f"Optax got {name}", "it has no init and update; perhaps it makes what has them", f"Optax({name}(1e-3))"
        )
    raise ArgumentTypeError(
        f"Optax got {type(tx).__name__}",
        "a transformation of optax has `init(params)` and `update(gradients, state, params)`",
        "Optax(optax.adamw(1e-3))",
    )


def _name(way: Iterable[str]) -> str:
    """Return ``inner_state.0.count`` for ``.inner_state[0].count``."""
    return ".".join(step.strip(".[]'\"") for step in way) or "state"


@contextmanager
def _explain_errors(method: str) -> Iterator[None]:
    """Add to what a transformation raises what it was given."""
    try:
        yield
    except TypeError as error:
        if "required keyword-only" not in str(error):
            raise
        raise ArgumentError(
            f"Optax: {method} of the transformation raised {error}",
            "an optimizer is given gradients, and does not know the loss that they are of",
            "graftax.optimizers.LBFGS for a line search; callbacks for a rate that follows the loss",
        ) from error
    except Exception as error:
        error.add_note(f"Optax: {method} was given dicts of arrays by the path of their variable, of those that move")
        raise
