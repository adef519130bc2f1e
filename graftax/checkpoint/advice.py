"""What to write where a restore does not match, if that can be seen from both sides."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.checkpoint.choices import Choices
from graftax.checkpoint.matching import Match
from graftax.checkpoint.subset import find_saved_spot


def advice(match: Match, idle: Sequence[str], choices: Choices) -> str:
    """Return what to write instead; empty where that does not depend on the two sides.

    Args:
        match: The match.
        idle: The roots of the program of which nothing matched.
        choices: The arguments of the restore.
    """
    return adapter_advice(match) or sharing_advice(match) or root_advice(match, idle) or settings_advice(match, choices)


def settings_advice(match: Match, choices: Choices) -> str:
    """Return the line for saved settings that cannot be assigned; empty if that was not asked for."""
    if choices.settings != "saved" or match.conflicts or (choices.mode != "overlap" and match.missing):
        return ""
    return 'the creator with these settings, and settings="program", which keeps all those of the program'


def adapter_advice(match: Match) -> str:
    """Return the line for saved adapters that have no place in the program; empty if there are none."""
    adapters = {find_saved_spot(match.index, node, "").item for node in match.unused.values()}
    names = sorted({saved.adapter for saved in adapters if saved is not None and saved.adapter})
    if not names:
        return ""
    return f"declare the adapters first: gx.graft(model, gx.reparam.LoRA(rank=..., name={names[0]!r}), where=...)"


def sharing_advice(match: Match) -> str:
    """Return the line that chooses one of several saved values for one object; empty if there is no such object."""
    for path, source in match.several.items():
        here, there = (one.rpartition("/")[0] or one for one in (path, source))
        return (
            f'tie or untie as it was saved; or map={{{here!r}: {there!r}}}, mode="cover", which takes the values there'
        )
    return ""


def root_advice(match: Match, idle: Sequence[str]) -> str:
    """Return the line for roots of the program that have other names in the checkpoint; empty if there are none.

    Args:
        match: The match.
        idle: The roots of the program of which nothing matched.
    """
    free = [name for name in match.index.roots if name not in match.graph.roots]
    if not idle or not free:
        return ""
    saved = ", ".join(f"{name}=..." for name in match.index.roots)
    return (
        f"map={{{idle[0]!r}: {free[0]!r}}}, if these two are the same; or the names that were saved, "
        f"Checkpoint({saved}), with only= for some of them"
    )
