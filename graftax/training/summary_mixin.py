"""Looking into a model: its layers by name, and its summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.known_names import closest
from graftax.core.short_traceback import door
from graftax.core.user_functions import check_takes
from graftax.layers.layer import Layer
from graftax.training import foreign_names
from graftax.training.arguments import keywords
from graftax.training.display.html_table import html_of
from graftax.training.display.summary_table import Summary, count_params
from graftax.training.trainable_model import TrainableModel
from graftax.variables.graph.module import walk_with_edges


class SummaryMixin(TrainableModel):
    """The methods of a model that describe its content."""

    @door
    @keywords(foreign_names.SUMMARY)
    def summary(
        self, print_fn: Callable[[str], Any] = print, expand: bool | int = True, show_trainable: bool = True
    ) -> None:
        """Print a table of layers, shapes, numbers of parameters and bytes, or pass its text to ``print_fn``.

        The totals are the sums of the rows. The Variables of the optimizer are counted separately.

        Args:
            print_fn: A function of the text. Defaults to ``print``.
            expand: The number of nested levels of layers that have rows; True for all, False for one. A row includes
                all layers below it without a row. Defaults to True.
            show_trainable: Whether the last column marks frozen layers. Defaults to True.
        """
        check_takes("summary", "print_fn", print_fn, ["text"])
        print_fn(str(Summary(self, expand, show_trainable)))

    def _repr_html_(self) -> str:
        return html_of(Summary(self))

    @door
    def count_params(self) -> int:
        """Return the number of elements of all weights; raise `NotBuiltError` if a layer is not built."""
        return count_params(self)

    @door
    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """Return a layer by its name or path, or by its index among the direct layers of the model.

        Args:
            name: A given name, a path such as ``"layers/0"``, or the name that messages show. Defaults to None.
            index: The index, counted from 0; from the end if negative. Defaults to None.

        Raises:
            ArgumentTypeError: both or none are given.
            ArgumentError: there is no such layer, or several.
        """
        if (name is None) == (index is None):
            raise ArgumentTypeError(
                f"get_layer got name={name!r}, index={index!r}", "it takes one of the two", 'get_layer("layers/0")'
            )
        if index is not None:
            return self._gx_layer_at(index)
        below = [(edges, node) for edges, node in walk_with_edges(self) if isinstance(node, Layer) and edges]
        paths = {"/".join(map(str, edges)): node for edges, node in below}
        if name in paths:
            return paths[str(name)]
        found = {id(node): node for _, node in below if node.name == name}
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            several = [path for path, node in paths.items() if id(node) in found]
            raise ArgumentError(
                f"get_layer({name!r})", f"{len(several)} layers have this name: {', '.join(several)}", repr(several[0])
            )
        near = closest(str(name), [*paths, *(node.name for _, node in below)])
        raise ArgumentError(
            f"get_layer({name!r})",
            f"there are {', '.join(paths) or 'no layers'}",
            repr(near) if near else "one of these",
        )

    def _gx_layer_at(self, index: int) -> Layer:
        listed = getattr(self, "layers", None)
        own = listed if isinstance(listed, list | tuple) else None
        found = [one for one in own if isinstance(one, Layer)] if own is not None else children_of(self)
        if not isinstance(index, int) or not -len(found) <= index < len(found):
            raise ArgumentError(f"get_layer(index={index!r})", f"there are {len(found)} layers", "index=0")
        return found[index]


def children_of(layer: Layer) -> list[Layer]:
    """Return the layers directly below a layer, in their order, through lists and other Modules."""
    found: list[Layer] = []
    inside: list[tuple[Any, ...]] = []
    for edges, node in walk_with_edges(layer):
        if not edges or not isinstance(node, Layer) or any(edges[: len(one)] == one for one in inside):
            continue
        inside.append(edges)
        found.append(node)
    return found
