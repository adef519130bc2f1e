"""Calls of public functions with too many arguments, too few, or keywords that there are not, told in three beats."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graftax.core.errors import ArgumentTypeError
from graftax.core.foreign_keywords import KEYWORDS, OF_METHODS
from graftax.core.input_lines import translate_input
from graftax.core.known_names import closest

_STATIC = "leave it out: strings, functions and other objects are static; functools.partial(fn, value) fixes any value"
_DONATED = "leave it out: what a function assigns is donated"
_SHAPES = "leave it out: other shapes and dtypes trace anew; max_retraces=0 forbids that"
_UNROLL = "leave it out: the compiler unrolls"
_STEPS_THAT_COUNT = (
    *("logit_length", "logit_lengths", "input_length", "input_lengths", "y_pred_length", "output_length"),
    *("output_lengths", "logit_paddings", "logits_length", "sequence_length"),
)
_LABELS_THAT_COUNT = (
    *("label_length", "label_lengths", "target_length", "target_lengths", "y_true_length", "labels_length"),
    "label_paddings",
)
_FUNCTIONS: dict[str, Mapping[str, str]] = {
    "jit": {
        **dict.fromkeys(("static_argnums", "static_argnames"), _STATIC),
        **dict.fromkeys(("donate", "donate_argnums", "donate_argnames"), _DONATED),
        **dict.fromkeys(("input_signature", "reduce_retracing", "dynamic"), _SHAPES),
        **dict.fromkeys(("jit_compile", "autograph", "fullgraph"), "leave it out: it compiles or raises"),
    },
    "grad": {"argnums": "graftax.gradients_function(fn, params=[0, 1]); wrt= for Variables"},
    "value_and_grad": {"argnums": "graftax.value_and_gradients_function(fn, params=[0, 1]); wrt= for Variables"},
    "load_model": {
        "custom_objects": "custom=",
        "compile": "leave it out: model.compile(...) afterwards replaces what the file says",
        "safe_mode": "leave it out: no code of a file is run",
    },
    "load_weights": {
        "by_name": 'graftax.Checkpoint(model=model).restore(path, mode="overlap"), which takes what has the same path',
        "skip_mismatch": 'graftax.Checkpoint(model=model).restore(path, skip="model/head/**"), with what does not fit',
        "objects_to_skip": 'graftax.Checkpoint(model=model).restore(path, skip="model/head/**")',
    },
    "save_weights": {"save_format": "leave it out: there is one format", "options": "leave it out"},
    "save": {
        "save_format": "leave it out: there is one format",
        "include_optimizer": "leave it out, or model.save_weights(path) for the weights alone",
        "zipped": "leave it out: a directory is written",
    },
    "jacobian": {"argnums": "wrt= for Variables; lambda x: fn(other, x) for one of several arguments"},
    "hessian": {"argnums": "wrt= for Variables; lambda x: fn(other, x) for one of several arguments"},
    "scan": {"unroll": _UNROLL, "f": "fn=", "elems": "xs=", "initializer": "init=", "initial": "init="},
    "map_fn": {"f": "fn=", "elems": "xs=", "function": "fn="},
    "while_loop": {
        "loop_vars": "init=",
        "init_val": "init=",
        "cond": "cond_fn=",
        "cond_fun": "cond_fn=",
        "body": "body_fn=",
        "body_fun": "body_fn=",
        "parallel_iterations": "leave it out: steps run one after the other",
    },
    "cond": {"false_fun": "false_fn=", "true_fun": "true_fn=", "operand": "the operands in order, after false_fn"},
    "vectorized_map": {
        "in_dims": "in_axes=",
        "out_dims": "out_axes=",
        "fallback_to_while_loop": "leave it out; graftax.map_fn goes row by row",
        "randomness": "leave it out: each row draws its own numbers; a fixed seed= draws the same for each",
    },
    "restore": {
        "strict": 'mode="overlap", which takes what is on both sides; the report says what is not',
        "assert_consumed": 'leave it out: mode="exact" is the default',
        "expect_partial": 'mode="cover", which lets the checkpoint have more',
        "step": "manager.restore_latest(), or the path of that step",
    },
    "load_foreign": {
        "strict": 'mode="overlap", which loads what is on both sides; the report says what is not',
        **dict.fromkeys(("map", "key_mapping", "name_map", "rename"), "names="),
        **dict.fromkeys(("map_location", "device", "weights_only"), "leave it out: no code of a file is run"),
        **dict.fromkeys(("dtype", "torch_dtype"), 'cast="any", which converts to the dtypes of the program'),
        **dict.fromkeys(("format", "library", "framework"), "source="),
        "skip_mismatch": 'mode="overlap", which loads what fits',
        "by_name": "leave it out: names are compared first",
    },
    "onnx": {
        **dict.fromkeys(("opset_version", "target_opset"), "opset="),
        **dict.fromkeys(("input_names", "output_names"), "leave it out: inputs have the names of the arguments"),
        "dynamic_axes": 'leave it out: a name in a Spec is a free size, gx.export.Spec("batch 8")',
        "dynamic_shapes": 'leave it out: a name in a Spec is a free size, gx.export.Spec("batch 8")',
        "input_signature": "leave it out: Specs come after the function",
        "do_constant_folding": "leave it out: constants are always computed",
        "external_data": 'weights="apart"',
    },
    "freeze": {"pattern": "where=", "names": "where=", "filter": "where="},
    "unfreeze": {"pattern": "where=", "names": "where=", "filter": "where="},
    "Slot": {"size": "shape=", "init": "initializer=", "value": "initializer=", "initial_value": "initializer="},
    "apply": {"grads": "gradients=", "grads_and_vars": "gradients=, variables=", "updates": "gradients="},
    "IndexedRows": {"vals": "values=", "idx": "indices=", "rows": "values="},
    "gradcheck": {"eps": "step=", "epsilon": "step=", "delta": "step="},
    "compute_loss": {
        "training": "leave it out: layers know it from the call, self(x, training=True), and the loss is the same",
    },
    "compute_metrics": {"training": "leave it out: metrics are the same in training and evaluation"},
    "ctc": {
        **dict.fromkeys(_STEPS_THAT_COUNT, "mask=np.arange(steps) < lengths[:, None], True at the steps that count"),
        **dict.fromkeys(
            _LABELS_THAT_COUNT,
            "leave it out: labels are padded at their end with -1, "
            "np.where(np.arange(labels.shape[1]) < lengths[:, None], labels, -1)",
        ),
        "blank": "graftax.losses.CTC(blank=...)",
        **dict.fromkeys(("blank_index", "blank_id", "blank_label", "mask_index"), "graftax.losses.CTC(blank=...)"),
        "zero_infinity": "graftax.losses.CTC(zero_infinity=True)",
        "log_probs": "y_pred=",
    },
    "prune": {"amount": "fraction=", "sparsity": "fraction="},
    "build": {"shape": "input_shape="},
}
"""What functions of other libraries take: the keyword here, or what to do instead."""


def is_binding_error(error: Exception) -> bool:
    """Return True if an exception, caught where a function was called, comes from the call itself: nothing ran."""
    return type(error) is TypeError and (error.__traceback__ is None or error.__traceback__.tb_next is None)


def explain_call(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], title: str = ""
) -> ArgumentTypeError | None:
    """Return the error for a call whose arguments do not fit the signature; None where they do.

    Args:
        fn: What is called.
        args: What is given by position, with ``self`` for methods.
        kwargs: What is given by name.
        title: What the message calls it. Defaults to its name, with the class of ``self``.

    Example:
        >>> def scale(x, factor=1.0): ...
        >>> print(explain_call(scale, (), {"factr": 2.0}).instead)
        factor= in place of factr=
        >>> print(explain_call(scale, (1, 2, 3), {}).received)
        scale() got 3 positional arguments
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # one of a user that tells none
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        name, parameters = getattr(fn, "__name__", type(fn).__name__), list(signature.parameters.values())
        if args and parameters and parameters[0].name in ("self", "cls"):
            name, parameters, args = _title(args[0], name), parameters[1:], args[1:]
        title = title or name
        return _explain(title, parameters, args, kwargs)
    return None


