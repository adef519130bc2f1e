"""``graftax ckpt cast CKPT --to OUT --dtype DTYPE``."""

from argparse import Namespace

from graftax.checkpoint.derived.cast import cast
from graftax.checkpoint.derived.opening import sheet_at
from graftax.checkpoint.subset import Subset
from graftax.cli.selection import chosen
from graftax.cli.written import write


def run(options: Namespace) -> int:
    """Write the checkpoint with arrays of another dtype."""
    with sheet_at(options.checkpoint, Subset()) as sheet:
        done = cast(sheet, chosen(options), options.dtype)
        code = write(sheet, options, cast=done)
    if not options.json:
        print(f"  {len(done):,} of them are {options.dtype} now")
    return code
