"""Artefacts that somebody changed: refused by name, before anything of them runs."""

import dataclasses
import hashlib
import json
import pickle
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export as jax_export
from jaxlib.mlir.dialects import stablehlo

import graftax as gx
from graftax.core.errors import ExportError, MissingLibraryError
from graftax.export import Spec
from graftax.export import run as loader
from graftax.export.manifest import digest_of
from tests.export.artefacts import net, numbers


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "net"
    gx.export.save(path, net(), Spec("batch 3"), check=False)
    return path


@pytest.fixture
def forged(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "forged"))


def changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Rewrite the manifest, and its hash, as who forges one would."""
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    manifest["sha256"] = digest_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def rehashed(folder: Path, program: bytes) -> None:
    """Put another program in place, and its hash, as who forges one would."""
    (folder / "functions/predict.jax").write_bytes(program)
    digest = hashlib.sha256(program).hexdigest()
    changed(folder, lambda manifest: manifest["files"].update({"functions/predict.jax": digest}))


def test_a_program_that_calls_python_is_refused(forged: Path) -> None:
    written = jax_export.export(jax.jit(lambda d, k, x: ([jnp.negative(x[0])], [])))(
        [], [], [jax.ShapeDtypeStruct((2, 3), "float32")]
    )
    text = written.mlir_module()
    call = "stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>"
    lines = [re.sub(r"= stablehlo.negate .*", f"= {call}", line) for line in text.splitlines()]
    assert "\n".join(lines) != text
    module = stablehlo.serialize_portable_artifact_str("\n".join(lines), stablehlo.get_current_version())
    evil = dataclasses.replace(written, mlir_module_serialized=module)
    rehashed(forged, bytes(evil.serialize()))
    with pytest.raises(ExportError, match="it calls .'xla_ffi_python_cpu_callback'. on the host"):
        gx.export.load(forged)


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("%0 = stablehlo.custom_call @xla_python_cpu_callback(%arg0)", ["xla_python_cpu_callback"]),
        ('%0 = stablehlo.custom_call @"my call"(%arg0)', ["my call"]),
        ('"stablehlo.custom_call"(%0) <{call_target_name = "evil"}>', ["evil"]),
        ("%0 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0)", []),
        ("%0 = stablehlo.custom_call @stablehlo.dynamic_top_k(%arg0)", []),
        ("stablehlo.custom_call @shape_assertion(%1)", []),
        ("%0 = stablehlo.custom_call @Sharding_evil(%arg0)", ["Sharding_evil"]),
        ('%0 = "stablehlo.outfeed"(%1)', ["outfeed"]),
        ('%0 = "stablehlo.send"(%1)', ["send"]),
        ("%0 = stablehlo.add %1, %2", []),
    ],
)
def test_which_calls_of_the_host_are_strange(text: str, strange: list[str]) -> None:
    assert loader.strange_calls(text) == strange


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("functions/predict.jax", "functions/predict.jax is not what was written"),
        ("weights.safetensors", "is not what was written"),
    ],
)
def test_a_changed_byte_is_noticed(forged: Path, file: str, told: str) -> None:
    data = bytearray((forged / file).read_bytes())
    data[-1] ^= 1
    (forged / file).write_bytes(data)
    with pytest.raises(ExportError, match=told):
        gx.export.load(forged)


@pytest.mark.parametrize("file", ["manifest.json", "functions/predict.jax", "weights.safetensors"])
def test_a_missing_file_is_named(forged: Path, file: str) -> None:
    (forged / file).unlink()
    with pytest.raises(ExportError, match=f"the file {file} is missing"):
        gx.export.load(forged)


def header(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Rewrite the header of the weights."""
    file = folder / "weights.safetensors"
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    change(head)
    text = json.dumps(head).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(data_offsets=[0, 10**12]),
        lambda one: one.update(data_offsets=[-96, 0]),
        lambda one: one.update(data_offsets=[96, 0]),
        lambda one: one.update(shape=[3, 9]),
        lambda one: one.update(shape=[-3, -8]),
        lambda one: one.update(shape="3 8"),
        lambda one: one.update(dtype="PICKLE"),
        lambda one: one.pop("dtype"),
    ],
)
def test_bounds_of_the_weights_are_checked(forged: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    header(forged, lambda head: change(head["model/layers/0/kernel"]))
    with pytest.raises(ExportError, match=r"lies outside of it|cannot be read"):
        gx.export.load(forged)


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 8, (2**40).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"[]"]
)
def test_a_header_that_is_none(forged: Path, data: bytes) -> None:
    (forged / "weights.safetensors").write_bytes(data)
    with pytest.raises(ExportError, match=r"ends beyond it|cannot be read"):
        gx.export.load(forged)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("signatures"),
        lambda m: m.update(signatures=[1]),
        lambda m: m.update(format=2),
        lambda m: m["signatures"].update({"../../up": m["signatures"].pop("predict")}),
        lambda m: m["signatures"]["predict"].pop("reads"),
        lambda m: m["signatures"]["predict"].update(reads=["model/nothing"]),
        lambda m: m["values"].pop("model/layers/0/kernel"),
        lambda m: m["files"].clear(),
    ],
)
def test_a_manifest_that_cannot_be_followed(forged: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    changed(forged, change)
    with pytest.raises(ExportError) as caught:
        gx.export.load(forged)
    assert str(forged) in str(caught.value)


def test_a_manifest_of_many_levels_or_of_no_json(forged: Path) -> None:
    for text in ("[" * 100_000, "{}", "no", "\xff"):
        (forged / "manifest.json").write_text(text)
        with pytest.raises(ExportError, match="its manifest cannot be followed"):
            gx.export.load(forged)


def test_a_pickle_among_the_inputs_is_not_read(original: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return exec, ("raise SystemExit('ran')",)

    np.save(tmp_path / "x.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    with pytest.raises(SystemExit, match="allow_pickle"):
        loader.main(str(original), "predict", f"x={tmp_path / 'x.npy'}", str(tmp_path / "out.npz"))
    (tmp_path / "x.npy").write_bytes(pickle.dumps(3))
    with pytest.raises(SystemExit, match="allow_pickle"):
        loader.main(str(original), "predict", f"x={tmp_path / 'x.npy'}", str(tmp_path / "out.npz"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "not enough values to unpack"),
        (("net",), "not enough values to unpack"),
        (("{net}", "predict", "x=nothing.npy", "out.npz"), "No such file"),
        (("{net}", "predict", "x.npy", "out.npz"), "No such file"),
        (("{net}", "train", "out.npz"), "no program is called so"),
        (("{net}", "predict", "out.npz"), "without ['x']"),
    ],
)
def test_what_is_wrong_in_a_shell_is_told(original: Path, words: Any, told: str) -> None:
    with pytest.raises(SystemExit) as caught:
        loader.main(*(word.format(net=original) for word in words))
    assert told in str(caught.value)
    assert str(caught.value).count("\n  ") == 2
    assert "python run.py FOLDER PROGRAM" in str(caught.value) or len(words) > 2


def test_running_files_from_a_shell(original: Path, tmp_path: Path) -> None:
    x = numbers(4, 3)
    np.save(tmp_path / "x.npy", x)
    loader.main(str(original), "predict", f"x={tmp_path / 'x.npy'}", str(tmp_path / "out.npz"))
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_array_equal(out["arr_0"], gx.export.load(original).predict(x))


def test_a_program_of_another_version_names_both_and_the_way_out(forged: Path) -> None:
    rehashed(forged, b"\x10\x00\x00\x00 from another world")
    changed(forged, lambda manifest: manifest.update(jax="0.99.0"))
    with pytest.raises(ExportError) as caught:
        gx.export.load(forged)
    text = str(caught.value)
    assert "jax 0.99.0" in text
    assert f"jax {jax.__version__}" in text
    assert "graftax export save TARGET ART --from CKPT" in text


def test_a_missing_flatbuffers_is_told_with_what_to_install(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.split(".")[0] == "flatbuffers" or name.endswith("export.serialization")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    with pytest.raises(ExportError, match="pip install flatbuffers"):
        gx.export.load(original)
    with pytest.raises(MissingLibraryError, match=r"graftax\[export\]"):
        gx.export.save(original.parent / "other", lambda x: jnp.sin(x), Spec("n"))
