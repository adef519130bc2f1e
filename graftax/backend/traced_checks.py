"""Checks of values that are not there yet: written into the program that is traced, and looked at after it has run.

While a function is compiled, an op that would look at its indices sees no numbers. It hands in the truth value that
says whether something is wrong, and a function that says what, given the numbers. Compiled with ``checked=True`` the
program tells afterwards which check was the first to fail; otherwise nothing is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from graftax.backend import registry
from graftax.core.errors import GraftaxError, StateError
from graftax.core.scopes import ScopeStack

Explain: TypeAlias = Callable[..., GraftaxError | None]
"""Takes the arrays that a check looked at, on the host, and gives what is wrong with them."""

CHECKED: Final = "checked"
PLAIN: Final = "plain"
RANGES: Final = "ranges"
RESULTS: Final = "results"
EAGER: Final = "eager"
EXPORTED: Final = "exported"

traces: ScopeStack[str] = ScopeStack("trace")
"""How the function that is being compiled is checked: `CHECKED` (everything), `RESULTS` (what it returns and assigns
has no nan), `RANGES` (indices, which must lie in their range), `PLAIN` (only what it asks for itself), `EAGER` (all
checks that eager code makes: it is a program behind an eager call) or `EXPORTED` (none, since nobody could look)."""

perhaps: ScopeStack[str] = ScopeStack("part that may not run")
"""Branches and bodies that are being traced, of which nobody knows whether they will run: what is wrong there and known
already is no mistake yet."""

listeners: ScopeStack[Callable[[Explain, Callable[[Any], Any], Any], None]] = ScopeStack("listener")
"""Functions that are told which values that are not there yet have limits: how to explain, what is wrong, the value."""

score_listeners: ScopeStack[Callable[[Explain, Callable[[Any], Any], Any], None]] = ScopeStack("listener to scores")
"""Likewise for predictions that a loss takes for probabilities or rates."""

probability_listeners: ScopeStack[Callable[[str, Any], None]] = ScopeStack("listener to probabilities")
"""Functions that are told which arrays softmax and sigmoid gave, each by the name of the op."""

before_runs: ScopeStack[list[Callable[[], None]]] = ScopeStack("what comes before runs")
"""The list of what is called before each run of the program that is being traced, or before it is exported, and may
raise."""


@contextmanager
def tracing(looks: str) -> Iterator[list[Callable[[], None]]]:
    """Trace a program that is checked in one of these ways; return what is to be called before each of its runs."""
    before: list[Callable[[], None]] = []
    with traces.entered(looks), before_runs.entered(before):
        yield before


def is_checking(of_ranges: bool = False) -> bool:
    """Tell whether a check of a traced value is looked at: in checked functions, and where operations run at once.

    Args:
        of_ranges: Whether it is one of those that `RANGES` looks at, too.
    """
    looked_at = traces.top in (CHECKED, EAGER) or (of_ranges and traces.top == RANGES)
    return looked_at or not registry.current().tracing.staged_within(None)


leaving_out: ScopeStack[Callable[[str], None]] = ScopeStack("checks left out")
"""Functions that are told which checks of the user's a program does without, since it is exported."""


def leave_out(what: str) -> bool:
    """Tell whether a check of the user's is left out of the program; who exports it hears what it would have said."""
    heard = leaving_out.top
    if heard is not None:
        heard(what)
    return heard is not None


def tell(explain: Explain, wrong: Callable[[Any], Any], value: object) -> None:
    """Tell who listens that a value that is not there yet has limits."""
    if (heard := listeners.top) is not None:
        heard(explain, wrong, value)


def emit(explain: Explain, bad: object, *looked_at: Any) -> None:
    """Note a check: it fails where ``bad`` is true, and ``explain(*looked_at)`` tells why."""
    registry.current().tracing.note_check(explain, bad, looked_at)


def require_compiled(asks: str) -> None:
    """Raise if a program is being written down that nobody will look at the checks of."""
    backend = registry.current()
    if traces.top is None and backend.has("tracing") and backend.tracing.staged_within(None):
        words = backend.wording
        raise StateError(
            f"{asks} inside a function that {words.title} compiles, or inside a loop that runs as one program",
            "it looks at values, which are there only after the program has run, and nobody would look",
            f"graftax.jit(fn) around the whole, in place of {words.compile}",
        )
