"""A whole training step as a program: it runs without graftax, bit for bit, and what it trained comes back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import graftax as gx
from graftax.core.errors import ArgumentError, ArgumentTypeError, MatchError
from graftax.export import Signature, Spec
from tests.export.artefacts import Trained, net, numbers, run_alone

TRAIN = """
model, data = run.load(sys.argv[1]), np.load(sys.argv[2])
losses = [float(model.train_step(data["x"][:n], data["y"][:n])) for n in (16, 5, 16)]
assert "graftax" not in sys.modules
model.save_values(sys.argv[3])
np.savez(sys.argv[4], losses=losses, logits=model.predict(data["x"]))
"""


@pytest.fixture(scope="module")
def trained() -> Trained:
    return Trained()


@pytest.fixture(scope="module")
def folder(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "net"
    report = trained.save(path)
    assert {one.checked.error for one in report.signatures.values()} == {0.0}
    assert report.unread == ()
    return path


@pytest.mark.slow
def test_an_export_changes_nothing_here(trained: Trained, folder: Path) -> None:
    assert int(trained.optimizer.iterations) == 1


@pytest.mark.slow
def test_ex5_ex6_ex13_steps_there_are_steps_here_and_what_was_trained_comes_back(
    trained: Trained, folder: Path
) -> None:
    artefact = gx.export.load(folder)
    before = {path: np.asarray(value) for path, value in artefact.values.items()}
    there = [float(artefact.train_step(trained.x[:n], trained.y[:n])) for n in (16, 5)]
    logits = np.asarray(artefact.predict(trained.x))
    moved = {path for path, value in artefact.values.items() if (np.asarray(value) != before[path]).any()}
    assert {"net/layers/0/kernel", "net/layers/2/moving_mean", "optimizer/iterations"} <= moved
    assert any(path.startswith("optimizer/slots(") for path in moved)
    state = gx.state(trained.net)
    report = gx.export.take_back(artefact, net=trained.net, optimizer=trained.optimizer)
    assert sorted(report.assigned) == sorted(artefact.values)
    assert int(trained.optimizer.iterations) == 3
    np.testing.assert_array_equal(gx.jit(lambda x: trained.net(x, training=False))(trained.x), logits)
    # and backwards: from the state at the export, the same two steps here
    gx.export.take_back(gx.export.load(folder), net=trained.net, optimizer=trained.optimizer)
    for path, value in gx.state(trained.net).items():
        np.testing.assert_array_equal(value, state[path])
    here = [float(trained.step(trained.x[:n], trained.y[:n])) for n in (16, 5)]
    assert here == there


@pytest.mark.slow
def test_ex5_an_exception_leaves_all_values(folder: Path, trained: Trained) -> None:
    artefact = gx.export.load(folder)
    before = dict(artefact.values)
    with pytest.raises(gx.export.ArtefactError, match="from 0 to 2"):
        artefact.train_step(trained.x, trained.y + 1)
    assert all(artefact.values[path] is value for path, value in before.items())
    artefact.train_step(trained.x, trained.y)


@pytest.mark.slow
def test_it_trains_where_there_is_no_graftax(folder: Path, trained: Trained, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=trained.x, y=trained.y)
    run_alone(TRAIN, folder, tmp_path / "data.npz", tmp_path / "values.safetensors", tmp_path / "out.npz")
    artefact = gx.export.load(folder)
    with np.load(tmp_path / "out.npz") as file:
        out = dict(file)
    wanted = [float(artefact.train_step(trained.x[:n], trained.y[:n])) for n in (16, 5, 16)]
    np.testing.assert_array_equal(out["losses"], np.array(wanted))
    np.testing.assert_array_equal(out["logits"], artefact.predict(trained.x))
    values = load_file(tmp_path / "values.safetensors")
    assert sorted(values) == sorted(artefact.values)
    for path, value in artefact.values.items():
        np.testing.assert_array_equal(values[path], value)


# --- taking back, strictly --------------------------------------------------------------------------------------------


def test_values_without_a_place_and_other_shapes_are_told_and_nothing_is_assigned(tmp_path: Path) -> None:
    model = net()
    gx.export.save(tmp_path / "net", model, Spec("batch 3"), check=False)
    artefact = gx.export.load(tmp_path / "net")
    other = gx.Sequential([gx.layers.Dense(8), gx.layers.Dropout(0.5), gx.layers.Dense(4)])
    other(numbers(1, 3))
    before = other.layers[0].kernel.numpy()
    with pytest.raises(MatchError, match=r"layers/2/kernel: float32\[8, 2\], and float32\[8, 4\] there"):
        gx.export.take_back(artefact, model=other)
    np.testing.assert_array_equal(other.layers[0].kernel.numpy(), before)
    with pytest.raises(MatchError, match=r"take_back\(artefact, model=model\)"):
        gx.export.take_back(artefact, net=model)
    with pytest.raises(ArgumentError, match="without roots"):
        gx.export.take_back(artefact)
    with pytest.raises(ArgumentTypeError, match="what load returned"):
        gx.export.take_back(tmp_path, model=model)  # type: ignore[arg-type]


@pytest.mark.slow
def test_values_taken_back_stay_when_the_artefact_goes_on(folder: Path) -> None:
    trained = Trained()
    artefact = gx.export.load(folder)
    gx.export.take_back(artefact, net=trained.net, optimizer=trained.optimizer)
    kernel = trained.net.layers[0].kernel.numpy()
    artefact.train_step(trained.x, trained.y)  # gives the buffers of its values away
    np.testing.assert_array_equal(trained.net.layers[0].kernel.numpy(), kernel)


@pytest.mark.broad
def test_a_weight_that_was_computed_at_the_export_comes_back_as_a_whole(tmp_path: Path) -> None:
    layer = gx.layers.Dense(2)
    layer(numbers(1, 3))
    gx.graft(layer, gx.reparam.LowRank(2), where="kernel")
    gx.export.save(tmp_path / "net", layer, Spec("batch 3"), check=False)
    artefact = gx.export.load(tmp_path / "net")
    assert list(artefact.values) == ["model/kernel", "model/bias"]
    plain = gx.layers.Dense(2)
    plain(numbers(1, 3))
    gx.export.take_back(artefact, model=plain)
    np.testing.assert_allclose(plain(numbers(4, 3)), layer(numbers(4, 3)), rtol=1e-5, atol=1e-6)


# --- names of values --------------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_what_one_program_moves_stays_live_in_the_others(tmp_path: Path) -> None:
    layer = gx.layers.Dense(2, use_bias=False)
    layer(numbers(1, 3))
    gx.graft(layer, gx.reparam.LoRA(rank=1), where="kernel")
    scale = gx.Variable(1.0)

    def step(x: Any) -> Any:
        for part in layer.trainable_variables:
            part.assign_add(gx.ops.full(part.shape, 0.1))
        return scale * layer(x)

    signatures = {
        "predict": Signature(layer, Spec("batch 3")),
        "step": Signature(step, Spec("batch 3"), assigns=True),
    }
    gx.export.save(tmp_path / "net", signatures, roots=layer, check=False)
    artefact = gx.export.load(tmp_path / "net")
    x = numbers(4, 3)
    moved = np.asarray(artefact.step(x))
    np.testing.assert_allclose(artefact.predict(x), moved, rtol=1e-5, atol=1e-6)
    assert "model/kernel" not in artefact.values


@pytest.mark.broad
def test_ex11_a_variable_under_no_root_has_its_own_path_and_two_of_one_path_are_told(tmp_path: Path) -> None:
    one, other = gx.layers.Dense(2), gx.layers.Dense(2)
    one(numbers(1, 3)), other(numbers(1, 3))
    gx.export.save(tmp_path / "a", lambda x: one(x), Spec("batch 3"), check=False)
    assert list(gx.export.load(tmp_path / "a").values) == ["kernel", "bias"]
    with pytest.raises(ArgumentError, match="two Variables that the program reads are called 'kernel'"):
        gx.export.save(tmp_path / "b", lambda x: one(x) + other(x), Spec("batch 3"))
    gx.export.save(tmp_path / "b", lambda x: one(x) + other(x), Spec("b 3"), roots={"a": one, "b": other}, check=False)
    assert list(gx.export.load(tmp_path / "b").values) == ["a/kernel", "a/bias", "b/kernel", "b/bias"]


def test_ex12_a_root_of_which_nothing_is_read_is_refused_and_what_nobody_reads_is_reported(tmp_path: Path) -> None:
    model = net()
    with pytest.raises(ArgumentError, match="the root 'other', a Dense"):
        gx.export.save(tmp_path / "a", model, Spec("batch 3"), roots={"model": model, "other": _built()})
    report = gx.export.save(tmp_path / "a", lambda x: model.layers[0](x), Spec("batch 3"), roots=model, check=False)
    assert report.unread == (
        "model/layers/1/seed_generator/state",
        "model/layers/2/kernel",
        "model/layers/2/bias",
    )


def _built() -> gx.layers.Dense:
    layer = gx.layers.Dense(2)
    layer(numbers(1, 3))
    return layer


def test_ex23_averages_are_exported_where_they_are_in_place(tmp_path: Path) -> None:
    layer = _built()
    optimizer = gx.optimizers.SGD(0.1, ema_momentum=0.5)
    for _ in range(3):
        optimizer.apply([gx.ops.ones(v.shape) for v in layer.trainable_variables], layer.trainable_variables)
    with optimizer.averaged():
        averaged = layer.kernel.numpy()
        gx.export.save(tmp_path / "net", layer, Spec("batch 3"), check=False)
    assert (layer.kernel.numpy() != averaged).any()
    np.testing.assert_array_equal(gx.export.load(tmp_path / "net").values["model/kernel"], averaged)
