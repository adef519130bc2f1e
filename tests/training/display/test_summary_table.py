"""Summaries: rows that add up, levels, what is frozen or not built, what the optimizer keeps."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.training.display.html_table import html_of
from graftax.training.display.summary_table import Summary, bytes_of


class Block(gx.Layer):
    """A layer with a weight of its own and a layer inside."""

    def __init__(self, units):
        super().__init__()
        self.inner = layers.Dense(units)

    def build(self, input_shape):
        self.scale = self.add_weight((input_shape[-1],), initializer="ones")

    def call(self, x):
        return self.inner(x * self.scale)


def nested():
    model = gx.Sequential([Block(3), gx.Sequential([Block(2), layers.BatchNormalization()]), layers.Dense(1)])
    model(np.ones((2, 4), "float32"))
    return model


def printed(model, **options):
    lines = []
    model.summary(print_fn=lines.append, **options)
    return lines[0]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("expand", [True, False, 1, 2, 3, 9])
def test_t5_rows_add_up_at_every_level(expand):
    summary = Summary(nested(), expand)
    assert sum(row.parameters for row in summary.rows) == summary.parameters == 4 + 15 + 3 + 8 + 8 + 3
    assert sum(row.size for row in summary.rows) == summary.bytes == 4 * summary.parameters


@pytest.mark.broad
def test_t5_a_layer_with_weights_of_its_own_and_layers_inside_shows_its_own():
    rows = {"/".join(row.path): row.parameters for row in Summary(nested()).rows}
    assert rows["layers/0"] == 4
    assert rows["layers/0/inner"] == 15
    assert {"/".join(row.path): row.parameters for row in Summary(nested(), 1).rows} == {
        "layers/0": 19,
        "layers/1": 19,
        "layers/2": 3,
    }


def test_t5_weights_of_the_model_itself_and_shared_layers_count_once():
    class Own(gx.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(2)
            self.again = [self.first]

        def build(self, input_shape):
            self.bias = self.add_weight((7,))

        def call(self, x):
            return self.again[0](self.first(x))

    model = Own()
    model(np.ones((1, 2), "float32"))
    summary = Summary(model)
    assert [(row.kind, row.parameters) for row in summary.rows] == [("Own", 7), ("Dense", 6)]
    assert summary.parameters == 13 == model.count_params()


def test_t5_what_is_not_built_says_how():
    text = printed(gx.Sequential([layers.Dense(2), Block(2)]))
    assert text.count("not built") >= 3
    assert "model.build_for(x)" in text


@pytest.mark.broad
def test_t5_what_the_optimizer_keeps_is_counted():
    model = gx.Sequential([layers.Dense(3)])
    model.compile("adam", "mse", metrics=["mae"])
    x = np.ones((2, 4), "float32")
    model.fit(x, x[:, :3], verbose=0)
    text = printed(model)
    assert "parameters: 15 (60 bytes)" in text
    assert "optimizer Adam: 128 bytes" in text  # two moments of 15 numbers, a step, a rate


def test_t5_frozen_layers_are_marked_unless_told():
    model = nested()
    model.layers[2].trainable = False
    assert printed(model).count("frozen") == 1
    assert "frozen" not in printed(model, show_trainable=False)
    with pytest.raises(ArgumentTypeError, match="expand"):
        model.summary(expand=0)
    with pytest.raises(ArgumentTypeError, match="expand=True"):
        model.summary(expand_nested=True)


@pytest.mark.broad
def test_notebooks_get_a_table():
    html = nested()._repr_html_()
    assert html.count("<tr>") == 1 + len(Summary(nested()).rows)
    assert "<code>layers/0/inner</code>" in html


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 4), ("bfloat16", 2), ("int8", 1), ("bool", 1), ("int4", 0.5), ("float8_e4m3fn", 1), ("uint32", 4)],
)
def test_sizes(dtype, size):
    assert bytes_of(dtype) == size


def test_layers_by_name_path_and_number():
    model = gx.Sequential([layers.Dense(2, name="first"), gx.Sequential([layers.Dense(3), layers.Dense(3)])])
    assert model.get_layer("first") is model.get_layer(index=0) is model.get_layer("layers/0")
    assert model.get_layer(index=-1) is model.layers[1]
    assert model.get_layer("layers/1/layers/1") is model.layers[1].layers[1]
    with pytest.raises(ArgumentError, match="'first'"):
        model.get_layer("frist")
    with pytest.raises(ArgumentError, match="2 layers have this name"):
        model.get_layer("dense")
    with pytest.raises(ArgumentError, match="there are 2 layers"):
        model.get_layer(index=2)
    with pytest.raises(ArgumentTypeError, match="one of the two"):
        model.get_layer()


def test_layers_of_a_model_of_ones_own_are_its_attributes():
    class Own(gx.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [Block(2), Block(3)]
            self.head = layers.Dense(1)

    model = Own()
    assert [model.get_layer(index=i) for i in range(3)] == [*model.blocks, model.head]


@pytest.mark.broad
def test_predict_on_batch():
    model = nested()
    x = np.ones((2, 4), "float32")
    found = model.predict_on_batch(x)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, model.predict(x, verbose=0))


def test_given_names_stand_beside_the_class_where_there_is_room_else_below():
    model = gx.Sequential([layers.Dense(4, name="first"), layers.Dense(2)])
    model.build((None, 3))
    assert "layers/0 (Dense 'first')  (None, 4)             16" in str(Summary(model))
    assert "Dense &#x27;first&#x27;" in html_of(Summary(model))
    model = gx.Sequential([layers.Dense(4, name="what_the_first_camera_shows_in_the_morning_and_in_the_evening")])
    model.build((None, 3))
    lines = str(Summary(model)).splitlines()
    assert lines[3].startswith("layers/0 (Dense)")
    assert lines[4] == "    name='what_the_first_camera_shows_in_the_morning_and_in_the_evening'"


MERGING = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate")


@pytest.mark.parametrize("name", MERGING)
def test_layers_of_several_inputs_show_what_they_give(name):
    first, second = gx.Input((3,)), gx.Input((3,))
    merged = getattr(layers, name)()([first, second])
    model = gx.Model([first, second], layers.Dense(2)(merged))
    width = 6 if name == "Concatenate" else 3
    assert Summary(model).rows[2].shape == f"(None, {width})"
