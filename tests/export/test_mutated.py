"""Artefacts that were changed at random: each works with the same numbers, or is refused in three beats."""

import copy
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import GraftaxError
from graftax.export import run as loader
from graftax.export.manifest import digest_of
from graftax.export.updating import update
from tests.export.mutations import INPUTS, changed_bytes, mutated, saved, shown, warmed


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("mutated") / "net")


class Attempt:
    """All that may be done with an artefact, and what came of it.

    Args:
        folder: Where it lies.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: dict[str, str] = {}
        self.results: dict[str, Any] = {}

    def does(self, what: str, action: Any) -> Any:
        """Do it; what is raised has to be an error of this library, in three beats."""
        try:
            return action()
        except (GraftaxError, loader.ArtefactError) as error:
            text = str(error)
            assert "\n  why: " in text, text
            assert "\n  instead: " in text, text
            assert isinstance(error, GraftaxError) or what.startswith("call"), text
            self.told[what] = text
        return None

    def everything(self) -> None:
        """Show, load, call, check, serve and update."""
        self.does("show", lambda: shown(self.folder))
        for integers in ("numbers", "keep"):
            artefact = self.does("load", lambda: gx.export.load(self.folder, integers=integers))
            for name, inputs in INPUTS.items() if artefact is not None else ():
                if name in artefact.signatures:
                    results = self.does(f"call {name}", lambda: artefact.signatures[name](*inputs))
                    if f"call {name}" not in self.told:
                        self.results[f"{name} {integers}"] = [*map(np.asarray, jax.tree.leaves(results))]
        if "load" not in self.told:
            self.does("check", lambda: gx.export.check(self.folder))
            self.does("serve", lambda: warmed(self.folder))
            self.does("update", lambda: update(self.folder, self.folder.parent / "ckpt"))


def trials(original: Path, folder: Path, seed: int, count: int, *, forged: bool) -> dict[str, int]:
    """Change the manifest ``count`` times, and try everything; return how often what was refused."""
    whole = Attempt(original)
    whole.everything()
    assert not whole.told
    wanted = {key: sorted(map(str, one)) for key, one in whole.results.items()}
    manifest = json.loads((original / "manifest.json").read_text())
    refused: dict[str, int] = {}
    dice = random.Random(seed)
    for number in range(count):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(original, folder)
        one = mutated(manifest, dice)
        if forged and isinstance(one, dict):
            one["sha256"] = digest_of(one)
        (folder / "manifest.json").write_text(json.dumps(one))
        attempt = Attempt(folder)
        try:
            attempt.everything()
        except BaseException as error:
            raise AssertionError(f"seed {seed}, change {number}: {error!r}") from error
        if one == manifest or forged:
            ...
        for what in attempt.told:
            refused[what] = refused.get(what, 0) + 1
    return refused
