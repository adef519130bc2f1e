"""Files of a base, files of adapters, and models that declare a graft: built, trained, or not built yet."""

import json

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.cli.main import main
from graftax.core.errors import MissingInCheckpoint, SelectorError, UnusedInCheckpoint
from graftax.reparam import DoRA, Int8, LoRA, LowRank, Mask, WeightNorm

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)


def net(build=True):
    model = gx.Sequential([layers.Dense(5, activation="tanh"), layers.Dense(2)])
    if build:
        model(X)
    return model


def grafted(*creators, where="**/kernel"):
    model = net()
    for creator in creators or (LoRA(1, name="poet"),):
        gx.graft(model, creator, where=where)
    return model


def moved(model):
    """The model, its Variables away from where they start."""
    for i, variable in enumerate(model.variables):
        variable.assign_add(np.full(variable.shape, 0.1 + 0.01 * i, "float32"))
    return model


def values(model, selector="**"):
    chosen = gx.select(selector)
    return {v.path: v.numpy() for v in model.variables if chosen(v)}


def equal(a, b):
    assert a.keys() == b.keys()
    for path in a:
        np.testing.assert_array_equal(a[path], b[path], path)


def test_an_adapter_file_holds_the_adapter_only_and_goes_into_a_model_that_declares_it(tmp_path):
    model = moved(grafted(LoRA(1, name="poet"), DoRA(1, name="lawyer")))
    report = gx.Checkpoint(model=model).save(tmp_path / "all", only=gx.is_adapter)
    parts = [v for v in model.variables if gx.is_adapter(v)]
    assert report.arrays == len(parts) == 10
    assert report.nbytes <= 4096 + sum(4 * v.size for v in parts)  # a header, and the bytes
    report = gx.Checkpoint(model=model).save(tmp_path / "poet", only=gx.adapters.named("poet"))
    assert report.arrays == 4

    other = grafted()
    before = values(other, ~gx.is_adapter)
    report = gx.Checkpoint(model=other).restore(tmp_path / "poet", only=gx.is_adapter).assert_consumed()
    assert [one.path for one in report.restored] == [
        f"model/layers/{i}/kernel/adapters/poet/{part}" for i in (0, 1) for part in ("down", "up")
    ]
    equal(values(other, gx.is_adapter), values(model, gx.adapters.named("poet")))
    equal(values(other, ~gx.is_adapter), before)
    with pytest.raises(MissingInCheckpoint, match="layers/0/kernel/base"):
        gx.Checkpoint(model=other).restore(tmp_path / "poet")
    with pytest.raises(UnusedInCheckpoint, match="adapters/lawyer/up") as caught:
        gx.Checkpoint(model=other).restore(tmp_path / "all", only=gx.is_adapter)
    assert "name='lawyer'" in caught.value.instead
    gx.Checkpoint(model=other).restore(tmp_path / "all", only=gx.adapters.named("poet"))


@pytest.mark.broad
def test_a_model_that_declares_only_some_of_it_refuses_the_file(tmp_path):
    gx.Checkpoint(model=moved(grafted())).save(tmp_path / "c", only=gx.is_adapter)
    with pytest.raises(SelectorError, match="is_adapter"):
        gx.Checkpoint(model=net()).save(tmp_path / "none", only=gx.is_adapter)
    for model in (net(), grafted(where="layers/0/kernel")):
        before = values(model)
        with pytest.raises(UnusedInCheckpoint, match=r"layers/1/kernel/adapters/poet/down.*no place") as caught:
            gx.Checkpoint(model=model).restore(tmp_path / "c", only=gx.is_adapter)
        assert "gx.graft(model" in caught.value.instead
        equal(values(model), before)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("creators", [(LoRA(1),), (LoRA(1, name="a"), DoRA(1, name="b")), (Mask(), LoRA(1))], ids=repr)
def test_a_base_file_goes_into_a_grafted_model_as_it_is(tmp_path, creators):
    base = moved(net())
    gx.Checkpoint(model=base).save(tmp_path / "base")
    model = moved(grafted(*creators)) if not isinstance(creators[0], Mask) else grafted(*creators)
    adapters = values(model, gx.is_adapter)
    report = gx.Checkpoint(model=model).restore(tmp_path / "base").assert_consumed()
    assert set(report.fresh) >= {f"model/{path}" for path in adapters}
    equal(values(model, gx.is_adapter), adapters)
    gx.adapters.use(model)
    np.testing.assert_allclose(model(X), base(X), atol=1e-6)
    with pytest.raises(MissingInCheckpoint):  # asked for, and not there
        gx.Checkpoint(model=model).restore(tmp_path / "base", only=gx.is_adapter)


