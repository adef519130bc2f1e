"""An artefact: what lies in it, how its programs are called, what they compute."""

import json
import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, ArgumentTypeError, DestinationExists, ExportError, NotBuiltError
from graftax.export import ArtefactError, Signature, Spec
from tests.export.artefacts import net, numbers


@pytest.fixture(scope="module")
def model() -> gx.Sequential:
    return net()


@pytest.fixture(scope="module")
def folder(model: gx.Sequential, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two programs of one model."""
    path = tmp_path_factory.mktemp("export") / "net"

    def pairs(pair: dict[str, Any], scale: Any) -> dict[str, Any]:
        return {"sum": pair["a"] + pair["b"] * scale, "model": (model(pair["a"], training=False), None)}

    gx.export.save(
        path,
        {
            "predict": Signature(model, Spec("batch 3", bounds=(-9, 9))),
            "pairs": Signature(pairs, {"a": Spec("n 3"), "b": Spec("n 3")}, Spec("", "int32"), constraints=["n >= 2"]),
        },
        roots=model,
    )
    return path


@pytest.fixture
def artefact(folder: Path) -> gx.export.Artefact:
    return gx.export.load(folder)


@pytest.mark.broad
def test_what_lies_in_it(folder: Path) -> None:
    files = sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())
    assert files == [
        "examples.safetensors",
        *(f"functions/{name}.{kind}" for name in ("pairs", "predict") for kind in ("jax", "stablehlo")),
        "manifest.json",
        "run.py",
        "weights.safetensors",
    ]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["format"] == 1
    assert manifest["jax"] == jax.__version__
    assert manifest["graftax"] == gx.__version__
    assert list(manifest["values"])[:2] == ["model/layers/0/kernel", "model/layers/0/bias"]
    predict = manifest["signatures"]["predict"]
    assert predict["inputs"] == [{"name": "x", "shape": ["batch", 3], "dtype": "float32", "bounds": [-9, 9]}]
    assert predict["outputs"] == [{"name": "output", "shape": ["batch", 2], "dtype": "float32"}]
    assert predict["rows"] is True
    assert predict["checked"]["error"] == 0.0


def test_no_byte_of_it_tells_where_it_was_made(folder: Path) -> None:
    source, package = str(Path(__file__).parent), str(Path(gx.__file__).parent)
    for file in folder.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert source.encode() not in data, file
        assert package.encode() not in data, file
        assert str(Path.home()).encode() not in data, file


@pytest.mark.broad
def test_programs_give_the_bits_of_compiled_functions(artefact: gx.export.Artefact, model: gx.Sequential) -> None:
    compiled = gx.jit(lambda x: model(x, training=False))
    for batch in (1, 4, 7):
        x = numbers(batch, 3)
        np.testing.assert_array_equal(artefact.predict(x), compiled(x))


def test_ex14_structures_go_in_and_come_out(artefact: gx.export.Artefact, model: gx.Sequential) -> None:
    a, b = numbers(2, 3), numbers(2, 3, seed=1)
    found = artefact.pairs({"a": a, "b": b}, 2)
    assert list(found) == ["sum", "model"]
    np.testing.assert_allclose(found["sum"], a + 2 * b, rtol=1e-6)
    assert found["model"][1] is None
    for other in (
        artefact.pairs(scale=np.int32(2), pair={"b": b, "a": a}),
        artefact.pairs(scale=2, **{"pair/a": a, "pair/b": b}, unknown=None),
    ):
        np.testing.assert_array_equal(other["sum"], found["sum"])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: m.predict(numbers(4)), "it has 2 axes"),
        (lambda m: m.predict(numbers(4, 2)), "axis 1 is 2, and 3 is 3"),
        (lambda m: m.predict(numbers(0, 3)), "axis 0 is empty"),
        (lambda m: m.predict(numbers(2, 3) + 20), "it takes values from -9 to 9"),
        (lambda m: m.predict(), "without ['x']"),
        (lambda m: m.predict(numbers(2, 3), y=3), "with ['y']"),
        (lambda m: m.predict(numbers(2, 3), x=numbers(2, 3)), "each once"),
        (lambda m: m.predict(np.array([["a", "b", "c"]])), "it takes floats: float32"),
        (lambda m: m.predict(np.ones((2, 3), "int32")), "it takes floats: float32"),
        (lambda m: m.predict(np.ones((2, 3), bool)), "it takes floats: float32"),
        (lambda m: m.pairs({"a": numbers(3, 3), "b": numbers(2, 3)}, 1), "n is 3, as in 'pair/a', axis 0"),
        (lambda m: m.pairs({"a": numbers(1, 3), "b": numbers(1, 3)}, 1), "the program was written for n >= 2"),
        (lambda m: m.pairs({"a": numbers(2, 3)}, 1), "it has other parts"),
        (lambda m: m.pairs(numbers(2, 3), 1), "it has other parts"),
        (lambda m: m.pairs({"a": numbers(2, 3), "b": numbers(2, 3)}, 2**40), "it takes values from -2147483648"),
        (lambda m: m.pairs({"a": numbers(2, 3), "b": np.full((2, 3), 1e300)}, 1), "numbers beyond float32"),
    ],
)
def test_ex17_ex18_ex1_ex3_what_does_not_fit_is_told_before_the_program_runs(
    artefact: Any, call: Any, told: str
) -> None:
    with pytest.raises(ArtefactError) as caught:
        call(artefact)
    assert told in str(caught.value)
    assert str(caught.value).count("\n  ") == 2


@pytest.mark.broad
def test_ex18_numbers_are_converted_within_a_kind(artefact: gx.export.Artefact) -> None:
    wanted = artefact.predict(np.ones((2, 3), "float32"))
    for x in (np.ones((2, 3)), jnp.ones((2, 3), "bfloat16"), [[1, 1, 1], [1, 1, 1]]):
        np.testing.assert_array_equal(artefact.predict(x), wanted)


@pytest.mark.broad
def test_values_are_given_or_kept_and_pure_programs_are_transformed_by_jax(folder: Path, tmp_path: Path) -> None:
    layer = gx.layers.Dense(1)
    layer(numbers(1, 3))
    gx.export.save(tmp_path / "a", layer, Spec("batch 3"), vjp_order=1, check=False)
    artefact = gx.export.load(tmp_path / "a")
    x = numbers(4, 3)

    def loss(values: Any) -> Any:
        return jnp.sum(artefact.predict.pure(values, x)[0] ** 2)

    found = jax.grad(loss)(artefact.values)
    wanted = gx.grad(lambda: gx.ops.sum(layer(x) ** 2), wrt=layer.trainable_variables)()
    np.testing.assert_allclose(found["model/kernel"], wanted[0], rtol=1e-5)
    assert artefact.predict(x).shape == (4, 1)


def test_ex21_some_programs_alone_are_read_with_their_values(folder: Path) -> None:
    part = gx.export.load(folder, only="pre*")
    assert list(part.signatures) == ["predict"]
    with pytest.raises(AttributeError, match="it has predict"):
        _ = part.pairs
    with pytest.raises(ExportError, match="names of predict, pairs"):
        gx.export.load(folder, only=["predict", "train"])


def test_a_zip_holds_the_same(model: gx.Sequential, tmp_path: Path) -> None:
    report = gx.export.save(tmp_path / "net.zip", model, Spec("batch 3"), check=False)
    assert report.bytes == (tmp_path / "net.zip").stat().st_size
    x = numbers(5, 3)
    compiled = gx.jit(lambda x: model(x, training=False))
    np.testing.assert_array_equal(gx.export.load(tmp_path / "net.zip").predict(x), compiled(x))
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(tmp_path / "net.zip") as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ExportError, match="is compressed"):
        gx.export.load(packed)


def test_ex20_nothing_is_replaced_unless_asked_and_nothing_but_artefacts(model: gx.Sequential, tmp_path: Path) -> None:
    path = tmp_path / "net"
    gx.export.save(path, model, Spec("batch 3"), check=False)
    with pytest.raises(DestinationExists, match="overwrite=True"):
        gx.export.save(path, model, Spec("batch 3"), check=False)
    gx.export.save(path, model, Spec("b 3"), check=False, overwrite=True)
    assert gx.export.load(path).predict.about["inputs"][0]["shape"] == ["b", 3]
    (tmp_path / "other").mkdir()
    with pytest.raises(DestinationExists, match="no artefact"):
        gx.export.save(tmp_path / "other", model, Spec("b 3"), overwrite=True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net", "other"]


def test_weights_inside_are_part_of_the_program(model: gx.Sequential, tmp_path: Path) -> None:
    report = gx.export.save(tmp_path / "net", model, Spec("batch 3"), weights="inside", check=False)
    artefact = gx.export.load(tmp_path / "net")
    assert report.values == 0
    assert artefact.values == {}
    x = numbers(5, 3)
    np.testing.assert_allclose(artefact.predict(x), model(x), rtol=1e-5, atol=1e-6)
    step = Signature(lambda x: x, Spec("n"), assigns=True)
    with pytest.raises(ArgumentError, match="what changes cannot be a part"):
        gx.export.save(tmp_path / "b", step, weights="inside")


def test_what_a_module_takes_is_known_from_its_first_call(tmp_path: Path) -> None:
    layer = gx.layers.Dense(2)
    with pytest.raises(NotBuiltError, match=r"graftax.export.Spec"):
        gx.export.save(tmp_path / "a", layer)
    layer(numbers(4, 3))
    gx.export.save(tmp_path / "a", layer, check=False)
    assert gx.export.load(tmp_path / "a").predict.about["inputs"][0]["shape"] == ["batch", 3]
    x = gx.Input((None, 3), name="steps")
    graph = gx.Model(x, gx.layers.Dense(2)(x))
    gx.export.save(tmp_path / "b", graph, check=False)
    assert gx.export.load(tmp_path / "b").predict.about["inputs"][0]["shape"] == ["batch", "size1", 3]


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"platforms": ("gpu",)}, ArgumentError, "known are cpu"),
        ({"platforms": ()}, ArgumentError, "known are cpu"),
        ({"vjp_order": -1}, ArgumentError, "from 0 to 5"),
        ({"weights": "none"}, ArgumentError, "apart or inside"),
        ({"roots": 3}, ArgumentTypeError, "roots are Modules by name"),
    ],
)
def test_arguments_that_cannot_be(model: Any, tmp_path: Path, options: Any, error: Any, told: str) -> None:
    with pytest.raises(error, match=told):
        gx.export.save(tmp_path / "net", model, Spec("batch 3"), **options)


def test_programs_have_names_that_are_attributes(model: gx.Sequential, tmp_path: Path) -> None:
    one = Signature(model, Spec("batch 3"))
    for name in ("values", "../up", "a b", "1st"):
        with pytest.raises(ArgumentError, match="its name is that of an attribute"):
            gx.export.save(tmp_path / "net", {name: one})
    with pytest.raises(ArgumentTypeError, match="of several functions each is a Signature"):
        gx.export.save(tmp_path / "net", {"predict": model})  # type: ignore[dict-item]
    with pytest.raises(ArgumentError, match="nothing to export"):
        gx.export.save(tmp_path / "net", {})
    with pytest.raises(ArgumentError, match="a signature has its own inputs"):
        gx.export.save(tmp_path / "net", one, Spec("b"))


def test_ex19_a_program_for_another_platform_says_for_which(model: gx.Sequential, tmp_path: Path) -> None:
    report = gx.export.save(tmp_path / "net", model, Spec("batch 3"), platforms=("tpu",))
    assert report.signatures["predict"].checked is None
    with pytest.raises(ArtefactError, match="it was written for tpu"):
        gx.export.load(tmp_path / "net").predict(numbers(2, 3))


def test_replaying_the_stored_trials(folder: Path, model: gx.Sequential, tmp_path: Path) -> None:
    assert gx.export.check(folder).errors == {"predict": 0.0, "pairs": 0.0}
    gx.export.save(tmp_path / "net", model, Spec("batch 3"), check=False)
    with pytest.raises(ExportError, match="it was written without trials"):
        gx.export.check(tmp_path / "net")


def test_an_artefact_shows_its_programs(artefact: gx.export.Artefact, folder: Path) -> None:
    assert repr(artefact) == (
        f"Artefact('{folder}': <predict(x: float32[batch 3])>, <pairs(pair/a: float32[n 3], pair/b: float32[n 3], "
        "scale: int32[])>; 4 values)"
    )
