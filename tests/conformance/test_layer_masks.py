"""What every layer does with masks: one row per layer, and what is hidden changes nothing that is seen."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.layers.call_context import call_context
from graftax.layers.layer import Layer
from tests.conformance.lanes import crossed, in_lanes
from tests.conformance.layer_mask_rows import DROP_SIBLINGS, DROPS, MAKES, OWN, SIBLINGS, USES, Row

L = layers
MASK = np.array([[True, False, True, True, False]] * 2)
SEEN = [0, 2, 3]
RNG = np.random.default_rng(0)
X, Y = (RNG.uniform(-1, 1, (2, 5, 4)).astype("float32") for _ in range(2))


def public_layers() -> set[type[Layer]]:
    found = [getattr(layers, name) for name in dir(layers)]
    return {one for one in found if isinstance(one, type) and issubclass(one, Layer)} - {Layer}


def test_every_layer_has_a_row():
    makers = (
        [row.make for row in USES.values()] + [make for make, _ in DROPS.values()] + [*MAKES.values(), *OWN.values()]
    )
    rows = [make() for make in makers]
    assert {type(layer) for layer in rows} == public_layers() - {L.InputLayer}  # gives back what it is called on


@pytest.fixture(params=in_lanes(USES, SIBLINGS))
def row(request: pytest.FixtureRequest) -> Row:
    return USES[request.param]


def inputs_of(row: Row, hidden: Any = None, positions: Any = None) -> Any:
    """The arrays, what is hidden replaced, or only some positions."""
    arrays = []
    for x in (X, Y)[: row.inputs]:
        shown = x if row.axes == 3 else x[:, :, None, :]
        if hidden is not None:
            shown = np.where(MASK.reshape(2, 5, *[1] * (row.axes - 2)), shown, np.float32(hidden))
        arrays.append(shown if positions is None else shown[:, positions])
    return arrays if row.inputs > 1 else arrays[0]


def masks_of(row: Row) -> Any:
    return [MASK, MASK] if row.inputs > 1 else MASK


def seen_of(row: Row, out: Any) -> Any:
    return out if row.whole else out[:, np.array(SEEN)]


def expected_of(row: Row, layer: Layer) -> Any:
    """What the layer gives for what is seen, alone."""
    if row.by_place:
        return seen_of(row, layer(inputs_of(row), training=False))
    return layer(inputs_of(row, None, SEEN), training=False)


def built(row: Row, **options: Any) -> Layer:
    gx.set_random_seed(1)
    layer = row.make(**options)
    layer.build_for(inputs_of(row))
    for i, v in enumerate(layer.variables):
        if v.role == "weight":
            moved = np.linspace(-0.3, 0.3, v.size).reshape(v.shape) + 0.1 * i
            v.assign((v.numpy().astype("float32") + moved).astype(v.numpy().dtype))
    return layer


def loss_and_gradients(row: Row, layer: Layer, way: str) -> Callable[..., Any]:
    """Compiled once: the loss of what is seen, new state, and the gradients of inputs and weights."""
    state, weights = gx.state(layer), [v.path for v in layer.trainable_variables]

    def loss(at: tuple[list[Any], list[Any]]) -> Any:
        arrays, values = at
        x = arrays if row.inputs > 1 else arrays[0]
        changed = {**state, **dict(zip(weights, values, strict=True))}
        options = {"mask": masks_of(row)} if way == "given" else {}
        with call_context() as context:
            if way == "carried":
                context.set_mask(x, masks_of(row))
            out, after = gx.functional_call(layer, changed, x, training=row.training, **options)
        out = out if way == "none" and not row.by_place else seen_of(row, out)
        mix = np.cos(np.arange(np.prod(out.shape))).reshape(out.shape).astype("float32")
        return ops.sum(ops.cast(out, "float32") * mix), after

    def both(arrays: list[Any]) -> Any:
        values = [ops.asarray(state[path]) for path in weights]
        (value, after), gradients = gx.value_and_grad(loss, has_aux=True)((arrays, values))
        return value, after, gradients

    return gx.jit(both)


def close(a: Any, b: Any, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(np.asarray(a, "float32"), np.asarray(b, "float32"), rtol=tolerance, atol=tolerance)


def check(row: Row, tolerance: float, ways: tuple[str, ...], **options: Any) -> None:
    layer = built(row, **options)
    value, after, (inner, weights) = loss_and_gradients(row, layer, "none")(
        tree.flatten(inputs_of(row, None, None if row.by_place else SEEN))
    )
    for way in ways:
        run = loss_and_gradients(row, layer, way)
        for hidden in (7.0, np.nan, np.inf):
            got, state, (by_input, by_weight) = run(tree.flatten(inputs_of(row, hidden)))
            close(got, value, tolerance)
            for path in after:
                close(state[path], after[path], tolerance)
            for mine, expected in zip(by_weight, weights, strict=True):
                close(mine, expected, tolerance * 5)
            for mine, expected in zip(by_input, inner, strict=True):
                close(mine[:, np.array(SEEN)], seen_of(row, expected) if row.by_place else expected, tolerance * 5)
                assert not np.asarray(mine, "float32")[:, [1, 4]].any()


@pytest.mark.in_turn(6, broad=2)
@pytest.mark.parametrize(("name", "way"), crossed([*USES], ["given", "carried"], SIBLINGS))
def test_l4_what_a_mask_hides_changes_no_value_and_no_gradient(name, way):
    check(USES[name], 2e-5, (way,))


@pytest.mark.slow
def test_l1_masks_in_mixed_precision(row):
    check(row, 3e-2, ("given", "carried"), dtype="mixed_bfloat16")


class Gaps(gx.Layer):
    """Marks where there is no number, as a layer of one's own may."""

    def compute_mask(self, inputs, mask):
        return ops.logical_not(ops.any(ops.isnan(inputs), axis=-1))

    def call(self, x):
        return x