def _title(self: object, name: str) -> str:
    if self is None:  # gone since
        return name
    kind = self.__name__ if isinstance(self, type) else type(self).__name__
    if name == "__call__":  # as it is written, with the name of an object
        return kind.lower() if kind[:2].isupper() else f"{kind[:1].lower()}{kind[1:]}"
    return kind if name in ("__init__", "__new__") else f"{kind}.{name}"


def _explain(
    title: str, parameters: list[inspect.Parameter], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> ArgumentTypeError:
    bare = [one.replace(annotation=one.empty) for one in parameters]
    taken = f"its arguments are {inspect.Signature(bare)}" if bare else "it takes no arguments"
    placed = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    by_name = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    if args and takes_any and len(parameters) == 1:
        return too_many(title, len(args), taken, f"{title}(model=model): each under a name")
    if unknown := [] if takes_any else [name for name in kwargs if name not in by_name]:
        free = [one for one in by_name if one not in kwargs and one not in [p.name for p in placed[: len(args)]]]
        must = [one.name for one in parameters if one.name in free and one.default is one.empty]
        only = must[0] if len(unknown) == len(must) == 1 else None
        meant = "; ".join(_suggestion(title, name, by_name, only) for name in unknown)
        if title == "Input":
            said = {one.name: value for value, one in zip(args, placed, strict=False)} | dict(kwargs)
            meant = translate_input(said, "gx.Input") or meant
        got = ", ".join(f"{name}={_format_argument(kwargs[name], '...')}" for name in unknown)
        return ArgumentTypeError(f"{title}() got {got}", taken, meant)
    if len(args) > len(placed) and not any(one.kind is one.VAR_POSITIONAL for one in parameters):
        line = _LINES.get(title.rpartition(".")[2]) or call_text(title, parameters)
        return too_many(title, len(args), taken, line)
    if twice := [one.name for one in placed[: len(args)] if one.name in kwargs and one.kind is not one.POSITIONAL_ONLY]:
        return ArgumentTypeError(
            f"{title}() got {twice[0]} twice", f"by its place and by its name; {taken}", call_text(title, parameters)
        )
    given = {one.name for one in placed[: len(args)]} | set(kwargs)
    needed = [one for one in parameters if one.default is one.empty and one.kind not in _GATHERING]
    lacking = [one.name for one in needed if one.name not in given]
    have = [_format_argument(value, one.name) for value, one in zip(args, placed, strict=False)]
    have += [f"{name}={_format_argument(value, name)}" for name, value in kwargs.items()]
    examples = [f"{one.name}={_example(title, one)}" for one in needed if one.name in lacking]
    instead = f"{title}({', '.join(have + examples)})"
    return ArgumentTypeError(f"{title}() got no {' and no '.join(lacking)}", taken, instead)


_LINES = {
    "compute_loss": "super().compute_loss(x, y, y_pred, sample_weight), without training: the loss is the same",
    "apply_gradients": "optimizer.apply(gradients, variables), or apply_gradients(zip(gradients, variables))",
}
"""What to write in place of a call with too many arguments, by the name of the function."""

_GATHERING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def too_many(title: str, count: int, reason: str, instead: str) -> ArgumentTypeError:
    """Return the error for more positional arguments than there are places."""
    return ArgumentTypeError(f"{title}() got {count} positional argument{'s' if count > 1 else ''}", reason, instead)


def call_text(title: str, parameters: Iterable[inspect.Parameter], everything: bool = True) -> str:
    """Return a call with what must be given, and with ``everything`` also the rest; by name what has to be named."""
    parts = []
    for one in parameters:
        if not everything and one.default is not one.empty:
            continue
        if one.kind is one.KEYWORD_ONLY:
            parts.append(f"{one.name}=...")
        elif one.kind is one.VAR_POSITIONAL:
            parts.append(f"*{one.name}")
        elif one.kind is not one.VAR_KEYWORD:
            parts.append(one.name if one.default is one.empty else f"{one.name}=...")
    return f"{title}({', '.join(parts)})"


def _suggestion(title: str, name: str, names: list[str], only: str | None) -> str:
    """Return what was meant by a name; ``only`` is what must be given yet and is not, if that is one thing."""
    there = _FUNCTIONS.get(title.rpartition(".")[2], {}).get(name)
    if there is None:
        near = next((one for one in _names_here(name.lower()) if one in names), None) or closest(name, names) or only
        there = f"{near}=" if near else f"leave {name}= out"
    return f"{there} in place of {name}=" if there.endswith("=") else there


def _names_here(name: str) -> tuple[str, ...]:
    """Return what a keyword of other libraries is called here, in constructors and in other calls."""
    return (*KEYWORDS.get(name, ()), *OF_METHODS.get(name, ()))


_EXAMPLES: dict[str, str] = {
    # Values that make sense, by the name of the argument; for the others the annotation's kind is enough.
    "activation": '"relu"',
    "generator.cache": "layer.make_cache(batch_size=1, length=64)",
    "name": '"main"',
    "path": '"checkpoint"',
    "directory": '"checkpoints"',
    "DTypePolicy.name": '"float32"',
    "seed": "0",
    "kernel_size": "3",
    "key_dim": "64",
    "rate": "0.1",
    "rank": "8",
    "target_shape": "(4, -1)",
    "learning_rate": "0.001",
    "initial_learning_rate": "0.001",
    "peak": "0.001",
    "decay_rate": "0.9",
    "warmup_steps": "100",
    "decay_steps": "1000",
    "first_decay_steps": "1000",
    "total_steps": "1000",
    "stable_steps": "1000",
    "steps": "1000",
    "input_dim": "1000",
    "boundaries": "[1000, 2000]",
    "values": "[0.1, 0.01, 0.001]",
    "low": "0.0001",
    "high": "0.001",
}
_OF_KINDS = {"int": "8", "float": "0.5", "str": '"float32"', "bool": "True"}


def _format_argument(value: object, name: str) -> str:
    """Return a value as it can be written in a line, or the name that stands for it."""
    short = isinstance(value, int | float | str | tuple | None) and len(repr(value)) <= 40
    return repr(value) if short else name


def _example(title: str, parameter: inspect.Parameter) -> str:
    kind = re.split(r" \| ", str(getattr(parameter.annotation, "__name__", parameter.annotation)))[0]
    return (
        _EXAMPLES.get(f"{title}.{parameter.name}")
        or _EXAMPLES.get(parameter.name)
        or _OF_KINDS.get(kind)
        or parameter.name
    )
