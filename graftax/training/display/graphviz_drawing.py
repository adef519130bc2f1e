"""A drawing of a model by Graphviz: the DOT language, and the program ``dot``, if it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import pairwise

from graftax.core.errors import StateError
from graftax.training.display.model_boxes import Box, Path

_PATIENCE = 60.0
"""The timeout of ``dot`` in seconds."""


def is_installed() -> bool:
    """Return whether the program ``dot`` is installed."""
    return shutil.which("dot") is not None


def render(source: str, kind: str) -> bytes:
    """Return the image that ``dot`` draws.

    Args:
        source: The graph in the DOT language.
        kind: The format, such as ``"svg"`` or ``"png"``.

    Raises:
        StateError: the program failed.
    """
    program = shutil.which("dot") or "dot"
    try:
        done = subprocess.run([program, f"-T{kind}"], input=source.encode(), capture_output=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _dot_error(kind, str(error)) from error
    if done.returncode or not done.stdout:
        raise _dot_error(kind, "; ".join(done.stderr.decode(errors="replace").strip().splitlines()[:3]))
    return done.stdout


def _dot_error(kind: str, message: str) -> StateError:
    return StateError(
        f"dot -T{kind}",
        f"the program of Graphviz failed: {message}",
        "mend it, or take it out of PATH: where there is none, plot_model draws an SVG by itself",
    )


def dot_of(model: Box) -> str:
    """Return the graph in the DOT language, with a cluster for each box that has others inside."""
    lines = [
        "digraph {",
        "  compound=true; rankdir=TB; newrank=true;",
        '  graph [fontname="sans-serif", fontsize=12, style="rounded", color="#5878a8"];',
        '  node [fontname="sans-serif", fontsize=12, shape=box, style="rounded,filled", fillcolor="#eef3fb",'
        ' color="#5878a8"];',
        '  edge [color="#888888", arrowsize=0.7];',
        f"  labelloc=t; label={_quote(model.title)};",
    ]
    ends: dict[Path, tuple[Path, Path]] = {}
    clusters: set[Path] = set()

    def add(box: Box, indent: str) -> None:
        name = _name(box.path)
        text = f"{_quote(box.title)[1:-1]}\\n{_quote(box.detail)[1:-1]}" if box.detail else _quote(box.title)[1:-1]
        if not box.boxes:
            lines.append(f'{indent}{name} [label="{text}"];')
            ends[box.path] = box.path, box.path
            return
        clusters.add(box.path)
        lines.append(f"{indent}subgraph {_quote(f'cluster_{_join_path(box.path)}')} {{")
        lines.append(f'{indent}  label="{text}";')
        add_inside(box, f"{indent}  ")
        lines.append(f"{indent}}}")
        ends[box.path] = ends[box.boxes[0].path][0], ends[box.boxes[-1].path][1]

    def add_inside(box: Box, indent: str) -> None:
        for one in box.boxes:
            add(one, indent)
        if not box.arrows:  # the wiring is not known: invisible edges keep the boxes in order
            for one, below in pairwise(box.boxes):
                bottom, top = _name(ends[one.path][1]), _name(ends[below.path][0])
                lines.append(f"{indent}{bottom} -> {top} [style=invis];")
        for first, second in box.arrows:
            options = [f"ltail={_quote(f'cluster_{_join_path(first)}')}"] if first in clusters else []
            options += [f"lhead={_quote(f'cluster_{_join_path(second)}')}"] if second in clusters else []
            lines.append(f"{indent}{_name(ends[first][1])} -> {_name(ends[second][0])} [{', '.join(options)}];")

    add_inside(model, "  ")
    return "\n".join([*lines, "}", ""])


def _join_path(path: Path) -> str:
    return "/".join(path)


def _name(path: Path) -> str:
    return _quote(_join_path(path))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
