"""``graftax ckpt diff A B``."""

import os
from argparse import Namespace
from contextlib import ExitStack
from typing import NamedTuple

from graftax.checkpoint.derived.description_changes import compare_descriptions, labels_that_differ
from graftax.checkpoint.derived.difference import Change, Held, difference, read_array_file, read_checkpoint
from graftax.checkpoint.foreign.opening import open_weights
from graftax.checkpoint.index import Index
from graftax.checkpoint.reader import Reader
from graftax.cli.output import escape_control, print_json
from graftax.cli.selection import chosen


def run(options: Namespace) -> int:
    """Print what differs; 1 if anything does."""
    with ExitStack() as stack:
        first, second = (_open_values(path, stack) for path in (options.first, options.second))
        subset = chosen(options)
        found = difference(first.held, second.held, subset)
        labels: list[Change] = []
        if first.whole is not None and second.whole is not None:
            labels = labels_that_differ(first.whole, second.whole) if subset.is_all else []
            told = compare_descriptions(first.whole, second.whole, subset)
            known = {change.path for change in told}
            gone, more = (tuple(p for p in some if p not in known) for some in (found.removed, found.added))
            found = found._replace(changed=(*found.changed, *told), removed=gone, added=more)
    differs = bool(found.changed or found.removed or found.added)
    if options.json:
        changed = [change._asdict() for change in found.changed]
        said = {change.path: [change.first, change.second] for change in labels}
        print_json(
            {"changed": changed, "removed": found.removed, "added": found.added, "same": found.same, "labels": said}
        )
        return int(differs)
    for change in found.changed:
        what = change.first if change.first == change.second else f"{change.first} -> {change.second}"
        by = "" if change.largest is None else f", by up to {change.largest:.3g}"
        print(f"~ {escape_control(change.path)}  {escape_control(what)}{by}")
    for label in labels:  # which no restore sets
        print(f"  {escape_control(label.path)}  {escape_control(f'{label.first} -> {label.second}')}")
    for sign, paths in (("-", found.removed), ("+", found.added)):
        for path in paths:
            print(f"{sign} {escape_control(path)}")
    counts = f"{len(found.changed):,} changed, {len(found.removed):,} removed, {len(found.added):,} added"
    print(f"{counts}, {found.same:,} the same")
    return int(differs)


class _Side(NamedTuple):
    """A checkpoint, or a file of arrays, which has no index."""

    held: dict[str, Held]
    whole: Index | None = None


def _open_values(path: str, stack: ExitStack) -> _Side:
    if os.path.isfile(path):
        file = open_weights(path)
        stack.callback(file.close)
        return _Side(read_array_file(file))
    reader = stack.enter_context(Reader(path))
    return _Side(read_checkpoint(reader), reader.index)
