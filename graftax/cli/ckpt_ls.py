"""``graftax ckpt ls FOLDER``."""

from argparse import Namespace

from graftax.checkpoint.folder import entries
from graftax.cli.output import moment, print_json, printable, size, table


def run(options: Namespace) -> int:
    """Print one line per entry of a folder."""
    found = entries(options.folder)
    if options.json:
        print_json([entry._asdict() for entry in found])
        return 0
    rows = [("NAME", "STEP", "CREATED", "SIZE", "ARRAYS", "")]
    for e in found:
        name = printable(e.name)
        if e.state == "checkpoint":
            step = "-" if e.step is None else f"{e.step:,}"
            rows.append((name, step, moment(e.created), size(e.nbytes), f"{e.tensors:,}", printable(e.note)))
        else:
            rows.append((name, "", "", "", "", printable(f"{e.state}: {e.note}")))
    table(rows, right=(1, 3, 4))
    return 0
