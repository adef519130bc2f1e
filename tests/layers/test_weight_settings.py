"""Each argument of a layer reaches the place that is called after it: on its way, none can be taken for another."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import initializers, layers
from graftax.core.errors import ArgumentError
from graftax.layers.weight_settings import WeightSettings

PACKAGE = Path(gx.__file__).parent
MADE = {
    layers.Dense: ({"units": 3}, (2, 4)),
    layers.Conv1D: ({"filters": 4, "kernel_size": 2}, (2, 5, 3)),
    layers.Conv2D: ({"filters": 4, "kernel_size": 2}, (2, 5, 5, 3)),
    layers.Conv3D: ({"filters": 4, "kernel_size": 2}, (2, 3, 3, 3, 3)),
    layers.LSTM: ({"units": 3, "unit_forget_bias": False}, (2, 5, 4)),
    layers.GRU: ({"units": 3}, (2, 5, 4)),
    layers.BatchNormalization: ({}, (2, 4)),
    layers.LayerNormalization: ({}, (2, 4)),
    layers.Embedding: ({"input_dim": 7, "output_dim": 3}, (2, 5)),
}
KINDS = ("_initializer", "_regularizer", "_constraint")
NAMES = {"recurrent": "recurrent_kernel"}  # the weight that arguments called after another word are about


class Penalty(gx.regularizers.BaseRegularizer):
    def __call__(self, value):
        return gx.ops.sum(value) * 0.0


class Projection(gx.constraints.BaseConstraint):
    def __call__(self, value):
        return value


def arguments_about_weights(kind: type) -> list[str]:
    return [name for name in inspect.signature(kind.__init__).parameters if name.endswith(KINDS)]


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_each_setting_reaches_the_weight_that_it_is_called_after(kind: type) -> None:
    needed, shape = MADE[kind]
    given = {}
    for number, name in enumerate(arguments_about_weights(kind), start=1):
        made = initializers.Constant(float(number)) if name.endswith(KINDS[0]) else Penalty()
        given[name] = Projection() if name.endswith(KINDS[2]) else made
    layer = kind(**needed, **given)
    layer.build(shape)
    for name, value in given.items():
        assert getattr(layer, name) is value
        part, _, setting = name.rpartition("_")
        weight = getattr(layer, NAMES.get(part, part))
        if setting == "initializer":
            np.testing.assert_array_equal(weight.numpy(), value.value)
        else:
            assert getattr(weight, setting) is value


@pytest.mark.parametrize("kind", [layers.LSTM, layers.GRU])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("activation", layers.activations.relu),
        ("recurrent_activation", layers.activations.relu),
        ("use_bias", False),
        ("dropout", 0.25),
        ("recurrent_dropout", 0.25),
        ("seed", 7),
        ("return_sequences", True),
        ("return_state", True),
        ("go_backwards", True),
        ("trainable", False),
        ("name", "mine"),
    ],
)
def test_one_setting_of_a_recurrent_layer_changes_no_other(kind: type, name: str, value: object) -> None:
    plain, changed = kind(3), kind(3, **{name: value})
    assert getattr(changed, name) == value
    others = set(inspect.signature(kind.__init__).parameters) - {"self", name, "dtype", "name"}
    for other in (one for one in others if not one.endswith(KINDS)):
        assert getattr(changed, other) == getattr(plain, other), other


@pytest.mark.broad
def test_no_constructor_hands_arguments_on_by_position_in_bundles() -> None:
    """``super().__init__(*settings)`` hides which value meets which parameter: a swap there is silent."""
    found = [
        f"{file.relative_to(PACKAGE)}:{call.lineno}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "__init__"
        and any(isinstance(one, ast.Starred) for one in call.args)
    ]
    assert found == []


def test_settings_stand_for_what_their_names_mean_and_go_by_keyword() -> None:
    settings = WeightSettings.of(initializer="ones", regularizer="l2", constraint="non_neg")
    assert isinstance(settings.initializer, initializers.Ones)
    assert isinstance(settings.regularizer, gx.regularizers.L2)
    assert isinstance(settings.constraint, gx.constraints.NonNeg)
    with pytest.raises(TypeError):
        WeightSettings.of("ones", "l2")  # type: ignore[misc]
    with pytest.raises(ArgumentError, match="onez"):
        WeightSettings.of(initializer="onez")
