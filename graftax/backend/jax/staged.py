"""Programs of JAX: run with other constants, compared by what they do, looked through for what they depend on."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from types import FunctionType, MethodType
from typing import Any

import jax
import jax.core
import numpy as np

from graftax.backend.jax import checks, tracing


class Staged:
    """A function traced once. It holds no arrays: constants and inputs are given when it is run."""

    def __init__(self, jaxpr: Any) -> None:
        self._jaxpr = jaxpr
        self.results: Sequence[Any] = jaxpr.outvars and [variable.aval for variable in jaxpr.outvars]

    def run(self, constants: Sequence[Any], late: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Return the results."""
        results: list[Any] = jax.core.eval_jaxpr(self._jaxpr, constants, *late, *values)
        return results

    def only(self, places: Sequence[int], effects: bool = True) -> Staged:
        """Return the program of some of the results: it takes the same, and does what they need."""
        outputs = [self._jaxpr.outvars[i] for i in places]
        needed = {atom for atom in outputs if not isinstance(atom, tracing.Literal)}
        equations = []
        for equation in reversed(self._jaxpr.eqns):
            if (effects and equation.effects) or any(variable in needed for variable in equation.outvars):
                equations.append(equation)
                needed.update(atom for atom in equation.invars if not isinstance(atom, tracing.Literal))
        names = self._jaxpr.debug_info.with_unknown_names()
        seen = self._jaxpr.effects if effects else set().union(*(equation.effects for equation in equations))
        return Staged(self._jaxpr.replace(outvars=outputs, eqns=equations[::-1], effects=seen, debug_info=names))

    def run_whole(self, constants: Sequence[Any], late: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Compute the results by one operation: `run` takes every equation in turn, which shows where it is traced."""
        if tracing.is_eager(tracing.current_level()):  # jax does not compile now, to find a nan
            return _run_in_steps(self._jaxpr, constants, [*late, *values])
        given = [*constants, *late, *values]
        counts = {"in": len(given), "donated": len(given), "out": len(self.results)}
        parameters = dict(_parameters_of_jit())
        for name, value in parameters.items():
            count = counts.get(name.partition("_")[0])
            if count is not None and isinstance(value, tuple):  # one entry for each input or output
                parameters[name] = value * count
        results: list[Any] = tracing.jit_p.bind(*given, **{**parameters, "jaxpr": self._closed})
        return results

    @cached_property
    def whole(self) -> Any:
        """Return the program with its constants as first inputs."""
        jaxpr = self._jaxpr
        names = jaxpr.debug_info.with_unknown_names()
        return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars], debug_info=names)

    @cached_property
    def _closed(self) -> Any:
        return tracing.ClosedJaxpr(self.whole, [])

    @cached_property
    def _equations(self) -> list[Any]:
        return list(_equations(self._jaxpr))

    @cached_property
    def may_fail(self) -> bool:
        """Tell whether it may raise while it runs."""
        return bool(self._jaxpr.effects) or any("callback" in e.primitive.name for e in self._equations)

    @cached_property
    def used(self) -> list[bool]:
        """Return, for each input of `whole`, whether a result or an effect depends on it."""
        found: list[bool] = tracing.dce_jaxpr(self.whole, [True] * len(self.results))[1]
        return found

    @cached_property
    def numbers_gave_way(self) -> bool:
        """Tell whether what a Python number became took the dtype of another array; an array of its own would not."""
        return any(
            equation.primitive.name == "convert_element_type"
            and getattr(equation.invars[0].aval, "weak_type", False)
            and equation.invars[0].aval.dtype not in (bool, equation.params["new_dtype"])
            for equation in self._equations
        )

    @cached_property
    def key(self) -> Hashable | None:
        """Return a key that is equal for programs that do the same; None where that is not known."""
        if any(e.primitive.name.startswith("custom_vjp") or "callback" in e.primitive.name for e in self._equations):
            return None  # Python of the user, which may be another one the next time
        try:
            found = _form(self._jaxpr)
            hash(found)
        except TypeError:  # a parameter that cannot be hashed
            return None
        return found

    def may_equal(self, other: Staged) -> bool:
        """Return False for a program that is known to do something else, also where there is no key."""
        return _may_equal(_form(self._jaxpr), _form(other._jaxpr))


def _run_in_steps(jaxpr: Any, constants: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return the results of a program, operation by operation, also those of functions in it: JAX names one for a nan.

    Of a compiled function in the program it would not: 0.12 raises an exception of its own, that is caught nowhere.
    """
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *values], strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, tracing.Literal) else known[atom]

    for equation in jaxpr.eqns:
        given = list(map(read, equation.invars))
        if equation.primitive.name in checks.WHOLE:
            results = _run_in_steps(*checks.open_program(checks.inner(equation.params)), given)
        else:
            results = tracing.bind(equation, given)
        known.update(zip(equation.outvars, results, strict=True))
    return list(map(read, jaxpr.outvars))


