"""Checks of values that are not there yet: written into the program that is traced, and looked at after it has run.

While a function is compiled, an op that would look at its indices sees no numbers. It hands in the truth value that
says whether something is wrong, and a function that says what, given the numbers. Compiled with ``checked=True`` the
program tells afterwards which check was the first to fail; otherwise nothing is written down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from graftax.backend import registry
from graftax.errors import GraftaxError, StateError
from graftax.scopes import ScopeStack

Explain: TypeAlias = Callable[..., GraftaxError | None]
"""Takes the arrays that a check looked at, on the host, and gives what is wrong with them."""

CHECKED: Final = "checked"
PLAIN: Final = "plain"
RESULTS: Final = "results"
EAGER: Final = "eager"

traces: ScopeStack[str] = ScopeStack("trace")
"""How the function that is being compiled is checked: `CHECKED` (everything), `RESULTS` (what it returns and assigns
has no nan), `PLAIN` (only what it asks for itself) or `EAGER` (all checks that eager code makes: it is a program behind
an eager call)."""


def wanted() -> bool:
    """True if a check of a traced value would be looked at: in checked functions, and where operations run at once."""
    return traces.top in (CHECKED, EAGER) or not registry.current().transforms.staged_within(None)


def emit(explain: Explain, bad: Any, *looked_at: Any) -> None:
    """Note a check: it fails where ``bad`` is true, and ``explain(*looked_at)`` tells why."""
    registry.current().transforms.note_check(explain, bad, looked_at)


def require_compiled(asks: str) -> None:
    """Raise if a program is being written down that nobody will look at the checks of."""
    if traces.top is None and registry.current().transforms.staged_within(None):
        raise StateError(
            f"{asks} inside a function that JAX compiles, or inside a loop that runs as one program",
            "it looks at values, which are there only after the program has run, and nobody would look",
            "graftax.jit(fn) around the whole, in place of jax.jit",
        )
