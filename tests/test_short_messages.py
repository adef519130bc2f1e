"""Messages stay short, whatever the value is that they tell of, and have all their parts."""

import ast
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax.core import errors


def test_x7_no_message_grows_with_a_value():
    long = "x = " + ", ".join(map(str, range(10_000)))
    error = errors.ArgumentError(long, long, long)
    error.add_context(long)
    assert len(str(error)) < 3000
    assert error.received.startswith("x = 0, 1, 2")
    assert error.received.endswith("9999")
    assert len(error.received) <= 360
    assert len(error.args[0]) <= 360


KINDS = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.GraftaxError)]


@pytest.mark.parametrize("kind", KINDS)
def test_x7_each_error_is_short_but_those_that_are_reports(kind):
    short = len(kind("x" * 10_000).received) <= 360
    assert short != issubclass(kind, errors.CheckpointError)


HUGE = list(range(10_000))


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: gx.layers.Dense(HUGE),
        lambda: gx.layers.Dense(3, activation="x" * 10_000),
        lambda: gx.layers.Dropout(HUGE),
        lambda: gx.layers.Reshape("x" * 10_000),
        lambda: gx.Sequential(7),
        lambda: gx.Sequential([HUGE]),
        lambda: gx.Variable([[1.0], HUGE]),
        lambda: gx.Variable(1.0).assign(HUGE),
        lambda: gx.optimizers.SGD("x" * 10_000),
        lambda: gx.optimizers.SGD(0.1, zzz=HUGE),
        lambda: gx.ops.reshape(np.ones(3), HUGE),
        lambda: gx.ops.concatenate([np.ones((1, 1, i % 3 + 1)) for i in range(500)], axis=0),
        lambda: gx.jit(lambda: [*HUGE[:5], "x" * 10_000])(),
        lambda: gx.device("x" * 10_000).__enter__(),
        lambda: gx.set_random_seed("x" * 10_000),
        lambda: gx.losses.get("x" * 10_000),
        lambda: gx.layers.Dense(2)(HUGE),
        lambda: gx.losses.MeanSquaredError(reduction="x" * 10_000),
    ],
)
def test_x7_mistakes_with_huge_values_have_short_messages(mistake):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is, it is short
        mistake()
    assert len(str(caught.value)) < 2000
    assert max(map(len, str(caught.value).splitlines())) < 1450


# --- what each error of the package says ------------------------------------------------------------------------------

WORDS_OF_USERS = {"graftax/transforms/numerics.py": "the message that a user gives to check()"}


@pytest.mark.broad  # it reads all files
def test_each_error_says_what_came_why_and_what_to_write():
    named = [(name, kind) for name, kind in vars(errors).items() if not name.startswith("_")]
    kinds = {name for name, kind in named if isinstance(kind, type) and issubclass(kind, errors.GraftaxError)}
    root = Path(errors.__file__).parents[2]
    short = [
        f"{file}:{call.lineno}: {ast.unparse(call)[:80]}"
        for path in sorted((root / "graftax").rglob("*.py"))
        if (file := path.relative_to(root).as_posix()) not in WORDS_OF_USERS
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in kinds
        if call.args and len(call.args) + len(call.keywords) < 3
        if not any(isinstance(one, ast.Starred) for one in call.args)
    ]
    assert short == []