@cache
def _parameters_of_jit() -> dict[str, Any]:
    """Return the parameters of the operation that is a compiled function of one array with one result."""
    parameters: dict[str, Any] = jax.make_jaxpr(jax.jit(lambda x: x + 1))(0.0).eqns[0].params
    return parameters


def _equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in tracing.programs_in(equation.params):
            yield from _equations(getattr(inner, "jaxpr", inner))


# --- comparison -------------------------------------------------------------------------------------------------------


class _Same:
    """An object told apart by identity, and kept alive, so that its identity stays its own."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def _form(jaxpr: Any) -> Hashable:
    numbers: dict[Any, int] = {}

    def name(atom: Any) -> Hashable:
        if isinstance(atom, tracing.Literal):
            return str(atom.aval), _value(atom.val)
        return numbers.setdefault(atom, len(numbers))

    given = tuple((name(v), _kind(v.aval)) for v in (*jaxpr.constvars, *jaxpr.invars))
    steps = tuple(
        (
            e.primitive,
            e.ctx,
            tuple((key, _value(e.params[key])) for key in sorted(e.params)),
            tuple(map(name, e.invars)),
            tuple((name(v), _kind(v.aval)) for v in e.outvars),
        )
        for e in jaxpr.eqns
    )
    return given, steps, tuple(map(name, jaxpr.outvars))


def _kind(aval: object) -> Hashable:
    return str(aval), getattr(aval, "weak_type", False)


def _value(value: object) -> Hashable:
    if isinstance(value, tracing.PROGRAMS):
        return _form(getattr(value, "jaxpr", value)), tuple(map(_value, getattr(value, "consts", ())))
    if isinstance(value, tuple | list):
        return type(value), tuple(map(_value, value))
    if isinstance(value, np.ndarray | np.generic):
        return value.shape, str(value.dtype), value.tobytes()
    if isinstance(value, jax.Array):
        return _Same(value)
    if isinstance(value, float | complex):  # 0.0 and -0.0 are equal
        return type(value), repr(value)
    return type(value), value  # 1 and True are equal


def _may_equal(one: Any, other: Any, depth: int = 0) -> bool:
    """Return False for parts of forms that differ; functions made anew from the same code may be equal."""
    if one is other or depth > _DEEPEST:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple | list):
        same_length = len(one) == len(other)
        return same_length and all(_may_equal(*pair, depth + 1) for pair in zip(one, other, strict=True))
    if isinstance(one, FunctionType):
        return one.__code__ is other.__code__ and _may_equal(_held_by(one), _held_by(other), depth + 1)
    if isinstance(one, MethodType):
        one, other = ([m.__func__, *_functions_of(m.__self__)] for m in (one, other))
        return _may_equal(one, other, depth + 1)
    if isinstance(one, partial):
        one, other = ((p.func, p.args, *sorted(p.keywords.items())) for p in (one, other))
        return _may_equal(one, other, depth + 1)
    if isinstance(one, np.ndarray | np.generic):
        return _value(one) == _value(other)
    if isinstance(one, _COMPARED):
        return repr(one) == repr(other)
    # what jax wraps around a rule is made anew each time
    inner, its_inner = getattr(one, "f", None), getattr(other, "f", None)
    if isinstance(inner, FunctionType) and isinstance(its_inner, FunctionType):
        return _may_equal(inner, its_inner, depth + 1)
    if isinstance(one, _Same):
        traced = any(isinstance(each.it, jax.core.Tracer) for each in (one, other))
        return one == other or (not traced and _value(np.asarray(one.it)) == _value(np.asarray(other.it)))
    if isinstance(name := getattr(one, "name", None), str):  # an operation, for example
        return bool(name == other.name)
    equality: Any = type(one).__eq__
    return equality is object.__eq__ or bool(one == other)


def _functions_of(holder: object, depth: int = 0) -> list[FunctionType]:
    """Return the functions in the attributes of an object, and of the objects in these."""
    found: list[FunctionType] = []
    for value in list(getattr(holder, "__dict__", {}).values()) if depth < _OBJECTS else ():
        found += [value] if isinstance(value, FunctionType) else _functions_of(value, depth + 1)
    return found


_OBJECTS = 3  # objects inside of each other
_COMPARED = (str, bytes, bool, int, float, complex)
_DEEPEST = 64


def _held_by(function: FunctionType) -> tuple[Any, ...]:
    """Return what a function closes over, and its defaults."""
    found: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not assigned yet
            found.append(cell.cell_contents)
    return tuple(found)
