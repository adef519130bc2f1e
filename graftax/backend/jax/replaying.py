"""Programs of JAX run one operation after another on real values, to see where a bad number comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftax.backend.jax import checks, tracing
from graftax.core import user_line
from graftax.core.culprit import Culprit, Range


class _Found(Exception):
    def __init__(self, culprit: Culprit) -> None:
        super().__init__()
        self.culprit = culprit


class _Value:
    """A value, where its nan and its infinities come from, and whether it is written in the program."""

    __slots__ = ("array", "infinity", "nan", "written")

    def __init__(
        self, array: Any, nan: Culprit | None = None, infinity: Culprit | None = None, written: bool = False
    ) -> None:
        self.array, self.nan, self.infinity, self.written = array, nan, infinity, written


class Replay:
    """One replay.

    Args:
        stops: Whether it ends at the first check that fails, and at the first nan that is made; otherwise it goes on
            to the end, to tell what reaches the results.
        numbers: Whether a nan ends it.
    """

    def __init__(self, stops: bool, numbers: bool = True) -> None:
        self._stops = stops
        self._numbers = numbers
        self._inside: tuple[str, ...] = ()

    def find(self, jaxpr: Any, values: Sequence[Any], names: Sequence[str]) -> Culprit | None:
        """Return what went wrong, or None; ``names`` are those of the inputs."""
        given = [_input(value, name) for value, name in zip(values, names, strict=True)]
        try:
            results = self._run(jaxpr, [], given, ())
        except _Found as found:
            return found.culprit
        for kind in () if self._stops else ("nan", "infinity"):
            for number, one in enumerate(results):
                origin: Culprit | None = getattr(one, kind)
                if origin is not None:
                    return replace(origin, result=number)
        return None

    def _run(self, jaxpr: Any, constants: Sequence[Any], inputs: Sequence[_Value], around: Any) -> list[_Value]:
        consts = [_input(value, "a constant of the function") for value in constants]
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *inputs], strict=True))

        def read(atom: Any) -> _Value:
            return _Value(jnp.asarray(atom.val), written=True) if isinstance(atom, tracing.Literal) else env[atom]

        for equation in jaxpr.eqns:
            results = self._step(equation, [read(atom) for atom in equation.invars], (*around, equation))
            env.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _step(self, equation: Any, inputs: list[_Value], around: Any) -> list[_Value]:
        name, params = equation.primitive.name, equation.params
        if equation.primitive is checks.check_p:
            self._check(params["explain"], inputs, around)
            return []
        if name in checks.WHOLE:
            if checks.of_jax(equation) and not any(map(checks.has_checks, tracing.programs_in(params))):
                whole = self._evaluate(equation, inputs, around, looks=False)
                if not any(one.nan or one.infinity for one in whole):
                    return whole
            return self._run(*checks.open_program(checks.inner(params)), inputs, around)
        if name == "cond":
            return self._run(*checks.open_program(params["branches"][int(inputs[0].array)]), inputs[1:], around)
        if name == "scan":
            return self._scan(params, inputs, around)
        if name == "while":
            return self._while(params, inputs, around)
        return self._evaluate(equation, inputs, around)

    def _scan(self, params: dict[str, Any], inputs: list[_Value], around: Any) -> list[_Value]:
        jaxpr, constants = checks.open_program(params["jaxpr"])
        fixed, carried = tracing.scan_counts(params)
        length, outside = params["length"], self._inside
        carry, rows = inputs[fixed : fixed + carried], inputs[fixed + carried :]
        stacked: list[list[_Value]] = [[] for _ in range(len(jaxpr.outvars) - carried)]
        for i in reversed(range(length)) if params["reverse"] else range(length):
            self._inside = (*outside, f"step {i} of {length} of a scan")
            now = [_Value(row.array[i], row.nan, row.infinity) for row in rows]
            now = [_Value(v.array, v.nan if _has_nan(v) else None, v.infinity if _has_inf(v) else None) for v in now]
            results = self._run(jaxpr, constants, [*inputs[:fixed], *carry, *now], around)
            carry = results[:carried]
            for whole, one in zip(stacked, results[carried:], strict=True):
                whole.append(one)
        self._inside = outside
        if params["reverse"]:
            stacked = [whole[::-1] for whole in stacked]
        outs = []
        for whole, variable in zip(stacked, jaxpr.outvars[carried:], strict=True):
            aval = variable.aval
            array = jnp.stack([one.array for one in whole]) if whole else jnp.zeros((0, *aval.shape), aval.dtype)
            nan, infinity = (
                [getattr(one, kind) for one in whole if getattr(one, kind)] for kind in ("nan", "infinity")
            )
            outs.append(_Value(array, nan[0] if nan else None, infinity[0] if infinity else None))
        return [*carry, *outs]

    def _while(self, params: dict[str, Any], inputs: list[_Value], around: Any) -> list[_Value]:
        first, second = params["cond_nconsts"], params["body_nconsts"]
        fixed, kept, carry = inputs[:first], inputs[first : first + second], inputs[first + second :]
        condition, body = checks.open_program(params["cond_jaxpr"]), checks.open_program(params["body_jaxpr"])
        outside, number, start = self._inside, 0, carry
        flag = started = self._run(*condition, [*fixed, *carry], around)[0].array
        while bool(np.any(flag)):
            self._inside = (*outside, f"step {number} of a while loop")
            now = carry
            if flag.ndim:  # under vmap
                arrays = checks.running_carry(flag, started, [v.array for v in start], [v.array for v in carry])
                now = [_Value(array, v.nan, v.infinity) for array, v in zip(arrays, carry, strict=True)]
            asked = results = self._run(*body, [*kept, *now], around)
            if flag.ndim:
                asked = [_select(flag, new, old) for new, old in zip(results, now, strict=True)]
                results = [_select(flag, new, old) for new, old in zip(results, carry, strict=True)]
            going_on = self._run(*condition, [*fixed, *asked], around)[0].array
            carry, flag = results, jnp.logical_and(flag, going_on)
            number += 1
        self._inside = outside
        return carry

    def _evaluate(self, equation: Any, inputs: list[_Value], around: Any, looks: bool = True) -> list[_Value]:
        written = bool(inputs) and all(one.written for one in inputs)
        made = [_Value(array, written=written) for array in tracing.bind(equation, [one.array for one in inputs])]
        for value in made:
            for kind, has in (("nan", _has_nan), ("infinity", _has_inf)):
                if not has(value):
                    continue
                before = next((getattr(one, kind) for one in inputs if getattr(one, kind)), None)
                # what takes the infinity of a constant in is what made it; nan out of finite constants is made here
                if written and before is None and (kind == "infinity" or not all(map(_is_finite, inputs))):
                    continue
                computed = [one for one in inputs if not one.written]
                if before is None and not any(map(has, computed)):
                    before = self._culprit(kind.removesuffix("inity"), inputs, made, around)
                    is_new = not any(map(has, inputs))
                    if kind == "nan" and is_new and self._stops and self._numbers and looks:
                        raise _Found(before)
                setattr(value, kind, before)
        return made

    def _culprit(self, kind: str, inputs: list[_Value], outputs: list[_Value], around: Any) -> Culprit:
        infinity = next((one.infinity for one in inputs if one.infinity), None) if kind == "nan" else None
        ranges_in, ranges_out = (tuple(value_range(one.array) for one in values) for values in (inputs, outputs))
        return replace(
            locate(around), kind=kind, inside=self._inside, inputs=ranges_in, outputs=ranges_out, infinity=infinity
        )

    def _check(self, explain: Any, inputs: list[_Value], around: Any) -> None:
        if not bool(np.any(inputs[0].array)):
            return
        error = explain(*(np.asarray(one.array) for one in inputs[1:]))
        if error is not None and self._stops:
            raise _Found(replace(locate(around), kind="check", inside=self._inside, error=error))


def _select(flag: Any, new: _Value, old: _Value) -> _Value:
    """Choose for each row of a loop one or the other."""
    array = checks.rows_of(flag, new.array, old.array)
    return _Value(array, new.nan or old.nan, new.infinity or old.infinity)


def locate(around: Sequence[Any]) -> Culprit:
    """Return which operation the last of these equations is, and where in the layers and the user's lines."""
    names, backward, lines = tracing.origin(around)
    name = around[-1].primitive.name
    ops = [filename[len("<graftax.ops.") : -1] for filename, _, _ in lines if filename.startswith("<graftax.ops.")]
    place = user_line.of_lines([(filename, number) for filename, number, _ in lines])
    return Culprit("nan", ops[0] if ops else name, name, "/".join(names), backward, place)


def value_range(array: Any) -> Range:
    """Return an array in a few numbers."""
    shape, dtype = tuple(array.shape), str(array.dtype)
    try:
        host = np.asarray(array)
        host = np.abs(host) if host.dtype.kind == "c" else host.astype("float64")
    except TypeError:  # keys of random numbers
        return Range(shape, dtype, None, None, 0, 0)
    finite = host[np.isfinite(host)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    return Range(shape, dtype, low, high, int(np.isnan(host).sum()), int(np.isinf(host).sum()))


def _input(value: jax.Array, name: str) -> _Value:
    found = _Value(value)
    for kind, has, short in (("nan", _has_nan, "nan"), ("infinity", _has_inf, "inf")):
        if has(found):
            setattr(found, kind, Culprit(short, "", "", given=name, outputs=(value_range(value),)))
    return found


def _is_finite(value: _Value) -> bool:
    return not _has_nan(value) and not _has_inf(value)


def _has_nan(value: _Value) -> bool:
    return checks.is_floating(value.array) and bool(np.isnan(np.asarray(value.array)).any())


def _has_inf(value: _Value) -> bool:
    return checks.is_floating(value.array) and bool(np.isinf(np.asarray(value.array)).any())