@pytest.mark.broad
def test_slots_of_a_weight_follow_it_to_the_base(tmp_path):
    model, optimizer = net(), gx.optimizers.Adam(1e-2)
    optimizer.minimize(lambda: ops.mean(model(X) ** 2), model.trainable_variables)
    gx.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "c")
    other, fresh = grafted(), gx.optimizers.Adam(1e-2)
    gx.Checkpoint(model=other, optimizer=fresh).restore(tmp_path / "c")
    np.testing.assert_array_equal(
        fresh.slot(other.layers[0].kernel.base, "momentum").numpy(),
        optimizer.slot(model.layers[0].kernel, "momentum").numpy(),
    )


@pytest.mark.broad
def test_expressions_without_a_base_take_the_value_by_their_inverse(tmp_path):
    base = moved(net())
    gx.Checkpoint(model=base).save(tmp_path / "base")
    for creator in (WeightNorm(), LowRank(5)):
        model = grafted(creator)
        report = gx.Checkpoint(model=model).restore(tmp_path / "base").assert_consumed()
        np.testing.assert_allclose(model(X), base(X), atol=1e-5)
        assert sum("of its norm away" in str(one.note) for one in report.restored) == 2


@pytest.mark.broad
def test_a_base_file_is_rounded_where_few_bits_store_it(tmp_path):
    base = moved(net())
    gx.Checkpoint(model=base).save(tmp_path / "base")
    model = grafted(Int8(), LoRA(1))
    report = gx.Checkpoint(model=model).restore(tmp_path / "base").assert_consumed()
    assert len(report.fresh) == 4
    for i in (0, 1):
        kernel = base.layers[i].kernel.numpy()
        assert np.abs(model.layers[i].kernel.numpy() - kernel).max() <= np.abs(kernel).max() / 127
    assert "by the inverse of QuantizedWeight" in str(report)


@pytest.mark.broad
def test_all_of_it_into_a_model_that_is_not_built_yet(tmp_path):
    model = moved(grafted())
    gx.Checkpoint(model=model).save(tmp_path / "base", only=~gx.is_adapter)
    gx.Checkpoint(model=model).save(tmp_path / "adapter", only=gx.is_adapter)
    plain = net()
    for layer, other in zip(plain.layers, model.layers, strict=True):
        layer.kernel.assign(other.kernel.base.value)
        layer.bias.assign(other.bias.value)
    gx.Checkpoint(model=plain).save(tmp_path / "plain")
    for file in ("base", "plain"):
        with gx.variable_creator_scope(LoRA(1, name="poet"), where="**/kernel"):
            late = net(build=False)
            first = gx.Checkpoint(model=late).restore(tmp_path / file)
            second = gx.Checkpoint(model=late).restore(tmp_path / "adapter", only=gx.is_adapter)
            assert first.deferred
            assert len(second.deferred) == 4
            late(X)
        first.assert_consumed()
        second.assert_consumed()
        equal(values(late), values(model))
    with gx.variable_creator_scope(WeightNorm(), where="**/kernel"):
        late = net(build=False)
        report = gx.Checkpoint(model=late).restore(tmp_path / "plain")
        late(X)
    report.assert_consumed()
    np.testing.assert_allclose(late(X), plain(X), atol=1e-5)


def test_parts_are_selected_with_the_weight(tmp_path):
    model = moved(grafted())
    report = gx.Checkpoint(model=model).save(tmp_path / "c", only="model/layers/0/kernel")
    assert report.arrays == 3
    other = grafted()
    gx.Checkpoint(model=other).restore(tmp_path / "c", only="**/0/kernel").assert_consumed()
    np.testing.assert_array_equal(other.layers[0].kernel.numpy(), model.layers[0].kernel.numpy())
    with pytest.raises(SelectorError, match=r"haed/\*\*', a part of"):
        gx.Checkpoint(model=model).save(tmp_path / "d", only=gx.select("**/kernel") & ~gx.select("**/haed/**"))


def test_the_command_line_reads_them(tmp_path, capsys):
    gx.Checkpoint(model=moved(grafted())).save(tmp_path / "files" / "poet", only=gx.is_adapter)
    path = str(tmp_path / "files" / "poet")
    assert main(["ckpt", "ls", str(tmp_path / "files")]) == 0
    assert main(["ckpt", "show", path, "--only", "**/adapters/poet/up", "--json"]) == 0
    shown = capsys.readouterr().out
    entries = json.loads(shown[shown.index("{") :])["entries"]
    assert [entry["adapter"] for entry in entries] == ["poet", "poet"]
    out = str(tmp_path / "poet.safetensors")
    assert main(["ckpt", "restore", path, out, "--only", "**/adapters/**"]) == 0
    assert "wrote 4 arrays" in capsys.readouterr().out
