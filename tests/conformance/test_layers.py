"""One row per layer buys every property that all layers share."""

import copy
import math
import pickle
from functools import reduce
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend import registry
from graftax.core import tree
from graftax.layers.layer import Layer, signature_of
from tests.conformance.lanes import crossed, in_lanes
from tests.conformance.layer_rows import ROWS, SIBLINGS, TRAINED, WITHOUT_DROPOUT, WITHOUT_ROW, Row

MODES = [(name, False) for name in ROWS] + [(name, True) for name in TRAINED]


def test_every_layer_has_a_row():
    found = {getattr(layers, name) for name in dir(layers)}
    public = {one for one in found if isinstance(one, type) and issubclass(one, Layer)} - {Layer}
    rows = {type(row.make()) for row in ROWS.values()}
    assert {one.__name__ for one in public - rows} == set(WITHOUT_ROW)


@pytest.fixture(params=in_lanes(ROWS, SIBLINGS))
def row(request: pytest.FixtureRequest) -> Row:
    return ROWS[request.param]


@pytest.fixture(
    params=in_lanes(MODES, SIBLINGS), ids=[f"{name}-training" if training else name for name, training in MODES]
)
def mode(request: pytest.FixtureRequest) -> tuple[Row, bool]:
    """A row in inference, and in training too where that is another thing."""
    name, training = request.param
    return ROWS[name], training


def test_rows_in_training_are_those_that_take_it():
    takes = [name for name, row in ROWS.items() if signature_of(type(row.make()).call).takes_training]
    assert sorted(takes) == sorted([*TRAINED, *WITHOUT_DROPOUT])


def example(row: Row, seed: int = 0) -> Any:
    """Values that are all different and apart, so that no maximum is near a tie."""
    rng = np.random.default_rng(seed)

    def array(shape: tuple[int, ...]) -> np.ndarray:
        if row.below is not None:
            return rng.integers(0, row.below, shape, dtype="int32")
        n = math.prod(shape)
        return rng.permutation(np.linspace(-2, 2, n) + rng.uniform(0, 0.1 / n)).reshape(shape).astype("float32")

    return [array(shape) for shape in row.inputs] if isinstance(row.inputs, list) else array(row.inputs)


def built(row: Row, **options: Any) -> tuple[Layer, Any]:
    """A layer with an example; its weights moved from zeros and ones, where mistakes hide."""
    layer, x = row.make(**options), example(row)
    layer.build_for(x)
    rng = np.random.default_rng(1)
    for v in layer.variables:
        if v.role == "weight":
            v.assign(v.numpy() + rng.uniform(0.05, 0.3, v.shape).astype("float32").astype(v.numpy().dtype))
    return layer, x


