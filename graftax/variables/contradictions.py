"""What cannot be asked of one weight at once, such as training what holds integers: one of the two would be ignored."""

from __future__ import annotations

import re

from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.roles import ROLES
from graftax.variables.spec import VariableSpec

_MANY = re.compile(r"[/*?\[\]]")


def check_name(name: object, role: str) -> None:
    """Raise unless a name can be a part of a path: text, without what separates paths or stands for several.

    Slots are called after the paths of their variables.

    Raises:
        ArgumentTypeError: it is no text.
        ArgumentError: it is empty, or has one of ``/ * ? [ ]``.
    """
    if not isinstance(name, str | None):
        raise ArgumentTypeError(f"name={name!r:.60} for a variable", "a name is text", f'name="{name!s:.40}"')
    if name is not None and role in ("weight", "state") and (not name or _MANY.search(name)):
        plain = _MANY.sub("_", name).strip("_") or "kernel"
        raise ArgumentError(
            f"name={name!r:.60} for a variable",
            "a name is one part of a path: not empty, '/' separates parts, and * ? [ ] stand for several in selectors",
            f'name="{plain:.40}"',
        )


def check_asked(spec: VariableSpec) -> None:
    """Raise if what a layer asks for cannot all be done.

    Raises:
        ArgumentError: there is no such role; or optimizers are to move what the layer itself updates, or what holds
            integers; or there is a penalty on, or a projection of, what no optimizer moves; or a seed has fractions.
    """
    what = f"the weight {spec.path!r}"
    if spec.role not in ROLES:
        raise ArgumentError(f"role={spec.role!r} for {what}", "there is no such role", ", ".join(ROLES))
    real = is_inexact(spec.dtype)
    if spec.role == "seed" and "int" not in spec.dtype:
        raise ArgumentError(
            f"role='seed' and dtype={spec.dtype!r} for {what}",
            "keys of random streams are integers",
            'dtype="uint32", trainable=False, initializer="zeros"; or self.stream = graftax.SeedGenerator(), which '
            "makes its own",
        )
    if spec.trainable and spec.role != "weight":
        raise ArgumentError(
            f"role={spec.role!r} and trainable=True for {what}",
            f"optimizers would move a {spec.role}, which something else updates",
            "trainable=False, or without role= for what is trained",
        )
    if spec.trainable and not real:
        raise ArgumentError(
            f"dtype={spec.dtype!r} and trainable=True for {what}",
            "no gradient goes through integers and truth values",
            "trainable=False, or a floating dtype",
        )
    for name, given in (("regularizer", spec.regularizer), ("constraint", spec.constraint)):
        if given is not None and not spec.trainable:
            does = "counts only" if name == "regularizer" else "is applied only"
            raise ArgumentError(
                f"{name}={given!r:.60} and trainable=False for {what}",
                f"a {name} {does} where optimizers move the weight",
                f"without {name}=; or trainable=True, and freeze it for as long as it is to stay as it is",
            )
