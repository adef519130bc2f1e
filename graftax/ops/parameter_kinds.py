"""What the parameters of ops take: the kinds that the rows of the table are written with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Takes = Literal["array", "arrays", "data", "dtype", "flag", "integer", "real", "number", "text", "structure"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a parameter takes.

    Args:
        type: The type that editors see.
        takes: How an argument is checked and converted. ``"array"``: one array; ``"arrays"``: a list of arrays;
            ``"data"``: anything that an array can be made of; ``"number"``: a number whose own dtype counts, or that
            a compiled function may compute; ``"structure"``: strings and nested lists, which the op checks itself.
        agrees: True if such arrays must have one dtype.
        broadcasts: True if such arrays are broadcast to one shape.
        refuses: The kind of dtypes that the op is not defined for, though a backend may give something: ``"c"`` for
            complex numbers, ``"b"`` for truth values.
        fills: True if the values go into the first array, and the result keeps its dtype.
        casts: True if a Python number is made an array of the dtype that is asked for.
        least: The smallest number, and each in a list of them. Defaults to None, none.
        depth: How deep lists of numbers may be nested; 0 if there is only one number.
        axis: True if it says axes, which count from either end.
        of_first: True if these are axes that the first array has.
        words: The strings that it may be. Defaults to none, any string.
        flags: True if a flag is a number, too.
    """

    type: str
    takes: Takes
    agrees: bool = False
    broadcasts: bool = False
    refuses: str = ""
    fills: bool = False
    casts: bool = False
    least: int | None = None
    depth: int = 0
    axis: bool = False
    of_first: bool = False
    words: tuple[str, ...] = ()
    flags: bool = False


_INTS = "int | Sequence[int]"
_PAIRS = "int | Sequence[int] | Sequence[Sequence[int]]"

KINDS = {
    # Arrays. Operands must have one dtype; where the section of a row says so, Python numbers among them adapt.
    "Operand": Kind("ArrayLike", "array", agrees=True, broadcasts=True),
    "Ordered": Kind("ArrayLike", "array", agrees=True, broadcasts=True, refuses="c"),  # an operand, but not complex
    "Numeric": Kind("ArrayLike", "array", agrees=True, broadcasts=True, refuses="b"),  # an operand, but not boolean
    "SameDType": Kind("ArrayLike", "array", agrees=True),  # an operand of a shape of its own
    "Filling": Kind("ArrayLike", "array", agrees=True, fills=True),  # an operand that is put into the first one
    "Castable": Kind("ArrayLike", "array", agrees=True, casts=True),  # an operand that takes the dtype asked for
    "Array": Kind("ArrayLike", "array"),  # of a dtype of its own: indices, conditions, masks
    "Arrays": Kind("Sequence[ArrayLike]", "arrays", agrees=True),
    "MixedArrays": Kind("Sequence[ArrayLike]", "arrays"),
    "Data": Kind("ArrayLike | Sequence[ArrayLike]", "data"),
    "DType": Kind("DTypeLike", "dtype"),
    # Axes: of the first array, of the result, or of two arrays.
    "Axis": Kind("int", "integer", axis=True, of_first=True),
    "Axes": Kind(_INTS, "integer", axis=True, of_first=True, depth=1),
    "NewAxis": Kind("int", "integer", axis=True),
    "NewAxes": Kind(_INTS, "integer", axis=True, depth=1),
    "AxisPairs": Kind(_PAIRS, "integer", axis=True, depth=2),
    # Integers: any, from 0, from 1; one of them or several.
    "Int": Kind("int", "integer"),
    "Ints": Kind(_INTS, "integer", depth=1),
    "Count": Kind("int", "integer", least=0),
    "Counts": Kind(_INTS, "integer", least=0, depth=1),
    "Size": Kind("int", "integer", least=1),
    "Sizes": Kind(_INTS, "integer", least=1, depth=1),
    "Shape": Kind(_INTS, "integer", least=0, depth=1),
    "NewShape": Kind(_INTS, "integer", least=-1, depth=1),  # -1 stands for the size that is left
    "Borders": Kind(_PAIRS, "integer", least=0, depth=2),
    # Other numbers.
    "Real": Kind("float", "real"),
    "Reals": Kind("float | Sequence[float]", "real", depth=1),
    "NotNegative": Kind("float", "real", least=0),
    "Number": Kind("float", "number"),
    "Constant": Kind("float", "number", flags=True),
    # Flags and words.
    "Flag": Kind("bool", "flag"),
    "Text": Kind("str", "text"),
    "Indexing": Kind("str", "text", words=("xy", "ij")),
    "SpectralWindow": Kind("str", "text", words=("hann", "hamming", "blackman")),
    "Interpolation": Kind("str", "text", words=("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")),
    "Resampling": Kind("str", "text", words=("bilinear", "bicubic", "lanczos3", "lanczos5", "linear", "cubic")),
    "Sampling": Kind("str", "text", words=("nearest", "bilinear")),
    "FillMode": Kind("str", "text", words=("constant", "nearest", "reflect", "wrap")),
    "AttentionKernel": Kind("str", "text", words=("xla", "cudnn")),
    "Side": Kind("str", "text", words=("left", "right")),
    "Padding": Kind("str | Sequence[Sequence[int]]", "structure"),
}
"""Every kind, by the name that rows write it with; ``| None`` behind it in a row lets None pass."""