def close(a: Any, b: Any, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(np.asarray(a, "float32"), np.asarray(b, "float32"), rtol=tolerance, atol=tolerance)


def values(layer: Layer) -> dict[str, np.ndarray]:
    return {path: np.array(v) for path, v in gx.state(layer).items()}


# --- shapes ---------------------------------------------------------------------------------------------------------


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize("name", ROWS)
def test_kl21_output_shape(name):
    row = ROWS[name]
    layer, x = row.make(), example(row)
    assert layer(x).shape == row.output
    assert row.make().compute_output_shape(row.inputs) == row.output


@pytest.mark.in_turn(3, 1)
def test_kl21_unknown_batch(row):
    if not isinstance(row.inputs, list) and len(row.inputs) > 1:
        shape = row.make().compute_output_shape((None, *row.inputs[1:]))
        assert shape == (None, *row.output[1:])


@pytest.mark.in_turn(3, 2)
def test_computing_the_shape_builds_and_draws_nothing(row):
    layer = row.make(name="one")
    layer.compute_output_shape(row.inputs)
    other = row.make(name="one")
    gx.set_random_seed(0)
    other(example(row))
    for path, value in values(other).items():
        np.testing.assert_array_equal(values(layer)[path], value)


# --- two backends, eager and compiled -------------------------------------------------------------------------------


@pytest.mark.in_turn(6, broad=3)
def test_backends_agree(mode):
    row, training = mode
    results = []
    for name in ("jax", "numpy"):
        with registry.use(name):
            gx.set_random_seed(5)
            layer, x = built(row)
            out = layer(x, training=training)
            results.append((np.asarray(out), values(layer)))
    (out, state), (expected, expected_state) = results
    close(out, expected)
    assert out.dtype == expected.dtype
    assert state.keys() == expected_state.keys()
    for path in state:
        close(state[path], expected_state[path])


@pytest.mark.in_turn(6, 1, broad=3)
def test_compiled_equals_eager(mode):
    row, training = mode
    layer, x = built(row)
    twin = copy.deepcopy(layer)
    compiled = gx.jit(lambda x: twin(x, training=training))
    for _ in range(3):
        close(compiled(x), layer(x, training=training))
    assert compiled.trace_count == 1
    for path, value in values(layer).items():
        close(values(twin)[path], value)


@pytest.mark.in_turn(6, 2, broad=3)
@pytest.mark.parametrize(("name", "way"), crossed([*ROWS], ["jit", "jit_of_gradient"], SIBLINGS))
def test_built_inside_a_compiled_function(name, way):
    """Weights made while tracing are those that eager building makes."""
    row, wrapped = ROWS[name], way == "jit_of_gradient"
    eager, inside, x = row.make(), row.make(), example(row)
    gx.set_random_seed(2)
    expected = eager(x)
    gx.set_random_seed(2)

    def loss(scale):
        return ops.sum(inside(x) * scale)

    run = gx.value_and_grad(loss) if wrapped else loss
    out = gx.jit(run)(1.0)
    close(out[0] if wrapped else out, np.sum(np.asarray(expected)), 1e-4)
    assert inside.built
    for path, value in values(eager).items():
        np.testing.assert_array_equal(values(inside)[path], value)


# --- gradients ------------------------------------------------------------------------------------------------------


@pytest.mark.in_turn(6, broad=3)
def test_gradients_against_differences(mode):
    row, training = mode
    layer, x = built(row)
    state = gx.state(layer)
    inputs = [] if row.below is not None else tree.flatten(x)
    weights = [v.path for v in layer.trainable_variables]
    at = [np.asarray(value) for value in (*inputs, *(state[path] for path in weights))]
    rng = np.random.default_rng(3)
    mix = rng.uniform(-1, 1, row.output).astype("float32")

    def run(at):
        changed = dict(zip(weights, at[len(inputs) :], strict=True))
        given = tree.rebuild(x, iter(at[: len(inputs)])) if inputs else x
        out, _ = gx.functional_call(layer, {**state, **changed}, given, training=training)
        return ops.sum(out * mix)

    both = gx.jit(gx.value_and_grad(run))
    gradient = both(at)[1]
    step = 2e-3
    for i, (value, told) in enumerate(zip(at, gradient, strict=True)):
        assert (told.shape, told.dtype) == (value.shape, value.dtype)
        direction = rng.uniform(-1, 1, value.shape).astype("float32")
        ahead, behind = ([*at[:i], value + s * direction, *at[i + 1 :]] for s in (step, -step))
        slope = (float(both(ahead)[0]) - float(both(behind)[0])) / (2 * step)
        assert float(np.sum(np.asarray(told) * direction)) == pytest.approx(slope, rel=1e-2, abs=5e-3)


# --- state, copies, looks -------------------------------------------------------------------------------------------


@pytest.mark.in_turn(2, 1)
def test_kl25_unbuilt(row):
    layer = row.make(name="fresh")
    assert [v for v in layer.variables if v.role != "seed"] == []  # a stream is there before it draws
    assert not layer.built
    assert type(layer).__name__ in repr(layer)
    assert "fresh" in repr(layer)
    before = repr(layer)
    layer.build_for(example(row))
    assert "not built" not in repr(layer)
    if any(v.role != "seed" for v in layer.variables):  # a layer without weights needs no building
        assert "not built" in before


@pytest.mark.in_turn(8, broad=4)
def test_state_round_trip(row):
    layer, x = built(row)
    state = values(layer)
    called = gx.jit(lambda state, x: gx.functional_call(layer, state, x, training=True))
    out, after = called(state, x)
    assert {path: v.tolist() for path, v in values(layer).items()} == {p: v.tolist() for p, v in state.items()}
    close(layer(x, training=True), out, 1e-6)
    for path, value in after.items():
        close(values(layer)[path], value, 1e-6)
    other = row.make()
    other(example(row, seed=4))
    for path, variable in other.named_variables().items():
        variable.assign(state[path])
    close(other(x, training=True), out, 1e-6)


@pytest.mark.in_turn(2, 1)
@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))], ids=["copy", "pickle"]
)
def test_copies_are_equal_and_apart(row, way):
    layer, x = built(row)
    twin = way(layer)
    assert [v.path for v in twin.variables] == [v.path for v in layer.variables]
    close(twin(x, training=True), layer(x, training=True), 0)
    for v in twin.variables:
        v.assign(np.zeros_like(v.numpy()))
    assert not any(np.all(v == 0) for v in values(layer).values() if v.size)


