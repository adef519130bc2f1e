"""Parts of expressions that are tied to other weights: what one expression took, another one may not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from graftax.checkpoint.expressions import is_near, off_by
from graftax.checkpoint.graph import Place, leaves_of
from graftax.checkpoint.matching import Match
from graftax.checkpoint.misfit import cast_to
from graftax.checkpoint.report import Conflict, RestoreReport
from graftax.core.errors import AmbiguousSharing


def check_tied(match: Match, report: RestoreReport, notes: Iterable[Place], values: Mapping[int, Any]) -> None:
    """Raise if an expression no longer has the value that it took, since its tied parts took another one."""
    takers = Counter(leaf for place in notes for leaf in leaves_of(place))
    for place in notes:
        shared = [leaf for leaf in leaves_of(place) if leaf in match.pairs or takers[leaf] > 1]
        if shared and not is_near(place.thing, off_by(place.thing, cast_to(place.thing, values[match.pairs[place]]))):
            nodes = dict.fromkeys(node for p, node in match.pairs.items() if p is place or p in shared)
            sources = ", ".join(match.paths[node] for node in nodes)
            names = ", ".join(leaf.path for leaf in shared)
            reason = f"is made of {names} in the program; the checkpoint has different values for them: {sources}"
            conflict = Conflict(AmbiguousSharing, place.path, reason)
            report.conflicts = (*report.conflicts, conflict)
            raise report.failure(
                [conflict], instead="tie or untie as it was saved; or leave one of the two out: skip=[...]"
            )
