"""What `graftax.find_nan` finds: the operation that made the first bad number, and what it made it from."""

from __future__ import annotations

from dataclasses import dataclass

from graftax.core import user_line
from graftax.core.errors import GraftaxError, NumericsError


@dataclass(frozen=True)
class Range:
    """An array in a few numbers; ``low`` and ``high`` are of its finite elements, None where there are none.

    Example:
        >>> print(Range((2, 3), "float32", 0.5, 2.0, nans=1, infinities=0))
        float32[2, 3] in [0.5, 2], 1 nan
    """

    shape: tuple[int, ...]
    dtype: str
    low: float | None
    high: float | None
    nans: int
    infinities: int

    def __str__(self) -> str:
        parts = [f"{self.dtype}{list(self.shape)}" + (f" in [{self.low:.6g}, {self.high:.6g}]" if self._known else "")]
        parts += [f"{self.nans} nan"] if self.nans else []
        parts += [f"{self.infinities} inf"] if self.infinities else []
        return ", ".join(parts)

    @property
    def _known(self) -> bool:
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class Culprit:
    """Where a bad number was made, or a check failed.

    Attributes:
        kind: ``"nan"``, ``"inf"``, or ``"check"``.
        op: The function of `graftax.ops` if it was one, else the primitive; ``""`` for what came in with the arguments.
        primitive: The operation of the backend.
        layer: The path of the layer, ``""`` outside of layers.
        backward: Whether it is a part of a gradient.
        place: The user's line, as file and number.
        inside: The steps of loops that it happened in, outermost first.
        inputs: What went in.
        outputs: What came out.
        given: What came in bad, where no operation made it: ``the argument 'x'``, ``the Variable 'dense/kernel'``.
        infinity: For a nan made from an infinity: where that was made.
        error: For a check: its error.
        result: Which of the results has the bad number, if it was looked for; new values of Variables come last.
        result_name: What that is called.

    Example:
        >>> print(Culprit("nan", "log", "log", "encoder", False))
        log made nan
          layer: encoder
          direction: forward
    """

    kind: str
    op: str
    primitive: str
    layer: str = ""
    backward: bool = False
    place: user_line.Place | None = None
    inside: tuple[str, ...] = ()
    inputs: tuple[Range, ...] = ()
    outputs: tuple[Range, ...] = ()
    given: str = ""
    infinity: Culprit | None = None
    error: GraftaxError | None = None
    result: int | None = None
    result_name: str = ""

    @property
    def title(self) -> str:
        """Return what happened, in a few words."""
        if self.given:
            return f"{self.given} has {self.kind} already before the call"
        return f"{self.op} made {self.kind}"

    def lines(self) -> list[str]:
        """Return where it happened and what from, one fact each."""
        found = [f"{self.result_name} is {self.kind}"] if self.result_name else []
        found += [f"layer: {self.layer}"] if self.layer else []
        if not self.given:
            found.append(f"direction: {'backward' if self.backward else 'forward'}")
        if self.inside:
            found.append(f"inside: {', '.join(self.inside)}")
        found += [f"input {i}: {one}" for i, one in enumerate(self.inputs)]
        found += [f"output: {one}" for one in self.outputs]
        if self.infinity is not None:
            told = self.infinity
            made = [told.title, f"layer {told.layer}" if told.layer else "", "backward" if told.backward else ""]
            made += [f"at {user_line.show_place(told.place)}"] if told.place is not None else []
            found.append(f"from an infinity: {', '.join(filter(None, made))}")
        return found

    def to_error(self) -> GraftaxError:
        """Return the error that tells it."""
        if self.error is not None:
            error = self.error
        else:
            why, instead = _REASONS[bool(self.given), self.kind]
            if not self.given and any(one.infinities if self.kind == "inf" else one.nans for one in self.inputs):
                why, instead = _CONSTANT
            of_matrix = not self.given and {self.op, self.primitive} & _OF_MATRICES
            error = NumericsError(self.title, why, _MATRIX if of_matrix else instead)
        error.place = self.place if self.place is not None or self.given else error.place
        facts = [f"layer {self.layer!r}"] if self.layer else []
        facts += self.inside
        for line in facts if self.error is not None else self.lines():
            error.add_context(line)
        return error

    def __str__(self) -> str:
        at = [f"at: {user_line.show_place(self.place)}"] if self.place is not None else []
        return "\n  ".join([self.title, *at, *self.lines()])


_OF_MATRICES = {"cholesky", "inv", "solve", "triangular_solve", "lu", "det", "slogdet"}
_MATRIX = "add ops.eye(n) * 1e-6 to the matrix, which is singular, or not positive definite for a cholesky"
_CONSTANT = (
    "it takes the number from a constant: it is written in the program, as float('inf') or by a formula of the op",
    "a finite number in its place, or data for which that case does not come up",
)
_REASONS = {
    (False, "nan"): (
        "what goes in has no nan: it begins here, and all that is computed from it is nan, too",
        "keep the input inside the range of the operation: ops.maximum(x, 1e-6) before log, sqrt or a division",
    ),
    (False, "inf"): (
        "what goes in is finite: the result is beyond the largest number of the dtype, or a division by zero",
        "keep the input inside the range of the operation, or clip gradients and lower the learning rate",
    ),
    (True, "nan"): ("all that is computed from it is nan, too", "ops.nan_to_num(x), or mend where it comes from"),
    (True, "inf"): ("nan follows from it soon: inf - inf, 0 * inf", "mend where it comes from"),
}
