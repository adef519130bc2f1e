"""FlaxLayer: a module of Flax (linen) as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.layers.foreign_weights import as_weights, assign_all, values_of
from graftax.layers.jax_layer import to_dicts
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import keys
from graftax.variables.keys import checked_seed
from graftax.variables.random import SeedGenerator
from graftax.variables.state import storage


class FlaxLayer(Layer):
    """A module of `flax.linen` as a layer: its parameters are Variables, which optimizers, grafts and checkpoints see.

    The collection ``"params"`` is trained; other collections, such as ``"batch_stats"``, are state, which changes in
    training. A parameter ``training`` or ``train`` of the method is told whether this is training, and
    ``deterministic`` or ``use_running_average`` the contrary. Draws take the stream ``"dropout"``.

    Args:
        module: The module.
        method: The name of the method that computes. Defaults to ``"__call__"``.
        variables: Its variables by collection, as ``module.init`` gives them. Defaults to None: made at the first call.
        seed: Fixes the parameters and the draws. Defaults to None: streams of the layer's own.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        as the module takes and gives it

    Raises:
        ArgumentTypeError: it is no module of linen, or has no such method; the variables are no dict of collections.

    Example:
        >>> import numpy as np
        >>> class Twice:  # stands for a flax.linen.Module
        ...     def init(self, rngs, x):
        ...         return {"params": {"scale": np.float32(2)}}
        ...
        ...     def apply(self, variables, x, mutable=False, rngs=None, method=None):
        ...         return x * variables["params"]["scale"]
        ...
        ...     def __call__(self, x): ...
        >>> layer = FlaxLayer(Twice())
        >>> layer(np.float32([1, 2])).tolist(), [v.path for v in layer.trainable_variables]
        ([2.0, 4.0], ['collections/params/scale'])
    """

    def __init__(
        self,
        module: Any,
        method: str = "__call__",
        variables: Mapping[str, Any] | None = None,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        if not all(callable(getattr(module, part, None)) for part in ("init", "apply")) or isinstance(module, type):
            raise ArgumentTypeError(
                f"module={module!r:.60}", "it is a flax.linen.Module, with init and apply", "FlaxLayer(nn.Dense(8))"
            )
        if not isinstance(method, str) or not callable(getattr(type(module), method, None)):
            raise ArgumentTypeError(
                f"method={method!r:.60}", f"{type(module).__name__} has no such method", '"__call__"'
            )
        if variables is not None and not hasattr(variables, "items"):
            raise ArgumentTypeError(
                f"variables={variables!r:.60}", "they are dicts by collection", 'module.init(key, x), {"params": ...}'
            )
        self.module, self.method = module, method
        self.start = None if variables is None else tree.map_structure(np.asarray, to_dicts(variables))
        self.seed = None if seed is None else checked_seed(seed)
        self.seed_generator = SeedGenerator(seed)
        self.flags = _flags(getattr(type(module), method))

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if "collections" not in self.__dict__:
            variables = self._initial(inputs) if self.start is None else self.start
            self.collections = {
                name: as_weights(self, part, name, trainable=name == "params") for name, part in variables.items()
            }
            self.seed_generator.build()
        changing = [name for name in self.collections if name != "params"] if training else []
        values = {name: values_of(part) for name, part in self.collections.items()}
        rngs = {"dropout": self.seed_generator.next()} if training else None
        method = None if self.method == "__call__" else self.method
        flags = {name: bool(training) is told for name, told in self.flags.items()}
        out = self.module.apply(values, inputs, mutable=changing or False, rngs=rngs, method=method, **flags)
        if not changing:
            return out
        out, after = out
        for name in changing:
            if name in after:
                assign_all(self.collections[name], after[name], f"{type(self.module).__name__}.apply")
        return out

    def _initial(self, inputs: Any) -> dict[str, Any]:
        """Return the variables that the module makes for zeros of the shapes of the input."""
        shapes = [(tuple(leaf.shape), str(leaf.dtype)) for leaf in tree.flatten(inputs)]
        with storage.concretely():
            zeros = tree.rebuild(inputs, iter([ops.zeros(shape, dtype) for shape, dtype in shapes]))
            arrays = registry.current().arrays
            first = arrays.asarray(np.asarray(keys.variable_key(self, self._gx_path, self.seed)))
            second = arrays.asarray(np.asarray(keys.variable_key(self, f"{self._gx_path}/dropout", self.seed)))
            more: dict[str, Any] = {name: not told for name, told in self.flags.items()}  # as out of training
            if self.method != "__call__":
                more["method"] = self.method
            made = self.module.init({"params": first, "dropout": second}, zeros, **more)
            return tree.map_structure(np.asarray, to_dicts(made))  # type: ignore[no-any-return]


def _flags(method: Any) -> dict[str, bool]:
    """Return the parameters that say whether this is training, and whether they say so or the contrary."""
    try:
        names = inspect.signature(method).parameters
    except ValueError:
        return {}
    known = {"training": True, "train": True, "deterministic": False, "use_running_average": False}
    return {name: told for name, told in known.items() if name in names}
