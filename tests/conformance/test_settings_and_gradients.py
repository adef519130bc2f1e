"""Numbers that are settings of ops: where a gradient of one may be asked for, it is there, or the call raises."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend.testing.op_cases import INPUTS
from graftax.core.errors import GraftaxError
from graftax.ops.signatures import parameters, settings
from graftax.ops.table import OPS

SETTINGS = [
    (name, one.name) for name, op in OPS.items() for one in settings(op) if one.kind.takes in ("real", "number")
]
DIFFERENTIATED = {("linspace", "start"), ("linspace", "stop")}
X = np.asarray([-1.0, 2.0, 0.5], np.float32)


def call_with(name, setting, number):
    function = ops
    for part in name.split("."):
        function = getattr(function, part)
    args, options = INPUTS[name][0]
    place = [one.name for one in parameters(OPS[name])].index(setting)
    if place < len(args):
        found = function(*args[:place], number, *args[place + 1 :], **options)
    else:
        found = function(*args, **{**options, setting: number})
    parts = found if isinstance(found, list | tuple) else [found]
    return sum(ops.sum(ops.cast(one, "float32")) for one in parts)


def of_tape(start, call):
    with gx.GradientTape() as tape:
        if not isinstance(start, gx.Variable):
            tape.watch(start)
        result = call(start)
    return tape.gradient(result, start)


def of_function(start, call, wrap=lambda function: function):
    if isinstance(start, gx.Variable):
        return wrap(gx.grad(lambda: call(start), wrt=start))()
    return wrap(gx.grad(call))(start)


WAYS = {"tape": of_tape, "grad": of_function, "compiled": lambda start, call: of_function(start, call, gx.jit)}


def answers(call, ways=WAYS):
    """Return what each way gives: a number, None, or the word for an error that says all that it should."""
    for way in ways.values():
        for start in (gx.Variable(0.7), ops.asarray(0.7)):
            try:
                found = way(start, call)
            except GraftaxError as error:
                yield "raises" if error.reason and error.instead else "without three beats"
            else:
                yield found if found is None else round(float(found), 3)


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("name", "setting"), SETTINGS, ids=lambda one: one)
def test_a_gradient_with_respect_to_a_setting_is_there_or_raises(name, setting):
    found = set(answers(lambda number: call_with(name, setting, number)))
    assert len(found) == 1
    assert (found == {"raises"}) == ((name, setting) not in DIFFERENTIATED)


def test_a_setting_under_a_tape():
    assert set(answers(lambda slope: ops.sum(ops.leaky_relu(X, slope)), {"tape": of_tape})) == {"raises"}
    assert set(answers(lambda step: ops.sum(ops.arange(0.0, 2.0, step)), {"tape": of_tape})) == {"raises"}


@pytest.mark.broad
@pytest.mark.parametrize(
    "layer", ["Rescaling(scale=", "Rescaling(1.0, offset=", "LeakyReLU(negative_slope=", "ELU(alpha="]
)
def test_a_gradient_with_respect_to_a_setting_of_a_layer_raises(layer):
    kind, names = layer.split("(")

    def call(number):
        first, _, name = names.rstrip("=").rpartition(", ")
        made = getattr(layers, kind)(*([float(first)] if first else []), **{name: number})
        return ops.sum(made(X))

    assert set(answers(call)) == {"raises"}


@pytest.mark.broad
def test_what_a_tape_does_not_follow_may_be_a_setting():
    slope = gx.Variable(0.7)
    fixed = gx.Variable(0.5, trainable=False)
    with gx.GradientTape() as tape:
        with tape.stop_recording():
            number = float(slope)
        y = ops.sum(ops.leaky_relu(slope * X, number)) + ops.sum(ops.elu(X, fixed))
    assert float(tape.gradient(y, slope)) == pytest.approx(2.5 - 0.7)


def test_a_variable_that_becomes_a_number_of_python_is_told():
    alpha = gx.Variable(0.5)
    with gx.GradientTape() as tape, pytest.warns(UserWarning, match="records it"):
        y = ops.sum(X * float(alpha))
    assert tape.gradient(y, alpha) is None
    with gx.GradientTape() as tape, tape.stop_recording(), warnings.catch_warnings(action="error"):
        float(alpha)
