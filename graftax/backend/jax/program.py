"""A program of JAX that is run compiled, and what it looks at while it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from graftax.backend.jax import tracing
from graftax.backend.jax.callbacks import original_exceptions
from graftax.backend.jax.checks import Checked, check_p, has_checks, is_floating
from graftax.backend.jax.lowering import JaxLowering
from graftax.backend.jax.replaying import Replay, located
from graftax.backend.jax.staged import Staged
from graftax.culprit import Culprit
from graftax.errors import CheckError, GraftaxError, NumericsError, StateError
from graftax.traced_checks import CHECKED, PLAIN, RESULTS

_config: Any = jax.config


class JaxProgram:
    """A function traced once, to be run compiled.

    ``written`` are the cells that it assigns, ``kept`` those that it only reads; ``donated`` those of ``written`` that
    it reads too: their buffers are given away at each run, unless something is looked at.

    Args:
        staged: The trace.
        constants: Those of the trace.
        cells: What it reads.
        written: What it assigns.
        looks: What a run raises for (`graftax.traced_checks`).
    """

    def __init__(
        self, staged: Staged, constants: list[Any], cells: list[Any], written: list[Any], looks: str = PLAIN
    ) -> None:
        self.read = cells
        self.written = written
        self.names: list[str] = []
        """What the leaves are called, for messages."""
        self.has_checks = has_checks(staged.whole)
        changing = {id(cell) for cell in written}
        reading = {id(cell) for cell in cells}
        self.donated = [cell for cell in written if id(cell) in reading]  # in this order results come back
        self.kept = [cell for cell in cells if id(cell) not in changing]
        place = {id(cell): i for i, cell in enumerate([*self.donated, *self.kept])}
        where = [place[id(cell)] for cell in cells]
        self._staged, self._constants, self._looks = staged, constants, looks

        def arranged(donated: list[Any], kept: list[Any]) -> list[Any]:
            given = [*donated, *kept]
            return [given[i] for i in where]

        def call(donated: list[Any], kept: list[Any], leaves: list[Any]) -> list[Any]:
            return staged.run_whole(constants, arranged(donated, kept), leaves)

        self._arranged = arranged
        self.run = jax.jit(call)
        if looks != PLAIN or self.has_checks:
            self._donating = self.run_looking
        else:
            self._donating = self._careful if staged.may_fail else jax.jit(call, donate_argnums=0)

    def lower(self, donated: list[Any], kept: list[Any], leaves: list[Any]) -> JaxLowering:
        """The program for these arguments, to look at."""
        gives_away = self._donating not in (self._careful, self.run_looking)
        jitted: Any = self._donating if gives_away else self.run
        return JaxLowering(jitted.lower(donated, kept, leaves))

    @property
    def run_donating(self) -> Callable[..., list[Any]]:
        """The same with the buffers of ``donated`` reused, unless it may fail while it runs."""
        return self._careful if _config.jax_debug_nans or _config.jax_debug_infs else self._donating

    def _careful(self, donated: list[Any], kept: list[Any], leaves: list[Any]) -> list[Any]:
        with original_exceptions():
            results: list[Any] = jax.block_until_ready(self.run(donated, kept, leaves))
        return results

    # --- looking --------------------------------------------------------------------------------------------------

    @cached_property
    def _checked(self) -> Checked:
        return Checked(self._staged.whole, self._looks == CHECKED)

    @cached_property
    def _compiled(self) -> Callable[..., tuple[list[Any], Any]]:
        """Results, and what is wrong: the number of a check, or -1 for a bad result."""

        def call(donated: list[Any], kept: list[Any], leaves: list[Any]) -> tuple[list[Any], Any]:
            values = [*self._constants, *self._arranged(donated, kept), *leaves]
            results, code = self._checked.run(values)
            if self._looks == RESULTS:
                returned = len(results) - len(self.written)
                bad = [jnp.any(~jnp.isfinite(one)) for one in results[:returned] if is_floating(one)]
                bad += [jnp.any(jnp.isnan(one)) for one in results[returned:] if is_floating(one)]
                code = jnp.where((code == 0) & jnp.any(jnp.array(bad, bool)), -1, code)
            return results, code

        return jax.jit(call)

    def run_looking(self, donated: list[Any], kept: list[Any], leaves: list[Any]) -> list[Any]:
        """Run, wait, and raise what the checks found."""
        if self._looks == PLAIN and not self.has_checks:
            plain: list[Any] = self.run(donated, kept, leaves)
            return plain
        with original_exceptions():
            results, code = self._compiled(donated, kept, leaves)
            if isinstance(code, jax.core.Tracer):
                raise StateError(
                    "a compiled function that has checks is called inside of a transformation",
                    "there nobody sees afterwards whether they failed",
                    "graftax.jit(..., checked=True) around the whole",
                )
            number = int(code)
        if number:
            raise self._error(number, donated, kept, leaves)
        return results

    def _error(self, number: int, donated: list[Any], kept: list[Any], leaves: list[Any]) -> GraftaxError:
        stops = number > 0
        if not any(isinstance(value, jax.core.Tracer) for value in [*donated, *kept, *leaves]):
            found = self._replayed(Replay(stops, self._looks == CHECKED), donated, kept, leaves, self.names)
            if found is not None:
                return found.to_error()
        if not stops:
            return NumericsError(
                "a result is not finite",
                "the same step, one operation after another, gave finite numbers: the compiler rounds in another way",
                "graftax.jit(step, checked=True), which looks at each operation of the compiled step",
            )
        site = self._checked.sites[number - 1]
        if site[-1].primitive is not check_p:
            return located(site).to_error()
        error = CheckError(
            "a check failed, inside of a gradient or another transformation that runs at once",
            "its numbers are not at hand there, to say more",
            "graftax.jit(..., checked=True) around the whole",
        )
        return replace(located(site), kind="check", error=error).to_error()

    def culprit(self, donated: list[Any], kept: list[Any], leaves: list[Any], names: Sequence[str]) -> Culprit | None:
        """Where the first bad number comes from, the program run in steps."""
        return self._replayed(Replay(stops=False), donated, kept, leaves, names)

    def _replayed(
        self, replay: Replay, donated: list[Any], kept: list[Any], leaves: list[Any], names: Sequence[str]
    ) -> Culprit | None:
        cells = self._arranged(donated, kept)
        called = [
            *["a constant of the function"] * len(self._constants),
            *(f"the Variable {cell.path!r}" for cell in self.read),
            *(names or ["an argument"] * len(leaves)),
        ]
        with tracing.eagerly():
            values = [jnp.asarray(value) for value in [*self._constants, *cells, *leaves]]
            return replay.find(self._staged.whole, values, called)
