"""The base of all errors: a message in three beats, and the user's line that it comes from."""

import sys
from typing import Any, ClassVar

from graftax.core import user_line


class GraftaxError(Exception):
    """Base of all errors of graftax.

    Args:
        received: What came: names, values, shapes, paths.
        reason: Why it cannot be. Defaults to ``""``.
        instead: The line to write instead. Defaults to ``""``.

    ``place`` is the user's line, as file and number: the innermost one outside of graftax and JAX; None where the user
    makes the error.

    Example:
        >>> print(GraftaxError("got 7", reason="only 0 to 2 exist", instead="write 2"))
        got 7
          why: only 0 to 2 exist
          instead: write 2
    """

    __module__ = "graftax.errors"  # what tracebacks show can be written in an import

    longest: ClassVar[int | None] = 360
    """How many characters of what came are told, the middle left out; None for all. A value may be of any length."""

    def __init__(self, received: str, reason: str = "", instead: str = "") -> None:
        received = _cut(received, self.longest)
        super().__init__(received)  # one argument: OSError would take three for errno, strerror and filename
        self.received = received
        self.reason = _cut(reason, self.longest and 2 * self.longest)
        self.instead = _cut(instead, self.longest and 4 * self.longest)  # names of all that there is, often
        self.context: list[str] = []
        self.place: user_line.Place | None = user_line.of_stack(sys._getframe(1))

    def add_context(self, line: str) -> None:
        """Append where it happened, for example the layer path; shown as a line of its own, innermost first."""
        line = _cut(line, self.longest)
        if line not in self.context:
            self.context.append(line)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.received, self.reason, self.instead), self.__dict__

    def __str__(self) -> str:
        lines = [self.received]
        if self.place is not None:
            lines.append(f"  at: {user_line.show_place(self.place)}")
        lines += [f"  where: {line}" for line in self.context]
        lines += [f"  {label}: {text}" for label, text in (("why", self.reason), ("instead", self.instead)) if text]
        return "\n".join(lines)


def _cut(text: str, longest: int | None) -> str:
    """Return the text without its middle, if it is longer.

    Example:
        >>> _cut("x = " + 100 * "1, ", 40)
        'x = 1, 1, 1, 1, 1, 1, 1,  ...  1, 1, 1, '
    """
    if longest is None or len(text) <= longest:
        return text
    tail = longest // 4
    return f"{text[: longest - tail - 5]} ... {text[-tail:]}"
