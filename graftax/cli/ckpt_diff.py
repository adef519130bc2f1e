"""``graftax ckpt diff A B``."""

import os
from argparse import Namespace
from collections.abc import Callable

from graftax.checkpoint.derived.difference import Held, difference, held_by_checkpoint, held_by_file
from graftax.checkpoint.foreign.opening import open_weights
from graftax.checkpoint.reader import Reader
from graftax.cli.output import escape_control, print_json
from graftax.cli.selection import chosen


def run(options: Namespace) -> int:
    """Print what differs; 1 if anything does."""
    first, close_first = _open_values(options.first)
    try:
        second, close_second = _open_values(options.second)
        try:
            found = difference(first, second, chosen(options))
        finally:
            close_second()
    finally:
        close_first()
    differs = bool(found.changed or found.removed or found.added)
    if options.json:
        changed = [change._asdict() for change in found.changed]
        print_json({"changed": changed, "removed": found.removed, "added": found.added, "same": found.same})
        return int(differs)
    for change in found.changed:
        what = change.first if change.first == change.second else f"{change.first} -> {change.second}"
        by = "" if change.largest is None else f", by up to {change.largest:.3g}"
        print(f"~ {escape_control(change.path)}  {escape_control(what)}{by}")
    for sign, paths in (("-", found.removed), ("+", found.added)):
        for path in paths:
            print(f"{sign} {escape_control(path)}")
    counts = f"{len(found.changed):,} changed, {len(found.removed):,} removed, {len(found.added):,} added"
    print(f"{counts}, {found.same:,} the same")
    return int(differs)


def _open_values(path: str) -> tuple[dict[str, Held], Callable[[], None]]:
    if os.path.isfile(path):
        file = open_weights(path)
        return held_by_file(file), file.close
    reader = Reader(path)
    try:
        return held_by_checkpoint(reader), reader.close
    except BaseException:
        reader.close()
        raise
