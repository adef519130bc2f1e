"""Checks inside of programs of JAX: one equation each; a checked program gives the number of the first that failed.

jax.experimental.checkify does the same for functions; it drops checks from a scan that is differentiated backwards and
takes no while loop under vmap. Here the program is traced, and differentiated, before the checks are collected, and
their equations have an effect that every transformation of JAX keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from graftax.backend.jax import tracing

check_p = tracing.Primitive("graftax_check")
check_p.multiple_results = True
_EFFECTS = jax.make_jaxpr(lambda: jax.debug.callback(lambda: None))().effects  # kept wherever that of a print is


def note(explain: Callable[..., Any], bad: object, looked_at: Sequence[Any]) -> None:
    """Write a check down; raise if it fails and operations run at once."""
    check_p.bind(bad, *looked_at, explain=explain)


@check_p.def_effectful_abstract_eval  # type: ignore[untyped-decorator]
def _(bad: object, *looked_at: Any, explain: object) -> Any:
    return [], _EFFECTS


@check_p.def_impl  # type: ignore[untyped-decorator]
def _(bad: Any, *looked_at: Any, explain: Any) -> list[Any]:
    if bool(np.any(bad)) and (error := explain(*map(np.asarray, looked_at))) is not None:
        raise error
    return []


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    check_p.bind(*primals, **params)
    return [], []


def _batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
    rows = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True)]
    first = 0 if dims[0] is None else jnp.argmax(rows[0])  # the first row that fails speaks for all
    bad = rows[0] if dims[0] is None else jnp.any(rows[0])
    check_p.bind(bad, *(r if d is None else r[first] for r, d in zip(rows[1:], dims[1:], strict=True)), **params)
    return [], []


tracing.derivative_rules[check_p] = _jvp
tracing.row_rules[check_p] = _batch
tracing.lower_as(check_p, lambda context, *args, **params: [])


# --- programs within programs -----------------------------------------------------------------------------------------

WHOLE = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "remat2",
    "remat",
    "checkpoint",
    "custom_jvp_call",
    "custom_vjp_call",
}
"""Primitives that run one program once."""
LOOPS = {"scan", "while", "cond"}
_OF_JAX = {*dir(jnp), *dir(jax.nn), *dir(jax.scipy.special), *dir(jnp.linalg), *dir(jax.random)}
_NO_NAN = frozenset(  # what gives a nan only for a nan
    "reshape broadcast_in_dim transpose slice squeeze concatenate select_n copy copy_p convert_element_type neg "
    "abs max min sign rev pad dynamic_slice dynamic_update_slice reduce_max reduce_min expand_dims stop_gradient split "
    "tanh logistic exp floor ceil round clamp sort iota exp2 erf is_finite optimization_barrier".split()
)


def inner(params: dict[str, Any]) -> Any:
    """Return the program among the parameters of an equation."""
    return params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]


def open_program(program: object) -> tuple[Any, list[Any]]:
    """Return a program and its constants."""
    return getattr(program, "jaxpr", program), list(getattr(program, "consts", ()))


def of_jax(equation: Any) -> bool:
    """Tell whether a function is one of JAX, such as ``logaddexp``, whose steps may be nan where its result is not."""
    if equation.primitive.name == "custom_jvp_call":
        return open_program(inner(equation.params))[0].debug_info.func_name.partition(" ")[0] in _OF_JAX
    return equation.primitive.name in ("jit", "pjit") and equation.params["name"] in _OF_JAX


def has_checks(program: object) -> bool:
    """Tell whether there is a check anywhere inside."""
    jaxpr, _ = open_program(program)
    return any(e.primitive is check_p or any(map(has_checks, tracing.programs_in(e.params))) for e in jaxpr.eqns)


def is_floating(value: object) -> bool:
    """Tell whether it can be nan."""
    return bool(jnp.issubdtype(getattr(value, "dtype", np.int32), jnp.inexact))


# --- collecting -------------------------------------------------------------------------------------------------------


class Checked:
    """A program that also gives the number of the first check that failed, 0 for none.

    Args:
        jaxpr: The program, its constants as first inputs.
        numbers: Whether every operation is checked for making a nan, too.
    """

    def __init__(self, jaxpr: object, numbers: bool) -> None:
        self._jaxpr = jaxpr
        self._numbers = numbers
        self.sites: list[tuple[Any, ...]] = []
        """For each number from 1, the equation and those around it, outermost first."""

    def run(self, values: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the results and the number."""
        self.sites.clear()
        return self._run(self._jaxpr, [], values, jnp.int32(0), ())

    def _run(self, jaxpr: Any, constants: Sequence[Any], values: Any, code: Any, around: Any) -> tuple[list[Any], Any]:
        env: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *values], strict=True))
        nan: dict[Any, Any] = {}  # whether a variable holds one

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, tracing.Literal) else env[atom]

        def has_nan(atom: Any) -> Any:
            if isinstance(atom, tracing.Literal):
                return bool(np.any(np.isnan(atom.val)))
            if atom not in nan:
                nan[atom] = jnp.any(jnp.isnan(env[atom]))
            return nan[atom]

        for equation in jaxpr.eqns:
            given = [read(atom) for atom in equation.invars]
            if equation.primitive is check_p:
                code = self._first(code, given[0], (*around, equation))
                continue
            results, code, seen = self._step(equation, given, code, around)
            env.update(zip(equation.outvars, results, strict=True))
            if self._numbers and not seen and equation.primitive.name not in _NO_NAN:
                made = [v for v, r in zip(equation.outvars, results, strict=True) if is_floating(r)]
                if made:
                    bad = any_of(map(has_nan, made))
                    floats = [a for a, g in zip(equation.invars, given, strict=True) if is_floating(g)]
                    bad = jnp.logical_and(bad, jnp.logical_not(any_of(map(has_nan, floats))))
                    code = self._first(code, bad, (*around, equation))
        return [read(atom) for atom in jaxpr.outvars], code

    def _first(self, code: Any, bad: Any, site: tuple[Any, ...]) -> Any:
        self.sites.append(site)
        return jnp.where(jnp.logical_and(code == 0, bad), jnp.int32(len(self.sites)), code)

    def _step(self, equation: Any, inputs: list[Any], code: object, around: Any) -> tuple[list[Any], Any, bool]:
        """Return results, the number, and whether what is inside has been looked at."""
        name, params = equation.primitive.name, equation.params
        deep = (self._numbers and not of_jax(equation)) or any(map(has_checks, tracing.programs_in(params)))
        around = (*around, equation)
        if not deep or name not in WHOLE | LOOPS:
            return tracing.bind(equation, inputs), code, False
        if name in WHOLE:
            jaxpr, constants = open_program(inner(params))
            results, code = self._run(jaxpr, constants, inputs, code, around)
        elif name == "scan":
            results, code = self._scan(params, inputs, code, around)
        elif name == "while":
            results, code = self._while(params, inputs, code, around)
        else:
            branches = [partial(self._branch, open_program(branch), around) for branch in params["branches"]]
            results, code = lax.switch(inputs[0], branches, inputs[1:], code)
        return results, code, True

    def _branch(self, program: Any, around: Any, inputs: list[Any], code: Any) -> tuple[list[Any], Any]:
        jaxpr, constants = program
        return self._run(jaxpr, constants, inputs, code, around)

    def _scan(self, params: dict[str, Any], inputs: list[Any], code: Any, around: Any) -> tuple[list[Any], Any]:
        jaxpr, constants = open_program(params["jaxpr"])
        fixed, carried = tracing.scan_counts(params)

        def body(carry: Any, rows: list[Any]) -> tuple[Any, list[Any]]:
            code, kept = carry
            results, code = self._run(jaxpr, constants, [*inputs[:fixed], *kept, *rows], code, around)
            return (code, results[:carried]), results[carried:]

        start = code, inputs[fixed : fixed + carried]
        (code, last), stacked = lax.scan(
            body, start, inputs[fixed + carried :], params["length"], params["reverse"], params["unroll"]
        )
        return [*last, *stacked], code

    def _while(self, params: dict[str, Any], inputs: list[Any], code: Any, around: Any) -> tuple[list[Any], Any]:
        first, second = params["cond_nconsts"], params["body_nconsts"]
        fixed, kept, start = inputs[:first], inputs[first : first + second], inputs[first + second :]
        condition, body = open_program(params["cond_jaxpr"]), open_program(params["body_jaxpr"])

        def going(code: object, carry: list[Any]) -> tuple[Any, Any]:
            (flag,), code = self._run(*condition, [*fixed, *carry], code, around)
            return flag, code

        started, code = going(code, start)

        def step(state: Any) -> Any:
            flag, code, carry = state
            now = carry
            if flag.ndim:  # under vmap: rows that are done do something again that they have done, and stay as they are
                now = running_carry(flag, started, start, carry)
            results, code = self._run(*body, [*kept, *now], code, around)
            if flag.ndim:
                going_on, code = going(code, [rows_of(flag, new, old) for new, old in zip(results, now, strict=True)])
                results = [rows_of(flag, new, old) for new, old in zip(results, carry, strict=True)]
                return jnp.logical_and(flag, going_on), code, results
            return *going(code, results), results

        state = lax.while_loop(lambda state: jnp.any(state[0]), step, (started, code, start))
        return state[2], state[1]


def rows_of(flag: Any, yes: Any, no: Any) -> Any:
    """Choose for each row one or the other."""
    return jnp.where(jnp.reshape(flag, (*flag.shape, *[1] * (yes.ndim - flag.ndim))), yes, no)


def running_carry(flag: Any, started: Any, start: list[Any], carry: list[Any]) -> list[Any]:
    """Return the carry of a loop under vmap, where rows that are done have one of a step that was, or is, taken."""
    running = jnp.argmax(jnp.reshape(flag, -1))
    others = [rows_of(started, one, row_of(now, running, flag.ndim)) for one, now in zip(start, carry, strict=True)]
    return [rows_of(flag, now, other) for now, other in zip(carry, others, strict=True)]


def row_of(value: jax.Array, number: object, axes: int) -> Any:
    """Return one row in place of all."""
    rows = jnp.reshape(value, (-1, *value.shape[axes:]))
    return jnp.broadcast_to(rows[number], value.shape)


def any_of(flags: Any) -> Any:
    """Tell whether one of them is."""
    found: Any = False
    for flag in flags:
        found = jnp.logical_or(found, flag)
    return found
