"""What checkpoints that are merged, averaged or cast have at one path, and cannot be one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax.layers.table_columns import Columns

ONES, TWOS, THREES = [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]


class Pair(gx.Module):
    def __init__(self, a: Any, b: Any) -> None:
        super().__init__()
        self.a = a
        self.b = b


def save(name: str, *values: Any, tied: bool = False) -> None:
    parts = [gx.Variable(value) if isinstance(value, list) else value for value in values]
    gx.Checkpoint(m=Pair(parts[0], parts[0] if tied else parts[1])).save(name)


def values_of(name: str) -> dict[str, Any]:
    separate = Pair(gx.Variable([0.0, 0.0]), gx.Variable([0.0, 0.0]))
    with gx.checkpoint.read(name) as arrays:
        found = {path: np.array(array).tolist() for path, array in arrays.items()}
    if len(found) == 1:  # tied
        tied = gx.Variable([0.0, 0.0])
        gx.Checkpoint(m=Pair(tied, tied)).restore(name)
        return {"tied": tied.numpy().tolist()}
    gx.Checkpoint(m=separate).restore(name)
    return {"a": separate.a.numpy().tolist(), "b": separate.b.numpy().tolist()}


def trained(steps: int) -> gx.Checkpoint:
    weight = gx.Variable(ONES, name="w")
    optimizer = gx.optimizers.Adam(0.1)
    for step in range(steps):
        optimizer.apply([np.full(2, step + 1.0, "float32")], [weight])
    weight.assign(ONES)
    optimizer.iterations.assign(1)
    return gx.Checkpoint(w=weight, optimizer=optimizer)


@pytest.mark.broad
def test_slots_are_values_at_a_path(ckpt):
    trained(1).save("one")
    trained(3).save("two")
    code, _, err = ckpt("merge", "one", "two", "--to", "x")
    assert (code, "optimizer/slots(momentum)/w" in err) == (4, True)
    for prefer, like in (("first", "one"), ("last", "two")):
        assert ckpt("merge", "one", "two", "--to", prefer, "--prefer", prefer)[0] == 0
        assert ckpt("diff", prefer, like)[0] == 0


@pytest.mark.parametrize(
    ("first", "second", "prefer", "found"),
    [
        ("apart", "tied", "first", {"a": ONES, "b": TWOS}),
        ("apart", "tied", "last", {"tied": THREES}),
        ("tied", "apart", "first", {"tied": THREES}),
        ("tied", "apart", "last", {"a": ONES, "b": TWOS}),
    ],
)
def test_what_is_tied_in_one_alone(ckpt, first, second, prefer, found):
    save("apart", ONES, TWOS)
    save("tied", THREES, tied=True)
    assert ckpt("merge", first, second, "--to", "out", "--prefer", prefer)[0] == 0
    assert values_of("out") == found


@pytest.mark.parametrize("names", [("apart", "tied"), ("tied", "apart")])
def test_what_is_tied_in_one_alone_is_refused_even_where_a_value_is_equal(ckpt, names):
    save("apart", ONES, TWOS)
    save("tied", ONES, tied=True)
    code, _, err = ckpt("merge", *names, "--to", "x")
    assert (code, "m/b" in err, "one object with another path" in err) == (4, True, True), err


def test_objects_that_are_one_in_one_alone_are_refused(ckpt):
    inner = Pair(gx.Variable(ONES), gx.Variable(TWOS))
    save("apart", inner, Pair(gx.Variable(ONES), gx.Variable(TWOS)))
    save("tied", inner, inner)
    for prefer in ("first", "last"):
        code, _, err = ckpt("merge", "apart", "tied", "--to", "x", "--prefer", prefer)
        assert (code, "m/b" in err) == (4, True)


@pytest.mark.broad
def test_equal_checkpoints_merge_whatever_they_hold(ckpt):
    save("nan", [float("nan"), 1.0], TWOS)
    gx.Checkpoint(state={"parts": [gx.Variable(ONES)], "seen": gx.Variable([1, 2])}).save("dict")
    for name in ("nan", "dict", "a"):
        assert ckpt("merge", name, name, "--to", f"again_{name}")[0] == 0
        assert ckpt("diff", name, f"again_{name}")[0] == 0


@pytest.mark.broad
def test_lists_and_dicts_are_other_values(ckpt):
    gx.Checkpoint(m=[gx.Variable(1.0)]).save("list")
    gx.Checkpoint(m={"x": gx.Variable(2.0)}).save("dict")
    assert ckpt("merge", "list", "dict", "--to", "x")[0] == 4
    for prefer, paths in (("first", ["m/0"]), ("last", ["m/x"])):
        assert ckpt("merge", "list", "dict", "--to", prefer, "--prefer", prefer)[0] == 0
        with gx.checkpoint.read(prefer) as found:
            assert list(found) == paths


@pytest.mark.broad
def test_a_plain_weight_and_an_expression_with_slots(ckpt):
    def program(grafts: bool) -> gx.Checkpoint:
        layer = gx.layers.Dense(2)
        layer.build((None, 2))
        if grafts:
            gx.graft(layer, gx.reparam.LoRA(rank=1), where="kernel")
        optimizer = gx.optimizers.Adam(0.1)
        variables = layer.trainable_variables
        optimizer.apply([np.ones(one.shape, "float32") for one in variables], variables)
        return gx.Checkpoint(layer=layer, optimizer=optimizer)

    program(False).save("plain")
    program(True).save("grafted")
    assert ckpt("merge", "plain", "grafted", "--to", "x")[0] == 4
    for names in (("plain", "grafted"), ("grafted", "plain")):
        for prefer, like in zip(("first", "last"), names, strict=True):
            assert ckpt("merge", *names, "--to", "x", "--prefer", prefer, "--overwrite")[0] == 0
            program(like == "grafted").restore("x")
            assert ckpt("diff", "x", like, "--skip", "gx.random")[0] == 0  # that is of the first


WITH_ADAPTERS = """
import graftax as gx

