"""How long the way of a value is: of a gradient to the buffer, of an input to `call`. The limits only become lower."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.typedefs import unwrap
from graftax.optimizers.engine.numbers import cast_to
from graftax.transforms.compile.layer_call import _Plan
from graftax.variables.state.storage import Storage
from tests.architecture.stops import way


def call_of(function):
    """Says of a frame whether it is a call of a function."""
    return lambda frame: frame.f_code is function.__code__


def write_of(variable):
    """Says of a frame whether it writes the buffer of a Variable."""
    return lambda frame: frame.f_code is Storage.write.__code__ and frame.f_locals["self"] is variable._storage


@pytest.fixture
def numpy_backend():
    with gx.backend.use("numpy"):
        yield


@pytest.mark.usefixtures("numpy_backend")
def test_a_gradient_passes_few_functions_to_the_buffer():
    variables = [gx.Variable(np.ones((3, 2), "float32")), gx.Variable(np.ones(2, "float32"))]
    gradients = [gx.ops.ones((3, 2)), gx.ops.ones(2)]
    adam = gx.optimizers.Adam()
    adam.apply(gradients, variables)  # makes the slots
    found = way(lambda: adam.apply(gradients, variables), gradients[0], write_of(variables[0]))
    assert len(found.stops) <= 8, found.stops
    assert found.returns <= 2, found.files


@pytest.mark.usefixtures("numpy_backend")
def test_an_input_passes_few_functions_to_call():
    dense, x = gx.layers.Dense(2), np.ones((4, 3), "float32")
    dense(x)
    found = way(lambda: dense(x), x, call_of(type(dense).call))
    assert len(found.stops) <= 6, found.stops
    assert found.returns <= 2, found.files


def test_an_input_passes_few_functions_to_the_program_of_a_layer():
    dense, x = gx.layers.Dense(2), gx.ops.ones((4, 3))
    dense(x)
    found = way(lambda: dense(x), x, call_of(_Plan.run_and_assign))
    assert len(found.stops) <= 4, found.stops
    assert found.returns == 0, found.files


def test_what_only_looks_is_no_stop_and_what_hands_on_is_one():
    variable = gx.Variable(np.ones(2, "float32"))

    def run():
        value = cast_to(unwrap(x), "float32")
        variable.assign(value)

    x = gx.ops.ones(2)
    found = way(run, x, write_of(variable))
    names = [stop.rpartition(":")[2] for stop in found.stops]
    guarded = "checked_call.<locals>.run"
    assert names == ["unwrap", "cast_to", guarded, "Variable.assign", "Storage.write"]  # and not Variable._fits


def test_coming_back_into_a_file_is_a_return():
    variable = gx.Variable(np.ones(2, "float32"))
    x = gx.ops.ones(2)
    found = way(lambda: variable.assign(unwrap(cast_to(unwrap(x), "float32"))), x, write_of(variable))
    assert found.files == [
        "core/typedefs.py",
        "optimizers/engine/numbers.py",
        "core/typedefs.py",
        "core/checked_calls.py",
        "variables/variable.py",
        "variables/state/storage.py",
    ]
    assert found.returns == 1


def test_a_value_that_never_arrives_is_told():
    with pytest.raises(AssertionError, match="never arrived"):
        way(lambda: None, np.ones(2), lambda frame: False)
