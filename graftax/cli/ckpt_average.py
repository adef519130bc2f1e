"""``graftax ckpt average CKPT CKPT ... --to OUT``."""

import math
from argparse import Namespace
from contextlib import ExitStack

from graftax.checkpoint.derived.average import average
from graftax.checkpoint.derived.opening import sheet_at
from graftax.cli.output import escape_control
from graftax.cli.selection import chosen
from graftax.cli.written import write
from graftax.core.errors import ArgumentError


def run(options: Namespace) -> int:
    """Write the mean of several checkpoints."""
    if len(options.checkpoints) < 2:
        raise ArgumentError("one checkpoint", "a mean is one of several", "graftax ckpt average A B --to OUT")
    weights = _shares(options.weights, options.checkpoints)
    with ExitStack() as stack:
        sheets = [stack.enter_context(sheet_at(path, chosen(options))) for path in options.checkpoints]
        kept, of_parts = average(sheets, options.checkpoints, weights)
        code = write(sheets[0], options, kept=kept, of_parts=of_parts, weights=weights)
    for path in [] if options.json else kept:
        print(
            f"  {escape_control(path)} is that of {escape_control(options.checkpoints[0])}: a mean of integers is none"
        )
    for path in [] if options.json else of_parts:
        print(f"  {escape_control(path)} has the means of its parts, not the mean of what they make")
    return code


def _shares(text: str | None, checkpoints: list[str]) -> list[float]:
    """Return how much each checkpoint counts, such that the sum is 1."""
    if text is None:
        return [1 / len(checkpoints)] * len(checkpoints)
    example = f"--weights {','.join(map(str, range(len(checkpoints), 0, -1)))}"
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentError(f"--weights {text!r}", "these are numbers with commas", example) from None
    if len(numbers) != len(checkpoints):
        raise ArgumentError(
            f"--weights with {len(numbers)} numbers for {len(checkpoints)} checkpoints, {', '.join(checkpoints)}",
            "each checkpoint has one, in their order",
            example,
        )
    total = sum(numbers)
    if not all(0 <= number < math.inf for number in numbers) or not 0 < total < math.inf:
        raise ArgumentError(
            f"--weights {text}",
            "each is divided by their sum, and says how much of a mean is from its checkpoint: 0 or more, not all 0",
            example,
        )
    return [number / total for number in numbers]
