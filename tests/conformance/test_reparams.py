"""One row per reparametrisation, and per layer: whatever stands behind a weight, everything still works."""

import copy
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import AssignmentError, GraftError, StateError
from graftax.reparam.base import Reparam
from graftax.variables.graph.module import walk
from tests.conformance.reparam_cases import PAIRS, ROWS, Row
from tests.conformance.test_layers import ROWS as ALL_LAYERS
from tests.conformance.test_layers import built, close, values

REPARAMS = ROWS | PAIRS
LAYERS = [
    *("dense", "conv1d_causal", "conv2d_groups", "conv3d", "batch_normalization", "layer_normalization"),
    *("embedding", "lstm", "gru", "multi_head_attention"),
    *("prelu", "group_normalization", "instance_normalization", "rms_normalization", "einsum_dense"),
    *("conv1d_transpose", "conv2d_transpose", "conv3d_transpose", "depthwise_conv1d", "depthwise_conv2d"),
    *("separable_conv1d", "separable_conv2d", "simple_rnn", "rnn", "bidirectional", "time_distributed", "conv_lstm2d"),
    *("attention", "additive_attention", "position_embedding", "transformer_encoder", "transformer_decoder"),
    "mixture_of_experts",
]
WITHOUT_MATRICES = {"attention", "additive_attention"}
TRACED_TOGETHER = {"stack"}  # one trace for all its blocks: expressions are not computed one by one


def weights(layer: Any) -> dict[str, Any]:
    """The weights of a layer, plain ones and those that are computed, without the parts of these."""
    found, inside = {}, set()
    for node in walk(layer):
        if isinstance(node, Reparam):
            inside |= {id(part) for part in walk(node) if part is not node}
        if isinstance(node, Reparam | gx.Variable) and node.role == "weight" and id(node) not in inside:
            found[node.path] = node
    return found


class Cell:
    """A layer with an expression behind each weight that the row takes, and its plain twin of the same values.

    Both are there on the reference backend, where nothing needs compiling; the former is also on JAX.
    """

    def __init__(self, row: Row, layer: str) -> None:
        self.row, self.layer_row = row, ALL_LAYERS[layer]
        self.rng = rng = np.random.default_rng(3)
        self.mix = rng.uniform(-1, 1, self.layer_row.output).astype("float32")
        with registry.use("numpy"):
            self.plain, self.x = built(self.layer_row)
            self.taken = [path for path, weight in weights(self.plain).items() if row.takes(weight.shape)]
            for path in self.taken:
                weight = weights(self.plain)[path]
                weight.assign(row.value(weight.numpy()).astype("float32"))
            self.reference = self.make()
            for v in self.reference.trainable_variables:  # away from where a part starts as zeros
                v.assign_add(rng.uniform(0.01, 0.05, v.shape).astype("float32"))
            for path, weight in weights(self.reference).items():
                to, value = (weight, weights(self.plain)[path]) if row.inverse else (weights(self.plain)[path], weight)
                to.assign(value.value)
            self.expected = self.reference(self.x)
            self.state = values(self.reference)
            self.seeds = [path for path, v in self.reference.named_variables().items() if v.role == "seed"]

    def creator(self) -> Any:
        return self.row.creator() if self.row.afresh else self.row.creator

    def make(self, **options: Any) -> Any:
        with gx.variable_creator_scope(self.creator()):
            layer = self.layer_row.make(**options)
            layer.build_for(self.x)
        return layer

    def on_jax(self, **options: Any) -> Any:
        """A layer of the same values, moved over."""
        layer = self.make(**options)
        assert set(layer.named_variables()) == set(self.state)
        for path, v in layer.named_variables().items():
            v.assign(self.state[path])
        return layer

    def loss(self, layer: Any) -> Any:
        """In training for those that draw then; the same draws each time."""
        named = layer.named_variables()
        for path in self.seeds:
            named[path].assign(self.state[path])
        return ops.sum(layer(self.x, training=self.row.draws) * self.mix)


WAYS = ("remat", "tape", "vmap", "scan", "half", "fit")


