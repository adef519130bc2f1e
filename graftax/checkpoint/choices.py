"""The choices that a restore leaves to the user: how much must match, and what counts where both sides differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from graftax.core.errors import ArgumentError, ArgumentTypeError

MODES = ("exact", "cover", "overlap")
CASTS = ("exact", "safe", "any")


class Choices(NamedTuple):
    """The arguments of a restore that have a few possible values each; see `Checkpoint.restore`.

    Args:
        mode: How much must match.
        cast: Which dtypes may be converted.
        trainable: Whose ``trainable`` flags count; None for those that the mode and the selection suggest.
        settings: Whether the settings of expressions must be the same, or whose count.
    """

    mode: str = "exact"
    cast: str = "exact"
    trainable: str | None = None
    settings: str = "same"

    def check(self) -> None:
        """Raise if one of them has an unknown value.

        Raises:
            ArgumentError: the message names it.
        """
        for name, value in self._asdict().items():
            if value not in _KNOWN[name]:
                known = " or ".join(repr(choice) for choice in _KNOWN[name] if choice is not None)
                raise ArgumentError(f"{name}={value!r}", "there is no such choice", known)


_KNOWN: dict[str, tuple[str | None, ...]] = {
    "mode": MODES,
    "cast": CASTS,
    "trainable": (None, "saved", "program"),
    "settings": ("same", "saved", "program"),
}


def check_renames(renames: object) -> None:
    """Raise if ``map=`` is no mapping.

    Raises:
        ArgumentTypeError: it is none.
    """
    if renames is not None and not isinstance(renames, Mapping):
        raise ArgumentTypeError(
            f"map={renames!r:.80}",
            "it takes paths of the program, and for each the path of the checkpoint that its value comes from",
            'map={"model/head": "model/classifier"}',
        )
