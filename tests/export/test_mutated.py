"""Artefacts that were changed at random: each works with the same numbers, or is refused in three beats."""

import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ExportError, GraftaxError
from graftax.export import run as loader
from graftax.export.manifest import ArtefactError, digest_of
from graftax.export.updating import update
from tests.export.mutations import INPUTS, changed_bytes, mutated, saved, shown, warmed

FILES = ("functions/predict.jax", "functions/pair.jax", "functions/step.jax", "weights.safetensors")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    path = saved(tmp_path_factory.mktemp("mutated") / "net")
    yield path
    for setting in before.items():
        jax.config.update(*setting)


class Attempt:
    """What may be done with an artefact, and what came of it.

    Args:
        folder: Where it lies.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.refused: list[str] = []
        self.results: dict[str, list[bytes]] = {}

    def does(self, what: str, action: Callable[[], Any]) -> Any:
        """Do it; what is raised has to be an error of this library, in three beats."""
        try:
            return action()
        except (GraftaxError, ArtefactError) as error:
            told = error
        text = str(told)
        assert "\n  why: " in text, text
        assert "\n  instead: " in text, text
        assert isinstance(told, GraftaxError) or what.startswith("call"), text
        self.refused.append(what)
        return None

    def shows_and_loads(self) -> None:
        """Show it, and load it."""
        self.does("show", lambda: shown(self.folder))
        self.does("load", lambda: gx.export.load(self.folder, cache=str(self.folder.parent / "compiled")))

    def everything(self) -> None:
        """Show, load, call, check, serve and update."""
        self.does("show", lambda: shown(self.folder))
        for artefact in (
            self.does("load", lambda: gx.export.load(self.folder)),
            self.does("load", lambda: gx.export.load(self.folder, integers="keep")),
        ):
            for name in artefact.signatures if artefact is not None else ():
                self.calls(f"{name} of {len(artefact.values)}", artefact.signatures[name], INPUTS.get(name, ()))
        if "load" not in self.refused:
            self.does("check", lambda: gx.export.check(self.folder))
            self.does("serve", lambda: warmed(self.folder))
            self.does("update", lambda: update(self.folder, self.folder.parent / "ckpt"))

    def calls(self, what: str, function: loader.Function, inputs: tuple[Any, ...]) -> None:
        """Call a program, and keep its results whatever they are called."""
        results = self.does(f"call {what}", lambda: function(*inputs))
        if results is not None:
            self.results[what] = sorted(np.asarray(one).tobytes() for one in jax.tree.leaves(results))


def copied(original: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(original, folder))


def whole(original: Path) -> Attempt:
    found = Attempt(copied(original, original.parent / "whole"))
    found.everything()
    assert not found.refused
    return found


def forged(original: Path, seed: int, count: int, thorough: int) -> Counter[str]:
    """Change manifests and their hashes; try everything with one in ``thorough``, or none; return what was refused."""
    manifest = json.loads((original / "manifest.json").read_text())
    wanted = whole(original).results if thorough else {}
    refused, dice = Counter[str](), random.Random(seed)
    for number in range(count):
        one = mutated(manifest, dice)
        one["sha256"] = digest_of(one)
        attempt = Attempt(copied(original, original.parent / "copy"))
        (attempt.folder / "manifest.json").write_text(json.dumps(one))
        try:
            attempt.everything() if thorough and number % thorough == 0 else attempt.shows_and_loads()
        except BaseException as error:
            raise AssertionError(f"seed {seed}, change {number}") from error
        others = [key for key, results in attempt.results.items() if results != wanted.get(key)]
        same = all(one[key] == manifest[key] for key in ("signatures", "values") if others)
        assert not (others and same), f"seed {seed}, change {number}: other numbers of {others}"
        refused.update({*attempt.refused})
    return refused


def test_a_manifest_that_was_damaged_is_refused(original: Path) -> None:
    manifest = json.loads((original / "manifest.json").read_text())
    folder, dice = copied(original, original.parent / "damaged"), random.Random(0)
    for number in range(60):
        one = mutated(manifest, dice)
        (folder / "manifest.json").write_text(json.dumps(one))
        if one != manifest and "sha256" in one:
            attempt = Attempt(folder)
            attempt.shows_and_loads()
            assert {*attempt.refused} == {"show", "load"}, number


@pytest.mark.broad
def test_a_manifest_that_was_forged_is_refused_or_works(original: Path) -> None:
    assert forged(original, 0, 40, 0)["load"] > 15


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_many_manifests_that_were_forged(original: Path, seed: int) -> None:
    refused = forged(original, seed, 500, 12)
    assert 250 < refused["show"] <= refused["load"] < 500


def test_other_bytes_of_a_program_or_of_weights_are_noticed(original: Path) -> None:
    dice = random.Random(0)
    for file in FILES * 3:
        folder = copied(original, original.parent / "bytes")
        (folder / file).write_bytes(changed_bytes((original / file).read_bytes(), dice))
        with pytest.raises(ExportError, match=r"not what was written|cannot be read|outside of it|has no|ends beyond"):
            gx.export.load(folder)


@pytest.mark.slow
def test_other_bytes_with_their_hash_are_refused_or_work(original: Path) -> None:
    manifest, dice = json.loads((original / "manifest.json").read_text()), random.Random(0)
    for file in (*FILES, "examples.safetensors") * 12:
        attempt = Attempt(copied(original, original.parent / "bytes"))
        data = changed_bytes((original / file).read_bytes(), dice)
        (attempt.folder / file).write_bytes(data)
        files = {**manifest["files"], file: hashlib.sha256(data).hexdigest()} if file in manifest["files"] else None
        one = {**manifest, "files": files or manifest["files"]}
        one["sha256"] = digest_of(one)
        (attempt.folder / "manifest.json").write_text(json.dumps(one))
        attempt.everything()
