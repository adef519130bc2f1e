"""``graftax ckpt save TARGET CKPT``."""

from argparse import Namespace

from graftax.cli.output import print_json
from graftax.cli.target import build


def run(options: Namespace) -> int:
    """Build the objects, restore into them if told, and save them."""
    checkpoint = build(options.target)
    if options.source:
        checkpoint.restore(options.source).assert_consumed()
    report = checkpoint.save(options.checkpoint, overwrite=options.overwrite, only=options.only, skip=options.skip)
    if options.json:
        print_json(report._asdict())
    else:
        print(report)
    return 0
