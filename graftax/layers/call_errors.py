"""What went wrong in the call of a layer, told with the layer's path and what it was called with."""

from __future__ import annotations

import inspect
import re
from types import TracebackType
from typing import Any

from graftax.core import foreign_errors, tree, user_line
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentTypeError, DTypeError, GraftaxError, MissingAttributeError, StateError
from graftax.core.foreign_keywords import CALLS
from graftax.core.known_names import closest
from graftax.layers.arguments import PARTS
from graftax.layers.inputs import describe_call
from graftax.layers.inputs_of_call import line_for_one_argument
from graftax.layers.missing_keys import missing_key_error
from graftax.variables.graph.module import Module

_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")
CALLERS = frozenset({"_gx_call", "watched_call"})
"""The functions that run the call of a layer, by name."""
_BINDING = re.compile(r"call\(\) (missing|takes|got)")


def explain_call(
    layer: Any, title: str, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> GraftaxError | None:
    """Return the error to raise in place of one from the call of a layer; None if it says enough, with where it was."""
    where = f"{title} called with {describe_call(args, kwargs)}"
    if line_for_one_argument(layer, args):
        where += f", all as {next(iter(inspect.signature(layer.call).parameters), '')!r} of its call"
        where += ": fit, evaluate and predict pass one argument" if hasattr(layer, "train_step") else ""
    better: GraftaxError | None = None
    if isinstance(error, AttributeError) and isinstance(error.obj, Module) and error.name:
        better = _missing_attribute_error(layer, error.obj, error.name)
    elif isinstance(error, TypeError) and _BINDING.search(str(error)) and _is_raised_by(error.__traceback__, CALLERS):
        parameters = ", ".join(
            str(p.replace(annotation=p.empty)) for p in inspect.signature(layer.call).parameters.values()
        )
        instead = line_for_one_argument(layer, args) or _suggest_keyword(layer, error)
        better = ArgumentTypeError(f"{error}", f"the call of this layer takes ({parameters})", instead)
    elif isinstance(error, KeyError):
        better = missing_key_error(title, error, (*args, *kwargs.values()))
    elif isinstance(error, DTypeError) and not error.context and _looks_up(layer):
        better = _no_indices_error(title, error)
    elif isinstance(error, DTypeError) and not error.context and (given := _complex_among(args, kwargs)):
        better = _real_weights(layer, title, given)
    if better is None:
        return foreign_errors.explain(error, where)
    better.place = user_line.of_traceback(error.__traceback__) or better.place
    better.add_context(where)
    return better


def no_output_error(title: str) -> ArgumentTypeError:
    """Return the error for a call that gives None, as of a function without a return."""
    return ArgumentTypeError(
        f"{title}: its call gave None",
        "the next step computes with the output of the layer, and None is often a function without a return",
        "return y at the end of call(self, x); return x where the layer only looks at it",
    )


def _looks_up(layer: Any) -> bool:
    """Tell whether it is a layer of ours that takes integers, such as an embedding."""
    return type(layer).__module__ == "graftax.layers.embedding"


def _no_indices_error(title: str, error: DTypeError) -> GraftaxError:
    """Return the error for numbers with fractions that are to be indices, as a table of integers becomes, too."""
    return DTypeError(
        f"{title} got {error.received.partition('of ')[2]}",
        "it takes integers, as indices of its rows",
        'x.astype("int32"), or ops.cast(x, "int32") in a call that has other columns, too; if x is a table, which '
        "becomes float32, x.to_numpy(), where the whole model takes integers",
    )


def _complex_among(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the dtype and shape of the first complex array of a call; empty for none."""
    for leaf in tree.flatten((args, kwargs)):
        if is_complex(getattr(leaf, "dtype", "")):
            return f"{leaf.dtype}{list(leaf.shape)}"
    return ""


def _real_weights(layer: Any, title: str, received: str) -> GraftaxError | None:
    """Return the error for complex numbers that meet the weights of a layer of ours."""
    if not type(layer).__module__.startswith("graftax.layers.") or is_complex(layer._gx_dtypes.compute_dtype):
        return None
    return DTypeError(
        f"{title} got complex numbers, {received}",
        f"it computes with {layer._gx_dtypes.compute_dtype}, and nothing is cast silently",
        PARTS,
    )


def _suggest_keyword(layer: Any, error: TypeError) -> str:
    """Return the line to write in place of a keyword that a call does not take."""
    known = list(inspect.signature(layer.call).parameters)
    found = _KEYWORD.search(str(error))
    name = "" if found is None else found[1]
    needed, line = CALLS.get(name, ("", ""))
    if line and (not needed or needed in known):
        return line if not line.endswith("=") else f"{line} in place of {name}="
    near = closest(name, known) if name else None
    return f"{near}= in place of {name}=" if near else "layer(...) with what its call takes"


def no_call(layer: object) -> StateError:
    """Return the error for a class that does not say what it computes."""
    kind = type(layer)
    if hasattr(kind, "forward"):
        return StateError(
            f"{kind.__name__} has no call(), and a forward()",
            "a layer of graftax computes in a method that is named call",
            "def call(self, ...) in place of def forward(self, ...)",
        )
    return StateError(f"{kind.__name__} has no call()", "there is nothing to compute", "def call(self, x): return ...")


_TOLD = {
    "training": (
        "training or not is said at each call, and arrives as an argument",
        "def call(self, x, training=False): ..., and training in place of self.training",
    ),
    "add_variable": (
        "a layer makes its weights by add_weight",
        'self.w = self.add_weight((input_shape[-1], 4), name="w") in build',
    ),
}


def _missing_attribute_error(layer: object, module: Module, name: str) -> MissingAttributeError:
    kind = type(module)
    if module is not layer and module._gx_lacks_weights:  # a part, whose class may be somebody else's
        return module._gx_explain_missing(name, f"{kind.__name__!r} object has no attribute {name!r}")
    build = getattr(kind, "build", None)
    if build is None or not hasattr(module, "add_weight"):
        return MissingAttributeError(
            f"{kind.__name__} has no attribute {name!r}",
            "nothing has assigned it yet",
            f"self.{name} = ... in __init__",
        )
    if name in _TOLD:
        return MissingAttributeError(f"{kind.__name__} has no attribute {name!r}", *_TOLD[name])
    has_build = build.__module__ != "graftax.layers.layer"
    return MissingAttributeError(
        f"{kind.__name__} has no attribute {name!r}",
        "neither __init__ nor build has assigned it"
        if has_build
        else "nothing has assigned it, and the class has no build(self, input_shape), where weights are made",
        f"self.{name} = self.add_weight(...) in build, self.{name} = ... in __init__ for what is no weight",
    )


def _is_raised_by(traceback: TracebackType | None, names: frozenset[str]) -> bool:
    """Return True if the exception comes from that very function, not from what it called."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_code.co_name in names
