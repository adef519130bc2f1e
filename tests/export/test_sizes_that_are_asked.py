"""What people write with x.shape, where a size is free: it works, or the message has the line to write instead."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ExportError, GraftaxError
from graftax.export import Signature, Spec

A, M, IMAGE = Spec("b t 4"), Spec("n m"), Spec("b h w 3")
BROAD = {"pools with borders"}
QUICK = {"shape returned", "equal to a number", "names of a product", "the last by a subscript"}


def refused(a: Any, b: Any) -> Any:
    if a.shape[0] != b.shape[0]:
        raise ValueError("of two sizes")
    return a


WORKS: dict[str, tuple[Any, ...]] = {
    "shape returned": (lambda a: {"y": a, "length": a.shape[1], "shape": ops.asarray(a.shape)}, A),
    "size as an array": (lambda a: a / ops.sqrt(ops.cast(a.shape[1], "float32")) + ops.sqrt(a.shape[0]), A),
    "size as a number": (lambda a: ops.multiply(a, a.shape[1]) / a.shape[0] + ops.full((1,), a.shape[1]), A),
    "rows of a size": (lambda a: ops.take(a, a.shape[1] - 1, axis=1) + ops.take(a, a.shape[1] // 2, axis=1), A),
    "repeated as often": (lambda a: ops.repeat(a[:, :1], a.shape[1], axis=1) + a, A),
    "repeated, flat": (lambda a: ops.repeat(a, a.shape[0]), Spec("n")),
    "where it belongs": (
        lambda a, v: (ops.searchsorted(a, v), ops.searchsorted(a, v, side="right")),
        *(Spec("n"), Spec("k 2")),
    ),
    "scattered": (lambda i, u: ops.scatter(i, u, (u.shape[0], 4)), Spec("n 1", "int32", (0, 0)), Spec("n 4")),
    "put at places": (lambda a, i, u: ops.scatter_update(a, i, u), Spec("n"), Spec("k 1", "int32", (0, 0)), Spec("k")),
    "resized": (lambda a: ops.image.resize(a, (8, 2 * a.shape[2])), IMAGE),
    "resized to the nearest": (lambda a: ops.image.resize(a, (8, 5), "nearest"), IMAGE),
    "resized by cubes": (lambda a: ops.image.resize(a, (a.shape[1], 7), "bicubic", antialias=True), IMAGE),
    "pools with borders": (lambda a: ops.max_pool(a, 3, 2, "same") - ops.sum_pool(a, 3, 2, "same") / 9, IMAGE),
    "as many steps": (lambda a: gx.scan(lambda c, _: (c * 0.5, ops.sum(c)), a, length=a.shape[1]), A),
    "one size by a constraint": (lambda a, b: a @ b, Spec("n k"), Spec("m p"), ["k == m"]),
    "whole halves": (lambda a: ops.reshape(a, (a.shape[0] // 2, 2, 4)), Spec("n 4"), ["mod(n, 2) == 0"]),
    "compared, and constrained": (lambda a: a if a.shape[1] != 1 else -a, A, ["t >= 2"]),
    "the same size": (lambda a, b: refused(a, b), Spec("n 4"), Spec("n")),
    "keys of a dict": (lambda a: {a.shape[0]: a}[a.shape[0]], A),
    "a table by its beginning": (lambda a: a + ops.asarray(np.ones((9, 4), "float32"))[: a.shape[1]], A, ["t <= 9"]),
}
TOLD: dict[str, tuple[Any, ...]] = {
    # the last part is of what is to be written instead
    "names of a product": (lambda a, b: a @ b, Spec("n k"), Spec("m p"), "constraints=['k == m']"),
    "names of a sum": (lambda a, b: a + b, Spec("n"), Spec("m"), "one name for both in the Specs"),
    "names of ops": (lambda a, b: ops.where(a > 0, a, b), Spec("n"), Spec("m"), "constraints=['n == m']"),
    "names of products": (lambda a, b: a @ b, Spec("b t 4"), Spec("c 4 s"), "constraints=['b == c']"),
    "names of einsum": (lambda a, b: ops.einsum("ij,jk", a, b), M, Spec("k p"), "constraints=['m == k']"),
    "names of a stack": (lambda a, b: ops.stack([a, b]), Spec("n"), Spec("m"), "constraints=['n == m']"),
    "half of a size": (lambda a: ops.reshape(a, (a.shape[0] // 2, -1)), Spec("n 4"), 'Spec("2*n 8")'),
    "half of an odd size": (lambda a: ops.reshape(a, (a.shape[0] // 2, 2, 4)), Spec("n 4"), "mod(n, 2) == 0"),
    "float": (lambda a: a / float(a.shape[0]), A, "ops.cast(x.shape[1]"),
    "math": (lambda a: a / math.sqrt(a.shape[1]), A, "ops.sqrt"),
    "NumPy": (lambda a: a / np.sqrt(a.shape[1]), A, "ops.sqrt"),
    "a root": (lambda a: a * a.shape[1] ** -0.5, A, "ops.sqrt"),
    "the last by a subscript": (lambda a: a[:, a.shape[1] - 1], A, "x[:, -1]"),
    "the middle by a subscript": (lambda a: a[:, a.shape[1] // 2], A, "ops.take"),
    "a slice by a fraction": (lambda a: a[:, : round(a.shape[1] * 0.5)], A, "x.shape[1] // 2"),
    "the slices": (lambda a: ops.unstack(a, axis=1), A, "graftax.scan"),
    "a loop over rows": (lambda a: sum(row for row in a), A, "graftax.map_fn"),
    "a loop over numbers": (lambda a: sum(a[:, i] for i in range(a.shape[1])), A, "graftax.scan"),
    "its length": (lambda a: a * len(a), A, "x.shape[0] in place of len(x)"),
    "text": (lambda a: (f"{a.shape[0]:d}", a)[1], A, "a number for that size in the Spec"),
    "slices that may be short": (
        lambda a: ops.stack([a[:, i : a.shape[1] - 2 + i] for i in range(3)]),
        *(A, "constraints=['t - 2 >= 0']"),
    ),
    "slices of a number": (lambda a: ops.stack([a[:, i : i + 2] for i in range(2)]), A, "constraints=['t >= 3']"),
    "a table that may be short": (lambda a: a + ops.ones((9, 4))[: a.shape[1]], A, "constraints=['t <= 9']"),
    "equal to a number": (lambda a: a if a.shape[1] == 100 else -a, A, "constraints=['t == 100'] or ['t >= 101']"),
    "one of numbers": (lambda a: a if a.shape[1] in (1, 2) else -a, A, "['t == 1'] or ['t >= 2'], whichever"),
    "equal shapes": (lambda a, b: a if a.shape == b.shape else -a, M, Spec("n p"), "constraints=['m == p']"),
    "not equal": (refused, Spec("n"), Spec("m"), "constraints=['n == m']"),
    "Fourier": (lambda a: ops.fft(a), Spec("b n"), "a number for that size"),
}


def marked(names: dict[str, Any]) -> list[Any]:
    rest = {name: pytest.mark.broad if name in BROAD else pytest.mark.slow for name in names if name not in QUICK}
    return [pytest.param(name, marks=rest.get(name, ())) for name in names]


@pytest.mark.parametrize("name", marked(WORKS))
def test_it_works(name: str, tmp_path: Path) -> None:
    function, *rest = WORKS[name]
    constraints = rest.pop() if isinstance(rest[-1], list) else []
    report = gx.export.save(tmp_path / "a", Signature(function, *rest, constraints=constraints), platforms=("cpu",))
    checked = report.signatures["predict"].checked
    assert checked is not None
    assert len(checked.sizes) >= 2
    assert checked.error < 1e-6


@pytest.mark.parametrize("name", marked(TOLD))
def test_ex2_it_says_what_to_write(name: str, tmp_path: Path) -> None:
    function, *specs, instead = TOLD[name]
    with pytest.raises(GraftaxError) as caught:
        gx.export.save(tmp_path / "a", function, *specs, platforms=("cpu",))
    assert instead in str(caught.value).partition("instead: ")[2]
    assert "\n  why: " in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_sizes_of_others_are_compared_as_jax_does() -> None:
    export: Callable[..., Any] = __import__("jax").export.symbolic_shape
    (n,) = export("n")
    assert n != 4
    assert n == n + 0
    assert (n == 4) is False


@pytest.mark.broad
def test_what_is_always_larger_is_not_equal(tmp_path: Path) -> None:
    gx.export.save(tmp_path / "a", lambda a: a if a.shape[0] != 0 else -a, Spec("n"), platforms=("cpu",))
    with pytest.raises(ExportError, match="decides by a free size: 2\\*n == 2"):
        gx.export.save(tmp_path / "b", lambda a: a if a.shape[0] != 2 else -a, Spec("2*n"), platforms=("cpu",))
