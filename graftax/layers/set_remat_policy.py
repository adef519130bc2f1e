"""set_remat_policy: which layers of a model keep less for a gradient, and compute it again."""

from __future__ import annotations

from typing import Literal, get_args

from graftax.core.errors import ArgumentError
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door
from graftax.layers.chosen_layers import chosen_layers
from graftax.layers.layer import Layer

RematPolicy = Literal["full", "dots", "dots_without_batch"]


@door
def set_remat_policy(policy: RematPolicy | None, model: Layer, where: SelectorLike) -> list[str]:
    """Let layers of a model compute values again for the gradient, not store them: less memory, more time.

    Numbers stay the same. A layer inside of one that is chosen is computed again with that one, so that its own policy
    is taken away. Functions that are compiled already are traced once more.

    Args:
        policy: ``"full"`` computes all of a layer again; ``"dots"`` keeps results of matrix products,
            ``"dots_without_batch"`` those without batch axes; None computes nothing again, as before.
        model: The layer or model in which they are.
        where: Which, by the path of the layer from the model (``"layers/*"``), or by its class.

    Returns:
        The paths of the layers that have the policy now.

    Raises:
        ArgumentError: there is no such policy.
        SelectorError: ``where``, or a part of it, selects no layer.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(64, activation="gelu") for _ in range(4)])
        >>> set_remat_policy("full", model, where="layers/*")
        ['layers/0', 'layers/1', 'layers/2', 'layers/3']
        >>> set_remat_policy(None, model, where="layers/3")
        ['layers/3']

    Source: Chen et al., arXiv 1604.06174.
    """
    if policy is not None and policy not in get_args(RematPolicy):
        raise ArgumentError(
            f"set_remat_policy got policy={policy!r:.60}",
            "there is no such policy",
            '"full", "dots", "dots_without_batch", or None to compute nothing again',
        )
    outermost: list[tuple[str, Layer]] = []
    for path, layer in chosen_layers(model, where, "set_remat_policy: where"):
        inside = any(path.startswith(f"{outer}/") or not outer for outer, _ in outermost)
        layer._gx_remat = None if inside else policy
        if not inside:
            outermost.append((path, layer))
    return [path or "." for path, _ in outermost]
