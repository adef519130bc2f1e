"""Stack: layers that are alike, one after the other, traced and compiled as one."""

from __future__ import annotations

from typing import Any

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.of_constructor import OfConstructor
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.layers import added_losses, building
from graftax.layers.arguments import array_shape, check_flag, check_positive
from graftax.layers.fresh_copy import fresh_copy
from graftax.layers.layer import Layer
from graftax.layers.likeness import first_difference
from graftax.layers.policy import DTypePolicy
from graftax.transforms.flow.remat import remat as recomputed
from graftax.transforms.flow.scan import scan
from graftax.transforms.functional import functional_call
from graftax.variables.state.storage import autocast, frames
from graftax.variables.variable import Variable


class Stack(Layer):
    """Layers that are alike, one after the other: compiled code has one of them, in a loop, however many there are.

    Each has weights of its own, under ``layers/0``, ``layers/1`` and so on, so selectors, grafts and checkpoints see
    them as they see those of a `Sequential`. What is compiled does not grow with their number while
    they are alike. Where a setting, a graft, a dtype policy or the class of one differs (a dropout rate for each block,
    say), each run of layers that are alike has a loop of its own; so has each run of frozen ones, if one of the layers
    is a `BatchNormalization` or of a class of your own, which may compute something else where it is frozen. A compiled
    training step keeps the like weights of all in one buffer, over which the loop runs; to read one of them between
    steps takes that buffer apart, so in code that only reads weights, and where layers are frozen or placed each for
    itself, they are stacked at each call instead.

    Args:
        layer: The first one, which is not built; the others are copies with weights of their own. It gives arrays of
            the shape and dtype that it takes.
        n: How many there are.
        remat: Whether the gradient computes the inside of each anew, so that memory holds only what passes between
            them. Defaults to False.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the layers keep their own.

    Shape:
        ``(...) -> (...)``, as the layer takes it

    Raises:
        ArgumentTypeError: it is no layer.
        ArgumentError: it is built, or ``n`` is not above 0.
        ShapeError: the layer gives another shape than it takes.

    Example:
        >>> import numpy as np, graftax as gx
        >>> blocks = Stack(gx.layers.TransformerEncoder(32, num_heads=2), 4)
        >>> gx.jit(lambda x: blocks(x))(np.ones((2, 5, 8), "float32")).shape, blocks.layers[3].built
        ((2, 5, 8), True)
    """

    supports_masking = True
    compiles_call = True

    layer = OfConstructor("graftax.layers.Stack({value}, count), a new layer")

    def __init__(
        self,
        layer: Layer,
        n: int,
        remat: bool = False,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        if not isinstance(layer, Layer):
            raise _no_layer(layer)
        if building.is_built(layer) and layer.variables:
            raise ArgumentError(
                f"{layer!r}, which is built",
                "the others would start with copies of its weights",
                f"{type(layer).__name__}(...) that was not called",
            )
        count = check_positive("n", n, 4)
        self.layers = [layer, *(fresh_copy(layer) for _ in range(count - 1))]
        self.remat = check_flag("remat", remat)

    @property
    def n(self) -> int:
        """Return how many layers there are."""
        return len(self.layers)

    def call(self, x: Array) -> Array:
        array_shape(x)
        for layer in self.layers:
            if not building.is_built(layer):
                layer.build_for(x)
        loops = frames.top is not None and registry.current().has("control_flow")
        for run in _runs_of_alike(self.layers) if loops else [[layer] for layer in self.layers]:
            x = self._check_output(x, run[0](x)) if len(run) == 1 else self._run_loop(run, x)
        return x

    def _run_loop(self, run: list[Layer], x: Array) -> Array:
        """Return what layers that are alike give: the first of them, in a loop over the Variables of all."""
        first, parts = run[0], [layer.named_variables() for layer in run]
        with autocast.entered(None):  # as they are stored
            rows = {path: _stack_values([part[path] for part in parts]) for path in parts[0]}
        changing = {path for path, v in parts[0].items() if v.role != "weight"}

        def step(x: Array, row: dict[str, Array]) -> tuple[Array, tuple[dict[str, Array], dict[str, Array]]]:
            (out, after), terms = added_losses.taken_from(first, lambda: functional_call(first, row, x))
            changing.update(path for path in after if after[path] is not row[path])  # weights that the call assigns
            return self._check_output(x, out), ({path: after[path] for path in after if path in changing}, terms)

        out, (after, terms) = scan(recomputed(step) if self.remat else step, x, rows)
        for path in after:
            row = registry.current().arrays.split(ops.reshape(after[path], (-1,)), [part[path].shape for part in parts])
            for part, value in zip(parts, row, strict=True):
                part[path].assign(value)
        for i, layer in enumerate(run):  # as if each had been called by itself
            added_losses.give(layer, {place: values[i] for place, values in terms.items()})
        return out  # type: ignore[no-any-return]

    def _check_output(self, x: Array, out: Any) -> Array:
        shape = getattr(out, "shape", None)
        if shape is None or tuple(shape) != tuple(x.shape):
            raise ShapeError(
                f"layers/0 of {self._gx_title()} gave {'several arrays' if shape is None else tuple(shape)} "
                f"for {tuple(x.shape)}",
                "its output is the input of the next one",
                "a layer that gives the shape that it takes",
            )
        return ops.cast(out, x.dtype)


def _runs_of_alike(layers: list[Layer]) -> list[list[Layer]]:
    """Return the layers in runs, within which each is like the first."""
    runs: list[list[Layer]] = []
    for layer in layers:
        if runs and first_difference(runs[-1][0], layer) is None:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return runs


def _stack_values(parts: list[Variable]) -> Array:
    """Return one array of the values of all.

    Joined in a row, which is how they share a buffer where a compiled step updates them: then nothing is joined. Values
    that are split over devices stay so, and are gathered one by one, in the loop; in a row they could not.
    """
    home = parts[0]._storage.home
    if home is not None and home.splits:
        meshes = registry.current().meshes
        return meshes.constrain(ops.stack([part._gx_stored for part in parts]), meshes.stacked(home.stored))
    if frames.top is not None:
        frames.top.row([part._storage for part in parts])
    values = [part.value for part in parts]
    return ops.reshape(registry.current().arrays.join(values), (len(values), *values[0].shape))


@door
def stack(layer: Layer, n: int, remat: bool = False, name: str | None = None) -> Stack:
    """Return ``n`` layers like one, one after the other, of which compiled code has one, in a loop.

    Args:
        layer: The first one, which is not built.
        n: How many there are.
        remat: Whether the gradient computes the inside of each anew, to save memory. Defaults to False.
        name: The name of the `graftax.layers.Stack`. Defaults to None: ``"stack"``.

    Raises:
        ArgumentTypeError: it is no layer.
        ArgumentError: it is built, or ``n`` is not above 0.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(8), stack(gx.layers.Dense(8, "relu"), 6), gx.layers.Dense(1)])
        >>> model(np.ones((2, 3), "float32")).shape, len(model.variables)
        ((2, 1), 16)
    """
    return Stack(layer, n, remat, name)


def _no_layer(value: object) -> ArgumentTypeError:
    """Return the error for what is no layer: what several members of an ensemble have in common is another thing."""
    several = isinstance(value, list | tuple) and any(isinstance(one, Layer) for one in value)
    return ArgumentTypeError(
        f"layer={value!r:.60} of type {type(value).__name__}",
        "a stack takes one unbuilt layer, makes it n times, and calls these one after the other",
        "graftax.Sequential(layers) for layers that differ; graftax.vectorized_map over their states, stacked, for an "
        "ensemble of models: graftax.functional_call(model, state, x)"
        if several
        else "graftax.stack(graftax.layers.TransformerEncoder(64, num_heads=4), 3); an ensemble with its optimizers is "
        "graftax.vectorized_map over stacked states (functional_call, pure_update)",
    )
