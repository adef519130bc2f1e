"""prune: mask the smallest numbers of weights, and a schedule for how many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.hyperparameters import check_flag
from graftax.core.selectors import SelectorLike, compile_selector
from graftax.core.short_traceback import door
from graftax.core.tally import pick
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.reparam.creator import Check, CheckedCreator, check_positive, count, share
from graftax.reparam.mask import MaskedWeight
from graftax.variables.graph.module import Module, walk_with_edges


@door
def prune(module: Module, fraction: ArrayLike, where: SelectorLike = "**", globally: bool = False) -> Array:
    """Mask the numbers of smallest magnitude, such that a fraction of all is masked; what is masked stays so.

    It may be called in a compiled function, each step or now and then.

    Args:
        module: Holds weights that `Mask` made.
        fraction: From 0 to 1, a Variable or the value of a `PruningSchedule` too; 0 changes nothing.
        where: Which masked weights, by their path from ``module``. Defaults to ``"**"``.
        globally: Whether the fraction is that of all these weights together, or of each alone. Defaults to False.

    Returns:
        The fraction that is masked now.

    Raises:
        SelectorError: ``where`` matches no masked weight.
        ArgumentError: ``fraction`` is not between 0 and 1.

    Example:
        >>> import graftax as gx
        >>> with gx.variable_creator_scope(gx.reparam.Mask()):
        ...     layer = gx.layers.Dense(2)
        ...     layer.build((2,))
        >>> layer.kernel.assign([[1.0, -4.0], [-2.0, 3.0]])
        MaskedWeight('kernel', shape=(2, 2), dtype=float32)
        >>> float(prune(layer, 0.5)), layer.kernel.numpy().tolist()
        (0.5, [[0.0, -4.0], [0.0, 3.0]])
    """
    if isinstance(fraction, bool) or str(getattr(fraction, "dtype", "")) == "bool":
        raise ArgumentError(f"fraction={fraction!r}", "it is a part of all weights, in [0, 1]", "prune(model, 0.5)")
    wanted = ops.cast(unwrap(fraction), "float32")
    if wanted.ndim:
        raise ShapeError(
            f"fraction of shape {tuple(wanted.shape)}", "it is one number", "prune(model, 0.5, where=...) for each part"
        )
    globally = check_flag("globally", globally)
    if registry.current().arrays.is_concrete(wanted) and not 0 <= float(wanted) <= 1:
        raise ArgumentError(f"fraction={float(wanted):g}", "it is the part that is 0 then", "a number from 0 to 1")
    found = {"/".join(map(str, edges)): w for edges, w in walk_with_edges(module) if isinstance(w, MaskedWeight)}
    chosen = pick(compile_selector(where), [((path,), weight) for path, weight in found.items()], "prune: where")
    for group in [chosen] if globally else [[weight] for weight in chosen]:
        sizes = [ops.cast(ops.reshape(ops.abs(weight.value), (-1,)), "float32") for weight in group]
        masks = [ops.reshape(weight.mask, (-1,)) for weight in group]
        rank = ops.argsort(ops.argsort(ops.concatenate(sizes)))
        keep = ops.logical_and(
            ops.concatenate(masks), ops.greater_equal(ops.cast(rank, "float32"), ops.round(wanted * rank.shape[0]))
        )
        start = 0
        for weight in group:
            part = keep[start : start + weight.size]
            weight.mask.assign(ops.reshape(part, weight.shape))  # type: ignore[attr-defined]
            start += weight.size
    kept = [ops.sum(ops.cast(weight.mask, "float32")) for weight in chosen]
    return 1 - ops.sum(ops.stack(kept)) / sum(weight.size for weight in chosen)


class PruningSchedule(CheckedCreator):
    r"""How much is pruned at each step: fast at first, while many weights hardly matter, ever slower towards the end.

    .. math:: s_t = s_n + (s_0 - s_n) \left(1 - \frac{t - t_0}{n}\right)^3

    Args:
        final: The fraction at the end.
        steps: ``n``, how many steps it takes.
        begin: ``t_0``, the first of them. Defaults to 0.
        initial: The fraction before. Defaults to 0.0.

    Example:
        >>> schedule = PruningSchedule(0.875, steps=100)
        >>> [float(schedule(step)) for step in (0, 50, 100, 200)]
        [0.0, 0.765625, 0.875, 0.875]

    Source: Zhu and Gupta, arXiv 1710.01878.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "final": share("it is a part of all weights, in [0, 1]", 0.9),
        "initial": share("it is a part of all weights, in [0, 1]", 0.0),
        "steps": check_positive("the fraction rises for a while", 1000),
        "begin": count("it is the number of a step", 0, least=0),
    }

    def __init__(self, final: float, steps: int, begin: int = 0, initial: float = 0.0) -> None:
        self.final, self.steps, self.begin, self.initial = final, steps, begin, initial
        self._check_order()

    def _check_order(self) -> None:
        if self.initial > self.final:  # asked when it is used, too: one may be assigned after the other
            raise ArgumentError(
                f"initial={self.initial!r}, final={self.final!r}",
                "what is pruned stays so",
                "PruningSchedule(0.9, steps=1000)",
            )

    def __call__(self, step: ArrayLike) -> Array:
        """Return the fraction at a step: a number, an array, or a Variable such as ``optimizer.iterations``."""
        self._check_order()
        done = ops.clip((ops.cast(unwrap(step), "float32") - self.begin) / self.steps, 0, 1)
        return self.final + (self.initial - self.final) * (1 - done) ** 3

    def __repr__(self) -> str:
        return f"PruningSchedule({self.final:g}, steps={self.steps:g}, begin={self.begin:g}, initial={self.initial:g})"