def build():
    model = gx.Sequential([gx.layers.Dense(2)])
    model.build((None, 3))
    gx.graft(model, gx.reparam.LoRA(rank=1, name="a"), where="**/kernel")
    return {"model": model}
"""


@pytest.mark.broad
def test_a_plain_weight_and_a_file_of_its_adapters_are_two_parts_of_one(ckpt, tmp_path):
    model = gx.Sequential([gx.layers.Dense(2)])
    model.build((None, 3))
    gx.Checkpoint(model=model).save("base")
    gx.graft(model, gx.reparam.LoRA(rank=1, name="a"), where="**/kernel")
    adapter = model.layers[0].kernel.adapters["a"]
    adapter.up.assign(adapter.up + 0.3)
    gx.Checkpoint(model=model).save("adapters", only=gx.is_adapter)
    for names in (("base", "adapters"), ("adapters", "base")):
        for choice in ((), ("--prefer", "first"), ("--prefer", "last")):
            code, _, err = ckpt("merge", *names, "--to", "x", *choice)
            assert (code, "'model/layers/0/kernel' is an array in the" in err) == (4, True), err
            assert "graftax ckpt merge WHOLE ADAPTERS --prefer last" in err
    assert not (tmp_path / "x").exists()
    (tmp_path / "adapted.py").write_text(WITH_ADAPTERS)  # what the message says to write
    assert ckpt("restore", "base", "adapted.py:build", "--save", "whole")[0] == 0
    assert ckpt("merge", "whole", "adapters", "--prefer", "last", "--to", "both")[0] == 0
    kernel = model.layers[0].kernel
    with gx.checkpoint.read("both") as found:
        for path, variable in {
            "base": kernel.base,
            "adapters/a/up": adapter.up,
            "adapters/a/down": adapter.down,
        }.items():
            np.testing.assert_array_equal(found[f"model/layers/0/kernel/{path}"], variable.numpy())


def of_a_table(name: str, columns: tuple[str, ...] | None, scale: float = 1.0) -> None:
    model = gx.Sequential([gx.layers.Dense(1)])
    model.build((None, 2))
    model.layers[0].kernel.assign(scale * np.arange(2, dtype="float32")[:, None])
    if columns is not None:
        model._gx_columns = Columns(columns, None)
    gx.Checkpoint(model=model).save(name)


def columns_of(name: str) -> Any:
    model = gx.Sequential([gx.layers.Dense(1)])
    model.build((None, 2))
    gx.Checkpoint(model=model).restore(name)
    return model._gx_columns.x


@pytest.mark.broad
def test_the_columns_of_tables_are_a_part_of_what_is_merged(ckpt):
    of_a_table("ab", ("a", "b"))
    of_a_table("ba", ("b", "a"))
    of_a_table("array", None)
    code, _, err = ckpt("merge", "ab", "ba", "--to", "x")
    assert (code, "with other facts" in err, "--prefer first" in err) == (4, True, True)
    for prefer, found in (("first", ("a", "b")), ("last", ("b", "a"))):
        assert ckpt("merge", "ab", "ba", "--to", prefer, "--prefer", prefer)[0] == 0
        assert columns_of(prefer) == found
    for i, names in enumerate((("ab", "array"), ("array", "ab"))):
        assert ckpt("merge", *names, "--to", f"one_{i}")[0] == 0
        assert columns_of(f"one_{i}") == ("a", "b")


@pytest.mark.broad
def test_no_mean_of_weights_of_columns_in_other_orders(ckpt):
    of_a_table("ab", ("a", "b"))
    of_a_table("ba", ("b", "a"))
    of_a_table("more", ("a", "b"), 3.0)
    code, _, err = ckpt("average", "ab", "ba", "--to", "x")
    assert (code, "other meanings" in err) == (4, True)
    assert ckpt("average", "ab", "more", "--to", "mean")[0] == 0
    assert columns_of("mean") == ("a", "b")


@pytest.mark.broad
def test_no_mean_of_weights_that_use_other_adapters(ckpt):
    layer = gx.layers.Dense(2)
    layer.build((None, 3))
    for name in ("a", "b"):
        gx.graft(layer, gx.reparam.LoRA(rank=1, name=name), where="kernel")
    for name in ("a", "b", "ab", "ba"):
        gx.adapters.use(layer, *name)
        gx.Checkpoint(layer=layer).save(name, overwrite=True)
        gx.Checkpoint(layer=layer).save(f"only_{name}", only=gx.is_adapter)
    for names in (("a", "b"), ("ab", "ba"), ("ab", "a")):
        code, _, err = ckpt("average", *names, "--to", "x")
        assert (code, f"uses the adapters {[*names[0]]} in {names[0]}, and uses" in err) == (4, True), err
        assert ckpt("average", *names, "--to", "rest", "--overwrite", "--skip", "**/adapters/**")[0] == 0
    assert ckpt("average", "ab", "ab", "--to", "same")[0] == 0
    assert ckpt("average", "only_a", "only_b", "--to", "adapters")[0] == 0  # the program says which it uses


@pytest.mark.broad
def test_no_mean_of_weights_of_integers(ckpt):
    for name, factor in (("one", 1.0), ("two", -3.0)):
        layer = gx.layers.Dense(2, kernel_initializer=[[factor, 0.5], [0.25, factor]])
        layer.build((None, 2))
        gx.graft(layer, gx.reparam.Int8(), where="kernel")
        gx.Checkpoint(layer=layer).save(name)
    code, _, err = ckpt("average", "one", "two", "--to", "x")
    assert (code, "layer/kernel/codes: is a weight of integers" in err) == (4, True)
    assert ckpt("average", "one", "one", "--to", "same")[0] == 0
    assert ckpt("average", "one", "two", "--to", "rest", "--skip", "**/codes")[0] == 0


def test_no_mean_of_real_and_complex_numbers(ckpt):
    gx.Checkpoint(w=gx.Variable([1.0])).save("real")
    gx.Checkpoint(w=gx.Variable([1 + 2j])).save("complex")
    for names in (("real", "complex"), ("complex", "real")):
        code, _, err = ckpt("average", *names, "--to", "x")
        assert (code, "w: is" in err) == (4, True)


def test_numbers_beyond_a_dtype_are_refused(ckpt, tmp_path):
    save("large", [1e5, float("inf")], ONES)
    code, _, err = ckpt("cast", "large", "--to", "x", "--dtype", "float16")
    assert (code, "'m/a' in float16: 1 of its numbers, the largest 1e+05" in err) == (2, True)
    assert not (tmp_path / "x").exists()
    assert ckpt("cast", "large", "--to", "wide", "--dtype", "bfloat16")[0] == 0
    assert ckpt("cast", "large", "--to", "rest", "--dtype", "float16", "--skip", "m/a")[0] == 0


def test_complex_numbers_keep_their_imaginary_parts(ckpt):
    save("both", [1 + 2j], ONES)
    for dtype, kinds in (("float16", ["complex64", "float16"]), ("complex64", ["complex64", "float32"])):
        assert ckpt("cast", "both", "--to", dtype, "--dtype", dtype)[0] == 0
        with gx.checkpoint.read(dtype) as found:
            assert [array.dtype.name for array in found.values()] == kinds
            assert found["m/a"][0] == 1 + 2j
