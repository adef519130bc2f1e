"""What was adapted to a table, or trained on one, says the order of its columns wherever it is inside of a model."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import DataError
from tests.training.tables import Table, X, Y, model, table

WIDE = X * np.float32([1.0, 10.0, 100.0]) + np.float32([0.0, 5.0, -50.0])


def wide(names="abc"):
    return Table({name: WIDE[:, "abc".index(name)] for name in names})


def adapted(data=None):
    layer = layers.Normalization()
    layer.adapt(wide() if data is None else data)
    return layer


class Own(gx.Model):
    def __init__(self, *parts):
        super().__init__()
        self.parts, self.dense = list(parts), layers.Dense(1)

    def call(self, x):
        return self.dense(sum(part(x) for part in self.parts))


class OfDict(gx.Model):
    def __init__(self, part):
        super().__init__()
        self.part, self.dense = part, layers.Dense(1)

    def call(self, x):
        return self.dense(self.part(x["left"]) + x["right"])


def _own(part):
    return Own(part)


def _deep(part):
    return Own(gx.Sequential([part]))


def _behind(part):
    return gx.Sequential([layers.Rescaling(1.0), part, layers.Dense(1)])


def _graph(part):
    inputs = gx.Input((3,))
    return gx.Model(inputs, layers.Dense(1)(part(layers.Rescaling(1.0)(inputs))))


def compiled(found):
    gx.set_random_seed(0)
    found.compile(gx.optimizers.SGD(0.01), "mse")
    found.build_for({"left": X, "right": X} if isinstance(found, OfDict) else X)
    return found


@pytest.mark.parametrize("around", [_own, _deep, _behind, _graph])
@pytest.mark.broad
@pytest.mark.in_turn(3)
def test_the_order_of_an_adapted_layer_is_taken(around):
    """The statistics of other columns were used, without a word."""
    one, two = compiled(around(adapted())), compiled(around(adapted(WIDE)))
    one.fit(wide("cab"), Y, epochs=2, shuffle=False, validation_data=(wide("bca"), Y), verbose=0)
    two.fit(WIDE, Y, epochs=2, shuffle=False, validation_data=(WIDE, Y), verbose=0)
    assert one._gx_columns.x == ("a", "b", "c")
    np.testing.assert_allclose(one.predict(wide("bca"), verbose=0), two.predict(WIDE, verbose=0), rtol=1e-5, atol=1e-6)
    with pytest.raises(DataError, match="x is a Table without 'c'"):
        one.predict(wide("ab"), verbose=0)


@pytest.mark.parametrize("call", ["predict", "evaluate", "train_on_batch", "batches"])
@pytest.mark.broad
def test_each_way_in_takes_the_order(call):
    one, two = compiled(_own(adapted())), compiled(_own(adapted(WIDE)))
    if call == "predict":
        np.testing.assert_allclose(one.predict(wide("cba"), verbose=0), two.predict(WIDE, verbose=0), rtol=1e-6)
    elif call == "evaluate":
        assert one.evaluate(wide("cba"), Y, verbose=0) == pytest.approx(two.evaluate(WIDE, Y, verbose=0))
    elif call == "train_on_batch":
        assert one.train_on_batch(wide("cba"), Y) == pytest.approx(two.train_on_batch(WIDE, Y))
    else:
        one.fit(iter([(wide("cba"), Y), (wide("bac"), Y)]), verbose=0)
        two.fit([(WIDE, Y), (WIDE, Y)], verbose=0)
        np.testing.assert_allclose(one.predict(wide("cba"), verbose=0), two.predict(WIDE, verbose=0), rtol=1e-6)


@pytest.mark.broad
def test_one_table_of_several():
    one, two = compiled(OfDict(adapted())), compiled(OfDict(adapted(WIDE)))
    one.fit({"left": wide("cab"), "right": X}, Y, shuffle=False, verbose=0)
    two.fit({"left": WIDE, "right": X}, Y, shuffle=False, verbose=0)
    np.testing.assert_allclose(
        one.predict({"left": wide("bac"), "right": X}, verbose=0),
        two.predict({"left": WIDE, "right": X}, verbose=0),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.broad
def test_a_trained_model_inside_of_a_call():
    inner = model()
    inner.fit(table(), Y, epochs=2, verbose=0)
    outer = compiled(Own(inner))
    np.testing.assert_array_equal(outer.predict(table("cab"), verbose=0), outer.predict(X, verbose=0))


@pytest.mark.broad
def test_layers_with_two_orders_are_refused_before_training():
    found = compiled(Own(adapted(), adapted(wide("cba"))))
    with pytest.raises(DataError, match=r"in the order 'a', 'b', 'c', and layer .* in the order 'c', 'b', 'a'"):
        found.fit(wide("bca"), Y, verbose=0)
    assert found.optimizer.iterations == 0
    found.parts[1] = adapted(wide("cba")[["a", "b", "c"]])
    found.fit(wide("bca"), Y, verbose=0)


def test_layers_adapted_to_other_columns_say_nothing():
    layer = adapted(Table({"d": X[:, 0], "e": X[:, 1], "f": X[:, 2]}))
    found = compiled(Own(layer))
    found.fit(table("cab"), Y, verbose=0)
    assert found._gx_columns.x == ("c", "a", "b")


@pytest.mark.parametrize("layer", [lambda: layers.Discretization(num_bins=3), layers.IntegerLookup])
def test_layers_with_one_answer_for_all_columns_have_no_order(layer):
    """Their bins, or words, are of all columns together."""
    numbers = {name: np.arange(12) % 5 + i for i, name in enumerate("abc")}
    one, two = layer(), layer()
    one.adapt(Table(numbers).to_numpy())
    two.adapt(Table({name: numbers[name] for name in "cab"}).to_numpy())
    assert one.get_state() == two.get_state()
