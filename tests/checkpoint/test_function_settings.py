"""Settings that are functions or arrays are compared by what a file can say of them."""

import copy
import enum
import functools
import math
import types

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import SettingsMismatch
from graftax.reparam import function_settings
from graftax.reparam.settings import is_same, settings_of

X = np.ones((1, 2), "float32")


class Own(gx.Reparam):
    """A weight with any settings."""

    def __init__(self, next_creator, spec, **settings):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))
        for name, value in settings.items():
            setattr(self, name, value)

    def forward(self):
        return gx.ops.asarray(self.base)


def program(value):
    layer = gx.layers.Dense(2, use_bias=False)
    layer(X)
    gx.graft(layer, lambda next_creator, spec: Own(next_creator, spec, given=value), where="kernel")
    return layer


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, value):
        return value * self.factor

    def times(self, value):
        return value * self.factor


def times(factor):
    def multiply(value):
        return value * factor

    return multiply


def times_default(factor):
    def multiply(value, factor=factor):
        return value * factor

    return multiply


def same_module_name(function, module):
    """Return the function as a script has it that is run, rather than imported."""
    made = types.FunctionType(function.__code__, {"__name__": module}, function.__name__)
    made.__module__, made.__qualname__ = module, function.__qualname__
    return made


def lambdas(factor):
    return lambda value: value * factor


LONG = np.arange(1000.0)
DIFFERENT = {
    "numpy": (np.tanh, np.sin),
    "python": (math.tanh, math.sin),
    "graftax": (gx.ops.tanh, gx.ops.sin),
    "class": (Scaled, Own),
    "object": (Scaled(2.0), Scaled(3.0)),
    "method": (Scaled(2.0).times, Scaled(3.0).times),
    "closure": (times(2.0), times(3.0)),
    "default": (times_default(2.0), times_default(3.0)),
    "partial": (functools.partial(np.clip, a_min=0), functools.partial(np.clip, a_min=1)),
    "partial by position": (functools.partial(pow, 2), functools.partial(pow, 3)),
    "partial of": (functools.partial(np.sin), functools.partial(np.cos)),
    "lambda": (lambda w: w * 2, lambda w: w * 3),
    "lambda of names": (lambda w: np.sin(w), lambda w: np.cos(w)),
    "lambda closure": (lambdas(2), lambdas(3)),
    "list": ([np.tanh, 1], [np.sin, 1]),
    "none": (np.tanh, None),
    "text": (np.tanh, "tanh"),
    "array": (np.array([0.5, 1.0]), np.array([0.5, 2.0])),
    "shape": (np.zeros((2, 1)), np.zeros((1, 2))),
    "long array": (LONG, LONG + 1),
    "long shape": (LONG, LONG.reshape(10, 100)),
    "array of the backend": (gx.ops.ones((3,)), gx.ops.zeros((3,))),
    "bfloat16": (gx.ops.ones((3,), "bfloat16"), gx.ops.zeros((3,), "bfloat16")),
}
SAME = {
    "of a script": (times, same_module_name(times, "__main__")),
    "lambda": (lambdas(2), lambdas(2)),
    "object": (Scaled(2.0), Scaled(2.0)),
    "array and list": (np.array([0.5, 1.0]), [0.5, 1.0]),
    "data": (np.zeros(100_000), np.ones(100_000)),
    "a layer": ({"layer": 1}, {"layer": 1}),
}


@pytest.mark.in_turn(10)
@pytest.mark.parametrize("case", DIFFERENT)
def test_another_one_is_refused(saved, case):
    one, other = DIFFERENT[case]
    path = saved(m=program(one))
    assert not Checkpoint(m=program(copy.copy(one))).restore(path).other_settings
    with pytest.raises(SettingsMismatch, match=r"kernel: was saved with given="):
        Checkpoint(m=program(other)).restore(path)
    with pytest.raises(SettingsMismatch):
        Checkpoint(m=program(one)).restore(saved(m=program(other)))


@pytest.mark.parametrize("case", SAME)
def test_the_same_one_is_restored(saved, case):
    one, other = SAME[case]
    assert not Checkpoint(m=program(other)).restore(saved(m=program(one))).other_settings


def test_the_message_has_names(saved):
    with pytest.raises(
        SettingsMismatch, match=r"saved with given=times.<locals>.multiply\(factor=2.0\), and has given=sin"
    ):
        Checkpoint(m=program(np.sin)).restore(saved(m=program(times(2.0))))


def test_code_is_compared_within_a_version_of_python_only(monkeypatch):
    one, other = (settings_of(program(value).kernel) for value in DIFFERENT["lambda"])
    assert not is_same(one, other)
    monkeypatch.setattr(function_settings, "_CODE", "code of another")
    assert is_same(one, settings_of(program(DIFFERENT["lambda"][1]).kernel))


class Way(enum.Enum):
    UP = 1
    DOWN = 2


SET = {
    "number": (2.0, 1),
    "text": ("a", "b"),
    "tuple": ((1, (2.0,)), (3, (4.0,))),
    "list": ([1, 2], [3]),
    "dict": ({"a": [1], 2: (3,)}, {"a": [], 2: ()}),
    "enum": (Way.UP, Way.DOWN),
    "scalar": (np.float32(0.5), np.float32(0.25)),
    "array": (np.array([1.0, 2.0], "float32"), np.array([3.0], "float32")),
    "none": (None, 3),
    "nan": (float("nan"), 1.0),
}


@pytest.mark.parametrize("case", SET)
def test_saved_settings_are_assigned(saved, case):
    given, here = SET[case]
    layer = program(here)
    report = Checkpoint(m=layer).restore(saved(m=program(given)), settings="saved")
    now = layer.kernel.given
    assert type(now) is type(given)
    np.testing.assert_equal(now, given)
    (line,) = report.other_settings
    assert line.path == "m/kernel"
    assert is_same(line.saved, line.now)
    if case in ("scalar", "array"):
        assert now.dtype == given.dtype


@pytest.mark.parametrize(
    ("given", "here"),
    [(np.tanh, np.sin), (LONG, LONG + 1), ([1], None), ((1,), 1), ({"a": 1}, 3), ([np.tanh], [1]), ("a", Way.UP)],
)
def test_what_a_file_does_not_have_is_not_assigned(saved, given, here):
    layer = program(here)
    kernel = layer.kernel.numpy()
    with pytest.raises(SettingsMismatch, match="given=") as error:
        Checkpoint(m=layer).restore(saved(m=program(given)), settings="saved")
    assert 'settings="program"' in error.value.instead
    assert "saved" not in error.value.instead
    np.testing.assert_array_equal(layer.kernel.numpy(), kernel)
    assert layer.kernel.given is here
