"""``graftax ckpt average CKPT CKPT ... --to OUT``."""

from argparse import Namespace
from contextlib import ExitStack

from graftax.checkpoint.derived.average import average
from graftax.checkpoint.derived.opening import sheet_at
from graftax.cli.output import escape_control
from graftax.cli.selection import chosen
from graftax.cli.written import write
from graftax.core.errors import ArgumentError


def run(options: Namespace) -> int:
    """Write the mean of several checkpoints."""
    if len(options.checkpoints) < 2:
        raise ArgumentError("one checkpoint", "a mean is one of several", "graftax ckpt average A B --to OUT")
    with ExitStack() as stack:
        sheets = [stack.enter_context(sheet_at(path, chosen(options))) for path in options.checkpoints]
        kept = average(sheets, options.checkpoints)
        code = write(sheets[0], options, kept=kept)
    for path in [] if options.json else kept:
        print(
            f"  {escape_control(path)} is that of {escape_control(options.checkpoints[0])}: a mean of integers is none"
        )
    return code
