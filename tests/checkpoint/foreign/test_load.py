"""Which array goes where: names, order and shapes; what is refused; what the report says."""

from importlib import import_module

import numpy as np
import pytest
from safetensors.numpy import save_file

import graftax as gx
from graftax import layers
from graftax.checkpoint.foreign import feature_orders, settings
from graftax.checkpoint.foreign.sources import SOURCES

load_foreign = gx.checkpoint.load_foreign


def numbers(*shape, start=0):
    return (np.arange(np.prod(shape, dtype=int)) + start).reshape(shape).astype("float32")


def linear(out, into, start=0):
    return {"weight": numbers(out, into, start=start), "bias": numbers(out, start=start)}


def file_of(tmp_path, kind="npz", **modules):
    arrays = {f"{name.replace('__', '.')}.{key}": x for name, held in modules.items() for key, x in held.items()}
    path = str(tmp_path / f"x.{kind}")
    np.savez(path, **arrays) if kind == "npz" else save_file(arrays, path)
    return path


def stack(*units, size=4):
    model = gx.Sequential([layers.Dense(n) for n in units])
    model.build((None, size))
    return model


def first(layer):
    return float(layer.bias.numpy()[0])


def test_a_file_with_an_order_goes_by_it(tmp_path):
    path = file_of(tmp_path, zulu=linear(4, 4, 1), alpha=linear(4, 4, 2))
    model = stack(4, 4)
    with pytest.warns(UserWarning, match="nothing but the order"):
        report = load_foreign(path, model)
    assert [first(layer) for layer in model.layers] == [1, 2]
    assert report.by_order == ("layers/0", "layers/1")
    assert "by order" in str(report)


def test_a_file_without_order_goes_by_numbers_or_not_at_all(tmp_path):
    model = stack(4, 4, 4)
    numbered = {f"layer{n}": linear(4, 4, n) for n in (2, 10, 1)}
    load_foreign(file_of(tmp_path, "safetensors", **numbered), model)
    assert [first(layer) for layer in model.layers] == [1, 2, 10]
    path = file_of(tmp_path, "safetensors", zulu=linear(4, 4, 1), alpha=linear(4, 4, 2), mike=linear(4, 4, 3))
    with pytest.raises(gx.errors.MissingInCheckpoint, match="several fit, and neither names nor order decide"):
        load_foreign(path, model)
    names = {"layers/0": "zulu", "layers/1": "alpha", "layers/2": "mike"}
    load_foreign(path, model, names=names)
    assert [first(layer) for layer in model.layers] == [1, 2, 3]


def test_shapes_decide_where_only_one_way_fits(tmp_path):
    model = stack(5, 3, 2)
    load_foreign(file_of(tmp_path, "safetensors", c=linear(5, 4, 1), b=linear(3, 5, 2), a=linear(2, 3, 3)), model)
    assert [first(layer) for layer in model.layers] == [1, 2, 3]


def test_numbers_of_what_has_no_weights_do_not_mislead(tmp_path):
    """As in Sequential(Linear, ReLU, Linear, ReLU, Linear): the second layer is not number 1."""
    modules = {str(n): linear(4, 4, n) for n in (0, 2, 4)}
    for kind in ("npz", "safetensors"):
        model = stack(4, 4, 4)
        load_foreign(file_of(tmp_path, kind, **modules), model)
        assert [first(layer) for layer in model.layers] == [0, 2, 4]


class Named(gx.Module):
    def __init__(self):
        self.tail = layers.Dense(4)
        self.body = stack(4, 4)
        self.tail.build((None, 4))


def test_names_decide_where_both_sides_have_them(tmp_path):
    modules = {"module__body__0": linear(4, 4, 1), "module__body__1": linear(4, 4, 2), "module__tail": linear(4, 4, 3)}
    for kind in ("npz", "safetensors"):
        module = Named()
        load_foreign(file_of(tmp_path, kind, **modules), module)
        assert [first(one) for one in (*module.body.layers, module.tail)] == [1, 2, 3]


