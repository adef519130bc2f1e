"""``graftax ckpt extract CKPT OUT``."""

from argparse import Namespace

from graftax.checkpoint.extract import extract
from graftax.checkpoint.subset import Subset
from graftax.cli.output import print_json, size


def run(options: Namespace) -> int:
    """Write a checkpoint of its own."""
    chosen = Subset(options.only, options.skip)
    report = extract(options.checkpoint, options.out, chosen, overwrite=options.overwrite)
    if options.json:
        print_json(report._asdict())
    else:
        print(f"wrote {report.arrays:,} arrays, {size(report.nbytes)}, to {report.path}")
    return 0
