"""RandomState: the global seed, and the stream that follows from it, as state of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graftax.core.errors import StateError
from graftax.variables import keys, streams
from graftax.variables.graph.node import Branch, Node, outermost


class RandomState:
    """The global seed, how far its stream is, and the numbers by which the draws of roots differ.

    Args:
        roots: What belongs to the program, by name: Modules, Variables, anything else counts nothing.
    """

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self._roots = roots

    def get_state(self) -> dict[str, Any]:
        """Return the seed, the key of the stream or None, and the numbers of roots."""
        numbers = {name: keys.drawn_number(root) for name, root in self._modules().items()}
        return {
            "seed": keys.get_random_seed(),
            "roots": {name: number for name, number in numbers.items() if number is not None},
            "stream": streams.stream_state(),
        }

    def set_state(self, state: Any) -> None:
        """Go on from there.

        Raises:
            StateError: it is not what `get_state` gives.
        """
        if not _is_state(state):
            raise StateError(
                f"a random state {state!r:.100}",
                "it is not what a save writes",
                'skip="gx.random" leaves the global seed as it is',
            )
        keys.reset(state["seed"])
        modules = self._modules()
        for name, number in state["roots"].items():
            if name in modules:
                keys.assign_number(modules[name], number)
        streams.set_stream_state(state["stream"])

    def point_of_return(self) -> Callable[[], None]:
        """Return what brings everything back to how it is now."""
        mark, stream = keys.save_state(), streams.stream_mark()
        roots = [(root, root._gx_seed_root) for root in self._modules().values()]

        def restore() -> None:
            streams.back_to_stream(stream)
            for root, known in roots:
                object.__setattr__(root, "_gx_seed_root", known)
            keys.restore_state(mark)

        return restore

    def _modules(self) -> dict[str, Branch]:
        found = {name: outermost(root) for name, root in self._roots.items() if isinstance(root, Node)}
        return {name: root for name, root in found.items() if isinstance(root, Branch)}


def _is_state(state: object) -> bool:
    if not isinstance(state, dict) or not {"seed", "roots", "stream"} <= state.keys():
        return False
    roots, stream = state["roots"], state["stream"]
    numbers = [state["seed"], *(roots.values() if isinstance(roots, dict) else [None])]
    if stream is not None:
        if not isinstance(stream, list) or len(stream) != 3:
            return False
        numbers += stream
    return all(type(n) is int and 0 <= n < 2**64 for n in numbers) and all(n < 2**32 for n in (stream or ())[:2])
