"""``graftax ckpt show CKPT --stats``: numbers about the values of each array."""

import os
from argparse import Namespace
from contextlib import ExitStack
from typing import Any

import numpy as np

from graftax.checkpoint.derived.difference import Held, read_array_file, read_checkpoint
from graftax.checkpoint.foreign.opening import open_weights
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.subset import Spot, Subset
from graftax.cli.output import escape_control, print_json, print_table
from graftax.core.dtypes import is_complex

_COLUMNS = ("mean", "std", "min", "max")


def run(options: Namespace) -> int:
    """Print mean, deviation, bounds, and how many values are no numbers."""
    with ExitStack() as stack:
        if os.path.isfile(options.checkpoint):
            held = read_array_file(stack.enter_context(open_weights(options.checkpoint)))
        else:
            held = read_checkpoint(stack.enter_context(Reader(options.checkpoint)))
        subset = Subset(options.only)
        spots = {path: Spot(path, one.role, None, one.others) for path, one in held.items() if one.dtype}
        subset.check(spots.values())
        found = [{"path": path, **_numbers(held[path])} for path, spot in spots.items() if spot in subset]
    if options.json:
        print_json({"path": options.checkpoint, "entries": found})
        return 0
    rows = [("PATH", "DTYPE", "SHAPE", *(name.upper() for name in _COLUMNS), "NO NUMBERS")]
    for one in found:
        cells = [f"{one[name]:.4g}" if one[name] is not None else "" for name in _COLUMNS]
        rows.append(
            (escape_control(one["path"]), one["dtype"], str(tuple(one["shape"])), *cells, str(one["not_finite"] or ""))
        )
    print_table(rows, right=(3, 4, 5, 6, 7))
    return 0


def _numbers(entry: Held) -> dict[str, Any]:
    array = entry.read()
    is_real = not is_complex(entry.dtype)
    values = array.astype("float64") if is_real else np.abs(array)
    finite = values[np.isfinite(values)]
    numbers: dict[str, float | None] = dict.fromkeys(_COLUMNS)
    if finite.size:
        found = finite.mean(), finite.std(), finite.min(), finite.max()
        numbers = {name: float(value) for name, value in zip(_COLUMNS, found, strict=True)}
    return {"dtype": entry.dtype, "shape": list(entry.shape), **numbers, "not_finite": int(values.size - finite.size)}
