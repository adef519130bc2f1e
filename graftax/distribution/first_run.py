"""Checks before the first run of a program: weights that stay whole, and batches that are not sharded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core import user_line
from graftax.core.errors import StateError
from graftax.distribution.axes import size_of
from graftax.distribution.placing import Placing
from graftax.distribution.report import shown_bytes
from graftax.variables.state.home import Housed
from graftax.variables.variable import Variable

_SHOWN = 5


def weights_of(cells: Sequence[Housed]) -> list[Variable]:
    """Return the weights that a program reads or assigns, each once."""
    users = (cell.user for cell in cells)
    return list({id(v): v for v in users if isinstance(v, Variable) and v.role == "weight"}.values())


def require_split(distribution: Placing, cells: Sequence[Housed]) -> None:
    """Raise if more bytes stay replicated than the distribution tolerates.

    Raises:
        StateError: the message names the largest weights, and why each is whole.
    """
    large, whole = 0, []
    for variable in weights_of(cells):
        home: Any = variable._storage.home
        if home is None or not home.fixed or home.placement is not distribution:
            continue
        reason = distribution._gx_unsplit(variable, distribution.decide(variable))
        size = math.prod(variable.shape) * np.dtype(variable.dtype).itemsize
        if reason is not None:
            large += size
            if reason:
                whole.append((size, variable.path, variable.shape, reason))
    share = sum(size for size, *_ in whole) / large if large else 0.0
    if share <= distribution.tolerance:
        return
    whole.sort(key=lambda one: one[0], reverse=True)
    named = "; ".join(f"{path!r} {shape}, {shown_bytes(size)}: {why}" for size, path, shape, why in whole[:_SHOWN])
    more = f"; and {len(whole) - _SHOWN} more" if len(whole) > _SHOWN else ""
    raise StateError(
        f"{share:.0%} of the bytes of weights stay whole on each device: {named}{more}",
        f"tolerance={distribution.tolerance} allows no more, since each device keeps all of these, and their slots",
        f"sizes that are multiples of {size_of(distribution.mesh, distribution.data)}, a rule for them, or "
        f"tolerance={min(1.0, math.ceil(share * 100) / 100):g}",
    )


def warn_of_whole_batches(distribution: Placing, cells: Sequence[Housed], arguments: Sequence[Any]) -> None:
    """Warn if a program that changes weights gets batches that are not sharded: each device would compute all rows."""
    count = size_of(distribution.mesh, distribution.data)
    batches = [one for one in arguments if getattr(one, "shape", ())]
    if count == 1 or not batches:
        return
    if not any(v.trainable for v in weights_of(cells)):
        return
    if any(distribution.backend.meshes.mesh_of(one) is not None for one in batches):
        return
    user_line.warn(
        f"each of {count} devices computes the whole batch: the arguments of a compiled step, such as one of shape "
        f"{tuple(batches[0].shape)}, lie on one device or on the host. Instead: step(*distribution.shard((x, y)))"
    )
