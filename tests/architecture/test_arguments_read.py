"""No function and no constructor that users call takes an argument that it does not read."""

import dis
import inspect
from collections.abc import Iterator
from types import FunctionType, ModuleType

import graftax as gx


def public(module: ModuleType, name: str, seen: set[int]) -> Iterator[tuple[str, FunctionType]]:
    """All functions and constructors below a public module, each once, with the name that users type."""
    for word in module.__all__:
        thing = getattr(module, word)
        home = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", "")
        if id(thing) in seen or not str(home).startswith("graftax"):
            continue
        seen.add(id(thing))
        if isinstance(thing, ModuleType):
            yield from public(thing, f"{name}.{word}", seen)
        elif isinstance(thing, type):
            made = thing.__dict__.get("__init__")
            if isinstance(made, FunctionType):
                yield f"{name}.{word}", made
        elif isinstance(thing, FunctionType):
            yield f"{name}.{word}", inspect.unwrap(thing)


def not_read(function: FunctionType) -> list[str]:
    """Parameters of which the function loads none."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    read = set(code.co_cellvars)
    for step in dis.get_instructions(code):
        if step.opname.startswith("LOAD"):  # Python 3.13 loads two at once
            read.update(step.argval if isinstance(step.argval, tuple) else (step.argval,))
    return [one for one in parameters if one not in read and one != "self"]


def test_what_is_stored_to_or_never_loaded_counts_as_not_read():
    def ignoring(x, y=1, *, z=2):
        y = x
        return None if y else 0

    def reading(x, *, z=2):
        return lambda: x + z

    assert not_read(reading) == []
    assert not_read(ignoring) == ["z"]


def test_every_public_function_and_constructor_reads_what_it_is_given():
    functions = dict(public(gx, "gx", set()))
    assert len(functions) > 700
    assert {name: unread for name, f in functions.items() if (unread := not_read(f))} == {}
