"""``graftax ckpt verify FILE``: of a file of arrays that another library wrote."""

from argparse import Namespace

from graftax.checkpoint.foreign.opening import open_weights
from graftax.cli.output import escape_control, print_json, size
from graftax.core.errors import CheckpointError, NotACheckpoint


def run(options: Namespace) -> int:
    """Read all that is there; 3 if something is damaged. Such files have few checksums or none."""
    problems: list[CheckpointError] = []
    count = total = 0
    try:
        with open_weights(options.checkpoint) as file:
            for array in file.arrays.values():
                try:
                    total += array.read().nbytes
                    count += 1
                except CheckpointError as error:
                    problems.append(error)
    except NotACheckpoint:
        raise
    except CheckpointError as error:
        problems.append(error)
    if options.json:
        told = [{"error": type(p).__name__, "message": str(p)} for p in problems]
        print_json({"path": options.checkpoint, "arrays": count, "bytes": total, "problems": told, "strangers": ()})
        return 3 if problems else 0
    for problem in problems:
        print(f"{type(problem).__name__}: {escape_control(problem.received)}: {escape_control(problem.reason)}")
    verdict = "damaged" if problems else "whole, as far as a file without checksums tells"
    print(f"{escape_control(options.checkpoint)}: {verdict}; {count:,} arrays, {size(total)} read")
    return 3 if problems else 0
