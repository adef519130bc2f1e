"""Bidirectional: a recurrent layer, and another one that goes the other way."""

from __future__ import annotations

from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.of_constructor import OfConstructor
from graftax.core.typedefs import Array
from graftax.layers.fresh_copy import fresh_copy
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy

_MODES = ("concat", "sum", "mul", "ave", None)


class Bidirectional(Layer):
    """A recurrent layer forwards and another one backwards over the same sequence, and what they give together.

    Args:
        layer: A recurrent layer that is not built: `LSTM`, `GRU`, `SimpleRNN`, `RNN`, `ConvLSTM2D`, or one of your own
            with ``go_backwards``, ``return_sequences`` and ``return_state``.
        merge_mode: ``"concat"`` (along the last axis), ``"sum"``, ``"mul"``, ``"ave"`` (the mean), or None for both
            apart. Defaults to ``"concat"``.
        backward_layer: The layer that goes backwards. Defaults to a copy of ``layer``.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the layers keep their own.

    The layers are called ``forward_layer`` and ``backward_layer``. A call takes ``initial_state=``, the states of the
    first and then those of the second; with ``return_state`` it gives them in that order after the output.

    Shape:
        ``(batch, steps, in) -> (batch, 2 * units)``, with ``return_sequences`` ``(batch, steps, 2 * units)``

    Raises:
        ArgumentTypeError: a layer does not say which way it goes.
        ArgumentError: the two go the same way, give different things, or are one; or the layer to be copied is built.
        ShapeError: their outputs have different sizes, and are not concatenated.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = Bidirectional(gx.layers.GRU(4, return_sequences=True))
        >>> layer(np.ones((2, 5, 3), "float32")).shape
        (2, 5, 8)

    Source: Schuster and Paliwal 1997, Bidirectional Recurrent Neural Networks, IEEE Trans. Signal Processing.
    """

    compiles_call = True

    layer = OfConstructor("both.forward_layer = ..., and both.backward_layer = ... with go_backwards=True")

    def __init__(
        self,
        layer: Layer,
        merge_mode: str | None = "concat",
        backward_layer: Layer | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.merge_mode = merge_mode
        self.forward_layer: Any = _check_recurrent(layer, "layer")
        if backward_layer is None:
            if layer.built:
                raise ArgumentError(
                    f"{layer!r}, which is built",
                    "the layer that goes backwards would start with copies of its weights",
                    f"Bidirectional({type(layer).__name__}(...)), or backward_layer=",
                )
            backward_layer = fresh_copy(layer)
            backward_layer.go_backwards = not self.forward_layer.go_backwards  # type: ignore[attr-defined]
        self.backward_layer: Any = _check_recurrent(backward_layer, "backward_layer")

    def _gx_given(self, name: str, value: Any) -> Any:
        value = super()._gx_given(name, value)
        there = vars(self)
        if name == "merge_mode" and value is not None and (not isinstance(value, str) or value not in _MODES):
            raise ArgumentError(
                f"merge_mode={value!r:.60}",
                "there is no such merge_mode",
                '"concat", "sum", "mul", "ave", or None for both outputs apart',
            )
        if name == "forward_layer" and "backward_layer" in there:
            _check_pair(_check_recurrent(value, name), there["backward_layer"])
        elif name == "backward_layer" and "forward_layer" in there:
            _check_pair(there["forward_layer"], _check_recurrent(value, name))
        return value

    def call(self, x: Array, initial_state: Any = None, mask: Array | None = None) -> Any:
        first: Any = None
        second: Any = None
        if initial_state is not None:
            states = list(initial_state) if isinstance(initial_state, list | tuple) else [initial_state]
            if len(states) % 2:
                raise ArgumentTypeError(
                    f"initial_state of {len(states)} parts",
                    "one half is for each of the two directions",
                    "what the same layer gave with return_state=True: out, *states = layer(x)",
                )
            first, second = states[: len(states) // 2], states[len(states) // 2 :]
        one = self.forward_layer(x, initial_state=first, mask=mask)
        other = self.backward_layer(x, initial_state=second, mask=mask)
        state: list[Any] = []
        if self.forward_layer.return_state:
            (one, *before), (other, *after) = one, other
            state = [*before, *after]
        if self.forward_layer.return_sequences:
            if self.forward_layer.go_backwards:
                one = ops.flip(one, 1)
            else:
                other = ops.flip(other, 1)
        merged = self._merge(one, other)
        if not state:
            return merged
        return (*merged, *state) if self.merge_mode is None else (merged, *state)

    def reset_state(self) -> None:
        """Let the layers that keep their states start from zeros again.

        Raises:
            StateError: neither of them keeps one.
        """
        stateful = [one for one in (self.forward_layer, self.backward_layer) if getattr(one, "stateful", False)]
        for one in stateful or [self.forward_layer]:
            one.reset_state()

    def _merge(self, forward: Array, backward: Array) -> Any:
        if self.merge_mode == "concat":
            return ops.concatenate([forward, backward], axis=-1)
        if self.merge_mode is not None and forward.shape != backward.shape:
            raise ShapeError(
                f"outputs of shape {tuple(forward.shape)} forwards and {tuple(backward.shape)} backwards",
                f"merge_mode={self.merge_mode!r} puts each number together with its counterpart",
                'two layers of the same units, or merge_mode="concat"',
            )
        if self.merge_mode == "sum":
            return forward + backward
        if self.merge_mode == "mul":
            return forward * backward
        return (forward + backward) / 2 if self.merge_mode == "ave" else (forward, backward)

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return that of the input for a sequence; none for a last step."""
        if mask is None or not self.forward_layer.return_sequences:
            return None
        return (mask, mask) if self.merge_mode is None else mask


def _check_recurrent(layer: object, name: str) -> Layer:
    if isinstance(layer, Layer) and all(
        isinstance(getattr(layer, setting, None), bool)
        for setting in ("go_backwards", "return_sequences", "return_state")
    ):
        return layer
    raise ArgumentTypeError(
        f"{name}={layer!r:.60}",
        "it is a recurrent layer, with go_backwards, return_sequences and return_state",
        "Bidirectional(LSTM(8))",
    )


def _check_pair(one: Any, other: Any) -> None:
    """Raise unless two layers go opposite ways, and give the same kind of output."""
    if one is other or one.go_backwards == other.go_backwards:
        raise ArgumentError(
            "two layers that go the same way" if one is not other else "one layer as both",
            "one of them goes from the last step to the first, with weights of its own",
            "go_backwards=True for one of them",
        )
    for setting in ("return_sequences", "return_state"):
        if getattr(one, setting) != getattr(other, setting):
            raise ArgumentError(
                f"{setting}={getattr(one, setting)} forwards and {getattr(other, setting)} backwards",
                "what they give is put together",
                f"the same {setting} for both",
            )
