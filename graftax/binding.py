"""Calls that give too little, too much, or a name that there is not: told with the line to write.

What a constructor or a public function takes is what its signature says. Python's own error names neither the class
that was made nor what would do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from graftax.errors import ArgumentTypeError
from graftax.known_names import closest
from graftax.wrapping import wraps

F = TypeVar("F", bound=Callable[..., Any])

_COLLECTING = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
_BY_NAME_ONLY = inspect.Parameter.KEYWORD_ONLY

_EXAMPLES: dict[str, str] = {
    # values that make sense, by the names of arguments; else the kind that the annotation says
    "activation": '"relu"',
    "name": '"main"',
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


def misbound(
    title: str, parameters: Mapping[str, inspect.Parameter], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> ArgumentTypeError | None:
    """The error for a call with too few or too many arguments, or one twice; None where each has its place.

    Names that there are not are left to who knows what they may mean.

    Args:
        title: What is called, as it is written.
        parameters: What it takes, without ``self``.
        args: What is given by position.
        kwargs: What is given by name.

    Example:
        >>> def dense(units: int, use_bias: bool = True): ...
        >>> misbound("dense", inspect.signature(dense).parameters, (), {}).instead
        'dense(units=8)'
    """
    by_place = [name for name, p in parameters.items() if p.kind not in (*_COLLECTING, _BY_NAME_ONLY)]
    takes = f"it takes {', '.join(_told(p) for p in parameters.values())}" if parameters else "it takes no arguments"
    if len(args) > len(by_place) and all(p.kind is not p.VAR_POSITIONAL for p in parameters.values()):
        names = [name for name, p in parameters.items() if p.kind not in _COLLECTING][: len(args)]
        given = ", ".join(f"{name}={value!r:.20}" for name, value in zip(names[:3], args, strict=False))
        more = ", ..." if len(names) > 3 else ""
        got = f"{title} got {len(args)} argument{'s' if len(args) > 1 else ''} by position"
        if not names and any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            given = "model=model"
        return ArgumentTypeError(got, takes, f"{title}({given}{more}), each by its name" if given else f"{title}()")
    if twice := next((name for name in by_place[: len(args)] if name in kwargs), None):
        return ArgumentTypeError(
            f"{title} got {twice}= by position and by name", takes, f"{title}({twice}={kwargs[twice]!r:.40}), once"
        )
    missing = [
        name
        for name, p in parameters.items()
        if p.default is p.empty and p.kind not in _COLLECTING and name not in by_place[: len(args)] + list(kwargs)
    ]
    if not missing:
        return None
    have = [f"{value!r:.40}" for value in args] + [f"{name}={value!r:.40}" for name, value in kwargs.items()]
    line = ", ".join(have + [f"{name}={_example(title, parameters[name])}" for name in missing])
    return ArgumentTypeError(f"{title} got no {' and no '.join(missing)}", takes, f"{title}({line})")


def _told(parameter: inspect.Parameter) -> str:
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" * (parameter.kind is parameter.VAR_KEYWORD)
    default = "" if parameter.default is parameter.empty else f"={parameter.default!r:.30}"
    return f"{stars}{parameter.name}{default}"


def _example(title: str, parameter: inspect.Parameter) -> str:
    kind = re.split(r" \| ", str(getattr(parameter.annotation, "__name__", parameter.annotation)))[0]
    return (
        _EXAMPLES.get(f"{title}.{parameter.name}")
        or _EXAMPLES.get(parameter.name)
        or _OF_KINDS.get(kind)
        or parameter.name
    )


def told(fn: F) -> F:
    """Let a public function, or a method, refuse in words what its signature does not take.

    Example:
        >>> @told
        ... def step(rate=0.1, *, repeats=1): ...
        >>> try:
        ...     step(repeat=2)
        ... except ArgumentTypeError as error:
        ...     print(error.instead)
        step(repeats=2)
    """
    parameters = dict(inspect.signature(fn).parameters)
    first = next(iter(parameters), "")
    own = parameters.pop(first) if first in ("self", "cls") else None
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    name = fn.__qualname__.split(".")[-2] if own is not None and fn.__name__ in ("__init__", "__new__") else fn.__name__

    @wraps(fn)
    def checked(*args: Any, **kwargs: Any) -> Any:
        unknown = None if takes_any else next((key for key in kwargs if key not in parameters), None)
        if unknown is not None:
            names = [known for known, p in parameters.items() if p.kind not in _COLLECTING]
            meant = closest(unknown, names)
            raise ArgumentTypeError(
                f"{name} got {unknown}={kwargs[unknown]!r:.40}",
                f"it takes {', '.join(names)}" if names else "it takes no arguments",
                f"{name}({meant}={kwargs[unknown]!r:.40})" if meant else "leave it out",
            )
        error = misbound(name, parameters, args[1:] if own is not None else args, kwargs)
        if error is not None:
            raise error
        return fn(*args, **kwargs)

    return cast(F, checked)
