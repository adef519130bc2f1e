"""Writing what a command made, and telling so."""

from argparse import Namespace
from typing import Any

from graftax.checkpoint.commit import commit
from graftax.checkpoint.derived.sheet import Sheet
from graftax.checkpoint.folder_names import check_folder_name
from graftax.cli.output import escape_control, print_json, size


def write(sheet: Sheet, options: Namespace, **details: Any) -> int:
    """Write a checkpoint to --to, and print what was written.

    Args:
        sheet: What is written.
        options: Those of the command.
        details: Further entries of the JSON.
    """
    check_folder_name(options.to)
    index = commit(options.to, sheet.draft(), overwrite=options.overwrite)
    if options.json:
        print_json({"path": options.to, "arrays": len(index.tensors), "nbytes": index.nbytes, **details})
        return 0
    print(f"wrote {len(index.tensors):,} arrays, {size(index.nbytes)}, to {escape_control(options.to)}")
    return 0