def test_names_of_parts_single_arrays_and_stars(tmp_path):
    path = file_of(
        tmp_path, "safetensors", h__0=linear(4, 4, 1), h__1=linear(4, 4, 2), head=linear(4, 4, 3), x=linear(4, 4, 4)
    )
    module = Named()
    names = {"body/layers/*": "h.*", "tail": "head", "tail/bias": "x.bias"}
    report = load_foreign(path, module, names=names, mode="cover")
    assert [first(one) for one in (*module.body.layers, module.tail)] == [1, 2, 4]
    assert set(report.unused) == {"x.weight", "head.bias"}
    for bad, error in (
        ({"nobody": "h"}, gx.errors.ArgumentError),
        ({"tail": "heads"}, gx.errors.MissingInCheckpoint),
        ({"tail": "h.*"}, gx.errors.ArgumentError),
        ({"tail": 3}, gx.errors.ArgumentTypeError),
    ):
        with pytest.raises(error):
            load_foreign(path, module, names=bad)


def test_one_array_for_two_places(tmp_path):
    module = Named()
    path = file_of(tmp_path, body__0=linear(4, 4, 1), body__1=linear(4, 4, 2))
    load_foreign(path, module, names={"tail": "body.0"})
    assert [first(one) for one in (*module.body.layers, module.tail)] == [1, 2, 1]


def test_what_does_not_fit_is_all_told_and_changes_nothing(tmp_path):
    model = stack(4, 3)
    before = [v.numpy() for v in model.variables]
    path = file_of(tmp_path, a=linear(4, 4, 1), b=linear(2, 4, 2), c=linear(7, 7))
    with pytest.raises(gx.errors.MissingInCheckpoint) as raised:
        load_foreign(path, model)
    text = str(raised.value)
    assert "layers/1: needs kernel (4, 3), bias (3,)" in text
    assert "c: has weight (7, 7)" in text
    assert raised.value.report.missing == ("layers/1/kernel", "layers/1/bias")
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_modes_and_subsets(tmp_path):
    path = file_of(tmp_path, body=linear(4, 4, 1), fc=linear(9, 4, 2))
    model = stack(4, 3)
    with pytest.raises(gx.errors.MatchError):
        load_foreign(path, model)
    report = load_foreign(path, model, skip=["layers/1/**"])
    assert [one.reason for one in report.left_out] == ["belongs to a part that is skipped"] * 2
    assert [r.path for r in report.restored] == ["layers/0/kernel", "layers/0/bias"]
    assert load_foreign(path, model, mode="overlap").missing == ("layers/1/kernel", "layers/1/bias")
    (one,) = load_foreign(path, model, only="layers/0/bias", mode="cover").restored
    assert one.source == "body.bias"
    with pytest.raises(gx.errors.UnusedInCheckpoint):
        load_foreign(path, stack(4))
    assert load_foreign(path, stack(4), mode="cover").unused == ("fc.weight", "fc.bias")
    with pytest.raises(gx.errors.SelectorError):
        load_foreign(path, model, skip=["nothing/**"])
    with pytest.raises(gx.errors.ArgumentError, match="mode"):
        load_foreign(path, model, mode="most")
    with pytest.raises(gx.errors.ArgumentError, match="source"):
        load_foreign(path, model, source="caffe")


def test_dtypes_are_cast_when_told(tmp_path):
    path = str(tmp_path / "x.npz")
    np.savez(path, **{"fc.weight": numbers(4, 4).astype("float16"), "fc.bias": numbers(4).astype("float16")})
    model = stack(4)
    with pytest.raises(gx.errors.DTypeMismatch, match="float16"):
        load_foreign(path, model)
    load_foreign(path, model, cast="safe")
    assert model.layers[0].kernel.dtype == "float32"


def test_layers_that_cannot_take_weights(tmp_path):
    path = file_of(tmp_path, fc=linear(4, 4))
    with pytest.raises(gx.errors.NotBuiltError, match="model.build"):
        load_foreign(path, gx.Sequential([layers.Dense(4)]))
    grafted = stack(4)
    gx.graft(grafted, gx.reparam.LoRA(rank=2), where="**/kernel")
    with pytest.raises(gx.errors.StateError, match="before you graft"):
        load_foreign(path, grafted)
    with pytest.raises(gx.errors.ArgumentTypeError):
        load_foreign(path, [stack(4)])