def one_way(reparam: str, layer: str) -> tuple[str, ...]:
    """Another one for each reparametrisation and each layer."""
    return (WAYS[(list(REPARAMS).index(reparam) + LAYERS.index(layer)) % len(WAYS)],)


def check(reparam: str, layer: str, folder: Path, ways: tuple[str, ...] = WAYS) -> None:
    cell = Cell(REPARAMS[reparam], layer)
    if not cell.taken:
        with pytest.raises(GraftError, match="passed on all of"):
            gx.graft(cell.plain, cell.creator())
        return
    forward_equals_plain_at_the_inverse(cell)
    module = cell.on_jax()
    gradient = compiled(cell, module, ways)
    gradient_is_the_slope(cell, gradient)
    traced_once(cell, module)
    copies_are_equal_and_apart(module)
    saved_and_restored(cell, module, folder)
    if "fit" in ways and module.trainable_variables:
        fits_one_epoch(cell, module, without_effect(gradient))


# --- the properties -------------------------------------------------------------------------------------------------


def forward_equals_plain_at_the_inverse(cell: Cell) -> None:
    """Made with it, and grafted onto the plain layer afterwards."""
    far = 50 * cell.row.tolerance
    with registry.use("numpy"):
        for path in cell.taken:
            weight, plain = weights(cell.reference)[path], weights(cell.plain)[path].numpy()
            assert isinstance(weight, Reparam)
            assert np.linalg.norm(weight.numpy() - plain) <= cell.row.tolerance * np.linalg.norm(plain)
        plain = cell.plain(cell.x)
        close(cell.expected, plain, far)
        grafted = copy.deepcopy(cell.plain)
        if cell.row.refuses:
            with pytest.raises((GraftError, AssignmentError), match=cell.row.refuses):
                gx.graft(grafted, cell.creator())
            return
        done = gx.graft(grafted, cell.creator(), tolerance=cell.row.tolerance)
        assert sorted(graft.path for graft in done) == sorted(cell.taken)
        close(grafted(cell.x), plain, far)
        assert sorted(gx.ungraft(grafted, untie=True)) == sorted(cell.taken)
        assert not any(isinstance(node, Reparam) for node in walk(grafted))
        close(grafted(cell.x), plain, far)


def compiled(cell: Cell, layer: Any, ways: tuple[str, ...]) -> dict[str, Any]:
    """One compiled function has all: gradient, remat, tape, rows at once, rows in a loop, mixed precision."""
    half = cell.on_jax(dtype="mixed_bfloat16") if "half" in ways else None

    trained = bool(layer.trainable_variables)

    def loss() -> Any:
        return cell.loss(layer)

    def one(row: Any) -> Any:
        return layer(jax.tree.map(lambda part: part[None], row))[0]

    def tape() -> Any:
        with gx.GradientTape() as tape:
            value = loss()
        return value, tape.gradient(value, layer)

    gradients = {
        "remat": lambda: gx.value_and_grad(gx.remat(loss), wrt=layer)(),
        "tape": tape,
    }
    outputs = {
        "vmap": lambda x: gx.vectorized_map(one, x),
        "scan": lambda x: gx.scan(lambda carry, row: (carry, one(row)), 0.0, x)[1],
        "half": lambda x: half(x),
    }

    @gx.jit
    def run(x: Any) -> Any:
        outs = {name: way(x) for name, way in outputs.items() if name in ways}  # first: training moves statistics
        return (
            gx.value_and_grad(loss, wrt=layer)() if trained else (loss(), {}),
            [way() for name, way in gradients.items() if name in ways and trained],
            outs,
        )

    (value, gradient), others, outs = run(cell.x)
    with registry.use("numpy"):  # eager code
        close(value, cell.loss(cell.reference), 1e-3)
    for again, slopes in others:
        close(again, value, 1e-3)
        for path, slope in gradient.items():
            close(slopes[path], slope, 1e-3)
    for way, out in outs.items():
        assert str(out.dtype) == ("bfloat16" if way == "half" else "float32")
        close(out, cell.expected, 0.06 if way == "half" else 1e-4)
    return gradient


