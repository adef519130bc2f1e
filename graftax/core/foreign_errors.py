"""What errors of other libraries mean, told in three beats with the user's own line.

Each backend knows those of its own (`graftax.core.libraries`); NumPy, which is below all of them, is known here, by the
words of its text. What nobody knows stays as it is, with the user's line as a note.
"""

from __future__ import annotations

import re
import sys
from typing import cast

from graftax.core import libraries, user_line
from graftax.core.broadcasting import mismatch, suggestion
from graftax.core.errors import GraftaxError, ShapeError
from graftax.core.free_sizes import equality_constraint


def translate(error: Exception) -> GraftaxError | None:
    """Return the error of graftax that says the same; None if there is none."""
    if isinstance(error, GraftaxError):
        return None
    better = cast("GraftaxError | None", libraries.translate(error)) or _of_numpy(str(error))
    if better is not None:
        better.place = user_line.of_traceback(error.__traceback__) or better.place
    return better


def explain(error: Exception, where: str = "") -> GraftaxError | None:
    """Return the error to raise in place of one that was caught; None if that one, with what is added, says enough.

    Args:
        error: What was caught.
        where: What was going on, for example the layer and what it was called with. Defaults to ``""``.
    """
    told = error if isinstance(error, GraftaxError) else translate(error)
    if told is None:
        place = user_line.of_traceback(error.__traceback__) or user_line.of_stack(sys._getframe(1))
        if place is not None and not any(note.startswith("  at: ") for note in getattr(error, "__notes__", ())):
            error.add_note(f"  at: {user_line.show_place(place)}")
        if where:
            error.add_note(f"  where: {where}")
    elif where:
        told.add_context(where)
    return None if told is error else told


SHAPE = r"(\((?:[^()]|\([^()]*\))*\))"
"""A shape in the text of an error, of numbers or of sizes that are free, such as ``(2, floordiv(n, 2))``."""


def broadcast(op: str, left: str, right: str) -> ShapeError:
    """Return the error for two shapes, as text, that do not broadcast."""
    a, b = sizes_in_text(left), sizes_in_text(right)
    shown = (f"[{', '.join(map(str, one))}]" for one in (a, b))
    return ShapeError(f"{op}: {' and '.join(shown)}", mismatch(a, b) or "the two do not broadcast", suggestion(a, b))


def contraction(left: str, right: str) -> ShapeError:
    """Return the error for a product whose inner sizes, as text, differ."""
    a, b = sizes_in_text(left), sizes_in_text(right)
    return ShapeError(
        f"a product of matrices whose inner sizes are {' '.join(map(str, a))} against {' '.join(map(str, b))}",
        "the last axis of the first and the second to last of the second must have one size",
        (equality_constraint(a[0], b[0]) if len(a) == len(b) == 1 else None)
        or "ops.swapaxes(y, -1, -2) if the second matrix must be transposed; ops.matmul names both shapes",
    )


def sizes_in_text(shape: str) -> list[int | str]:
    """Return the sizes in the text of a shape, ``(2, n)``, those that are numbers as such."""
    parts = re.findall(r"(?:[^(),]|\([^()]*\))+", shape[1:-1])
    return [int(one) if one.strip().isdigit() else one.strip() for one in parts if one.strip()]


_BROADCAST = re.compile(rf"^operands could not be (broadcast) together with shapes {SHAPE} {SHAPE}")


_INDICES = re.compile(r"^too many indices[^:]*: array is (\d+)-dimensional, but (\d+) were indexed", re.IGNORECASE)


def _of_numpy(text: str) -> GraftaxError | None:
    if (found := _BROADCAST.match(text)) is not None:
        return broadcast(*found.groups())
    if (found := _INDICES.match(text)) is not None:  # in the words of JAX, too
        axes, given = found.groups()
        return ShapeError(
            f"an index of {given} places into an array of {axes} ax{'i' if axes == '1' else 'e'}s",
            "there is one place for each axis",
            f"x[{', '.join([':'] * int(axes)) or '()'}], or an axis more first: x[..., None]",
        )
    return None
