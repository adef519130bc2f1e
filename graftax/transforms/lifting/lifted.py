"""Lifted: the user's code run in a frame of its own, what it returned, what it assigned, and how that takes effect.

A transform that runs Python on other values than those at hand goes three steps:

1. ``lifted = Lifted()`` where it is called;
2. ``outcome = lifted(frame, function)`` wherever the backend runs the Python, be it once, never or twice: enter the
   frame, run, and give nothing but arrays, which the backend carries out to where the transform was called;
3. ``lifted.commit(outcome)`` there, with what came out: assign, put masks back, and rebuild what was returned.

Between the second and the third, an error leaves every Variable as it was. Whoever runs the Python on the values at
hand needs the frame alone: ``with frames.entered(frame): ...``, then ``frame.commit()``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.core.typedefs import Array
from graftax.transforms.lifting.carried import masks_of, set_masks
from graftax.transforms.lifting.frames import Substitution
from graftax.transforms.lifting.outline import arrays_of
from graftax.variables.state.storage import Storage, frames

Flatten = Callable[[Any], tuple[list[Any], Any]]
"""Makes leaves and a structure of what a function returned; runs in the frame, where Variables are what they became."""


class Outcome(NamedTuple):
    """What a run gives, in arrays."""

    leaves: list[Any]
    """Of what the function returned."""
    masks: list[Array | None]
    """One for each leaf."""
    after: list[Array]
    """The new value of each Variable that was assigned."""


class Lifted:
    """The user's code in one call of a transform.

    Args:
        flatten: What makes leaves of what the code returns, and may refuse it. Defaults to any arrays and numbers.
    """

    def __init__(self, flatten: Flatten = arrays_of) -> None:
        self._flatten = flatten
        self.structure: Any = None
        """That of what the code returned, as ``flatten`` told it at the last run."""
        self.written: list[Storage] = []
        """What the last run assigned, in the order of the first assignments."""

    def __call__(self, frame: Substitution, function: Callable[[], Any]) -> Outcome:
        """Run the code in a frame, and return all that comes out of it as arrays."""
        leaves = self.run(frame, function)
        return Outcome(leaves, masks_of(leaves), list(frame.written.values()))

    def run(self, frame: Substitution, function: Callable[[], Any]) -> list[Any]:
        """Run the code in a frame, and return the leaves alone."""
        with frames.entered(frame):
            leaves, self.structure = self._flatten(function())
        self.written = list(frame.written)
        return leaves

    def commit(self, outcome: Outcome) -> Any:
        """Let a run take effect here, and return what the code returned."""
        assign(self.written, outcome.after)
        set_masks(outcome.leaves, outcome.masks)
        return registry.current().tracing.unflatten(self.structure, outcome.leaves)


def assign(storages: Iterable[Storage], values: Iterable[Array]) -> None:
    """Assign to each Variable its new value, in the frame that is on top."""
    for storage, value in zip(storages, values, strict=True):
        storage.write(value)