def gradient_is_the_slope(cell: Cell, gradient: dict[str, Any]) -> None:
    """Each leaf has one; along a direction in all leaves it is the slope of the loss of the reference."""
    assert sorted(gradient) == sorted(v.path for v in cell.reference.trainable_variables)
    direction = {path: cell.rng.uniform(-1, 1, slope.shape).astype("float32") for path, slope in gradient.items()}
    for path, slope in gradient.items():
        assert (slope.shape, slope.dtype) == (cell.state[path].shape, cell.state[path].dtype)
        assert np.isfinite(np.asarray(slope)).all()
    for path in without_effect(gradient):
        assert cell.row.smooth or not path.startswith(tuple(cell.taken)), f"no gradient comes to {path}"
        assert abs(difference(cell, {path: direction[path]}, 2e-3)) < 5e-3, f"no gradient comes to {path}"
    if not cell.row.smooth or not gradient:
        return
    told = sum(float(np.sum(np.asarray(gradient[path]) * along)) for path, along in direction.items())
    # The wider difference is the more exact one, but may lie across a kink: the decoder's small network has relus.
    wide = difference(cell, direction, 2e-3)
    if told != pytest.approx(wide, rel=2e-2, abs=2e-2):
        assert told == pytest.approx(difference(cell, direction, 2e-4), rel=2e-2, abs=2e-2), f"not {wide} either"


def difference(cell: Cell, direction: dict[str, np.ndarray], size: float) -> float:
    """The slope of the loss of the reference along a direction, by its values at both sides."""

    def loss(step: float) -> float:
        moved = {path: cell.state[path] + np.float32(step) * along for path, along in direction.items()}
        with registry.use("numpy"):
            for path, v in cell.reference.named_variables().items():
                v.assign(moved.get(path, cell.state[path]))
            return float(cell.loss(cell.reference))

    slope = (loss(size) - loss(-size)) / (2 * size)
    loss(0)
    return slope


def without_effect(gradient: dict[str, Any]) -> set[str]:
    """Leaves that the value of the loss does not depend on: their gradient is 0, or what rounding leaves of it.

    A bias of keys moves all scores of a query alike, which softmax does not see. The one magnitude of a weight of one
    column is the factor of a matrix that `SpectralNorm` divides by its norm.
    """
    most = max((np.abs(slope).max() for slope in gradient.values()), default=0)
    return {path for path, slope in gradient.items() if np.abs(slope).max() <= 1e-6 * most}


def traced_once(cell: Cell, layer: Any) -> None:
    """In the jaxpr of a training step each expression has its name once; a map of rows cannot move what it moves."""
    optimizer = gx.optimizers.SGD(0.1)
    if layer.trainable_variables:
        optimizer.build(layer)
    expressions = [node for node in walk(layer) if isinstance(node, Reparam)]
    names = {id(node): f"expression {i}." for i, node in enumerate(expressions)}
    forwards = {type(node): type(node).forward for node in expressions}

    class Step(gx.Module):
        def __init__(self) -> None:
            super().__init__()
            self.holds = [layer, optimizer]

        def __call__(self) -> Any:
            def loss() -> Any:
                return ops.sum(layer(cell.x, training=True) * cell.mix)

            if not layer.trainable_variables:
                return loss()
            value, gradients = gx.value_and_grad(loss, wrt=layer)()
            optimizer.apply(gradients, layer)
            return value

    step = Step()
    for kind, forward in forwards.items():
        kind.forward = lambda self, forward=forward: checkpoint_name(forward(self), names[id(self)])
    try:
        text = str(jax.make_jaxpr(lambda state: gx.functional_call(step, state))(gx.state(step)))
    finally:
        for kind, forward in forwards.items():
            kind.forward = forward
    assert [text.count(name) for name in names.values()] == [1] * len(names)
    if cell.row.moves:
        with pytest.raises(StateError, match=f"vectorized_map: the function assigned .*{cell.row.moves}"):
            gx.vectorized_map(lambda row: layer(row[None], training=True), cell.x)


