"""Lambda: a function of one's own as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.core.typedefs import unwrap
from graftax.core.user_functions import check_takes, misfit
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy


class Lambda(Layer):
    """A function of one's own as a layer.

    The function has no weights of its own: those of a layer that it calls are not found. For these write a `Layer`.

    Args:
        function: Takes the input, and ``training=`` or ``mask=`` if it has parameters of these names.
        mask: What becomes of a mask: an array, or a function of the inputs and their mask that gives that of the
            output. Defaults to None: a mask is dropped, with a warning.
        arguments: More arguments of the function, by name. Defaults to none.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> `` what the function gives

    Raises:
        ArgumentTypeError: the function cannot be called, it is a Layer, an argument has no name that is text, or
            ``mask`` is no array.
        ShapeError: the mask that ``mask`` says is not one of the output.

    Example:
        >>> import numpy as np
        >>> Lambda(lambda x, power: x**power, arguments={"power": 2})(np.float32([2, 3])).tolist()
        [4.0, 9.0]
    """

    _gx_asks_for_mask = True

    def __init__(
        self,
        function: Callable[..., Any],
        mask: object = None,
        arguments: Mapping[str, Any] | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        if not callable(function) or isinstance(function, Layer | type):
            raise ArgumentTypeError(
                f"function={function!r:.60}",
                "a Layer is used as it is" if isinstance(function, Layer) else "it is a function of the input",
                "Lambda(lambda x: x * 2)",
            )
        named = {} if arguments is None else arguments
        if not isinstance(named, Mapping) or not all(isinstance(key, str) for key in named):
            raise ArgumentTypeError(
                f"arguments={arguments!r:.60}", "it has values by the names of parameters", 'arguments={"power": 2}'
            )
        flags = [one for one in ("training", "mask") if one in _parameters(function) and one not in named]
        if (found := misfit(function, 1, [*named, *flags])) is not None:
            given = ", ".join(["x", *(f"{one}=" for one in (*named, *flags))])
            raise ArgumentTypeError(
                f"Lambda got function={found.shown}",
                f"it is called with ({given}): {found.reason}",
                'Lambda(lambda x, power: x**power, arguments={"power": 2})',
            )
        if callable(mask):
            check_takes("Lambda", "mask", mask, ["inputs", "mask"])
        elif not all(one is None or np.ndim(unwrap(one)) for one in tree.flatten(mask)):
            raise ArgumentTypeError(
                f"mask={mask!r:.60}",
                "it is an array that says True where a position of the output counts, or a function that gives one",
                "mask=lambda inputs, mask: mask, for the one that comes",
            )
        self.function, self.mask, self.arguments = function, mask, dict(named)

    def call(self, x: Any, training: bool | None = None, mask: Any = None) -> Any:
        flags = {"training": training, "mask": mask}
        given = {name: value for name, value in flags.items() if name in _parameters(self.function)}
        return self.function(x, **{**given, **self.arguments})

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return what ``mask`` says; the mask that comes is dropped where it says nothing."""
        if callable(self.mask):
            return self.mask(inputs, mask)
        return super().compute_mask(inputs, mask) if self.mask is None else self.mask


def _parameters(function: Callable[..., Any]) -> Container[str]:
    """Return the names of the parameters of a function; none for a builtin that does not tell."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return ()
