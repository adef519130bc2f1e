"""TARGET on the command line: a function of the user's that builds the objects to save or restore."""

import os
import shlex
import sys
import traceback
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isfunction
from types import ModuleType
from typing import Any

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import ArgumentError, GraftaxError
from graftax.core.known_names import closest

_FORM = "train.py:build or package.module:build"


def build(target: str) -> Checkpoint:
    """Call the function that ``target`` names and return its Checkpoint, or the one of the roots that it returns.

    Raises:
        ArgumentError: there is no such function, it fails, or it returns something else.
    """
    made = call_target(target)
    if isinstance(made, Checkpoint):
        return made
    if isinstance(made, dict) and made and all(type(key) is str for key in made):
        return Checkpoint(**made)
    raise ArgumentError(
        f"TARGET {target!r} returned a {type(made).__name__}",
        "it returns a Checkpoint, or a dict of names and objects",
        'return {"model": model}',
    )


def call_target(target: str) -> Any:
    """Call the function that ``target`` names and return what it returns.

    Only what the user wrote on the command line is ever imported, nothing that a file names.

    Raises:
        ArgumentError: there is no such function, or it fails.
    """
    source, _, name = target.rpartition(":")
    if not source or not name.isidentifier():
        raise ArgumentError(f"TARGET {target!r}", "it names a function", _FORM)
    try:
        module = _module(source)
        function = getattr(module, name, None)
        if not callable(function):
            near = closest(name, [known for known, thing in vars(module).items() if isfunction(thing)])
            raise ArgumentError(
                f"TARGET {target!r}", f"{source} has no function {name}", f"{source}:{near}" if near else _FORM
            )
        return function()
    except GraftaxError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise ArgumentError(
            f"TARGET {target!r} raised {type(error).__name__}: {error}",
            f"at {frame.filename}:{frame.lineno}: {frame.line}",
            f"see where it fails: {_trial(source, name)}",
        ) from error


def _trial(source: str, name: str) -> str:
    """Return the line for the shell that calls the function alone."""
    folder, file = os.path.split(source)
    module = file.removesuffix(".py") if source.endswith(".py") else source
    line = f'python -c "import {module}; {module}.{name}()"'
    return f"cd {shlex.quote(folder)} && {line}" if folder else line


def _module(source: str) -> ModuleType:
    if not source.endswith(".py"):
        sys.path.insert(0, os.getcwd())  # as `python -m` does
        try:
            return import_module(source)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{source}.".startswith(f"{error.name}."):
                raise
            raise ArgumentError(f"TARGET in {source}", f"there is no module {error.name} here", _FORM) from None
    path = os.path.abspath(source)
    if not os.path.isfile(path):
        raise ArgumentError(f"TARGET in {source}", "there is no such file", _FORM)
    sys.path.insert(0, os.path.dirname(path))  # as `python file.py` does
    name = os.path.splitext(os.path.basename(path))[0]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"TARGET in {source}", "it is no Python file", _FORM)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
