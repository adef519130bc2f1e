"""A program of JAX that is run compiled, and what it looks at while it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax
import jax.core
import jax.numpy as jnp

from graftax.backend.jax import tracing
from graftax.backend.jax.callbacks import original_exceptions
from graftax.backend.jax.checks import Checked, check_p, has_checks, is_floating
from graftax.backend.jax.lowering import JaxLowering
from graftax.backend.jax.replaying import Replay, locate
from graftax.backend.jax.rows import with_rows
from graftax.backend.jax.staged import Staged
from graftax.backend.traced_checks import CHECKED, PLAIN, RESULTS
from graftax.core.culprit import Culprit
from graftax.core.errors import CheckError, GraftaxError, NumericsError, StateError


class JaxProgram:
    """A function traced once, to be run compiled.

    ``written`` are the cells that it assigns, ``read_only`` those that it only reads. ``donated`` are the cells of
    ``written`` that it also reads: each run donates their buffers, unless it has checks.

    Args:
        staged: The trace.
        constants: Those of the trace.
        cells: What it reads.
        written: What it assigns.
        groups: Cells of one dtype that may share a buffer.
        looks: What a run raises for (`graftax.backend.traced_checks`).
    """

    def __init__(
        self,
        staged: Staged,
        constants: list[Any],
        cells: list[Any],
        written: list[Any],
        groups: Sequence[Sequence[Any]] = (),
        looks: str = PLAIN,
    ) -> None:
        self.read = cells
        self.written = written
        self.names: list[str] = []
        """What the leaves are called, for messages."""
        self.result_names: list[str] = []
        """What the results are called, without new values."""
        self.has_checks = has_checks(staged.whole)
        changing = {id(cell) for cell in written}
        reading = {id(cell) for cell in cells}
        self.donated = [cell for cell in written if id(cell) in reading]  # in this order results come back
        self.read_only = [cell for cell in cells if id(cell) not in changing]
        self.constants: list[Any] = constants
        self._staged, self._constants, self._looks = staged, constants, looks
        self._call_packed: Callable[..., list[Any]] | None = None
        self._reorder = reordering([*self.donated, *self.read_only], cells)
        self.run = jax.jit(self._call)
        self.donated_packed: list[Any] = self.donated
        self.written_packed: list[Any] = self.written
        if looks != PLAIN or self.has_checks:
            self._donating = self.run_checked
        elif staged.may_fail:
            self._donating = self._run_and_wait
        elif groups := disjoint(groups, self.donated):
            self._call_packed = self._pack(groups)
            self._donating = jax.jit(self._call_packed, donate_argnums=0)
        else:
            self._donating = jax.jit(self._call, donate_argnums=0)

    def _call(self, donated: list[Any], read_only: list[Any], leaves: list[Any]) -> list[Any]:
        return self._constrain_homes(
            self._staged.run_whole(self._constants, self._reorder([*donated, *read_only]), leaves)
        )

    def _constrain_homes(self, results: list[Any]) -> list[Any]:
        """Return results with new values where their cells lie, lest the compiler choose."""
        returned = len(results) - len(self.written)
        new = map(_place, results[returned:], map(_home_of, self.written))
        return [*results[:returned], *new]

    def whole(self, donated: list[Any], read_only: list[Any], leaves: list[Any]) -> list[Any]:
        """Return results and new values, traced where this is traced, wherever they come to lie."""
        return self._staged.run_whole(self._constants, self._reorder([*donated, *read_only]), leaves)

    @property
    def opened(self) -> tuple[Any, list[Any]]:
        """Return the program as JAX has it, of (constants, values of `read`, leaves), and the constants."""
        return self._staged.whole, self._constants

    @property
    def unread(self) -> list[int]:
        """Return which of the leaves no result, new value or effect depends on, by number."""
        used = self._staged.used[len(self._constants) + len(self.read) :]
        return [number for number, one in enumerate(used) if not one]

    def _pack(self, groups: list[Sequence[Any]]) -> Callable[..., list[Any]]:
        """Return `_call` with the cells of each group in one array, as it comes in and as it goes out."""
        grouped = {id(cell) for group in groups for cell in group}
        self.donated_packed = [*groups, *(cell for cell in self.donated if id(cell) not in grouped)]
        self.written_packed = [*groups, *(cell for cell in self.written if id(cell) not in grouped)]
        count, returned = len(groups), len(self._staged.results) - len(self.written)
        members = [id(cell) for group in groups for cell in group]
        read = {id(cell): i for i, cell in enumerate(self.read, len(self._constants))}
        written = {id(cell): i for i, cell in enumerate(self.written, returned)}
        shapes = [tuple(tuple(cell.buffer.shape) for cell in group) for group in groups]
        places = [read[cell] for cell in members], [written[cell] for cell in members]
        staged = Staged(with_rows(self._staged.whole, shapes, *places, returned))
        alone = [cell for cell in self.read if id(cell) not in grouped]
        reorder = reordering([*self.donated_packed[count:], *self.read_only], alone)

        def call(donated: list[Any], read_only: list[Any], leaves: list[Any]) -> list[Any]:
            late = [*self._constants, *reorder([*donated[count:], *read_only])]
            results = staged.run_whole(donated[:count], late, leaves)
            # asked here, as it is traced: some are told where they lie after this was made, before the first run
            homes = [_home_of(cell[0] if i < count else cell) for i, cell in enumerate(self.written_packed)]
            return [*results[:returned], *map(_place, results[returned:], homes)]

        return call

    def lower(self, donated: list[Any], read_only: list[Any], leaves: list[Any]) -> JaxLowering:
        """Return the program for these arguments, to look at."""
        gives_away = self._donating not in (self._run_and_wait, self.run_checked)
        jitted: Any = self._donating if gives_away else self.run
        return JaxLowering(
            jitted.lower(_outline(donated, self.donated_packed), _outline(read_only, self.read_only), leaves)
        )

    @property
    def run_donating(self) -> Callable[..., list[Any]]:
        """Return `run` with the buffers of ``donated`` reused, unless it may fail while it runs."""
        return self._run_and_wait if tracing.looks_for_nans() else self._donating

    def _run_and_wait(self, donated: list[Any], read_only: list[Any], leaves: list[Any]) -> list[Any]:
        with original_exceptions():
            results: list[Any] = jax.block_until_ready(self._run_keeping(donated, read_only, leaves))
        return results

    @cached_property
    def _run_keeping(self) -> Callable[..., list[Any]]:
        """Return the program of what `_donating` takes, all of whose buffers stay."""
        return self.run if self._call_packed is None else jax.jit(self._call_packed)

    # --- looking --------------------------------------------------------------------------------------------------

    @cached_property
    def _checking_program(self) -> Checked:
        return Checked(self._staged.whole, self._looks == CHECKED)

    @cached_property
    def _checking_run(self) -> Callable[..., tuple[list[Any], Any]]:
        """Return a function for results and what is wrong: the number of a check, or -1 for a bad result."""

        def call(donated: list[Any], read_only: list[Any], leaves: list[Any]) -> tuple[list[Any], Any]:
            values = [*self._constants, *self._reorder([*donated, *read_only]), *leaves]
            results, code = self._checking_program.run(values)
            results = self._constrain_homes(results)
            if self._looks == RESULTS:
                returned = len(results) - len(self.written)
                bad = [jnp.any(~jnp.isfinite(one)) for one in results[:returned] if is_floating(one)]
                bad += [jnp.any(jnp.isnan(one)) for one in results[returned:] if is_floating(one)]
                code = jnp.where((code == 0) & jnp.any(jnp.array(bad, bool)), -1, code)
            return results, code

        return jax.jit(call)

    def run_checked(self, donated: list[Any], read_only: list[Any], leaves: list[Any]) -> list[Any]:
        """Run, wait, and raise what the checks found."""
        if self._looks == PLAIN and not self.has_checks:
            plain: list[Any] = self.run(donated, read_only, leaves)
            return plain
        with original_exceptions():
            results, code = self._checking_run(donated, read_only, leaves)
            if isinstance(code, jax.core.Tracer):
                raise StateError(
                    "a compiled function that has checks is called inside of a transformation",
                    "there nobody sees afterwards whether they failed",
                    "graftax.jit(..., checked=True) around the whole",
                )
            number = int(code)
        if number:
            raise self._error(number, donated, read_only, leaves)
        return results

    def _error(self, number: int, donated: list[Any], read_only: list[Any], leaves: list[Any]) -> GraftaxError:
        stops = number > 0
        if not any(isinstance(value, jax.core.Tracer) for value in [*donated, *read_only, *leaves]):
            culprit = self._replay(Replay(stops, self._looks == CHECKED), donated, read_only, leaves, self.names)
            if culprit is not None:
                if culprit.result is not None and culprit.result < len(self.result_names):
                    culprit = replace(culprit, result_name=self.result_names[culprit.result])
                return culprit.to_error()
        if not stops:
            return NumericsError(
                "a result is not finite",
                "the same step, one operation after another, gave finite numbers: the compiler rounds in another way",
                "graftax.jit(step, checked=True), which looks at each operation of the compiled step",
            )
        site = self._checking_program.sites[number - 1]
        if site[-1].primitive is not check_p:
            return locate(site).to_error()
        error = CheckError(
            "a check failed, inside of a gradient or another transformation that runs at once",
            "its numbers are not at hand there, to say more",
            "graftax.jit(..., checked=True) around the whole",
        )
        return replace(locate(site), kind="check", error=error).to_error()

    def culprit(
        self, donated: list[Any], read_only: list[Any], leaves: list[Any], names: Sequence[str]
    ) -> Culprit | None:
        """Return where the first bad number comes from, the program run in steps."""
        return self._replay(Replay(stops=False), donated, read_only, leaves, names)

    def _replay(
        self, replay: Replay, donated: list[Any], read_only: list[Any], leaves: list[Any], names: Sequence[str]
    ) -> Culprit | None:
        cells = self._reorder([*donated, *read_only])
        called = [
            *["a constant of the function"] * len(self._constants),
            *(f"the Variable {cell.path!r}" for cell in self.read),
            *(names or ["an argument"] * len(leaves)),
        ]
        with tracing.eagerly():
            values = [jnp.asarray(value) for value in [*self._constants, *cells, *leaves]]
            return replay.find(self._staged.whole, values, called)


def _home_of(cell: object) -> Any:
    return getattr(cell, "home", None)


def _place(value: Any, home: Any) -> Any:
    """Return a value that is to lie as a home says."""
    return value if home is None else jax.lax.with_sharding_constraint(value, home.stored)


def _outline(buffers: list[Any], cells: Sequence[Any]) -> list[Any]:
    """Return buffers for `lower`, to which shape, dtype and place of one that is not there will do."""
    return [
        one if isinstance(one, jax.Array) else jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=_sharding_of(cell))
        for one, cell in zip(buffers, cells, strict=True)
    ]


def _sharding_of(cell: object) -> Any:
    home = _home_of(cell)
    return None if home is None else home.stored


def reordering(cells: Sequence[Any], order: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that puts the values of some cells into the order of others."""
    place = {id(cell): i for i, cell in enumerate(cells)}
    where = [place[id(cell)] for cell in order]
    return lambda values: [values[i] for i in where]


def disjoint(groups: Sequence[Sequence[Any]], cells: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the groups of two and more that consist of these cells, each cell in one of them at most."""
    free = {id(cell) for cell in cells}
    found = []
    for group in groups:
        own = {id(cell) for cell in group}
        if len(own) > 1 and own <= free:
            free -= own
            found.append(group)
    return found
