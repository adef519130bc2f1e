"""``graftax export save TARGET ART``."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.cli.output import print_json
from graftax.cli.target import call_target
from graftax.core.errors import ArgumentError
from graftax.export.first_call import specs_of_first_call
from graftax.export.naming import checked_roots
from graftax.export.saving import save
from graftax.export.spec import Spec
from graftax.export.to_onnx.export import onnx
from graftax.variables.graph.module import Module

_RETURNS = 'return model; or return {"predict": graftax.export.Signature(...)}, {"model": model}'


def run(options: Namespace) -> int:
    """Build what the target makes, restore into it if told, and export it."""
    made = call_target(options.target)
    functions, roots = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(functions, Module | Mapping) and not callable(functions):
        raise ArgumentError(
            f"TARGET {options.target!r} returned a {type(made).__name__}",
            "it returns a model, or what graftax.export.save takes: functions, and roots",
            _RETURNS,
        )
    named = checked_roots(functions if roots is None and isinstance(functions, Module) else roots or {}, _RETURNS)
    if options.source:
        if not named:
            raise ArgumentError("--from without roots", "nothing says where the values of a checkpoint go", _RETURNS)
        Checkpoint(**named).restore(options.source, only=[f"{name}/**" for name in named])
    inputs = [_spec(text) for text in options.input or ()]
    function = _for_onnx(functions) if options.onnx else None
    report = save(
        options.artefact,
        functions,
        *inputs,
        roots=named or None,
        platforms=tuple(options.platforms.split(",")),
        check=not options.no_check,
        overwrite=options.overwrite,
    )
    told = [report]
    if function is not None:
        told.append(_onnx(options, function, inputs))
    if options.json:
        print_json(_to_plain({**report._asdict(), **({"onnx": told[1]} if told[1:] else {})}))
    else:
        print(*told, sep="\n")
    return 0


def _for_onnx(functions: Any) -> Any:
    """Return the one function that goes into an ONNX file."""
    if not isinstance(functions, Mapping) or isinstance(functions, Module):
        return functions
    names = [name for name, one in functions.items() if not one.assigns]
    if "predict" not in names and len(names) != 1:
        raise ArgumentError(
            f"--onnx of {', '.join(functions)}", "an ONNX file has one function", 'one of them called "predict"'
        )
    return functions["predict" if "predict" in names else names[0]]


def _onnx(options: Namespace, function: Any, inputs: list[Any]) -> Any:
    if not inputs and isinstance(function, Module):
        inputs = list(specs_of_first_call(function))
    return onnx(options.onnx, function, *inputs, check=not options.no_check, overwrite=options.overwrite)


def _spec(text: str) -> Spec:
    shape, _, dtype = text.partition(":")
    return Spec(shape, dtype or "float32")


def _to_plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return _to_plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): _to_plain(one) for key, one in value.items()}
    return [_to_plain(one) for one in value] if isinstance(value, list | tuple) else value