def test_rows_after_flatten(tmp_path):
    """What torch flattens as (channels, height, width) lies as (height, width, channels) here."""
    model = gx.Sequential([layers.Conv2D(2, 1), layers.Flatten(), layers.Dense(1)])
    model.build((None, 3, 4, 1))
    conv = {"weight": np.ones((2, 1, 1, 1), "float32"), "bias": np.zeros(2, "float32")}
    path = file_of(tmp_path, a=conv, b={"weight": numbers(1, 24), "bias": numbers(1)})
    report = load_foreign(path, model)
    expected = numbers(2, 3, 4).transpose(1, 2, 0).reshape(24, 1)
    np.testing.assert_array_equal(model.layers[2].kernel.numpy(), expected)
    assert "channels last" in str(report)


def test_packed_projections_and_transposed_linears(tmp_path):
    """As transformers keeps GPT-2: one matrix for query, key and value, (in, out)."""
    attention = layers.MultiHeadAttention(2, 2)
    attention.build_for(np.ones((1, 3, 4), "float32"))
    packed = {"weight": numbers(4, 12), "bias": numbers(12)}
    proj = {"weight": numbers(4, 4, start=7), "bias": numbers(4)}
    mask = {"bias": np.ones((1, 1, 8, 8), "float32")}
    report = load_foreign(file_of(tmp_path, attn__c_attn=packed, attn__c_proj=proj, attn=mask), attention)
    np.testing.assert_array_equal(attention.key.kernel.numpy(), packed["weight"][:, 4:8])
    np.testing.assert_array_equal(attention.output.kernel.numpy(), proj["weight"])
    assert [one.name for one in report.left_out] == ["attn.bias"]


@pytest.mark.broad
def test_our_own_exports_and_checkpoints(tmp_path):
    """Of a whole program, with its optimizer, the model alone."""
    model, other = stack(4, 4), stack(4, 4)
    optimizer = gx.optimizers.Adam(1e-3)
    optimizer.apply([np.ones(v.shape, "float32") for v in model.variables], model.trainable_variables)
    gx.Checkpoint(optimizer=optimizer, model=model).save(tmp_path / "c")
    report = load_foreign(tmp_path / "c", other, mode="cover")
    assert (report.source, len(report.restored)) == ("graftax", 4)
    np.testing.assert_array_equal(other.layers[1].kernel.numpy(), model.layers[1].kernel.numpy())
    save_file({f"model/{v.path}": v.numpy() for v in model.variables}, tmp_path / "out.safetensors")
    assert load_foreign(tmp_path / "out.safetensors", stack(4, 4)).source == "graftax"


def test_names_that_say_nothing_of_the_library(tmp_path):
    np.savez(tmp_path / "x.npz", a=numbers(2), b=numbers(3))
    with pytest.raises(gx.errors.ArgumentError, match="source='torch'"):
        load_foreign(tmp_path / "x.npz", stack(4))


def test_the_report_in_plain_values(tmp_path):
    report = load_foreign(file_of(tmp_path, fc=linear(4, 4)), stack(4))
    plain = report.as_dict()
    assert (plain["source"], plain["left_out"], len(plain["restored"])) == ("torch", [], 2)


def test_inside_of_a_compiled_function(tmp_path):
    path, model = file_of(tmp_path, fc=linear(4, 4)), stack(4)
    with pytest.raises(gx.errors.StateError, match="load before"):
        gx.jit(lambda: load_foreign(path, model) and 1)()


def test_rules_name_classes_that_there_are():
    tables = [source.rules for source in SOURCES.values()] + list(settings._DEFAULTS.values()) + [feature_orders._KINDS]
    for name in {name for table in tables for name in table}:
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(import_module(f"graftax.layers.{module}"), kind), type), name


