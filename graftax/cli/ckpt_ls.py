"""``graftax ckpt ls FOLDER``."""

import sys
from argparse import Namespace

from graftax.checkpoint.folder import entries
from graftax.checkpoint.places import place_of
from graftax.cli.output import escape_control, moment, print_json, print_table, size
from graftax.core.errors import NotACheckpoint


def run(options: Namespace) -> int:
    """Print one line per entry of a folder."""
    storage, folder = place_of(options.folder)
    if options.sweep:
        for name in storage.sweep(folder):
            print(f"swept {escape_control(name)}", file=sys.stderr)
    found = entries(options.folder)
    if options.latest:
        steps = [entry for entry in found if entry.state == "checkpoint" and entry.step is not None]
        if not steps:
            raise NotACheckpoint(
                f"no checkpoint with a step in {options.folder}",
                "the latest is the one with the highest step",
                f"graftax ckpt ls {options.folder}, without --latest",
            )
        latest = max(steps, key=lambda entry: entry.step or 0)
        path = folder if storage.is_checkpoint(folder) else storage.join(options.folder, latest.name)
        if options.json:
            print_json({"path": path, **latest._asdict()})
        else:
            print(path)
        return 0
    if options.json:
        print_json([entry._asdict() for entry in found])
        return 0
    rows = [("NAME", "STEP", "CREATED", "SIZE", "ARRAYS", "")]
    for e in found:
        name = escape_control(e.name)
        if e.state == "checkpoint":
            step = "-" if e.step is None else f"{e.step:,}"
            rows.append((name, step, moment(e.created), size(e.nbytes), f"{e.tensors:,}", escape_control(e.note)))
        else:
            rows.append((name, "", "", "", "", escape_control(f"{e.state}: {e.note}")))
    print_table(rows, right=(1, 3, 4))
    return 0
