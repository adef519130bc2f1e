"""``graftax ckpt verify CKPT``."""

from argparse import Namespace

from graftax.checkpoint.verify import verify
from graftax.cli.output import escape_control, print_json, size


def run(options: Namespace) -> int:
    """Check every byte; 3 if something is damaged, 1 if only strange files lie there."""
    found = verify(options.checkpoint)
    if options.json:
        problems = [{"error": type(p).__name__, "message": str(p)} for p in found.problems]
        counts = {"arrays": len(found.contents.tensors), "blocks": found.blocks, "bytes": found.nbytes}
        print_json({"path": options.checkpoint, **counts, "problems": problems, "strangers": found.strangers})
    else:
        for problem in found.problems:
            print(f"{type(problem).__name__}: {escape_control(problem.received)}: {escape_control(problem.reason)}")
        for name in found.strangers:
            print(f"not part of the checkpoint: {escape_control(name)}")
        verdict = "damaged" if found.problems else "fine"
        print(f"{options.checkpoint}: {verdict}; {found.blocks:,} blocks, {size(found.nbytes)} checked")
    return 3 if found.problems else 1 if found.strangers else 0
