"""What is exported is compared with the function: a difference raises, and nothing is left."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ExportError, ExportMismatch
from graftax.export import Signature, Spec
from graftax.export.comparison import difference
from graftax.export.manifest import size_of
from graftax.export.trial_inputs import made_up, trial_specs
from graftax.export.trial_sizes import trial_sizes, trials_of_sizes
from tests.export.artefacts import net, numbers


def test_ex15_what_differs_is_told_with_place_and_numbers_and_nothing_is_left(tmp_path: Path) -> None:
    state = {"factor": 2.0}

    def fn(x: Any) -> Any:  # which no program can keep up with
        state["factor"] += 1.0
        return x * state["factor"]

    with pytest.raises(ExportMismatch) as caught:
        gx.export.save(tmp_path / "net", fn, Spec("batch 3"))
    text = str(caught.value)
    assert text.startswith("predict: output[")
    assert "nothing was written" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.broad
def test_it_is_compared_at_several_sizes_and_on_the_example(tmp_path: Path) -> None:
    report = gx.export.save(tmp_path / "net", net(), numbers(6, 3))
    checked = report.signatures["predict"].checked
    assert checked is not None
    assert checked.sizes == ({"batch": 6}, {"batch": 3}, {"batch": 1})
    assert checked.error == 0.0
    assert "compared at batch = 6; batch = 3; batch = 1: equal bits" in str(report)


@pytest.mark.broad
def test_examples_of_the_user_are_not_stored(tmp_path: Path) -> None:
    secret = numbers(6, 3) + 1234.5
    gx.export.save(tmp_path / "net", net(), secret)
    stored = (tmp_path / "net" / "examples.safetensors").read_bytes()
    assert secret[0].tobytes() not in stored
    assert secret[0, 0].tobytes() not in stored


@pytest.mark.broad
def test_what_was_folded_is_compared_with_the_live_function(tmp_path: Path) -> None:
    model = net()
    gx.graft(model, gx.reparam.LoRA(rank=2), where="layers/0/kernel")
    for one in model.trainable_variables:
        one.assign(one.numpy() + 0.1)
    report = gx.export.save(tmp_path / "net", model, Spec("batch 3"))
    one = report.signatures["predict"]
    assert one.folded == ("model/layers/0/kernel",)
    assert one.checked is not None
    assert one.checked.error < 1e-6
    assert "computed at the export: model/layers/0/kernel" in str(report)


def test_ex9_ex10_large_constants_and_checks_left_out_are_reported(tmp_path: Path) -> None:
    table = gx.ops.asarray(numbers(600, 600))

    def fn(x: Any) -> Any:
        gx.check(gx.ops.all(x > 0), "not above 0")
        return x @ table

    report = gx.export.save(tmp_path / "net", fn, Spec("batch 600"), check=False)
    assert report.signatures["predict"].constants == ("float32[600, 600]",)
    assert report.signatures["predict"].left_out == ("check: not above 0",)
    assert "without the checks: check: not above 0" in str(report)
    assert "constants: float32[600, 600]" in str(report)
    assert "not compared" in str(report)


@pytest.mark.broad
@pytest.mark.parametrize(
    ("fn", "specs", "rows"),
    [
        (lambda x: x * 2, [Spec("n 2")], True),
        (lambda x: x - gx.ops.mean(x, axis=0), [Spec("n 2")], False),
        (lambda x: gx.ops.flip(x, 0), [Spec("n")], False),
        (lambda x, y: x + y, [Spec("n"), Spec("")], False),
        (lambda x: gx.ops.sum(x), [Spec("n")], False),
        (lambda x: x + x.shape[0], [Spec("n")], False),
        (lambda x, m: gx.ops.where(m, x, 0.0), [Spec("n t"), Spec("n t", "bool")], True),
        (lambda x: x, [Spec("n n")], False),
        (lambda x: x, [Spec("4 2")], False),
    ],
    ids=["each", "mean", "order", "number", "sum", "count", "mask", "square", "fixed"],
)
def test_whether_rows_are_computed_for_themselves_is_found_out(fn: Any, specs: Any, rows: bool, tmp_path: Path) -> None:
    report = gx.export.save(tmp_path / "net", Signature(fn, *specs))
    assert report.signatures["predict"].rows is rows


@pytest.mark.broad
def test_sizes_to_try_fulfil_constraints() -> None:
    def sizes(*specs: Spec, constraints: Any = (), least: int = 3) -> dict[str, int]:
        return trial_sizes(Signature(lambda *x: x, *specs, constraints=constraints), least)

    assert sizes(Spec("b t")) == {"b": 3, "t": 4}
    assert sizes(Spec("b t"), least=1) == {"b": 1, "t": 1}
    assert sizes(Spec("b t"), constraints=["t >= 20", "b == 2*t"]) == {"b": 40, "t": 20}
    assert sizes(Spec("b-5")) == {"b": 6}
    with pytest.raises(ExportError, match="no sizes from 3 on"):
        sizes(Spec("b"), constraints=["b <= 2"])


@pytest.mark.parametrize("starts", [(3, 1), (2, 5)], ids=["program", "file"])
@pytest.mark.parametrize(
    "constraints",
    [["h >= 8"], ["h >= 8", "h <= 9"], ["h >= 8", "w == 2*h"], ["mod(h, 8) == 0"], ["h <= 4"], ["w == 8"], []],
    ids=["least", "range", "twice", "multiple", "most", "fixed", "free"],
)
def test_every_free_size_is_tried_at_two_values_that_fit(constraints: list[str], starts: tuple[int, int]) -> None:
    signature = Signature(lambda x: x, Spec("batch h w"), constraints=constraints)
    found = trials_of_sizes(signature, *starts)
    assert all(size_of(one, values) for one in constraints for values in found)
    values = {name: {one[name] for one in found} for name in signature.free}
    assert [name for name, some in values.items() if len(some) == 1] == (["w"] if constraints == ["w == 8"] else [])
    if constraints == ["h >= 8"]:
        assert {one % 2 for one in values["h"]} == {0, 1}


@pytest.mark.broad
def test_the_report_says_which_size_has_one_value(tmp_path: Path) -> None:
    spec, fits = Spec("batch h"), ["h == 8"]
    report = gx.export.save(tmp_path / "net", Signature(lambda x: x * 2, spec, constraints=fits))
    assert "(no second value was found for h): equal bits" in str(report)
    report = gx.export.save(tmp_path / "other", Signature(lambda x: x * 2, spec, constraints=["h >= 8"]))
    checked = report.signatures["predict"].checked
    assert checked is not None
    assert {one["h"] for one in checked.sizes} == {8, 11}


@pytest.mark.parametrize(
    ("expected", "got", "error"),
    [
        ([1.0, np.nan], [1.0, np.nan], 0.0),
        ([np.inf, 1.0], [np.inf, 1.0], 0.0),
        ([0.0], [-0.0], 0.0),
        ([100.0, 1.0], [100.0005, 1.0], 5e-6),
    ],
)
def test_differences_are_parts_of_the_largest_number(expected: Any, got: Any, error: float) -> None:
    found = difference("x", np.array(expected, "float32"), np.array(got, "float32"))
    assert found == pytest.approx(error, rel=0.05)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ([1.0], [np.nan]),
        ([1.0], [np.inf]),
        ([np.inf], [-np.inf]),
        ([1.0], [1.001]),
        ([1.0], [[1.0]]),
        ([np.nan], [1.0]),
    ],
)
def test_differences_that_rounding_does_not_explain(expected: Any, got: Any) -> None:
    with pytest.raises(ExportMismatch):
        difference("x", np.array(expected, "float32"), np.array(got, "float32"))
    with pytest.raises(ExportMismatch):
        difference("x", np.array([1], "int32"), np.array([2], "int32"))
    assert difference("x", np.array([1.0], "float16"), np.array([1.004], "float16")) > 0


@pytest.mark.parametrize(
    "spec", [Spec("", "bool"), Spec("n", "bool"), Spec("n", "int32", (5, 9)), Spec("n", "complex64")]
)
def test_made_up_inputs_lie_within_their_bounds(spec: Spec) -> None:
    found = made_up(spec, (50,) if spec.shape else ())
    assert found.dtype.name == spec.dtype
    if spec.bounds is not None:
        assert spec.bounds[0] <= found.min()
        assert found.max() <= spec.bounds[1]


@pytest.mark.broad
def test_integers_without_bounds_are_tried_with_all_rows_of_a_table(tmp_path: Path) -> None:
    tokens, table = Spec("batch time", "int32"), gx.layers.Embedding(50, 2)
    wide = gx.layers.Embedding(70, 2)
    assert trial_specs(Signature(table, tokens)) == [Spec("batch time", "int32", (0, 49))]
    assert trial_specs(Signature(lambda x, y: table(x) + wide(x) + y, tokens, Spec("batch 1 2"))) == [
        Spec("batch time", "int32", (0, 49)),
        Spec("batch 1 2"),
    ]
    assert trial_specs(Signature(lambda x, y: (table(x), y), tokens, tokens)) == [tokens, tokens]
    bound = Spec("batch time", "int32", (0, 9))
    assert trial_specs(Signature(table, bound)) == [bound]
    gx.export.save(tmp_path / "net", table, tokens)
    tried = [made_up(one, (40, 10)).max() for one in trial_specs(Signature(table, tokens))]
    assert tried == [49]
    assert gx.export.load(tmp_path / "net").predict.about["inputs"][0]["bounds"] is None


@pytest.mark.broad
def test_rows_and_elements_are_taken_along_an_axis_of_a_free_size(tmp_path: Path) -> None:
    def taken(x: Any, places: Any) -> Any:
        pairs = gx.ops.stack([places, places], axis=-1)
        along = gx.ops.take_along_axis(x, places[:, None], axis=1)
        return gx.ops.take(x, places, axis=1), along, gx.ops.gather_nd(x, pairs), gx.ops.scatter_add(x, places, x)

    gx.export.save(tmp_path / "net", taken, Spec("batch time"), Spec("batch", "int32"))
    x, places = numbers(3, 4), np.array([2, -1, 4], "int32")  # neither from the end nor beyond it
    found = gx.export.load(tmp_path / "net").predict(x, places)
    for one, other in zip(found, gx.jit(taken)(x, places), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.isnan(found[0][:, 1:]).all()


@pytest.mark.slow
def test_an_expression_that_is_read_in_two_dtypes_has_one_value(tmp_path: Path) -> None:
    class Both(gx.Model):
        def __init__(self) -> None:
            super().__init__()
            self.half, self.whole = gx.layers.Dense(8, dtype="mixed_float16"), gx.layers.Dense(8)

        def call(self, x: Any) -> Any:
            return ops.cast(self.half(x), "float32") + self.whole(x) @ ops.asarray(self.half.kernel)

    model, x = Both(), numbers(4, 8)
    model(x)
    gx.graft(model, gx.reparam.WeightNorm(), where="half/kernel")
    model.export(tmp_path / "net")
    np.testing.assert_allclose(gx.export.load(tmp_path / "net").predict(x), model(x), rtol=1e-2, atol=1e-2)
