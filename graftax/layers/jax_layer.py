"""JaxLayer: a function of bare JAX, with its parameters, as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from graftax.layers import shapes
from graftax.layers.foreign_weights import as_weights, assign_all, values_of
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import keys
from graftax.variables.random import SeedGenerator
from graftax.variables.state import storage

_OF_CALL = ("params", "state", "rng", "inputs", "training")
_OF_INIT = ("rng", "inputs", "training")


class JaxLayer(Layer):
    """A function of bare JAX as a layer: its parameters are Variables, which optimizers, grafts and checkpoints see.

    The arguments of the functions are told by their names, as in Keras:

    - ``call_fn(params, inputs)`` gives the output; with ``state`` among its parameters ``(output, state)``. It may have
      ``rng``, a key for random draws, and ``training``, too; all in the order params, state, rng, inputs, training.
    - ``init_fn(rng, inputs)`` gives the parameters; where ``call_fn`` has ``state``, always the pair ``(params,
      state)``. It may have ``training``, too.

    Args:
        call_fn: Computes the output.
        init_fn: Makes parameters and state at the first call. Defaults to None, for ``params``.
        params: The parameters: nested lists, tuples and dicts of arrays, in place of those of ``init_fn``. Defaults to
            None, for ``init_fn``.
        state: What ``call_fn`` changes itself, such as moving statistics, in place of ``init_fn``'s. Defaults to None.
        seed: Fixes what ``init_fn`` makes and what ``call_fn`` draws. Defaults to None: streams of the layer's own.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        as the function takes and gives it

    Raises:
        ArgumentTypeError: a function cannot be called, or has other parameters.
        ArgumentError: there are neither ``params`` nor ``init_fn``; or an ``init_fn``, a state or a seed that nothing
            would use.

    Example:
        >>> import numpy as np, jax.numpy as jnp
        >>> layer = JaxLayer(
        ...     lambda params, inputs: jnp.dot(inputs, params["w"]), params={"w": np.ones((3, 2), "float32")}
        ... )
        >>> layer(np.ones((4, 3), "float32")).shape, [v.path for v in layer.trainable_variables]
        ((4, 2), ['params/w'])
    """

    def __init__(
        self,
        call_fn: Callable[..., Any],
        init_fn: Callable[..., Any] | None = None,
        params: object = None,
        state: object = None,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.call_fn, self.call_names = call_fn, _names("call_fn", call_fn, _OF_CALL, ("params", "inputs"))
        self.init_fn = init_fn
        self.init_names = () if init_fn is None else _names("init_fn", init_fn, _OF_INIT, ("rng", "inputs"))
        if params is None and init_fn is None:
            raise ArgumentError("neither params nor init_fn", "call_fn takes parameters", "init_fn=, or params={}")
        if state is not None and "state" not in self.call_names:
            raise ArgumentError(
                f"state=..., call_fn{self.call_names}", "nothing would use it", "def call_fn(params, state, inputs)"
            )
        if init_fn is not None and params is not None and (state is not None or "state" not in self.call_names):
            given = "params=..." if state is None else "params=..., state=..."
            raise ArgumentError(
                f"init_fn, {given}", "init_fn would have nothing to make", f"init_fn alone, or {given} alone"
            )
        if seed is not None and init_fn is None and "rng" not in self.call_names:
            raise ArgumentError(
                f"seed={seed!r:.40}, call_fn{self.call_names} without an init_fn",
                "nothing is drawn that it would fix",
                "def call_fn(params, rng, inputs), which gets keys; or no seed",
            )
        self.seed = None if seed is None else keys.checked_seed(seed)
        self.seed_generator = SeedGenerator(seed) if "rng" in self.call_names else None
        self.start = params, state

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if "params" not in self.__dict__:
            self._make(inputs)
        given = {"params": values_of(self.params), "inputs": inputs, "training": bool(training)}
        if "state" in self.call_names:
            given["state"] = values_of(self.state)
        if self.seed_generator is not None:
            given["rng"] = self.seed_generator.next()
        out = self.call_fn(*(given[name] for name in self.call_names))
        if "state" not in self.call_names:
            return out
        if not isinstance(out, tuple) or len(out) != 2:
            raise ArgumentTypeError(
                "call_fn gave no pair", "with a state it gives the output and the next state", "return output, state"
            )
        assign_all(self.state, out[1], "call_fn")
        return out[0]

    def _make(self, inputs: object) -> None:
        """Make the Variables, from what was given or what ``init_fn`` gives for zeros of the shapes of the input."""
        params, state = self.start
        if self.init_fn is not None:
            made, next_state = self._initial(inputs)
            params, state = made if params is None else params, next_state if state is None else state
        self.params = as_weights(self, params, "params", trainable=True)
        if "state" in self.call_names:
            if state is None:
                raise StateError(
                    f"{self._gx_title()} has no state", "call_fn takes one", "init_fn that gives (params, state)"
                )
            self.state = as_weights(self, state, "state", trainable=False)

    def _initial(self, inputs: object) -> tuple[Any, Any]:
        """Return parameters and state as ``init_fn`` makes them; None for the state where ``call_fn`` has none."""
        examples = tree.map_structure(_shape_and_dtype, inputs)
        with storage.concretely():
            zeros = tree.map_structure(lambda leaf: ops.zeros(*leaf.sizes), examples)
            key = registry.current().arrays.asarray(np.asarray(keys.variable_key(self, self._gx_path, self.seed)))
            given = {"rng": key, "inputs": zeros, "training": True}
            made = self.init_fn(*(given[name] for name in self.init_names))  # type: ignore[misc]
        if "state" not in self.call_names:
            return tree.map_structure(np.asarray, to_dicts(made)), None
        if not isinstance(made, tuple) or hasattr(made, "_fields") or len(made) != 2:
            raise ArgumentTypeError(
                f"init_fn gave no pair, but a {type(made).__name__}"
                + (f" of {len(made)}" if isinstance(made, list | tuple) else ""),
                "call_fn has a state, so init_fn gives the pair of parameters and state, whichever of them is given",
                "return params, state",
            )
        params, state = (tree.map_structure(np.asarray, to_dicts(part)) for part in made)
        return params, state


def to_dicts(structure: Any) -> Any:
    """Return mappings of any kind as dicts."""
    if hasattr(structure, "items"):
        return {key: to_dicts(value) for key, value in structure.items()}
    if isinstance(structure, list | tuple) and not hasattr(structure, "_fields"):
        return type(structure)(to_dicts(value) for value in structure)
    return structure


def _shape_and_dtype(leaf: Any) -> Any:
    return shapes.ShapeLeaf((tuple(leaf.shape), str(leaf.dtype)))  # type: ignore[arg-type]


def _names(method: str, function: object, allowed: Sequence[str], needed: Sequence[str]) -> tuple[str, ...]:
    """Return the parameters of a function, in their order.

    Raises:
        ArgumentTypeError: it is none, or has others.
    """
    if callable(function):
        names = tuple(inspect.signature(function).parameters)
        if set(needed) <= set(names) and names == tuple(name for name in allowed if name in names):
            return names
    else:
        names = ()
    raise ArgumentTypeError(
        f"{method}={function!r:.60}" + (f" with the parameters {names}" if names else ""),
        f"it is a function with parameters among {', '.join(allowed)}, in this order",
        f"def {method}({', '.join(needed)})",
    )
