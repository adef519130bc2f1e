"""``graftax export update ART CKPT``."""

from argparse import Namespace

from graftax.cli.output import print_json
from graftax.export.updating import update


def run(options: Namespace) -> int:
    """Give the artefact the values of the checkpoint."""
    report = update(options.artefact, options.checkpoint)
    if options.json:
        print_json(report._asdict())
    else:
        print(report)
    return 0
