"""Tables of pandas with the same rows in different orders are refused; other labels say nothing about the order."""

import numpy as np
import pytest

import graftax as gx
from graftax.errors import DataError
from graftax.objectives import row_labels
from tests.training.tables import X, Y, model

pandas = pytest.importorskip("pandas")
ORDER = np.random.default_rng(3).permutation(12)


def frame(index=None):
    return pandas.DataFrame(X, columns=list("abc"), index=index)


def column(index=None, values=Y[:, 0]):
    return pandas.Series(values, index=index)


LABELS = {
    "numbers": (ORDER, None),
    "texts": (list("abcdefghijkl"), list("lbcdefghijka")),
    "dates": (pandas.date_range("2020-01-01", periods=12), pandas.date_range("2020-01-01", periods=12)[::-1]),
    "levels": (
        pandas.MultiIndex.from_product([list("ab"), range(6)]),
        pandas.MultiIndex.from_product([list("ba"), range(6)]),
    ),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("call", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_the_same_labels_in_another_order_are_refused(kind, call):
    one, other = LABELS[kind]
    found = model()
    with pytest.raises(DataError, match=r"row 0 of x \(DataFrame\)(.|\n)*same labels in different orders") as caught:
        getattr(found, call)(frame(one), column(other))
    assert caught.value.instead.startswith("y.loc[x.index]; or y.to_numpy()")
    assert not found.variables


def test_the_remedies_work():
    x, y = frame().iloc[ORDER], column()
    found = model()
    found.predict(x, verbose=0)
    wanted = found.evaluate(x.to_numpy(), Y[ORDER], verbose=0)
    assert found.evaluate(x, y.loc[x.index], verbose=0) == wanted
    assert found.evaluate(x, y.to_numpy()[ORDER], verbose=0) == wanted


@pytest.mark.parametrize("what", ["sample_weight", "validation_data", "validation weights", "dict"])
def test_other_parts(what):
    x, y, shuffled = frame(), column(), column(ORDER)
    given, said = {
        "sample_weight": ({"sample_weight": shuffled}, r"row 0 of sample_weight \(Series\)"),
        "validation_data": ({"validation_data": (x, shuffled)}, r"row 0 of validation_data\[1\] \(Series\)"),
        "validation weights": ({"validation_data": (x, y, shuffled)}, r"row 0 of validation_data\[2\] \(Series\)"),
        "dict": ({}, r"row 0 of x\['left'\] \(DataFrame\)(.|\n)*row 0 of x\['right'\] \(DataFrame\)"),
    }[what]
    inputs = {"left": x, "right": x.iloc[::-1]} if what == "dict" else x
    with pytest.raises(DataError, match=said):
        model().fit(inputs, y, verbose=0, **given)


def test_batches_of_tables():
    with pytest.raises(DataError, match="same labels in different orders"):
        model().fit([(frame(), column()), (frame(), column(ORDER))], verbose=0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (range(12), range(12)),
        (range(5, 17), None),
        (ORDER + 100, None),
        ([0, 0, *range(2, 12)], [*range(2, 12), 0, 0]),
        (list("abcdefghijkl"), None),
        (ORDER, ORDER),
        (pandas.MultiIndex.from_product([list("ab"), range(6)]), None),
    ],
    ids=["same", "part", "shuffled part", "twice", "texts", "both shuffled", "levels"],
)
def test_other_labels_pass(one, other):
    found = model().fit(frame(one), column(other), shuffle=False, verbose=0).history
    assert found == model().fit(X, Y[:, 0], shuffle=False, verbose=0).history


def test_equal_labels_are_not_looked_up(monkeypatch):
    x, y = pandas.DataFrame({"a": np.zeros(9)}), pandas.Series(np.zeros(9))
    for name in ("_apart_as_numbers", "_apart_as_labels"):
        monkeypatch.setattr(row_labels, name, lambda *given: pytest.fail("looked up"))
    row_labels.require_rows_in_one_order(x=x, y=y)
    row_labels.require_rows_in_one_order(x=x, y=y.set_axis(list("abcdefghi")))


DOORS = ["predict", "predict_on_batch", "evaluate", "test_on_batch", "fit", "train_on_batch"]
LOOPS = ["predict", "evaluate", "fit"]


@pytest.mark.parametrize(
    ("door", "kind"),
    [
        *((door, kind) for door in DOORS for kind in ("list", "dict")),
        *((d, k) for d in LOOPS for k in ("batches", "it")),
    ],
)
def test_two_inputs_with_their_rows_in_different_orders_are_refused(door, kind):
    a, b = gx.Input((3,), name="a"), gx.Input((3,), name="b")
    found = gx.Model([a, b], a + b)
    found.compile("sgd", "mse")
    one, other = frame(), frame().iloc[::-1]
    x = {"a": one, "b": other} if kind == "dict" else [one, other]
    given = (x,) if door.startswith("predict") else (x, X)
    given = {"batches": ([given],), "it": (iter([given]),)}.get(kind, given)
    with pytest.raises(DataError, match="same labels in different orders"):
        getattr(found, door)(*given, **({"verbose": 0} if door in LOOPS else {}))


def test_batches_may_have_the_same_rows_in_different_orders():
    x, y = frame(), column()
    found = model()
    found.fit([(x, y), (x.iloc[::-1], y.iloc[::-1])], verbose=0)
    assert found.predict([(x,), (x.iloc[::-1],)], verbose=0).shape[0] == 24
