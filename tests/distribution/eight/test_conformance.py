"""Every optimizer and every reparametrisation, fully sharded with split kernels: the numbers of one device."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax import layers, ops
from tests.conformance import optimizer_rows, reparam_cases
from tests.distribution.eight.programs import one

pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(16, 16)).astype("float32")
Y = np.random.default_rng(1).normal(size=(16, 8)).astype("float32")
RULES = [("**/up/kernel", (None, "model")), ("**/down/kernel", ("model", None))]


def both() -> gd.Distribution:
    return gd.FullyShardedDataParallel(gd.mesh(data=4, model=2), RULES, min_size=32, tolerance=1.0)


def trained(d: gd.Distribution, optimizer: gx.Optimizer, creator: Any = None, rows: Any = slice(None)) -> gx.Module:
    gx.set_random_seed(0)
    scope = nullcontext() if creator is None else gx.variable_creator_scope(creator, where="**/kernel")
    with d.scope(), scope:
        up, down = layers.Dense(16, activation="tanh", name="up"), layers.Dense(8, name="down")
        model = gx.Sequential([up, down])

    @gx.jit
    def step(x: Any, y: Any) -> Any:
        return optimizer.minimize(lambda: ops.mean((model(x, training=True) - y) ** 2), model.trainable_variables)

    model.build_for(X, training=True)
    for _ in range(4):
        step(*d.shard((X[rows], Y[rows])))
    for record in optimizer.slots():
        home, buffer = record.slot._storage.home, record.slot.value
        assert home is not None
        assert buffer.sharding.is_equivalent_to(home.stored, buffer.ndim), record.name
    return model


def difference(found: gx.Module, wanted: gx.Module) -> float:
    ours, theirs = found.named_variables(), wanted.named_variables()
    pairs = ((np.asarray(ours[path], "float64"), np.asarray(v, "float64")) for path, v in theirs.items())  # masks, too
    return max(float(np.abs(a - b).max()) for a, b in pairs)


@pytest.mark.parametrize("row", optimizer_rows.ROWS.values(), ids=optimizer_rows.ROWS)
def test_an_optimizer_gives_the_numbers_of_one_device(row: optimizer_rows.Row) -> None:
    found, wanted = trained(both(), row.make()), trained(one(), row.make())
    worst = difference(found, wanted)
    if worst > 1e-5:  # a rule may make much of rounding: as much as on one device, with sums in another order
        worst_of_rounding = max(
            difference(trained(one(), row.make(), rows=np.roll(np.arange(len(X)), shift)), wanted) for shift in (5, 11)
        )
        assert worst < 10 * worst_of_rounding


@pytest.mark.parametrize("name", reparam_cases.ROWS)
def test_a_reparametrisation_gives_the_numbers_of_one_device(name: str) -> None:
    row = reparam_cases.ROWS[name]
    found, wanted = (
        trained(d, gx.optimizers.SGD(0.1, momentum=0.9), row.creator() if row.afresh else row.creator)
        for d in (both(), one())
    )
    assert difference(found, wanted) < 1e-5
