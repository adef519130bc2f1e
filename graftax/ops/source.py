"""The Python source of an op's function, written from its row, where ``inspect.getsource`` and debuggers find it.

The function has the parameters of the row, so that Python itself binds the arguments. For ``add`` it reads::

    def add(x=absent, y=absent, *more, **unknown):
        if unknown or more or x is absent or y is absent:
            return again(op, locals(), add)  # second names, or an error that says what is wrong
        native, target, canonical, check = bindings.get(current()) or bind()
        if not (type(x) in native and (type(y) in native and x.dtype == y.dtype)):
            (
                x,
                y,
            ) = prepare(
                op,
                (
                    x,
                    y,
                ),
            )  # unwraps Variables, converts, compares dtypes
        try:
            return target(x, y) if not masked else without_mask(target(x, y))  # if some array has a mask
        except Exception as error:
            return explain(op, error, {"x": x, "y": y})  # raises, naming the op and the shapes
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from graftax.ops.arguments import quick_test
from graftax.ops.masked_results import KEEPING
from graftax.ops.signatures import Op, Parameter, array_parameters, parameters, required_names, settings


def write(op: Op, checked: bool) -> str:
    """Return the source of an op's function.

    Args:
        op: The row.
        checked: True if a check of values runs before the op.
    """
    given = parameters(op)
    arrays = array_parameters(op)
    starred, named = any(one.starred for one in given), any(one.named for one in given)
    wrong = [
        *([] if named else ["unknown"]),
        *([] if starred else ["more"]),
        *(f"{n} is absent" for n in required_names(op)),
    ]
    name = function_name(op)
    lines = [
        f"# Generated from the row of {op.name} in graftax/ops/rows by graftax/ops/source.py.",
        f"def {name}({_head(op)}):",
        f"    if {' or '.join(wrong)}:",
        f"        return again(op, locals(), {name})  # second names, or an error that says what is wrong",
        "    native, target, canonical, check = bindings.get(current()) or bind()",
        *_converted_settings(op),
    ]
    lines += [f"    {one.name} = make_{one.name}({one.name})" for one in given if one.named]
    dtype = next((one.name for one in given if one.kind.takes == "dtype"), None)
    for one in arrays:
        if one.kind.casts:  # a Python number must be one of the new dtype
            made = f"current().arrays.asarray(unwrapped({one.name}), {dtype})"
            lines.append(f"    if type({one.name}) in literals: {one.name} = {made}")
    if arrays:
        listed = ", ".join(one.name for one in arrays)
        lines += [
            f"    if not ({' and '.join(_ready_tests(op, arrays))}):",
            f"        {listed}, = prepare(op, ({listed},))  # unwraps Variables, converts, compares dtypes",
        ]
    for one in given:
        if one.kind.takes == "arrays":
            lines.append(f"    {one.name} = sequence(op, {one.name!r}, {one.name}, {one.kind.agrees})")
        elif one.kind.takes == "data":
            lines.append(f"    {one.name} = unwrapped({one.name})")
    lines += _axis_tests(given)
    for one in arrays:
        if one.kind.refuses:
            lines.append(f"    refuse_kind(op.name, {one.name!r}, {one.name}, {one.kind.refuses!r})")
    if checked:
        lines.append(f"    check({', '.join(one.name for one in given)})")
    lines += [
        "    try:",
        f"        return target({_write_arguments(given)}) if not masked else {_write_masked_call(op)}",
        "    except Exception as error:",
        f"        return explain(op, error, {{{', '.join(f'{one.name!r}: {one.name}' for one in given)}}})",
    ]
    return "\n".join(lines) + "\n"


def function_name(op: Op) -> str:
    """Return the name of an op within its namespace."""
    return op.name.rpartition(".")[2]


def run(op: Op, source: str, space: dict[str, Any]) -> Callable[..., Any]:
    """Return the function that a source defines, in whose namespace is what it calls.

    Python's cache of source lines gets the source, under the file name that tracebacks give: so ``inspect.getsource``,
    debuggers and tracebacks show it.
    """
    file = f"<graftax.ops.{op.name}>"
    exec(compile(source, file, "exec"), space)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    function: Callable[..., Any] = space[function_name(op)]
    return function


def _head(op: Op) -> str:
    """Write the parameters as the function is compiled with them.

    What must be given is ``absent`` unless it is; more arguments than there are, and unknown names, are gathered: so
    that all is told in our words.
    """
    given = parameters(op)
    gathered = next((one.name for one in given if one.starred), "more")
    parts = [f"{one.name}={one.default or 'absent'}" for one in given if not (one.starred or one.named)]
    keywords = next((one.name for one in given if one.named), "unknown")
    places = sum(not (one.by_name or one.starred or one.named) for one in given)
    return ", ".join([*parts[:places], f"*{gathered}", *parts[places:], f"**{keywords}"])


def _converted_settings(op: Op) -> list[str]:
    """Write the lines that check what is no array, each argument as its kind says."""
    lines = []
    for one in settings(op):
        name = one.name
        if one.kind.takes == "dtype":
            otherwise = f"{one.default} if {name} is None else " if one.default else ""
            lines.append(f"    {name} = {otherwise}canonical({name})")
        elif one.kind.takes == "structure":
            lines.append(f"    if type({name}) not in atoms: {name} = frozen({name})")
        else:
            lines.append(f"    if not ({quick_test(one)}): {name} = make_{name}({name})")
    return lines


def _ready_tests(op: Op, arrays: tuple[Parameter, ...]) -> list[str]:
    """Write what is true of arrays that need no preparation."""
    agreeing = [one for one in arrays if one.kind.agrees]
    adapts = op.weak and not any(one.kind.fills for one in arrays)
    tests = []
    for one in arrays:
        if one not in agreeing[1:]:
            test = f"type({one.name}) in native"
            tests.append(f"({one.name} is None or {test})" if one.optional else test)
    for one in agreeing[1:]:
        first, name = agreeing[0].name, one.name
        test = f"type({name}) in native and {first}.dtype == {name}.dtype"
        if adapts:
            test = f"type({name}) in numbers and fits({first}.dtype, {name}) or {test}"
        if one.optional:
            test = f"{name} is None or {test}"
        tests.append(f"({test})")
    return tests


def _axis_tests(parameters: tuple[Parameter, ...]) -> list[str]:
    """Write the lines that refuse axes of a single number, since NumPy lets 0 and -1 pass."""
    first = parameters[0]
    lines = []
    for one in parameters if first.kind.takes == "array" else ():
        if one.kind.of_first:
            some = f"{one.name} is not None and " if one.optional else ""
            some += f"{one.name} != () and " if one.kind.depth else ""
            lines.append(f"    if {some}not {first.name}.ndim: axis_in_range(op.name, {one.name}, 0)")
    return lines


def _write_arguments(parameters: tuple[Parameter, ...]) -> str:
    """Write the arguments: positional up to the last array, by keyword from there on."""
    last = max((i for i, one in enumerate(parameters) if one.takes_arrays), default=-1)
    return ", ".join(
        f"{'*' if one.starred else ''}{one.name}" if i <= last else f"{one.name}={one.name}"
        for i, one in enumerate(parameters)
    )


def _write_masked_call(op: Op) -> str:
    """Write the call where some array has a mask: its result has none, unless the op keeps masks."""
    given = parameters(op)
    call = f"target({_write_arguments(given)})"
    return f"with_mask({given[0].name}, {call})" if op.name in KEEPING else f"without_mask({call})"
