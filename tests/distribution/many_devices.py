"""A program for tests: one model on one device, by data, fully sharded, with split kernels, in so many processes.

It is started as it stands: alone, by a launcher that says how many there are, and, with ``apart`` for an argument, as
copies that know nothing of each other.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import graftax as gx
from graftax import layers

folder, how = pathlib.Path(sys.argv[1]), sys.argv[2]
if how == "apart":
    folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
else:
    gx.distribution.initialize(timeout=120)  # before any array; alone, it does nothing

draw = np.random.default_rng(0)
x = draw.normal(size=(64, 32)).astype("float32")
y = draw.integers(0, 10, 64)
d = gx.distribution


def train(distribution):
    gx.set_random_seed(0)
    with distribution.scope():
        up, down = layers.Dense(64, activation="relu", name="up"), layers.Dense(64, name="down")
        model = gx.Sequential([up, layers.Dropout(0.1), layers.BatchNormalization(), down, layers.Dense(10)])
        loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(gx.optimizers.AdamW(1e-3, global_clipnorm=1.0), loss, metrics=["accuracy"])
    history = model.fit(x, y, batch_size=32, epochs=2, verbose=0)  # 32 rows in all
    return model, history.history


found, trained = {}, {}
kinds = {
    "one": d.DataParallel(d.mesh(data=1) if d.process_count() == 1 else d.mesh()),
    "data": d.DataParallel(),
    "fully sharded": d.FullyShardedDataParallel(d.mesh(data=8), min_size=1024),
    "tensor": d.ModelParallel(
        d.mesh(data=4, model=2), [("layers/0/kernel", (None, "model")), ("layers/3/kernel", ("model", None))]
    ),
    "both": d.FullyShardedDataParallel(d.mesh(data=4, model=2), [("layers/0/kernel", (None, "model"))], min_size=1024),
}
for name in list(kinds)[: 2 if how == "apart" else None]:
    distribution = kinds[name]
    model, history = train(distribution)
    trained[name] = model
    kernel = distribution.gather(model.layers[0].kernel)  # in every process
    found[name] = [*history["loss"], *history["accuracy"], *kernel[0, :4].tolist()]
    np.testing.assert_allclose(found[name], found["one"], rtol=2e-5, atol=1e-5)

model = trained.get("fully sharded", model)
row = next(row for row in kinds["fully sharded"].report(model).rows if row.path == "layers/3/kernel")
assert row.bytes_per_device == row.bytes // (1 if how == "apart" else 8)
try:
    train(d.ModelParallel(d.mesh(data=4, model=2), [("layers/9/kernel", (None, "model"))]))
except gx.errors.SelectorError as error:
    refused = "matches none of" in str(error)
else:
    refused = False
assert refused, "a rule that meets nothing must not pass"

gx.Checkpoint(model=model).save(folder / "c")
last = d.DataParallel().gather(model.layers[3].kernel)
if d.is_main():
    np.save(folder / "kernel.npy", last)
    alone = (
        "import sys, numpy as np, graftax as gx; found = gx.checkpoint.read(sys.argv[1]); "
        "np.testing.assert_array_equal(found['model/layers/3/kernel'], np.load(sys.argv[2]))"
    )
    subprocess.run([sys.executable, "-c", alone, folder / "c", folder / "kernel.npy"], check=True)
d.barrier("it was read")
print(
    "TOLD " + json.dumps({"found": found, "devices": d.DataParallel().count, "number": d.process_index()}), flush=True
)
