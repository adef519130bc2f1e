"""fit in several real processes: the numbers of one, and everything that would go wrong in silence is told."""

import signal

import numpy as np
import pytest

from graftax.core.errors import StateError
from tests.distribution import several

MODEL = """
join()
from graftax import layers
rng = np.random.default_rng(0)
x, y = rng.normal(size=(76, 32)).astype("float32"), rng.integers(0, 10, 76)
KINDS = {
    "data": lambda: gd.DataParallel(),
    "sharded": lambda: gd.FullyShardedDataParallel(min_size=1024),
    "tensor": lambda: gd.ModelParallel(
        gd.mesh(data=-1, model=2), [("layers/0/kernel", (None, "model")), ("layers/3/kernel", ("model", None))]
    ),
    "both": lambda: gd.FullyShardedDataParallel(
        gd.mesh(data=-1, model=2), [("layers/0/kernel", (None, "model")), ("layers/3/kernel", ("model", None))],
        min_size=256,
    ),
}
def made(kind="data", units=64, rate=1e-3, seed=0):
    gx.set_random_seed(seed)
    with KINDS[kind]().scope():
        model = gx.Sequential([
            layers.Dense(units, activation="relu"), layers.Dropout(0.1), layers.BatchNormalization(), layers.Dense(10)
        ])
        model.compile(gx.optimizers.AdamW(rate, global_clipnorm=1.0),
                      gx.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model
"""

