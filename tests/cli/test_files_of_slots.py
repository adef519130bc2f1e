"""A file for other tools has the slots of optimizers, and makes a checkpoint again that a run goes on from."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.host import host_dtype
from graftax.checkpoint import export
from graftax.checkpoint.dtypes import DTYPES
from graftax.cli.main import main
from graftax.core.errors import CorruptMetadata

X = np.random.default_rng(0).normal(size=(16, 6)).astype("float32")
OPTIMIZERS = {
    "Adam": lambda: gx.optimizers.Adam(0.01),
    "SGD": lambda: gx.optimizers.SGD(0.01, momentum=0.9, ema_momentum=0.9),
    "Muon": lambda: gx.optimizers.Muon(0.01),
}


def program(optimizer):
    model = gx.Sequential([gx.layers.Dense(8, activation="tanh"), gx.layers.Dense(2)])
    model(X)
    return model, OPTIMIZERS[optimizer]()


def train(model, optimizer):
    for _ in range(2):
        optimizer.minimize(lambda: ops.mean((model(X) - 1) ** 2), model.trainable_variables)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_goes_on_from_a_converted_file(name, tmp_path, capsys):
    first, again, file = (str(tmp_path / one) for one in ("first", "again", "file.safetensors"))
    model, optimizer = program(name)
    train(model, optimizer)
    gx.Checkpoint(model=model, optimizer=optimizer).save(first)
    assert main(["ckpt", "convert", first, "--to", file]) == 0
    assert main(["ckpt", "convert", file, "--to", again]) == 0
    train(model, optimizer)
    other, its_optimizer = program(name)
    report = gx.Checkpoint(model=other, optimizer=its_optimizer).restore(again)
    report.assert_consumed()
    train(other, its_optimizer)
    for one, same in zip(other.variables, model.variables, strict=True):
        np.testing.assert_array_equal(one, same)


def test_slots_without_their_variables_stay_arrays(tmp_path, capsys):
    first, again, file = (str(tmp_path / one) for one in ("first", "again", "file.safetensors"))
    model, optimizer = program("Adam")
    train(model, optimizer)
    gx.Checkpoint(model=model, optimizer=optimizer).save(first)
    assert main(["ckpt", "convert", first, "--to", file, "--only", "optimizer/**"]) == 0
    assert main(["ckpt", "convert", file, "--to", again]) == 0
    capsys.readouterr()
    assert main(["ckpt", "show", again]) == 0
    assert "slots(momentum)" in capsys.readouterr().out


def test_step_values_and_seed_are_kept(tmp_path, capsys):
    first, again, file = (str(tmp_path / one) for one in ("first", "again", "file.safetensors"))
    gx.set_random_seed(11)
    model, _ = program("Adam")
    gx.random.normal((2,))
    meta = {"kinds": ("a", 2), "share": 0.5, "raw": b"x"}
    gx.Checkpoint(model=model).save(first, step=7, meta=meta)
    expected = gx.random.normal((2,))
    assert main(["ckpt", "convert", first, "--to", file]) == 0
    assert main(["ckpt", "convert", file, "--to", again]) == 0
    assert main(["ckpt", "convert", first, "--to", str(tmp_path / "copy")]) == 0
    for path in (again, str(tmp_path / "copy")):
        gx.set_random_seed(3)
        other, _ = program("Adam")
        report = gx.Checkpoint(model=other).restore(path)
        assert (report.step, report.meta, report.random) == (7, meta, True)
        np.testing.assert_array_equal(gx.random.normal((2,)), expected)


def test_a_part_has_no_seed(tmp_path, capsys):
    first, again, file = (str(tmp_path / one) for one in ("first", "again", "file.safetensors"))
    model, _ = program("Adam")
    gx.Checkpoint(model=model).save(first, step=7)
    assert main(["ckpt", "convert", first, "--to", file, "--only", "**/kernel"]) == 0
    assert main(["ckpt", "convert", file, "--to", again]) == 0
    report = gx.Checkpoint(model=model).restore(again, mode="overlap")
    assert (report.step, report.random) == (7, None)


@pytest.mark.parametrize("text", ["?", "AAAA", "k8DAgA==", "k6FhgMA=", "k8DAwA==", "k8CRAcA="])
def test_a_forged_head_is_refused(text, tmp_path, capsys):
    from safetensors.numpy import save_file

    path = str(tmp_path / "forged.safetensors")
    save_file({"model/kernel": np.ones(2, "float32")}, path, metadata={"graftax": "1", "graftax_checkpoint": text})
    assert main(["ckpt", "convert", path, "--to", str(tmp_path / "out")]) == 3
    assert "graftax_checkpoint in the header" in capsys.readouterr().err


class Containers(gx.Module):
    """A list with something between that has no arrays, keys that are numbers, and keys that are their digits."""

    def __init__(self, value):
        def made():
            return gx.Variable(np.full(2, value, "float32"))

        self.steps = [made(), gx.layers.ReLU(), made()]
        self.by_number, self.by_digits, self.pair = {7: made(), 3: made()}, {"3": made(), "7": made()}, (made(), made())
        self.mixed = {3: made(), "a": made(), -2: made()}


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
@pytest.mark.parametrize("mode", ["exact", "overlap"])
def test_lists_and_dicts_come_back(suffix, mode, tmp_path, capsys):
    gx.Checkpoint(m=Containers(1.0)).save(tmp_path / "it")
    file, back = str(tmp_path / f"it{suffix}"), str(tmp_path / "back")
    assert main(["ckpt", "convert", str(tmp_path / "it"), "--to", file]) == 0
    assert main(["ckpt", "convert", file, "--to", back]) == 0
    other = Containers(0.0)
    gx.Checkpoint(m=other).restore(back, mode=mode).assert_consumed()
    assert all(np.array_equal(v, [1, 1]) for v in other.variables)
    capsys.readouterr()
    if suffix == ".safetensors":  # whose header has the kinds
        assert main(["ckpt", "diff", str(tmp_path / "it"), back]) == 0, capsys.readouterr().out


def test_all_dtypes_come_back(tmp_path, capsys):
    """Other tools see complex numbers as pairs, and numbers of 4 bits as bytes; the header says what they are."""
    m = {}
    for name in DTYPES:
        values = np.array([0, 1, 1], host_dtype(name)).reshape(3, 1)
        with jax.enable_x64(name.endswith(("64", "128"))):
            m[name] = gx.Variable(values, trainable=False, role="state")
    gx.Checkpoint(m=m).save(tmp_path / "it")
    file, back = str(tmp_path / "it.safetensors"), str(tmp_path / "back")
    assert main(["ckpt", "convert", str(tmp_path / "it"), "--to", file]) == 0
    assert main(["ckpt", "convert", file, "--to", back]) == 0
    capsys.readouterr()
    assert main(["ckpt", "diff", str(tmp_path / "it"), back]) == 0, capsys.readouterr().out
    with gx.checkpoint.read(back) as arrays:
        for name in DTYPES:
            found = np.array(arrays[f"m/{name}"])
            assert (found.dtype.name, found.shape) == (name, (3, 1))
            wanted = np.array([0, 1, 1], host_dtype(name))
            np.testing.assert_array_equal(found.astype(complex).ravel(), wanted.astype(complex))


@pytest.mark.parametrize("text", ["", "[]", '{"m/z": 3}', '{"m/z": ["complex64", [7]]}', '{"m/z": ["int4", [1, 2]]}',
                                  '{"m/z": ["text", [1]]}', '{"m/z": ["complex64", [-1]]}', '{"m/y": ["int4", [1]]}',
                                  '{"m/z": ["int4", [0, 4611686018427387904, 4611686018427387904]]}'])  # fmt: skip
def test_forged_dtypes_are_refused(text, tmp_path):
    gx.Checkpoint(m={"z": gx.Variable(np.array([1 + 2j], "complex64"), trainable=False)}).save(tmp_path / "it")
    file = str(tmp_path / "it.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "dtypes_to_text", lambda dtypes: text)
        assert main(["ckpt", "convert", str(tmp_path / "it"), "--to", file]) == 0
    with pytest.raises(CorruptMetadata, match=r"graftax_dtypes|its header says"):
        gx.checkpoint.load_foreign(file, gx.layers.Dense(1))
