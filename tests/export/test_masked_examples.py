"""Inputs that carry a mask: a program takes arrays alone, so the mask is an argument, or made inside of the program."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ExportError
from graftax.export import Signature, Spec

TOKENS = np.array([[3, 4, 0, 0], [1, 2, 3, 4]], "int32")


def embedded() -> tuple[Any, gx.Model]:
    """Return an array with a mask, and a model that was first called with it."""
    x = layers.Embedding(20, 8, mask_zero=True)(TOKENS)
    pool = gx.Sequential([layers.GlobalAveragePooling1D()])
    pool(x)
    return x, pool


def head() -> gx.Model:
    """Return the part of a graph that follows an embedding."""
    tokens = gx.Input((4,), dtype="int32")
    x = layers.Embedding(20, 8, mask_zero=True)(tokens)
    return gx.Model(x, layers.GlobalAveragePooling1D()(x))


def saved(path: Path) -> None:
    x, pool = embedded()
    gx.export.save(path, pool, x)


def in_a_structure(path: Path) -> None:
    x, pool = embedded()
    gx.export.save(path, lambda parts: pool(parts["x"]), {"x": x})


def as_onnx(path: Path) -> None:
    x, pool = embedded()
    gx.export.onnx(path, pool, x, check=False)


def from_the_first_call(path: Path) -> None:
    embedded()[1].export(path)


def from_the_graph(path: Path) -> None:
    head().export(path)


@pytest.mark.parametrize("export", [saved, in_a_structure, as_onnx, from_the_first_call, from_the_graph])
def test_an_input_with_a_mask_is_refused(tmp_path: Path, export: Callable[[Path], None]) -> None:
    with pytest.raises(ExportError, match=r"carries a mask[\s\S]*as if nothing were masked[\s\S]*mask=mask"):
        export(tmp_path / "net")
    assert not list(tmp_path.iterdir())


def test_an_array_by_keyword_in_the_first_call_is_not_left_out(tmp_path: Path) -> None:
    pool = gx.Sequential([layers.GlobalAveragePooling1D()])
    pool(np.ones((2, 4, 8), "float32"), mask=TOKENS != 0)
    with pytest.raises(ExportError, match=r"first called with mask=\.\.\.[\s\S]*would ignore this one"):
        pool.export(tmp_path / "net")


@pytest.mark.slow
def test_a_mask_is_an_argument_or_made_in_the_program(tmp_path: Path) -> None:
    x, pool = embedded()
    wanted = np.asarray(pool(x))
    given = Signature(lambda x, mask: pool(x, mask=mask), Spec("batch time 8"), Spec("batch time", "bool"))
    gx.export.save(tmp_path / "given", given, platforms=("cpu",))
    found = gx.export.load(tmp_path / "given").predict(np.asarray(x), TOKENS != 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)

    whole = gx.Sequential([layers.Embedding(20, 8, mask_zero=True), pool])
    wanted = np.asarray(whole(TOKENS))
    whole.export(tmp_path / "whole", platforms=("cpu",))
    np.testing.assert_allclose(gx.export.load(tmp_path / "whole").predict(TOKENS), wanted, rtol=1e-6)
    pool.export(tmp_path / "alone", Spec("batch time 8"), platforms=("cpu",))  # said to take arrays alone
