"""Programs of several layers with masks: each row gives what its visible steps alone give, whatever is hidden."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.variables import masks
from tests.conformance.lanes import in_lanes
from tests.conformance.mask_compositions import FEATURES, PROGRAMS, SIBLINGS, Gaps, Program

LENGTHS = (3, 5, 1)
MASK = np.arange(5) < np.array(LENGTHS)[:, None]
X = np.random.default_rng(3).uniform(-1, 1, (3, 5, FEATURES)).astype("float32")


def built(program: Program) -> Any:
    gx.set_random_seed(0)
    model = program.make()
    model(X)
    return model


def hidden(number: float) -> Any:
    return np.where(MASK[..., None], X, np.float32(number))


def carried(x: Any) -> Any:
    """An array of its own that has the mask."""
    x = ops.array(x)
    masks.set_mask(x, MASK)
    return x


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=2e-5, atol=2e-5)


def check_rows(program: Program, model: Any, out: Any) -> None:
    for row, length in enumerate(LENGTHS):
        alone = np.asarray(model(X[row : row + 1, :length]))[0]
        mine = np.asarray(out)[row]
        if not program.whole:
            mine = mine[5 - length :] if program.backwards else mine[:length]
        close(mine, alone)


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", in_lanes(PROGRAMS, SIBLINGS))
def test_each_row_is_computed_from_its_visible_steps(name):
    program = PROGRAMS[name]
    model = built(program)
    for number in (7.0, np.nan, np.inf):
        check_rows(program, model, model(carried(hidden(number))))
    check_rows(program, model, gx.jit(lambda x: model(x))(carried(hidden(np.nan))))
    check_rows(program, model, gx.Sequential([Gaps(), model])(hidden(np.inf)))


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", in_lanes(PROGRAMS, SIBLINGS))
def test_gradients_come_from_visible_steps_alone(name):
    """Those of the sum over rows, each of them cut to its length: a program for each length, and one for the mask."""
    program = PROGRAMS[name]
    model = built(program)
    paths = [v.path for v in model.trainable_variables]

    def value(at: Any, shown: Any = None) -> Any:
        x, weights = at
        out, _ = gx.functional_call(model, {**gx.state(model), **dict(zip(paths, weights, strict=True))}, x)
        if not program.whole and shown is not None:
            out = ops.where(shown[..., None], out, 0.0)
        return ops.sum(ops.sin(out))

    weights = [ops.asarray(v) for v in model.trainable_variables]
    expected = [np.zeros(weight.shape, "float32") for weight in weights]
    by_input = np.zeros_like(X)
    for row, length in enumerate(LENGTHS):
        one, parts = gx.grad(value)((ops.asarray(X[row : row + 1, :length]), weights))
        by_input[row, :length] = one[0]
        for total, part in zip(expected, parts, strict=True):
            total += np.asarray(part)
    shown = MASK[:, ::-1] if program.backwards else MASK
    found = gx.jit(lambda x: gx.grad(lambda at: value(at, shown))((x, weights)))
    for number in (7.0, np.nan):
        one, parts = found(carried(hidden(number)))
        np.testing.assert_allclose(np.asarray(one), by_input, rtol=2e-4, atol=2e-5)
        for part, total in zip(parts, expected, strict=True):
            np.testing.assert_allclose(np.asarray(part), total, rtol=2e-4, atol=2e-5)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", in_lanes(PROGRAMS, SIBLINGS))
def test_a_row_without_visible_steps_is_finite_and_disturbs_no_other(name):
    program = PROGRAMS[name]
    model = built(program)
    none = MASK & np.array([True, False, True])[:, None]
    x = ops.array(np.where(none[..., None], X, np.float32(np.nan)))
    masks.set_mask(x, none)
    out = np.asarray(model(x))
    shown = (none[:, ::-1] if program.backwards else none) if not program.whole else np.ones(3, bool)
    assert np.isfinite(out[shown]).all()
    for row in (0, 2):
        alone = np.asarray(model(X[row : row + 1, : LENGTHS[row]]))[0]
        mine = out[row] if program.whole else out[row][shown[row]]
        close(mine, alone)
    counted = shown.reshape(*shown.shape, *[1] * (out.ndim - shown.ndim))
    gradient = np.asarray(gx.grad(lambda x: ops.sum(ops.where(counted, model(x), 0.0)))(x))
    assert np.isfinite(gradient).all()
    assert not gradient[1].any()
