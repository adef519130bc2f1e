"""explain: the table of what a selector hits in a model, and why."""

from __future__ import annotations

from dataclasses import dataclass

from graftax.core.errors import ArgumentTypeError
from graftax.core.selectors import Selector, SelectorLike, compile_selector
from graftax.core.short_traceback import door
from graftax.core.tally import Tally
from graftax.core.typedefs import Shape
from graftax.variables.graph.candidates import candidates
from graftax.variables.graph.module import Module, walk_with_edges


@dataclass(frozen=True)
class Selected:
    """One line of a `Selection`: a Variable that is hit, and by which parts of the selector."""

    path: str
    role: str
    shape: Shape
    dtype: str
    trainable: bool
    by: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        """Return the line as text."""
        moves = "yes" if self.trainable else "no"
        return self.path, self.role, str(self.shape), self.dtype, moves, ", ".join(self.by)


_HEAD = ("variable", "role", "shape", "dtype", "trainable", "by")


@dataclass(frozen=True)
class Selection:
    """What a selector hits in a model, printable as a table.

    ``rows`` is what is hit. ``spared`` is what some part hits, but the whole does not, with the part that takes it out.
    ``idle`` is the part that hits nothing, for which a call with this selector would fail, with ``near`` misses.
    """

    title: str
    rows: tuple[Selected, ...]
    spared: tuple[tuple[str, str], ...]
    idle: str
    near: tuple[str, ...]

    def __str__(self) -> str:
        lines = [_HEAD, *(row.cells() for row in self.rows)] if self.rows else []
        widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))] if lines else []
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        text += [f"not {path}: {why}" for path, why in self.spared]
        if self.idle:
            near = f"; nearest: {', '.join(self.near)}" if self.near else ""
            text.append(f"nothing is hit by {self.idle}{near}")
        return "\n".join([self.title, *(f"  {line}" for line in text)])

    __repr__ = __str__


@door
def explain(model: Module, selector: SelectorLike) -> Selection:
    """Return the Variables of a model that a selector selects, as a table to print.

    Args:
        model: The model.
        selector: Anything that selects, see `graftax.select`.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(4), gx.layers.Dense(2)])
        >>> y = model(np.ones((1, 3), "float32"))
        >>> explain(model, gx.select("**/kernel") & ~gx.select("layers/1/**"))
        '**/kernel' & ~'layers/1/**' hits 1 of 4 variables, 12 of 26 numbers
          variable         role    shape   dtype    trainable  by
          layers/0/kernel  weight  (3, 4)  float32  yes        '**/kernel'
          not layers/1/kernel: ~'layers/1/**'
        >>> explain(model, "**/kernl")
        '**/kernl' hits 0 of 4 variables, 0 of 26 numbers
          nothing is hit by '**/kernl'; nearest: **/kernel, layers/0/kernel, layers/1/kernel
    """
    if not isinstance(model, Module):
        raise ArgumentTypeError(
            f"explain got {model!r:.60}, of type {type(model).__name__}",
            "it looks at the variables of a Module",
            "graftax.explain(model, selector)",
        )
    compiled = compile_selector(selector)
    tally = Tally(compiled)
    rows, spared = [], []
    known = list(candidates(walk_with_edges(model)))
    size = 0
    for one in known:
        v = one.variable

        def hits(part: Selector, paths: tuple[str, ...] = one.paths, item: object = v, role: str = v.role) -> bool:
            return part.sees(paths, role, item)

        if tally.see(one.paths, v.role, v):
            size += v.size
            hit = [part for part in _parts(compiled) if hits(part)]
            by = tuple(part.text for part in hit if part.kind != "not") or tuple(part.text for part in hit)
            rows.append(Selected(one.path, v.role, v.shape, v.dtype, v.trainable, by))
        elif any(part.kind != "not" and hits(part) for part in _parts(compiled)):
            out = next((part.text for part in _parts(compiled) if part.kind == "not" and not hits(part)), "")
            spared.append((one.path, out or "not hit by all parts"))
    idle = tally.idle()
    whole = sum(one.variable.size for one in known)
    return Selection(
        f"{compiled.text} hits {len(rows):,} of {len(known):,} variables, {size:,} of {whole:,} numbers",
        tuple(rows),
        tuple(spared),
        idle.text if idle is not None else "",
        tuple(tally.nearest(idle)) if idle is not None else (),
    )


def _parts(selector: Selector) -> list[Selector]:
    """Return the parts that say why: what is combined, and what is taken away as one."""
    if selector.kind in ("any", "all"):
        return [below for part in selector.parts for below in _parts(part)]
    return [selector]
