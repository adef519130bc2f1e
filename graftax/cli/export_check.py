"""``graftax export check ART``."""

from argparse import Namespace

from graftax.cli.output import print_json
from graftax.export.replaying import check


def run(options: Namespace) -> int:
    """Check all files, and run each program on what it was tried on; 1 if a program has no trial."""
    report = check(options.artefact)
    if options.json:
        print_json({"path": options.artefact, "errors": dict(report.errors), "without": list(report.without)})
    else:
        print(report)
    return 1 if report.without else 0