@pytest.mark.in_turn(2)
def test_kl7_trainable(row):
    layer, _ = built(row)
    trained = [v.path for v in layer.trainable_variables]
    assert trained == [v.path for v in layer.variables if v.role == "weight"]
    layer.trainable = False
    assert layer.trainable_variables == []
    layer.trainable = True
    assert [v.path for v in layer.trainable_variables] == trained


@pytest.mark.in_turn(2, 1)
def test_frozen_from_the_start(row):
    layer = row.make()
    layer.trainable = False
    layer.build_for(example(row))
    assert layer.trainable_variables == []


# --- dtypes ---------------------------------------------------------------------------------------------------------


@pytest.mark.in_turn(8, broad=4)
@pytest.mark.parametrize(("name", "training", "policy"), crossed(MODES, ["bfloat16", "mixed_bfloat16"], SIBLINGS))
def test_kl12_dtype_policies(name, training, policy):
    row = ROWS[name]
    (layer, x), short = built(row), gx.DTypePolicy(policy)
    gx.set_random_seed(0)  # so that dropouts draw alike
    other, _ = built(row, dtype=policy)
    for path, v in other.named_variables().items():
        v.assign(layer.named_variables()[path].numpy().astype(v.numpy().dtype))
    out = other(x, training=training)
    assert str(out.dtype) == short.compute_dtype
    assert {v.dtype for v in other.variables if v.role == "weight"} <= {short.variable_dtype}
    assert {v.dtype for v in other.variables if v.role == "state"} <= {short.wide_dtype}  # moving averages
    assert other.dtype == short.variable_dtype
    close(out, layer(x, training=training), 0.06)
    for path, v in other.named_variables().items():
        close(v, gx.state(layer)[path], 0.02)


# --- grafts ---------------------------------------------------------------------------------------------------------


@pytest.mark.in_turn(6, 1, broad=3)
def test_grafted_with_nothing_is_bit_identical(row):
    """Operation by operation: of a call that is one program, the compiler may round the last bit otherwise."""
    x = example(row)
    with gx.run_eagerly():
        plain = row.make()
        expected = plain(x)
        gx.set_random_seed(0)
        with gx.variable_creator_scope(lambda next_creator, spec: next_creator(spec), roles=None):
            grafted = row.make()
            out = grafted(x)
    np.testing.assert_array_equal(out, expected)
    assert [v.path for v in grafted.variables] == [v.path for v in plain.variables]


@pytest.mark.in_turn(8, 2, broad=4)
def test_grafted_matrices_compute_the_same(row):
    plain, x = built(row)
    with gx.variable_creator_scope(gx.reparam.LowRank(rank=64)):
        grafted = row.make()
        grafted.build_for(x)
    matrices = 0
    for path, weight in plain.named_variables().items():
        *owners, name = path.split("/")
        owner = reduce(lambda at, edge: at[int(edge)] if isinstance(at, list) else getattr(at, edge), owners, grafted)
        vars(owner)[name].assign(weight.value)
        matrices += weight.ndim == 2 and weight.role == "weight"
    assert len(grafted.variables) == len(plain.variables) + matrices
    close(grafted(x), plain(x), 1e-4)
    close(gx.jit(lambda x: grafted(x))(x), plain(x), 1e-4)