def copies_are_equal_and_apart(layer: Any) -> None:
    twin, before = copy.deepcopy(layer), values(layer)
    assert list(twin.named_variables()) == list(before)
    for path, v in twin.named_variables().items():
        np.testing.assert_array_equal(v.numpy(), before[path])
        v.assign(np.zeros(v.shape, v.dtype))
    for path, value in values(layer).items():
        np.testing.assert_array_equal(value, before[path])


def saved_and_restored(cell: Cell, layer: Any, folder: Path) -> None:
    """All of it into a new layer; and a part of it, which leaves the rest as it was, but for state about that part."""
    gx.Checkpoint(layer=layer).save(folder / "saved")
    twin, part = cell.make(), cell.make()
    gx.Checkpoint(layer=twin).restore(folder / "saved").assert_consumed()
    before = values(part)
    chosen = next(iter(part.named_variables()))
    report = gx.Checkpoint(layer=part).restore(folder / "saved", only=f"layer/{chosen}")
    for path, value in values(layer).items():
        np.testing.assert_array_equal(values(twin)[path], value)
        if f"layer/{path}" not in report.followed:
            np.testing.assert_array_equal(values(part)[path], value if path == chosen else before[path])


def fits_one_epoch(cell: Cell, layer: Any, idle: set[str]) -> None:
    """All that is trained moves where the loss depends on it, nothing else does."""
    model = gx.Sequential([layer])
    model.compile(gx.optimizers.SGD(1e-3), loss="mse")
    before = values(layer)
    y = np.zeros(cell.layer_row.output, "float32")
    history = model.fit(cell.x, y, batch_size=len(cell.x), verbose=0)
    assert np.isfinite(history.history["loss"][0])
    trained = {id(v) for v in model.trainable_variables}
    for path, v in layer.named_variables().items():
        if v.role == "weight" and path.removeprefix("layers/0/") not in idle:
            assert (v.numpy() != before[path.removeprefix("layers/0/")]).any() == (id(v) in trained), path


# --- the cells ------------------------------------------------------------------------------------------------------


@pytest.mark.in_turn(6, broad=2)
@pytest.mark.parametrize("reparam", ROWS)
def test_every_reparametrisation_on_dense(reparam, tmp_path):
    check(reparam, "dense", tmp_path, one_way(reparam, "dense"))


@pytest.mark.in_turn(4, 1, broad=2)
@pytest.mark.parametrize("layer", LAYERS[1:])
def test_every_layer_with_one_reparametrisation(layer):
    """What needs no compiling."""
    vectors = layer.endswith("normalization") or layer in WITHOUT_MATRICES
    cell = Cell(ROWS["positive" if vectors else "mask"], layer)
    forward_equals_plain_at_the_inverse(cell)
    traced_once(cell, cell.on_jax())


@pytest.mark.slow
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("reparam", REPARAMS)
def test_every_reparametrisation_on_every_layer(reparam, layer, tmp_path):
    check(reparam, layer, tmp_path)


@pytest.mark.broad
def test_every_layer_that_has_a_weight_has_a_row():
    with registry.use("numpy"):
        kinds = {type(built(ALL_LAYERS[name])[0]) for name in LAYERS}
        for name, row in ALL_LAYERS.items():
            layer = built(row)[0]
            assert type(layer) in kinds or not weights(layer) or name in TRACED_TOGETHER, name


@pytest.mark.broad
def test_the_training_step_takes_the_memory_of_what_it_moves():
    with gx.variable_creator_scope(ROWS["spectral_norm"].creator):
        layer = gx.layers.Dense(4)
        x = np.ones((2, 3), "float32")
        layer.build_for(x)
    optimizer = gx.optimizers.SGD(0.1)

    def step() -> None:
        optimizer.apply(gx.grad(lambda: ops.sum(layer(x, training=True) ** 2), wrt=layer)(), layer)

    lowered = gx.jit(step).lower()
    moved = [v for v in layer.variables if v.role == "weight" or v.path.endswith(("left", "right"))]
    assert lowered.memory.donated >= 4 * sum(v.size for v in moved)
