"""``graftax ckpt extract CKPT --to OUT``."""

from argparse import Namespace

from graftax.checkpoint.extract import extract
from graftax.cli.output import escape_control, print_json, size
from graftax.cli.selection import chosen


def run(options: Namespace) -> int:
    """Write a checkpoint of its own."""
    report = extract(options.checkpoint, options.to, chosen(options), overwrite=options.overwrite)
    if options.json:
        print_json(report._asdict())
    else:
        print(f"wrote {report.arrays:,} arrays, {size(report.nbytes)}, to {escape_control(report.path)}")
        if report.left_out:
            print(
                f"left out {len(report.left_out):,} slots, such as {escape_control(report.left_out[0])}: their "
                'Variables are not selected. Instead: --only "model/**", too'
            )
    return 0
