"""Options that several commands share: which part is meant, new names."""

from argparse import Namespace

from graftax.checkpoint.subset import Subset
from graftax.core.errors import ArgumentError


def chosen(options: Namespace) -> Subset:
    """Return the part that --only and --skip mean."""
    return Subset(options.only, options.skip)


def pairs(texts: list[str] | None, form: str) -> dict[str, str]:
    """Return what --map options say.

    Args:
        texts: Each ``A=B``.
        form: What A and B are, for messages.

    Raises:
        ArgumentError: there is no ``=``, a side is empty, or one stands there twice.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        one, equals, other = text.partition("=")
        if not (one and equals and other):
            raise ArgumentError(f"--map {text!r}", "it takes two paths", f"--map {form}")
        if one in found:
            raise ArgumentError(f"--map {text!r}", f"{one!r} has a value already", "one of the two")
        found[one] = other
    return found
