"""One optimizer, several lists of variables: each call moves those that it is given, and leaves the others alone."""

import numpy as np
import pytest

import graftax as gx
from tests.conformance.optimizer_rows import ROWS, every_row

all_rows = pytest.mark.parametrize(
    "row", [pytest.param(row, id=name, marks=() if row.quick else pytest.mark.broad) for name, row in ROWS.items()]
)
SHAPES = {"a": (3, 4), "b": (3, 4), "c": (5,)}


def variables(names="abc"):
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=shape).astype("float32") for name, shape in SHAPES.items()}
    return {name: gx.Variable(values[name], name=name) for name in names}


def gradients(names, turn):
    rng = np.random.default_rng(turn)
    drawn = {name: rng.normal(size=shape).astype("float32") for name, shape in SHAPES.items()}
    return [drawn[name] for name in names]


def shared(optimizer):
    """What an optimizer keeps beside slots: the number of updates, what a rule estimates of all variables."""
    return {path: v for path, v in optimizer.named_variables().items() if not path.startswith("slots/")}


def slots(optimizer, name):
    start = f"slots/{name}/"
    return {path: v.numpy() for path, v in optimizer.named_variables().items() if path.startswith(start)}


@pytest.mark.in_turn(2)
@all_rows
def test_calls_with_other_variables_only_count(row):
    """Each call is that of an optimizer of its own which has counted, and estimated, the same."""
    together, optimizer = variables(), row.make()
    alone = {part: (variables(part), row.make()) for part in ("ac", "b")}
    for turn, part in enumerate(["ac", "b", "ac", "ac", "b", "ac"]):
        own, twin = alone[part]
        twin.build(list(own.values()))
        if turn:
            for path, v in shared(twin).items():
                v.assign(shared(optimizer)[path].numpy())
        others = [name for name in SHAPES if name not in part]
        before = {name: (together[name].numpy(), slots(optimizer, name)) for name in others}
        optimizer.apply(gradients(part, turn), [together[name] for name in part])
        twin.apply(gradients(part, turn), list(own.values()))
        for name in part:
            np.testing.assert_allclose(together[name], own[name], rtol=2e-5, atol=1e-6)
        for name, (value, kept) in before.items():
            np.testing.assert_array_equal(together[name], value)
            for path, slot in slots(optimizer, name).items():
                np.testing.assert_array_equal(slot, kept[path])
    assert int(optimizer.iterations) == 6


@all_rows
def test_order_and_structure_of_variables_change_nothing(row):
    found = []
    for way in ("list", "turned", "dict", "nested"):
        own, optimizer = variables(), row.make()
        optimizer.build(list(own.values()))
        for turn in range(3):
            grads = dict(zip(SHAPES, gradients(SHAPES, turn), strict=True))
            if way == "list":
                optimizer.apply(list(grads.values()), list(own.values()))
            elif way == "turned":
                optimizer.apply(list(grads.values())[::-1], list(own.values())[::-1])
            elif way == "dict":
                optimizer.apply(grads, own)
            else:
                optimizer.apply([grads["c"], (grads["b"], {"x": grads["a"]})], [own["c"], (own["b"], {"x": own["a"]})])
        found.append([v.numpy() for v in own.values()])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def in_two_steps(row, run):
    """The values after two functions have taken turns, each with its own variables."""
    own, optimizer = variables(), row.make()
    first = run(lambda given: optimizer.apply(given, [own["a"], own["c"]]))
    second = run(lambda given: optimizer.apply(given, [own["b"]]))
    for turn in range(4):
        (second if turn % 2 else first)(gradients("b" if turn % 2 else "ac", turn))
    return [v.numpy() for v in own.values()]


@pytest.mark.in_turn(3)
@every_row
def test_compiled_steps_of_two_lists_are_the_eager_ones(row):
    results = [in_two_steps(row, run) for run in (lambda f: f, gx.jit)]
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_number_of_an_update_counts_all_calls():
    """As in Keras and optax; PyTorch counts for each variable."""
    a, b = gx.Variable([0.0], name="a"), gx.Variable([0.0], name="b")
    optimizer = gx.optimizers.Adam(1.0, epsilon=1e-12)
    optimizer.apply([[1.0]], [a])
    optimizer.apply([[1.0]], [b])
    assert a.numpy() == pytest.approx([-1.0], rel=1e-4)
    first = 0.1 / (1 - 0.9**2) / np.sqrt(0.001 / (1 - 0.999**2))
    assert b.numpy() == pytest.approx([-first], rel=1e-3)
