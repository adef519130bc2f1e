"""Programs of the guides to distribution, in one process and in two: the same numbers from the same lines."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.distribution import several

BEGIN = """
gx.distribution.initialize(*((f"127.0.0.1:{port}", count, process) if count > 1 else ()), seed=0)
from graftax.losses import SparseCategoricalCrossentropy
from tests.distribution.eight.programs import Transformer
rng = np.random.default_rng(0)
tokens = rng.integers(0, 32, (32, 9)).astype("int32")
"""

DATA_PARALLEL = """
x, y = rng.normal(size=(64, 16)).astype("float32"), rng.integers(0, 10, 64)

d = gx.distribution.DataParallel()
with d.scope():
    model = gx.Sequential([
        gx.layers.Dense(64, activation="relu"), gx.layers.BatchNormalization(), gx.layers.Dense(10)
    ])
model.compile("adam", SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
tell(loss=model.fit(x, y, batch_size=16, epochs=3, verbose=0).history["loss"])
"""

OWN_LOOP = """
rules = [*gx.distribution.tensor_parallel(), ("head/kernel", (None, "model"))]
d = gx.distribution.FullyShardedDataParallel(gx.distribution.mesh(data=4, model=2), rules)
with d.scope():
    model, optimizer = Transformer(), gx.optimizers.AdamW(3e-4, global_clipnorm=1.0)

@gx.jit
def step(x, y):
    return optimizer.minimize(
        lambda: SparseCategoricalCrossentropy(from_logits=True)(y, model(x)), model.trainable_variables
    )

model(tokens[:2, :-1])
losses = []
for i in range(0, 32, 8):
    x, y = tokens[i : i + 8, :-1], tokens[i : i + 8, 1:]
    loss = step(*d.shard((x, y)))
    losses.append(float(loss))
gx.distribution.compare(model, optimizer)
tell(loss=losses, report=len(d.report(model, optimizer).rows))
"""

RESUMED = """
share = 8 // count
loader = [(tokens[i : i + share, :-1], tokens[i : i + share, 1:]) for i in range(process * share, 32, 8)]

def run(epochs):
    d = gx.distribution.FullyShardedDataParallel(min_size=256)
    gx.set_random_seed(0)
    with d.scope():
        model = Transformer()
    model.compile(gx.optimizers.AdamW(3e-4), SparseCategoricalCrossentropy(from_logits=True))
    manager = gx.CheckpointManager(arguments[0], keep=3, model=model, optimizer=model.optimizer)
    save = gx.callbacks.ModelCheckpoint(manager, every=3, on_preemption=True)
    return model.fit(
        gx.distribution.LocalRows(loader), epochs=epochs, resume=manager, callbacks=[save], verbose=0
    ).history["loss"]

run(1)
tell(loss=run(3))
"""

GRAFTED = """
gx.set_random_seed(1)
model = Transformer()
model(tokens[:2, :-1])
if count == 1:
    gx.Checkpoint(model=model).save(arguments[0])
    model.trainable_variables[0].assign(0 * model.trainable_variables[0].numpy())
model.compile(gx.optimizers.AdamW(1e-2), SparseCategoricalCrossentropy(from_logits=True))
d = gx.distribution.FullyShardedDataParallel(gx.distribution.mesh(data=4, model=2), min_size=256)

gx.Checkpoint(model=model).restore(arguments[0])
d.place(model)
gx.graft(model, gx.reparam.LoRA(rank=8), where="**/attention/**/kernel")
tell(loss=model.fit(tokens[:, :-1], tokens[:, 1:], batch_size=16, epochs=2, verbose=0).history["loss"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", [DATA_PARALLEL, OWN_LOOP, RESUMED, GRAFTED], ids=["data parallel", "own loop", "resumed", "grafted"]
)
def test_the_same_numbers_in_one_process_and_in_two(tmp_path, program):
    base = [tmp_path / "runs", tmp_path / "runs"] if program is GRAFTED else [tmp_path / "1", tmp_path / "2"]
    (alone,) = several.told(several.run(BEGIN + program, 1, 8, base[0], timeout=300))
    assert len(alone["loss"]) >= 2
    assert alone["loss"][-1] < alone["loss"][0]
    for one in several.told(several.run(BEGIN + program, 2, 4, base[1], timeout=300)):
        assert one.get("report") == alone.get("report")
        np.testing.assert_allclose(one["loss"], alone["loss"], rtol=2e-5)


PAGE = Path(__file__).parents[2] / "docs" / "distribution_processes.md"
TELLS = """
import json
told = {"loss": history.history["loss"], "kernel": kernel.tolist(), "devices": d.count}
print("TOLD " + json.dumps(told), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["torchrun", "Slurm"])
def test_the_page_on_several_processes_is_a_program_for_several(tmp_path, launcher):
    blocks = re.findall("```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 5
    program = tmp_path / "train.py"
    text = "\n".join([*blocks, TELLS])
    assert text.count("initialize()  #") == 1
    program.write_text(text.replace("initialize()  #", "initialize(seed=0)  #"))  # else each run draws one
    found = {}
    for count in (1, 2):
        folder = tmp_path / str(count)
        folder.mkdir()
        found[count] = several.told(
            several.launched(program, count, 4 // count, folder=folder, launcher=launcher, timeout=200)
        )
        assert np.load(folder / "run" / "kernel.npy").tolist() == found[count][0]["kernel"]
    (alone,), (first, second) = found[1], found[2]
    assert json.dumps(first) == json.dumps(second)
    assert first["devices"] == alone["devices"] == 4
    np.testing.assert_allclose(first["loss"], alone["loss"], rtol=2e-5)
    np.testing.assert_allclose(first["kernel"], alone["kernel"], rtol=2e-5, atol=1e-6)
