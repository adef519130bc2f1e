"""``graftax ckpt prune FOLDER --keep N``."""

from argparse import Namespace

from graftax.checkpoint.delete import delete
from graftax.checkpoint.folder import entries
from graftax.checkpoint.places import place_of
from graftax.checkpoint.retention import Record, Retention
from graftax.cli.output import escape_control, print_json
from graftax.core.errors import ArgumentError


def run(options: Namespace) -> int:
    """Delete the checkpoints of a folder that are not to stay."""
    if options.keep is None:
        raise ArgumentError("no --keep", "it says how many of the newest stay", "--keep 3")
    rule = Retention(keep=options.keep, keep_every=options.keep_every)
    rule.check()
    storage, folder = place_of(options.folder)
    if storage.is_checkpoint(folder):
        raise ArgumentError(
            f"{options.folder} is a checkpoint",
            "prune takes the folder that contains checkpoints",
            "the folder above it",
        )
    found = [entry for entry in entries(folder) if entry.state == "checkpoint"]
    stepless = [entry.name for entry in found if entry.step is None]
    records = [Record(e.step, storage.join(folder, e.name), {}) for e in found if e.step is not None]
    doomed = rule.to_delete(records, {entry.name: entry.targets for entry in found})
    if not options.dry_run:
        for record in doomed:
            delete(record.path)
    names = [storage.split(record.path)[1] for record in doomed]
    if options.json:
        print_json({"deleted": names, "dry_run": options.dry_run, "without_step": stepless})
        return 0
    for name in names:
        print(f"{'would delete' if options.dry_run else 'deleted'} {escape_control(name)}")
    for name in stepless:
        print(f"left {escape_control(name)}: it has no step")
    return 0
