"""``graftax ckpt rename CKPT --to OUT --map NEW=OLD``."""

from argparse import Namespace

from graftax.checkpoint.derived.opening import sheet_at
from graftax.checkpoint.derived.rename import rename
from graftax.checkpoint.subset import Subset
from graftax.cli.selection import pairs
from graftax.cli.written import write
from graftax.core.errors import ArgumentError


def run(options: Namespace) -> int:
    """Write the checkpoint with other paths."""
    names = pairs(options.map, "NEW=OLD")
    if not names:
        raise ArgumentError("no --map", "it says what is called otherwise", "--map NEW=OLD")
    with sheet_at(options.checkpoint, Subset()) as sheet:
        return write(sheet, options, renamed=rename(sheet, names))
