"""The result of an op has no mask, eagerly and while tracing, even if the backend returns the array that came in."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, ops
from graftax.backend.registry import use
from graftax.backend.testing.op_cases import INPUTS
from graftax.core import tree
from graftax.ops.masked_results import KEEPING
from graftax.ops.table import OPS
from graftax.variables import masks

X = np.arange(24, dtype="float32").reshape(2, 4, 3)
MASK = np.array([[True, True, False, False], [True, True, True, False]])
Op = Callable[[Any], Any]

NOTHING: dict[str, Op] = {
    "array": ops.array,
    "broadcast_to": lambda x: ops.broadcast_to(x, (2, 4, 3)),
    "clip": lambda x: ops.clip(x, None, None),
    "concatenate": lambda x: ops.concatenate([x], axis=1),
    "conj": ops.conj,
    "einsum": lambda x: ops.einsum("abc->abc", x),
    "expand_dims": lambda x: ops.expand_dims(x, ()),
    "flip": lambda x: ops.flip(x, ()),
    "image.resize": lambda x: ops.image.resize(x, (2, 4)),
    "mean": lambda x: ops.mean(x, axis=()),
    "moveaxis": lambda x: ops.moveaxis(x, 1, 1),
    "pad": lambda x: ops.pad(x, ((0, 0), (0, 0), (0, 0))),
    "positive": ops.positive,
    "real": ops.real,
    "rearrange": lambda x: ops.rearrange(x, "a b c -> a b c"),
    "repeat": lambda x: ops.repeat(x, 1, axis=1),
    "reshape": lambda x: ops.reshape(x, (2, -1, 3)),
    "roll": lambda x: ops.roll(x, 0, axis=1),
    "slice": lambda x: ops.slice(x, (0, 0, 0), (2, 4, 3)),
    "split": lambda x: ops.split(x, 1, axis=1),
    "squeeze": lambda x: ops.squeeze(x, ()),
    "stop_gradient": ops.stop_gradient,
    "sum": lambda x: ops.sum(x, axis=()),
    "swapaxes": lambda x: ops.swapaxes(x, 1, 1),
    "tile": lambda x: ops.tile(x, (1, 1, 1)),
    "transpose": lambda x: ops.transpose(x, (0, 1, 2)),
    "where": lambda x: ops.where(True, x, x),
}
"""Calls that change nothing."""
SAME: dict[str, Op] = {
    "asarray": ops.asarray,
    "asarray to half": lambda x: ops.asarray(x, "float16"),
    "cast": lambda x: ops.cast(x, "float32"),
    "cast to half": lambda x: ops.cast(x, "float16"),
    "both": lambda x: ops.asarray(ops.cast(x, "float16")),
}
"""Calls whose result stands for the same values."""
OF_VALUES = {"bincount", "nonzero", "unique"}
"""Ops whose result has a shape that follows from values."""


@pytest.fixture(scope="module", autouse=True)
def gone_in_the_end() -> Iterator[None]:
    before = set(masks.entries)  # what tests of other files keep
    yield
    gc.collect()  # arrays with masks, of which other tests count what is done where there are none
    assert masks.entries.keys() <= before


def masked(x: Any, mask: Any = MASK) -> Any:
    given = ops.asarray(x)
    masks.set_mask(given, mask)
    return given


def has_mask(result: Any) -> bool:
    return any(masks.mask_of(leaf) is not None for leaf in tree.flatten(result))


def found_everywhere(op: Op) -> dict[str, bool]:
    """Whether the result has a mask: eagerly, compiled, under a gradient and a tape, and in a remat of these."""
    x, found = masked(X), {}

    def noted(way: str, given: Any) -> Any:
        result = op(given)
        found[way] = has_mask(result)
        assert has_mask(given), f"{way}: what came in keeps its mask"
        return ops.sum(ops.cast(tree.flatten(result)[0], "float32"))

    noted("eager", x)
    gx.jit(lambda given: noted("argument", given))(x)
    gx.jit(lambda: noted("inside", masked(X)))()
    found["result"] = has_mask(gx.jit(op)(x))
    gx.grad(lambda given: noted("gradient", given))(x)
    gx.jit(gx.grad(lambda given: noted("compiled gradient", given)))(x)
    gx.remat(lambda given: noted("remat", given))(x)
    with gx.GradientTape() as tape:
        tape.watch(x)
        noted("tape", x)
    return found


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", NOTHING)
def test_an_op_that_changes_nothing_keeps_no_mask(name: str) -> None:
    assert not any(found_everywhere(NOTHING[name]).values())


@pytest.mark.broad
@pytest.mark.parametrize("name", SAME)
def test_casts_keep_masks(name: str) -> None:
    assert all(found_everywhere(SAME[name]).values())


@pytest.mark.parametrize("name", [*NOTHING, *SAME])
def test_the_numpy_backend_keeps_the_same_masks(name: str) -> None:
    with use("numpy"):
        given = masked(X.copy())
        assert has_mask({**NOTHING, **SAME}[name](given)) == (name in SAME)
        assert has_mask(given)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", OPS)
def test_every_op_keeps_masks_or_not_eagerly_as_compiled(name: str) -> None:
    def call(args: Any, options: Any) -> bool:
        def given(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return type(value)(map(given, value))
            return held[-1] if isinstance(value, np.ndarray) and held.append(masked(value, True)) is None else value

        held: list[Any] = []
        result = getattr(ops, name)(*given(tuple(args)), **options)
        return has_mask(result) if isinstance(result, list | tuple) else masks.mask_of(result) is not None

    def traced(args: Any, options: Any) -> bool:
        found: list[bool] = []
        jax.eval_shape(lambda: found.append(call(args, options)))
        return found[0]

    for args, options in INPUTS[name]:
        wanted = name in KEEPING and isinstance(args[0], np.ndarray) and args[0].ndim > 0
        assert call(args, options) == wanted
        assert name in OF_VALUES or traced(args, options) == wanted


@pytest.mark.broad
def test_gradients_pass_through_an_op_that_changes_nothing() -> None:
    gradient = gx.jit(gx.grad(lambda x: ops.sum(ops.square(ops.reshape(x, (2, 4, 3))))))(masked(X))
    np.testing.assert_allclose(gradient, 2 * X)
    x = masked(X)
    with gx.GradientTape() as tape:
        tape.watch(x)
        total = ops.sum(ops.square(ops.stop_gradient(x) + ops.positive(ops.reshape(x, (2, 4, 3)))))
    np.testing.assert_allclose(tape.gradient(total, x), 4 * X)


@pytest.mark.broad
def test_a_loss_after_a_reshape_to_the_same_shape_is_the_same_compiled() -> None:
    gx.set_random_seed(0)
    embedding = layers.Embedding(3, 2, mask_zero=True)
    loss, tokens = losses.MeanSquaredError(), np.array([[1, 2, 0, 0]])

    def of_all() -> Any:
        return loss(np.zeros((1, 4, 2), "float32"), ops.reshape(embedding(tokens), (1, 4, 2)))

    expected = np.square(np.asarray(embedding(tokens))).mean()
    np.testing.assert_allclose(of_all(), expected, rtol=1e-6)
    np.testing.assert_allclose(gx.jit(of_all)(), expected, rtol=1e-6)


def test_an_op_adds_nothing_to_a_program_without_masks() -> None:
    assert "copy" not in str(jax.make_jaxpr(lambda x: ops.reshape(x, (2, 4, 3)))(X))
