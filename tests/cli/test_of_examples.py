"""Every verb of the command line on the checkpoints that the examples save."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graftax as gx
from graftax.cli.main import main

PACKAGE = Path(gx.__file__).parents[1]
EXAMPLES = [
    "digits", "discriminator_to_classifier", "gradient_accumulation", "lora_transformer", "quantization",
    "second_order_slots",
]  # fmt: skip

KEEPING = """
import runpy, shutil, sys
from pathlib import Path
from graftax.checkpoint.checkpoint import Checkpoint

kept = Path(sys.argv[1])
save = Checkpoint.save

def save_and_keep(self, *args, **options):
    report = save(self, *args, **options)
    shutil.copytree(report.path, kept / str(len(list(kept.iterdir()))))
    return report

Checkpoint.save = save_and_keep
sys.argv = [sys.argv[2]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

OF_EXPRESSIONS = {"graftax.reparam.adapted.Adapted", "graftax.reparam.quantized.QuantizedWeight"}


@pytest.fixture
def ckpt(capsys):
    def run(*words, code=0):
        assert main(["ckpt", *map(str, words)]) == code, capsys.readouterr()
        return capsys.readouterr().out

    return run


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_verb_on_what_an_example_saves(example, tmp_path, monkeypatch, ckpt):
    kept = tmp_path / "kept"
    kept.mkdir()
    subprocess.run(
        [sys.executable, "-c", KEEPING, str(kept), str(PACKAGE / "examples" / f"{example}.py")],
        cwd=tmp_path,
        env={**os.environ, "GRAFTAX_EXAMPLE_FAST": "1", "PYTHONPATH": str(PACKAGE)},
        check=True,
        capture_output=True,
    )
    monkeypatch.chdir(tmp_path)
    listed = json.loads(ckpt("ls", kept, "--json"))
    assert listed
    for one in listed:
        assert one["state"] == "checkpoint"
        path = kept / one["name"]
        shown = json.loads(ckpt("show", path, "--json"))["entries"]
        assert sum("dtype" in entry for entry in shown) >= one["tensors"] > 0
        for command in (["show", path, "--tree"], ["show", path, "--stats"], ["verify", path], ["diff", path, path]):
            assert ckpt(*command)
        roots = sorted({entry["path"].partition("/")[0] for entry in shown})
        every = [f"--map=other_{root}={root}" for root in roots]
        for command in (
            ["extract", path, "--to", "extracted"],
            ["rename", path, "--to", "renamed", *every],
            ["merge", "extracted", "renamed", "--to", "merged"],
            ["cast", path, "--to", "cast", "--dtype", "float64"],
            ["average", path, "extracted", "--to", "mean"],
            ["convert", path, "--to", "out.safetensors"],
            ["convert", "out.safetensors", "--to", "back"],
        ):
            assert ckpt(*command)
        types = {entry["type"] for entry in shown}
        is_plain = not types & OF_EXPRESSIONS
        ckpt("convert", path, "--to", "out.npz", code=0 if is_plain else 2)  # it has no place for expressions
        ckpt("restore", path, "restored.npz", code=0 if is_plain else 2)
        made = ("extracted", "renamed", "merged", "cast", "mean", "back", "out.safetensors")
        for found in (*made, *["out.npz"] * is_plain):
            assert ckpt("verify", found)
        ckpt("diff", path, "extracted")
        ckpt("diff", path, "mean")
        ckpt("prune", ".", "--keep", "1", "--dry-run")
        for made in ("extracted", "renamed", "merged", "cast", "mean", "back"):
            subprocess.run(["rm", "-r", made], check=True)
        for made in ("out.safetensors", "out.npz", "restored.npz"):
            Path(made).unlink(missing_ok=made.endswith(".npz") and not is_plain)
