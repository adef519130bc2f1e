"""``graftax ckpt merge CKPT CKPT ... --to OUT``."""

from argparse import Namespace
from contextlib import ExitStack

from graftax.checkpoint.derived.merge import merge
from graftax.checkpoint.derived.opening import sheet_at
from graftax.checkpoint.subset import Subset
from graftax.cli.written import write
from graftax.core.errors import ArgumentError


def run(options: Namespace) -> int:
    """Write one checkpoint with what several have."""
    if len(options.checkpoints) < 2:
        raise ArgumentError("one checkpoint", "there is nothing to merge it with", "graftax ckpt merge A B --to OUT")
    with ExitStack() as stack:
        first, *others = [stack.enter_context(sheet_at(path, Subset())) for path in options.checkpoints]
        for other in others:
            merge(first, other, options.prefer)
        return write(first, options, sources=options.checkpoints)
