"""What numbers the arguments of optimizers and schedules may be, when they are made and whenever one is assigned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from graftax.backend import registry
from graftax.backend.host import check_plain
from graftax.core.dtypes import is_complex, is_floating
from graftax.core.errors import ArgumentError, ArgumentTypeError, MissingAttributeError
from graftax.core.hyperparameters import said_number
from graftax.core.typedefs import VariableLike
from graftax.optimizers.arguments import foreign_names
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import frames


@dataclass(frozen=True)
class Kind:
    """What one argument may be.

    Args:
        words: What it is, for messages.
        instead: What to write, after its name.
        fits: Whether a number, or another value where ``number`` is False, will do.
        number: Whether it is a number: then no bool and nothing that is nan will do, and a Variable may hold it.
        whole: Whether it has to be an integer, and a plain one.
        optional: Whether None will do.
        kept: What is kept of a value that fits.
    """

    words: str
    instead: str
    fits: Callable[[Any], bool]
    number: bool = True
    whole: bool = False
    optional: bool = False
    kept: Callable[[Any], Any] | None = None

    def or_none(self) -> Kind:
        """Return the same kind, with None allowed."""
        return replace(self, optional=True, instead=f"{self.instead}, or None")

    def check(self, owner: str, name: str, value: Any) -> Any:
        """Return the argument as it is kept: a number of NumPy becomes one of Python.

        Raises:
            ArgumentTypeError: it is no number, where one is asked for, or a masked array.
            ArgumentError: it is out of range, or a bool.
        """
        if value is None and self.optional:
            return value
        check_plain(value, name)
        found = _to_python(value) if self.number else value
        if not self.number:
            fits = self.fits(found)
        elif isinstance(found, VariableLike) or hasattr(found, "shape"):
            fits = not self.whole and is_real_scalar(found) and self._fits_current_value(found)
        elif not isinstance(found, int | float):
            raise ArgumentTypeError(f"{owner}: {name}={value!r:.60}", self.words, self._line(name, value))
        else:
            plain = type(found) is int if self.whole else not isinstance(found, bool)
            fits = plain and not math.isnan(found) and self.fits(found)
        if not fits:
            raise ArgumentError(f"{owner}: {name}={value!r:.60}", self.words, self._line(name, value))
        return found if self.kept is None else self.kept(found)

    def _line(self, name: str, value: object) -> str:
        """Return what to write: the number that a refused value says, if it will do."""
        said = said_number(value) if self.number else None
        if said is None or not self.fits(said) or (self.whole and said != int(said)):
            return f"{name}={self.instead}"
        return f"{name}={int(said) if self.whole else said}"

    def _fits_current_value(self, holder: object) -> bool:
        """Tell whether what a Variable holds will do now; True where that is not known."""
        arrays = registry.current().arrays
        value = holder.value if isinstance(holder, VariableLike) else holder
        return not arrays.is_concrete(value) or self.fits(float(arrays.to_numpy(arrays.asarray(value))))


Kinds: TypeAlias = "Mapping[str, Kind]"

FRACTION = Kind("an average keeps a fraction in [0, 1) of itself", "0.9", lambda x: 0 <= x < 1)
ABOVE_06 = Kind("it is in (0.6, 1): below, the variance is never known", "0.999", lambda x: 0.6 < x < 1)
INSIDE = Kind("it is a fraction in (0, 1)", "0.5", lambda x: 0 < x < 1)
PART = Kind("it is a part in (0, 1]", "0.5", lambda x: 0 < x <= 1)
POSITIVE = Kind("it is positive, and finite", "1.0", lambda x: 0 < x < math.inf)
NOT_NEGATIVE = Kind("it is a finite number, and not negative", "0.0", lambda x: 0 <= x < math.inf)
NOT_POSITIVE = Kind("it is a finite number, and not positive", "-0.5", lambda x: -math.inf < x <= 0)
AT_LEAST_ONE = Kind("it is a factor of 1 at least", "1.0", lambda x: x >= 1)
FACTOR = Kind("it is a finite factor of 1 at least", "1.0", lambda x: 1 <= x < math.inf)
COUNT = Kind("it counts, from 1 on", "10", lambda x: x >= 1, whole=True)
WHOLE = Kind("it counts, from 0 on", "0", lambda x: x >= 0, whole=True)
AT_LEAST_FOUR = Kind("it is a finite number, and at least 4", "5.0", lambda x: 4 <= x < math.inf)
STEPS = Kind("it is a number of steps, and positive", "1000", lambda x: 0 < x < math.inf)
LIMIT = Kind("a limit is positive, and finite", "1.0", lambda x: 0 < x < math.inf).or_none()
AROUND_ONE = Kind(
    "it is a pair of numbers, one in (0, 1] and a finite one from 1 on",
    "(1e-4, 5e3)",
    lambda x: (
        isinstance(x, tuple | list)
        and len(x) == 2
        and all(type(n) in (int, float) for n in x)
        and 0 < x[0] <= 1 <= x[1] < math.inf
    ),
    number=False,
)
FLAG = Kind("it is True or False", "False", lambda x: isinstance(x, bool | np.bool_), number=False)
FLOATING = Kind(
    "it is the name of a floating dtype",
    '"float32"',
    lambda x: isinstance(x, str) and x in ("float32", "float64", "float16", "bfloat16"),
    number=False,
).or_none()

OPTIONS: Kinds = {
    "weight_decay": NOT_NEGATIVE,
    "l2": NOT_NEGATIVE,
    "clipvalue": LIMIT,
    "clipnorm": LIMIT,
    "global_clipnorm": LIMIT,
    "adaptive_clip": LIMIT,
    "accumulation_steps": COUNT,
    "ema_momentum": FRACTION.or_none(),
    "lazy": FLAG,
}
"""Those that every optimizer takes."""


def choice_of(*choices: str) -> Kind:
    """Return the kind of an argument that is one of some words."""
    named = " or ".join(f'"{choice}"' for choice in choices)
    return Kind(f"it is {named}", f'"{choices[0]}"', lambda x: isinstance(x, str) and x in choices, number=False)


def is_real_scalar(holder: object) -> bool:
    """Tell whether an array or a Variable holds one real number: neither several, nor a truth value, nor a complex one.

    An expression without a dtype of its own, such as a product of two Variables, counts as one.
    """
    name = str(getattr(holder, "dtype", "float32"))
    return tuple(getattr(holder, "shape", ())) == () and name != "bool" and not is_complex(name)


def _to_python(value: Any) -> Any:
    if isinstance(value, np.floating):
        return float(str(value))  # 0.1 as written, not its float32
    if isinstance(value, np.integer):
        return int(value)
    arrays = registry.current().arrays
    if frames.top is not None and arrays.is_array(value) and frames.top.tracks(value):
        return value  # a number would have no gradient
    if hasattr(value, "shape") and not isinstance(value, VariableLike) and tuple(value.shape) == ():
        if arrays.is_concrete(value) and is_floating(value.dtype):
            return float(str(arrays.to_numpy(value)))
        if arrays.is_concrete(value) and "int" in str(value.dtype):
            return int(arrays.to_numpy(value))
    return value


def _arguments_of(kind: Any) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for base in reversed(kind.__mro__):
        found |= vars(base).get("arguments", {})
    return found


kinds_of: Callable[[Any], dict[str, Kind]] = cache(_arguments_of)
"""The arguments that a class and its bases declare."""


class Checked(Module):
    """A Module whose arguments are checked wherever they are assigned; a name that is not its own is answered."""

    arguments: ClassVar[Kinds] = {}
    """What each of them may be."""

    _gx_fixed: ClassVar[frozenset[str]] = frozenset()
    """Arguments that only the constructor reads: another value later would be used for nothing."""

    _gx_settled: ClassVar[frozenset[str]] = frozenset()
    """Arguments that say how slots are made: they may change until there are some."""

    def _gx_check_together(self) -> None:
        """Raise where arguments that are right alone are wrong together; asked when they are used.

        One that is assigned after another may be wrong for a moment, so an assignment alone cannot tell.
        """

    def _gx_has_slots(self) -> bool:
        """Tell whether slots have been made."""
        return False

    def _gx_given(self, name: str, value: object) -> Any:
        kind = kinds_of(type(self)).get(name)
        if kind is not None:
            value = kind.check(type(self).__name__, name, value)
        elif name not in self.__dict__:
            foreign_names.refuse_assignment(self, name, value)
        if name in self.__dict__ and not _is_same(self.__dict__[name], value):
            self._gx_refuse_late(name, value)
        return value

    def _gx_explain_missing(self, name: str, message: str) -> MissingAttributeError:
        # what wraps an optimizer keeps no slots of its own, and has other names
        if "slot_dtype" in kinds_of(type(self)) and "slot_dtype" not in vars(self) and not name.startswith("_"):
            kind = type(self).__name__
            return MissingAttributeError(
                f"{kind} has no {name!r}: its __init__ has not called that of Optimizer",
                "that one makes the learning rate, the counter and the slots",
                "super().__init__(learning_rate) first in __init__",
            )
        return foreign_names.missing_attribute(self, name)

    def _gx_refuse_late(self, name: str, value: object) -> None:
        """Raise if it is too late to change an argument."""
        kind = type(self)
        if any(name in vars(base).get("_gx_fixed", ()) for base in kind.__mro__):
            why = "it is read when the optimizer is made, and a later change would be used for nothing"
        elif any(name in vars(base).get("_gx_settled", ()) for base in kind.__mro__) and self._gx_has_slots():
            why = "slots are there that were made with it, and do not change with it"
        else:
            return
        raise ArgumentError(
            f"{kind.__name__}.{name} = {value!r:.60}, where it is {self.__dict__[name]!r:.60}",
            why,
            f"graftax.optimizers.{kind.__name__}({name}={value!r:.60}), a new one",
        )


def _is_same(value: object, other: object) -> bool:
    plain = (int, float, str, tuple)
    return value is other or (isinstance(value, plain) and isinstance(other, plain) and value == other)
