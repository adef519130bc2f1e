"""compare: what one process alone has assigned is told, in loops of one's own and at saves."""

import numpy as np
import pytest

import graftax as gx
from graftax import distribution
from graftax.errors import ArgumentError, ArgumentTypeError
from tests.distribution import several

PROGRAM = """
join()
from graftax import layers
def fails(name, do):
    try:
        do()
        tell(**{name: ""})
    except gx.errors.GraftaxError as error:
        tell(**{name: f"{type(error).__name__} {error}"})
    gd.barrier(name)

d = gd.FullyShardedDataParallel(min_size=64)
gx.set_random_seed(0)
with d.scope():
    model = gx.Sequential([layers.Dense(16), layers.Dense(2)])
    model.compile("adam", "mse")
model.build((None, 16))
outside = gx.layers.Dense(2)
outside.build((None, 3))
x = np.ones((8, 16), "float32")

@gx.jit
def step(x):
    return model.optimizer.minimize(lambda: gx.ops.mean(model(x) ** 2), model.trainable_variables)

def save():
    gx.Checkpoint(model=model, optimizer=model.optimizer).save(arguments[0], overwrite=True)

step(d.shard(x))
fails("alike", lambda: gd.compare(model, outside))
fails("saved", save)
bias, kernel = model.layers[0].bias, model.layers[0].kernel
before = bias.numpy()
if gd.is_main():
    bias.assign(np.ones(16))
fails("bias", lambda: gd.compare(model))
fails("bias saved", save)
bias.assign(before)
fails("back", lambda: gd.compare(model))
fails("back saved", save)
model.optimizer.learning_rate = 0.1 * (1 + process)
fails("rate", lambda: gd.compare(model))
fails("rate saved", save)
model.optimizer.learning_rate = 0.1
gd.compare(model)
outside.bias.assign(np.full(2, process, "float32"))
fails("outside", lambda: gd.compare(outside))
fails("others", lambda: gd.compare(model))
"""


@pytest.mark.slow
def test_what_one_process_alone_assigned(tmp_path):
    first, second = several.told(several.run(PROGRAM, 2, 2, tmp_path / "c", timeout=200))
    expected = {
        "bias": "ProcessError compare: the variable layers/0/bias is",
        "bias saved": "layers/0/bias",
        "rate": "ProcessError compare: the variable learning_rate is",
        "rate saved": "learning_rate",
        "outside": "ProcessError compare: the variable bias is",
    }
    for one in (first, second):
        for name, message in one.items():
            assert expected.get(name, "") in message, (name, message)
            assert bool(message) == (name in expected), (name, message)
            assert not name.endswith("saved") or not message or message.startswith("SaveError"), message


def test_alone():
    layer = gx.layers.Dense(2)
    layer(np.ones((1, 3), "float32"))
    distribution.compare(layer)
    with pytest.raises(ArgumentTypeError, match="in place of a model"):
        distribution.compare(layer.kernel)
    with pytest.raises(ArgumentError, match="no model, layer or optimizer"):
        distribution.compare()
