"""The function take_back: assigns the values of an artefact, after training there, to the original Modules."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, MatchError
from graftax.core.short_traceback import door
from graftax.export import run
from graftax.export.naming import checked_roots, variables_by_path
from graftax.reparam.base import Reparam
from graftax.reparam.quantized import QuantizedWeight
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class TakeReport(NamedTuple):
    """What was taken back.

    Example:
        >>> print(TakeReport(("net/kernel", "net/bias"), ()))
        2
    """

    assigned: tuple[str, ...]
    """Paths of Variables that got their values."""
    through_inverse: tuple[str, ...]
    """Paths of weights that are expressions, whose parts were found for the value."""

    def __str__(self) -> str:
        return str(len(self.assigned) + len(self.through_inverse))


@door
def take_back(artefact: run.Artefact, **roots: Module) -> TakeReport:
    """Assign the values of an artefact to the Variables of Modules, by path.

    Either every value has a place, and every Variable below the roots that the artefact includes gets a value, or
    nothing is assigned. A weight that was folded at the export is assigned as a whole.

    Args:
        artefact: A result of `load`.
        **roots: The Modules, by the names of their roots at the export.

    Raises:
        MatchError: a value has no place, or has another shape or dtype than the Variable; or a Variable has no value.
        ArgumentTypeError: it is not an artefact, or a root is not a Module.
        ArgumentError: no roots are given.

    Example:
        >>> import tempfile, graftax as gx
        >>> layer = gx.layers.Dense(2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = gx.export.save(f"{folder}/net", layer, gx.export.Spec("batch 3"))
        ...     artefact = gx.export.load(f"{folder}/net")
        >>> artefact.values["model/bias"] += 1.0
        >>> print(take_back(artefact, model=layer), layer.bias.numpy())
        2 [1. 1.]
    """
    if not isinstance(artefact, run.Artefact):
        raise ArgumentTypeError(
            f"take_back got {artefact!r:.60}", "it takes what load returned", "graftax.export.load(path)"
        )
    if not roots:
        raise ArgumentError(
            "take_back without roots", "values are assigned to Modules, by their paths", "take_back(artefact, net=net)"
        )
    places = variables_by_path(checked_roots(roots, "take_back(artefact, net=net)"))
    values = _numbers(artefact)
    wrong = [f"{path}: no Variable is there" for path in values if path not in places]
    wrong += [
        f"{path}: {values[path].dtype}{list(values[path].shape)}, and {place.dtype}{list(place.shape)} there"
        for path, place in places.items()
        if path in values and (tuple(values[path].shape), str(values[path].dtype)) != (place.shape, place.dtype)
    ]
    if wrong:
        raise MatchError(
            f"{len(wrong)} of {len(values)} values:\n    " + "\n    ".join(wrong[:20]),
            "these are not the Modules that the artefact was made of, or the roots have other names",
            f"take_back(artefact, {', '.join(f'{one}={one}' for one in _roots(artefact))})",
        )
    arrays = registry.current().arrays
    # copies, since the next call of a program donates the buffers of its values
    assigned = tuple(path for path in values if isinstance(places[path], Variable))
    inverse = tuple(path for path in values if not isinstance(places[path], Variable))
    for path in (*inverse, *assigned):
        place = places[path]
        if isinstance(place, Reparam) and (
            _has_value(place, values[path]) or _assign_integers(artefact, path, values[path], place)
        ):
            continue
        place.assign(arrays.numpy.array(values[path]))
    return TakeReport(assigned, inverse)


def _numbers(artefact: run.Artefact) -> dict[str, Any]:
    """Return the values, with integers that the artefact has kept converted to numbers."""
    values: dict[str, Any] = dict(artefact.values)
    known = artefact.manifest["values"]
    for path in artefact.integers:
        names = [f"{path}/{part}" for part in known[path]["integers"]]
        if path not in values:
            values[path] = run.numbers(known[path], *(values[name] for name in names))
            for name in {*names} - {*known}:
                del values[name]
    return values


def _has_value(place: Reparam, value: object) -> bool:
    """Tell whether an expression already has this exact value, so that its parts need no change."""
    return np.asarray(place.value).tobytes() == np.asarray(value).tobytes()


def _assign_integers(artefact: run.Artefact, path: str, value: object, place: Reparam) -> bool:
    """Assign stored integers directly, if the value equals theirs, since rounding again might change the scales."""
    parts = artefact.integers.get(path)
    if not isinstance(place, QuantizedWeight) or parts is None:
        return False
    variables: list[Any] = [place.codes, place.scale]
    if [(one.shape, str(one.dtype)) for one in parts] != [(one.shape, one.dtype) for one in variables]:
        return False
    if np.asarray(value).tobytes() != run.numbers(artefact.manifest["values"][path], *parts).tobytes():
        return False
    for variable, part in zip(variables, parts, strict=True):
        variable.assign(np.array(part))
    return True


def _roots(artefact: run.Artefact) -> list[str]:
    return list(dict.fromkeys(path.partition("/")[0] for path in artefact.values))
