"""``graftax ckpt show FILE``: of a file of arrays that another library wrote."""

from argparse import Namespace

from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.dtypes import nbytes as bytes_of
from graftax.checkpoint.foreign.opening import open_weights
from graftax.checkpoint.subset import Spot, Subset
from graftax.cli.output import escape_control, print_json, print_table, size
from graftax.cli.show_table import tree


def run(options: Namespace) -> int:
    """Print the arrays of a file."""
    with open_weights(options.checkpoint) as file:
        subset = Subset(options.only)
        subset.check(Spot(name, "weight") for name in file.arrays)
        arrays = [a for name, a in file.arrays.items() if Spot(name, "weight") in subset]
    sizes = [bytes_of(a.dtype, a.shape) if a.dtype in DTYPES else 0 for a in arrays]
    if options.json:
        entries = [
            {"path": a.name, "kind": "array", "dtype": a.dtype, "shape": list(a.shape), "bytes": n}
            for a, n in zip(arrays, sizes, strict=True)
        ]
        print_json({"path": options.checkpoint, "bytes": sum(sizes), "entries": entries})
        return 0
    print(f"{escape_control(options.checkpoint)}: {len(arrays):,} arrays, {size(sum(sizes))}")
    rows = [(escape_control(a.name), a.dtype, str(a.shape), size(n)) for a, n in zip(arrays, sizes, strict=True)]
    if options.tree:
        tree(rows, "/" if any("/" in a.name for a in arrays) else ".")
    else:
        print_table(rows, right=(3,), indent="  ")
    return 0