FITS = (
    MODEL
    + """
for kind in arguments:
    model = made(kind)
    history = model.fit(x, y, batch_size=32, verbose=2).history
    scores = model.evaluate(x, y, batch_size=32, verbose=0)
    tell(**{kind: [history["loss"], history["accuracy"], list(scores.values()) if isinstance(scores, dict) else scores,
                   model.predict(x, batch_size=32, verbose=0).sum(0).tolist()]})
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "kinds"),
    [(2, ["sharded", "tensor"]), (2, ["both"]), (4, ["both"])],  # of 4, each has a half of a split kernel
    ids=["2", "2 both", "4 both"],
)
def test_dt22_and_dt24_the_numbers_of_one_process(processes, kinds):
    (alone,) = several.told(several.run(FITS, 1, 4, *kinds, timeout=300))
    ended = several.run(FITS, processes, 4 // processes, *kinds, timeout=300)
    assert "epoch 1/1" in ended[0].text
    assert "epoch 1/1" not in ended[1].text
    for one in several.told(ended):
        for kind in kinds:
            for found, expected in zip(one[kind], alone[kind], strict=True):
                np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


MISTAKES = (
    MODEL
    + """
def fails(name, do):
    try:
        do()
    except gx.errors.GraftaxError as error:
        tell(**{name: [type(error).__name__, str(error)]})
    gd.barrier(name)

batches = [(x[k : k + 32], y[k : k + 32]) for k in (0, 32)]
mine = [(a[16 * process : 16 * process + 16], b[16 * process : 16 * process + 16]) for a, b in batches]
fails("bare", lambda: made().fit(batches, verbose=0))
fails("odd", lambda: made().fit(gd.LocalRows([(x[:31], y[:31])]), verbose=0))
fails("seed", lambda: made(seed=process).fit(x, y, verbose=0))
fails("model", lambda: made(units=64 + 64 * process).fit(x, y, verbose=0))
fails("rate", lambda: made(rate=1e-3 * (1 + process)).fit(x, y, verbose=0))
fails("batch_size", lambda: made().fit(x, y, batch_size=32 + 32 * process, verbose=0))
fails("data", lambda: made().fit(x + process, y, verbose=0))
fails("rule", lambda: made("tensor" if process else "data").fit(x, y, verbose=0))
lone = gx.Sequential([layers.Dense(10)])
lone.compile("sgd", "mse")
fails("alone", lambda: lone.fit(x, np.ones((76, 10)), verbose=0))
model = made("sharded")
model(x[:4])
kernel = model.layers[0].kernel
fails("numpy", kernel.numpy)
import pickle
fails("pickle", lambda: pickle.dumps(kernel))
tell(shown=repr(kernel), gathered=list(KINDS["sharded"]().gather(kernel).shape))
model = made()
model.optimizer.iterations  # an own loop: the same comparison
@gx.jit
def step(a, b):
    return model.optimizer.minimize(lambda: gx.ops.mean(gx.ops.square(model(a) - b)), model.trainable_variables)
model(x[:4])
d = KINDS["data"]()
fails("own", lambda: step(*d.shard((x[:32] , np.float32([[process]])))))
everywhere = made().fit(gd.GlobalRows(batches), epochs=2, verbose=0).history["loss"]
local = made().fit(gd.LocalRows(mine), epochs=2, verbose=0).history["loss"]
tell(everywhere=everywhere, local=local)
"""
)


@pytest.mark.slow
def test_f1_and_f6_and_dt20_and_dt21_what_differs_stops_all_and_is_named():
    told = several.told(several.run(MISTAKES, 2, 2, timeout=200))
    messages = {
        "bare": ("DataError", "gx.distribution.LocalRows(batches)"),
        "odd": ("DataError", "whose devices are 2 along ('data',)"),
        "seed": ("ProcessError", "the global seed is 0 in process 0, and 1 in process 1"),
        "model": ("ProcessError", "[128]"),
        "rate": ("ProcessError", "the variable learning_rate is"),
        "batch_size": ("ProcessError", "part 0 is float32[32, 32]"),
        "data": ("ProcessError", "part 0 is float32[32, 32]"),
        "rule": ("ProcessError", "the mesh is {'data': 4}"),
        "alone": ("StateError", "with graftax.distribution.DataParallel().scope()"),
        "numpy": ("StateError", "distribution.gather(x) in all processes"),
        "pickle": ("StateError", "distribution.gather(x) in all processes"),
        "own": ("ProcessError", "argument 1 is"),
    }
    for one in told:
        for name, (kind, message) in messages.items():
            assert one[name][0] == kind, (name, one[name])
            assert message in one[name][1], (name, one[name])
        assert one["shown"] == "Variable('layers/0/kernel', shape=(32, 64), dtype=float32)"
        assert one["gathered"] == [32, 64]
        np.testing.assert_allclose(one["local"], one["everywhere"], rtol=1e-6)


GRAFTS = (
    MODEL
    + """
for name, creator in {"lora": gx.reparam.LoRA(rank=2), "norm": gx.reparam.WeightNorm()}.items():
    layer = layers.Dense(64)
    with KINDS["sharded"]().scope():
        gx.set_random_seed(3)
        layer(x[:4])
    gx.graft(layer, creator, where="kernel")
    out = float(gx.ops.sum(gx.jit(lambda x: layer(x) ** 2)(x[:4])))
    gx.ungraft(layer)
    tell(**{name: [out, float(np.abs(KINDS["sharded"]().gather(layer.kernel)).sum())]})

def fails(name, do):
    try:
        do()
    except gx.errors.GraftaxError as error:
        tell(**{name: str(error)})
if count > 1:
    model = made("sharded")
    spread = KINDS["sharded"]().shard(x)
    model(x[:4])
    kernel = model.layers[0].kernel
    fails("variable", lambda: gx.Variable(spread))
    fails("fit", lambda: model.fit(spread, y, verbose=0))
    fails("predict", lambda: model.predict(spread, verbose=0))
    fails("asarray", lambda: np.asarray(kernel))
    fails("length", lambda: np.linalg.norm(kernel))
    fails("foreign", lambda: gx.jit(lambda: np.asarray(spread))())
    fails("mesh", lambda: gd.DataParallel(gd.mesh(data=1)))
"""
)


@pytest.mark.slow
def test_grafts_of_split_weights_and_values_that_no_process_has():
    (alone,) = several.told(several.run(GRAFTS, 1, 4, timeout=200))
    for one in several.told(several.run(GRAFTS, 2, 2, timeout=200)):
        for name, expected in alone.items():
            np.testing.assert_allclose(one[name], expected, rtol=1e-5)
        for name in ("variable", "fit", "predict", "asarray", "length", "foreign"):
            assert "of which this process has a part only" in one[name], name
            assert "distribution.gather(x) in all processes" in one[name], name
        assert "they cannot have equal shares of 1 place" in one["mesh"]


UNEQUAL = (
    MODEL.replace("join()", "join(timeout=30)")
    + """
def fails(name, do):
    begun = time.time()
    try:
        do()
    except Exception as error:
        tell(**{name: [type(error).__name__, str(error), time.time() - begun]})
    gd.barrier(name)

part = slice(16 * process, 16 * process + 16)
batches = [(x[k : k + 32][part], y[k : k + 32][part]) for k in (0, 32)] * 9
class Fails:
    def __init__(self, at): self.at = at
    def __iter__(self):
        for i, batch in enumerate(batches):
            if process == 1 and i == self.at: raise OSError("the disk is gone")
            yield batch
model = made()
fails("fewer", lambda: model.fit(gd.LocalRows(batches[: 7 - process]), verbose=0))
fails("generator", lambda: model.fit(gd.LocalRows(iter(batches[: 3 + process])), verbose=0))
fails("empty", lambda: model.fit(gd.LocalRows(batches[: process * 3]), verbose=0))
short = tuple(a[: 16 - 8 * process] for a in batches[0])
fails("rows", lambda: model.fit(gd.LocalRows([*batches[:4], short]), verbose=0))
fails("loader", lambda: model.fit(gd.LocalRows(Fails(5)), verbose=0))
fails("validation", lambda: model.fit(
    gd.LocalRows(batches[:2]), validation_data=gd.LocalRows(batches[: 2 - process]), verbose=0))
fails("predict", lambda: model.predict(gd.LocalRows([b[:1] for b in batches[: 4 - process]]), verbose=0))
fails("global", lambda: model.fit(gd.GlobalRows([(x[:32], y[:32]), (x[32:64] + process, y[32:64])]), verbose=0))
n = 76 - 32 * process
fails("length", lambda: model.fit(x[:n], y[:n], batch_size=32, shuffle=False, verbose=0))
class Meddles(gx.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if gd.is_main():
            self.model.layers[0].bias.assign_add(np.ones(64, "float32"))
        self.model.optimizer.learning_rate = 1e-4  # in all
fails("alone", lambda: model.fit(x, y, batch_size=32, epochs=3, verbose=0, callbacks=[Meddles()]))
fails("again", lambda: model.fit(x, y, batch_size=32, verbose=0))
model.layers[0].bias.assign(np.zeros(64))
class Differs(gx.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.optimizer.learning_rate = 1e-4 * (1 + process)
fails("rate", lambda: model.fit(gd.LocalRows(batches), epochs=3, verbose=0, callbacks=[Differs()]))
model.optimizer.learning_rate = 1e-3
goes_on = iter(batches)
first = model.fit(gd.LocalRows(goes_on), steps_per_epoch=3, epochs=2, verbose=0).history["loss"]
tell(steps=int(model.optimizer.iterations.numpy()), left=len(list(goes_on)), whole=len(first))
begun = time.time()
model.evaluate(gd.LocalRows(batches * 20), verbose=0)
tell(seconds=time.time() - begun)
"""
)


@pytest.mark.slow
def test_what_differs_in_the_middle_of_a_run_stops_all_and_is_named():
    told = several.told(several.run(UNEQUAL, 2, 2, timeout=200))
    messages = {
        "fewer": "part 0 of batch 6 of epoch 1 is float32[16, 32] in process 0, and missing: there are no more in proc",
        "generator": "part 0 of batch 3 of epoch 1 is missing: there are no more in process 0, and float32[16, 32] in",
        "empty": "process 1 has 'part 0 of batch 0 of epoch 1', process 0 has not",
        "rows": "part 0 of batch 4 of epoch 1 is float32[16, 32] in process 0, and float32[8, 32] in process 1",
        "loader": "process 1 could not take part: OSError: the disk is gone",
        "validation": "fit: validation is batches: 2 in process 0, and batches: 1 in process 1",
        "predict": "part 0 of batch 3 of epoch 1",
        "global": "the values of batch 1 of epoch 1 is",
        "length": "the number of batches is 3 in process 0, and 2 in process 1",
        "alone": "process 0 has 'the variable layers/0/bias', process 1 has not",
        "again": "process 0 has 'the variable layers/0/bias', process 1 has not",
        "rate": "the variable learning_rate is float32[], split by (), value",
    }
    for process, one in enumerate(told):
        for name, message in messages.items():
            kind, text, seconds = one[name]
            assert kind == ("OSError" if name == "loader" and process == 1 else "ProcessError"), (name, text)
            assert ("the disk is gone" if kind == "OSError" else message) in text, (name, text)
            assert seconds < 25, name  # nobody waited for a timeout
        assert one["left"] == 12  # of an iterator nothing is read in vain
        print(one["seconds"])


RUNS = (
    MODEL.replace("join()", "join(heartbeat=4)")
    + """
folder, how = arguments[:2]
model = made("sharded")
saves = gx.callbacks.ModelCheckpoint(folder, every=2, keep=2, on_preemption=True, in_background=how == "killed")
class Dies(gx.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if how == "killed" and self.params["step"] == int(arguments[2]):
            saves.manager.wait()
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "term" and self.params["step"] == 3 and process == 1:
            os.kill(os.getpid(), signal.SIGTERM)
import csv
log = gx.callbacks.CSVLogger(f"{folder}.csv")
callbacks = [] if how == "straight" else [Dies(), saves, log]
resume = folder if how == "resumed" else None
history = model.fit(x, y, batch_size=16, epochs=3, verbose=0, callbacks=callbacks, resume=resume)
tell(loss=history.history["loss"], step=saves.params["step"] if callbacks else None)
"""
)


@pytest.mark.slow
def test_elastic_killed_on_four_and_resumed_on_two(tmp_path):
    (straight,) = several.told(several.run(RUNS, 1, 4, tmp_path / "run", "straight", timeout=100))
    killed = several.run(RUNS, 4, 1, tmp_path / "run", "killed", 8, timeout=150)
    assert -signal.SIGKILL in [one.status for one in killed]
    assert all("loss" not in one.told for one in killed)
    for one in several.told(several.run(RUNS, 2, 2, tmp_path / "run", "resumed", timeout=100)):
        np.testing.assert_allclose(one["loss"], straight["loss"], rtol=1e-5)
    lines = (tmp_path / "run.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch", "0", "1", "2"]


@pytest.mark.slow
def test_a_signal_to_one_saves_and_ends_all(tmp_path):
    told = several.told(several.run(RUNS, 2, 2, tmp_path / "run", "term", timeout=100))
    assert told[0]["step"] == told[1]["step"] < 15
    assert (tmp_path / "run" / f"step-{told[0]['step']}").is_dir()
    (resumed,) = several.told(several.run(RUNS, 1, 4, tmp_path / "run", "resumed", timeout=100))
    assert len(resumed["loss"]) == 3


def test_f6_values_of_other_processes_are_told(monkeypatch):
    from graftax.backend import registry

    class Elsewhere:
        shape = (2, 3)
        is_fully_addressable = False

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("spans non-addressable devices")

    with pytest.raises(StateError, match=r"distribution\.gather\(x\) in all processes"):
        registry.current().arrays.to_numpy(Elsewhere())
