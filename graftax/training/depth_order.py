"""The layers of a graph by their distance from its outputs: the order in which Keras numbers layers in files."""

from __future__ import annotations

from collections.abc import Iterator

from graftax.ops.symbolic import leaves
from graftax.training.graph import Graph, Result, Step


def order_by_depth(graph: Graph) -> list[int]:
    """Return the numbers of the layers, the farthest from the outputs first; equal ones as a walk meets them.

    The walk begins at each output, and goes from a call to the arguments of the call, the first one first. A layer that
    is called several times is as far away as its farthest call.

    Args:
        graph: The graph.
    """
    met, calls = _walk(graph)
    depths: dict[int | str, int] = {}
    of_steps: dict[int, int] = {}
    for number in reversed(calls):  # each after all that use its results
        callee = graph.steps[number].callee
        depth = (
            max(of_steps.get(number, 0), depths.get(callee, 0)) if isinstance(callee, int) else of_steps.get(number, 0)
        )
        if isinstance(callee, int):
            depths[callee] = depth
        for result in _arguments(graph.steps[number]):
            of_steps[result.step] = max(depth + 1, of_steps.get(result.step, 0))
    layers = [callee for callee in met if isinstance(callee, int)]
    return sorted(layers, key=lambda callee: -depths[callee])


def _walk(graph: Graph) -> tuple[list[int | str], list[int]]:
    """Return the callees as they are met, and the steps, each after those whose results it takes."""
    met: dict[int | str, None] = {}
    done: dict[int, None] = {}
    waiting: list[tuple[int, Iterator[Result] | None]] = []
    for output in (leaf for leaf in leaves(graph.outputs) if isinstance(leaf, Result)):
        waiting.append((output.step, None))
        while waiting:  # a graph may be deeper than Python calls functions in each other
            number, rest = waiting.pop()
            if rest is None:
                if number in done:
                    continue
                met.setdefault(graph.steps[number].callee)
                rest = _arguments(graph.steps[number])
            following = next((one for one in rest if one.step not in done), None)
            if following is None:
                done[number] = None
            else:
                waiting += [(number, rest), (following.step, None)]
    return list(met), list(done)


def _arguments(step: Step) -> Iterator[Result]:
    if step.is_input:
        return iter(())
    return (leaf for leaf in leaves(step.args) + leaves(step.kwargs) if isinstance(leaf, Result))
