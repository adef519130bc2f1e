"""Artefacts that supported versions of JAX wrote are read by these and by newer ones; the error for others is told."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ExportError

FOLDER = Path(__file__).parents[1] / "golden" / "export"
WRITTEN = sorted(FOLDER.glob("jax-*.zip"))
TOKENS = np.arange(12, dtype="int32").reshape(3, 4) % 7


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def test_there_is_one_of_each_supported_version() -> None:
    assert [version(one.stem)[:2] for one in WRITTEN] == [(0, 10), (0, 12)]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_what_an_older_jax_wrote_is_read_and_what_a_newer_wrote_says_so(path: Path) -> None:
    if version(path.stem) > version(jax.__version__):
        with pytest.raises(ExportError) as caught:
            gx.export.load(path)
        for told in (path.stem.replace("-", " "), f"jax {jax.__version__}", "graftax export save"):
            assert told in str(caught.value)
        return
    assert set(gx.export.check(path).errors) == {"predict", "step"}
    artefact = gx.export.load(path)
    losses = [float(artefact.step(TOKENS, np.ones((3, 2), "float32"))) for _ in range(3)]
    assert losses == sorted(losses, reverse=True)
    assert artefact.predict(TOKENS[:2, :3]).shape == (2, 2)
