"""Paths as a tree: what they have in common stands once."""

from collections.abc import Sequence

from graftax.cli.output import print_table


def tree(rows: Sequence[Sequence[str]], separator: str = "/") -> None:
    """Print rows, whose first column are paths, indented below what holds them.

    Args:
        rows: Each as long as the others.
        separator: What stands between the components of a path.
    """
    shown: list[tuple[str, ...]] = []
    above: list[str] = []
    for path, *rest in rows:
        parts = path.split(separator)
        depth = next((i for i, (a, b) in enumerate(zip(above, parts, strict=False)) if a != b), len(above))
        depth = min(depth, len(parts) - 1)
        shown += [(f"{'  ' * i}{parts[i]}", *[""] * len(rest)) for i in range(depth, len(parts) - 1)]
        shown.append((f"{'  ' * (len(parts) - 1)}{parts[-1]}", *rest))
        above = parts
    print_table(shown, right=(3,), indent="  ")