@pytest.mark.in_turn(12, 1, broad=4)
@pytest.mark.parametrize(("name", "mode"), crossed([*USES], ["eager", "run_eagerly", "compiled"], SIBLINGS))
def test_l1_all_ways_to_give_a_mask_agree(name, mode):
    row = USES[name]
    layer = built(row)
    plain = expected_of(row, layer)
    hidden, masks = inputs_of(row, np.nan), masks_of(row)

    def ways(x: Any) -> list[Any]:
        found = [layer(x, mask=masks), layer(x, mask=tree.map_structure(lambda m: m.astype("int32"), masks))]
        if row.inputs == 1 and row.axes == 3:
            found.append(gx.Sequential([Gaps(), layer])(x))
            found.append(gx.Sequential([layer])(x, mask=masks))
        with call_context() as context:
            context.set_mask(x, masks)
            found.append(layer(x))
            handed_on = context.mask_of(found[-1])
        return [seen_of(row, out) for out in found] + [handed_on]

    if mode == "run_eagerly":
        with gx.run_eagerly():
            *outs, handed_on = ways(tree.map_structure(ops.asarray, hidden))
    elif mode == "compiled":
        *outs, handed_on = gx.jit(ways)(hidden)
    else:
        *outs, handed_on = ways(hidden)
        fresh = inputs_of(row, np.nan)  # `hidden` has a mask by now, which `ops.asarray` keeps
        outs += ways(tree.map_structure(ops.asarray, fresh))[:-1]
    for out in outs:
        close(out, plain)
    assert (handed_on is not None) == row.passes
    if row.passes:
        np.testing.assert_array_equal(handed_on, MASK)


@pytest.mark.in_turn(4, 2)
def test_backends_agree_on_masks(row):
    outs = []
    for name in ("jax", "numpy"):
        with gx.backend.use(name):
            layer = built(row)
            outs.append(
                np.asarray(seen_of(row, layer(inputs_of(row, np.nan), mask=masks_of(row), training=row.training)))
            )
    close(*outs)


@pytest.mark.broad
@pytest.mark.in_turn(3)
def test_l1_a_mask_of_an_embedding_arrives(row):
    if row.inputs > 1 or row.axes != 3 or row.by_place:
        return
    tokens = np.array([[3, 0, 1, 5, 0]] * 2)
    embedding, layer = L.Embedding(9, 4, mask_zero=True), built(row)
    expected = layer(embedding(tokens[:, SEEN]))
    close(seen_of(row, layer(embedding(tokens))), expected)
    close(seen_of(row, gx.Sequential([embedding, layer])(tokens)), expected)
    close(seen_of(row, gx.jit(lambda t: layer(embedding(t)))(tokens)), expected)
    mixed = row.make(dtype="mixed_bfloat16")
    mixed.build_for(inputs_of(row))
    for mine, other in zip(mixed.variables, layer.variables, strict=True):
        mine.assign(other)
    close(seen_of(row, mixed(embedding(tokens))), expected, 5e-2)


@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("name", in_lanes(DROPS, DROP_SIBLINGS))
def test_l1_a_mask_is_refused_where_it_is_of_no_use(name):
    make, shape = DROPS[name]
    layer, x = make(), np.ones(shape, "float32")
    layer(x)
    for call in (layer, gx.jit(lambda x, mask: layer(x, mask=mask))):
        with pytest.raises(ArgumentTypeError, match=r"got mask=(.|\n)*takes no mask(.|\n)*supports_masking"):
            call(x, mask=MASK)
    with call_context() as context:
        context.set_mask(x, MASK)
        with pytest.warns(UserWarning, match="is dropped"):
            out = layer(x)
        assert context.mask_of(out) is None
    with call_context() as context, warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        context.set_mask(x, MASK)
        layer(x)