class Scaled(gx.Layer):
    """A layer whose Variables are called as those of torch are."""

    def build(self, input_shape):
        self.weight = self.add_weight(input_shape[-1:], name="weight")
        self.bias = self.add_weight(input_shape[-1:], name="bias")

    def call(self, x):
        return x * self.weight + self.bias


@pytest.mark.parametrize("prefix", ["", "module."])
def test_a_layer_of_ones_own_may_call_its_variables_as_torch_does(tmp_path, prefix):
    model = gx.Sequential([Scaled(), layers.Dense(2), Scaled()])
    model.build((None, 3))
    shapes = {"0.weight": (3,), "0.bias": (3,), "1.weight": (2, 3), "1.bias": (2,), "2.weight": (2,), "2.bias": (2,)}
    arrays = {
        f"{prefix}{name}": np.random.default_rng(i).normal(size=shape) for i, (name, shape) in enumerate(shapes.items())
    }
    np.savez(tmp_path / "net.npz", **{name: array.astype("float32") for name, array in arrays.items()})
    report = gx.checkpoint.load_foreign(tmp_path / "net.npz", model, source="torch")
    assert len(report.restored) == 6
    np.testing.assert_allclose(model.layers[0].weight, arrays[f"{prefix}0.weight"], rtol=1e-6)
    np.testing.assert_allclose(model.layers[1].kernel, arrays[f"{prefix}1.weight"].T, rtol=1e-6)
    np.testing.assert_allclose(model.layers[2].bias, arrays[f"{prefix}2.bias"], rtol=1e-6)


def test_numbers_of_arrays_say_what_to_write_and_it_works(tmp_path):
    model = gx.Sequential([layers.Dense(6), layers.Dense(2)])
    model.build((None, 4))
    arrays = [np.full(v.shape, i, "float32") for i, v in enumerate(model.weights)]
    path = tmp_path / "w.npz"
    np.savez(path, *arrays)
    with pytest.raises(gx.errors.ArgumentError, match="numbers of arrays") as caught:
        gx.checkpoint.load_foreign(path, model)
    eval(str(caught.value.instead).partition(", if")[0], {"np": np, "model": model})
    np.testing.assert_array_equal(model.layers[1].bias, arrays[3])
    names = {"layers/0/kernel": "arr_0"}
    with pytest.raises(
        gx.errors.MissingInCheckpoint, match=r"(?s)arr_1 has that shape, and another name.*'arr_0'.*'arr_1'"
    ):
        gx.checkpoint.load_foreign(path, model, source="graftax", names=names)
    model.set_weights([0 * array for array in arrays])
    names = {v.path: f"arr_{i}" for i, v in enumerate(model.weights)}
    gx.checkpoint.load_foreign(path, model, source="graftax", names=names)
    np.testing.assert_array_equal(model.layers[1].bias, arrays[3])


class Folded(gx.Model):
    """Flattens an image in a way that nobody can follow: by NumPy's order of its own, or with values."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.c, self.o = kind, layers.Conv2D(2, 1), layers.Dense(1)
        self.p = layers.Permute((2, 3, 1))

    def call(self, x):
        x = self.c(x)
        if self.kind == "values":
            x = x + float(np.asarray(x).sum() * 0)
        x = gx.ops.transpose(x, (0, 3, 2, 1)) if self.kind == "transposed" else x
        x = self.p(x) if self.kind == "permuted" else x
        return self.o(gx.ops.reshape(x, (x.shape[0], -1)))


@pytest.mark.parametrize(
    ("kind", "why"),
    [("values", "could not be followed"), ("transposed", "o: what comes in"), ("permuted", "o: what comes in")],
)
def test_an_order_that_cannot_be_told_is_warned_of(tmp_path, kind, why):
    model = Folded(kind)
    model(numbers(1, 2, 3, 2))
    arrays = {"c.weight": (2, 2, 1, 1), "c.bias": (2,), "o.weight": (1, 12), "o.bias": (1,)}
    save_file({name: numbers(*shape) for name, shape in arrays.items()}, tmp_path / "net.safetensors", {"format": "pt"})
    with pytest.warns(UserWarning, match=rf"(?s){why}.*compare the outputs"):
        load_foreign(tmp_path / "net.safetensors", model)
