"""A function with state, run once, and ready to be differentiated backwards any number of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentError, GradientError, ShapeError
from graftax.core.wrapping import function_name
from graftax.transforms.gradients.directions import direction
from graftax.transforms.lifting.carried import hand_on
from graftax.transforms.lifting.frames import Substitution
from graftax.transforms.lifting.lifted import Lifted, Outcome
from graftax.transforms.lifting.outline import arrays_of
from graftax.variables.state.storage import frames

MakeFrame = Callable[[list[Any]], Substitution]


class Pulled(NamedTuple):
    """Results of a function, and the way back from them."""

    name: str
    leaves: list[Any]
    structure: Any
    pull: Callable[[list[Any]], list[Any]]
    """From a weight for each leaf to the gradient of each source."""

    @property
    def value(self) -> Any:
        """Return what the function returned."""
        return registry.current().gradients.unflatten(self.structure, self.leaves)

    def weights(self, dy: object = None) -> list[Any]:
        """Return a weight for each element of the results: ones, or those given in the same structure."""
        arrays, transforms = registry.current().arrays, registry.current().gradients
        if dy is None:
            return [arrays.numpy.ones_like(leaf) for leaf in self.leaves]
        # a list of numbers stands for an array where there is one result
        single = len(self.leaves) == 1 and transforms.flatten(self.value)[1] == transforms.flatten(0)[1]
        given: list[Any]
        given, structure = ([dy], self.structure) if single else transforms.flatten(tree.reorder(dy, self.value))
        if structure != self.structure:
            raise ArgumentError(
                f"dy of {self.name} has another structure than its value",
                "there is one weight for each element of the value",
                "the structure that the function returns",
            )
        weights = [
            direction(f"dy of {self.name}", one, leaf.dtype) for one, leaf in zip(given, self.leaves, strict=True)
        ]
        for weight, leaf in zip(weights, self.leaves, strict=True):
            if tuple(weight.shape) not in ((), tuple(leaf.shape)):
                raise ShapeError(
                    f"dy of {self.name} has shape {tuple(weight.shape)}, its value {tuple(leaf.shape)}",
                    "there is one weight for each element of the value",
                    "dy=ops.ones_like(value)",
                )
        return [arrays.numpy.broadcast_to(w, leaf.shape) for w, leaf in zip(weights, self.leaves, strict=True)]


def pull_back(
    fn: Callable[..., Any],
    call: Callable[[list[Any]], Any],
    values: list[Any],
    frame: MakeFrame | None = None,
    came: Sequence[Any] = (),
) -> Pulled:
    """Run ``call`` on sources; what it assigns takes effect, once.

    Args:
        fn: What the user calls it, for messages.
        call: Takes a list of arrays.
        values: That list.
        frame: What Variables are inside, made from the list. Defaults to None, for what they are outside.
        came: What the arrays of the list were made of, in its order, for their masks. Defaults to nothing.

    Raises:
        GradientError: the result is None, or not floating.
    """
    transforms = registry.current().gradients
    parent = frames.top
    lifted = Lifted(partial(floating_results, fn))

    def pure(values: list[Any]) -> tuple[list[Any], Outcome]:
        inside = Substitution(parent, (), transforms.level()) if frame is None else frame(values)
        hand_on(came, values[: len(came)])
        outcome = lifted(inside, lambda: call(values))
        return outcome.leaves, outcome._replace(leaves=[])

    # what is assigned is no result: nobody weighs it, and its gradient goes on with the value that is committed
    leaves, pull, outcome = transforms.vjp_with_aux(pure, values)
    lifted.commit(outcome._replace(leaves=leaves))
    return Pulled(function_name(fn), leaves, lifted.structure, lambda weights: list(pull(weights)[0]))


def floating_results(fn: Callable[..., Any], result: object) -> tuple[list[Any], Any]:
    """Return the leaves of what a function returned, and their structure.

    Raises:
        GradientError: there are none, or one is not floating.
    """
    leaves, structure = arrays_of(result)
    if not leaves:
        raise GradientError(
            f"{function_name(fn)} returned {result!r}",
            "there is no value to differentiate: did you forget to return it?",
            "return the value",
        )
    for leaf in leaves:
        if not is_inexact(leaf.dtype):
            raise GradientError(
                f"{function_name(fn)} returned {leaf.dtype}{list(leaf.shape)}",
                "only floating values have derivatives",
                'ops.cast(x, "float32")',
            )
    return leaves, structure


def substitution_maker(storages: Sequence[Any]) -> MakeFrame:
    """Return what makes frames in which the first of the given values are those of Variables."""
    parent = frames.top

    def make(values: list[Any]) -> Substitution:
        level = registry.current().gradients.level()
        return Substitution(parent, zip(storages, values[: len(storages)], strict=True), level)

    return make
