"""fit in two processes whose arguments or callbacks differ: all are told at once, and the next call works."""

import pytest

from tests.distribution import several
from tests.distribution.test_training_together import MODEL

PROGRAM = (
    MODEL.replace("join()", "join(timeout=200)")
    + """
class Stops(gx.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if process == 1 and epoch == 1:
            self.model.stop_training = True
model = made("sharded")
def fails(name, **options):
    try:
        model.fit(x, y, **{"batch_size": 32, "epochs": 2, "verbose": 0, **options})
        tell(**{name: ""})
    except gx.errors.ProcessError as error:
        tell(**{name: str(error)})
    gd.barrier(name)
fails("epochs", epochs=2 + process)
fails("initial", initial_epoch=process)
fails("validation", validation_data=(x, y) if process else None)
fails("rows", validation_data=(x[: 32 + 32 * process], y[: 32 + 32 * process]), validation_batch_size=32)
fails("often", validation_data=(x, y), validation_freq=1 + process)
fails("resume", resume=arguments[0] if process else None)
fails("nans", check_nans=bool(process))
fails("stops", epochs=4, callbacks=[Stops()])
fails("shuffle", shuffle=bool(process))
fails("weights", sample_weight=np.ones(76) if process else None)
fails("steps", steps_per_epoch=1 + process)
early = gx.callbacks.EarlyStopping("loss", patience=1, min_delta=100.0)
fails("alike", epochs=9, callbacks=[early])
tell(epochs_of_all=len(model.history.history["loss"]))
"""
)


@pytest.mark.slow
def test_arguments_that_differ_are_named_at_once(tmp_path):
    messages = {
        "epochs": "fit: epochs is range(0, 2) in process 0, and range(0, 3) in process 1",
        "initial": "fit: epochs is range(0, 2) in process 0, and range(1, 2) in process 1",
        "validation": "fit: validation is none in process 0, and batches: 3 in process 1",
        "rows": "fit: validation is batches: 1 in process 0, and batches: 2 in process 1",
        "often": "fit: validation_freq is [1, 2] in process 0, and [2] in process 1",
        "resume": "fit: whether it resumes is False in process 0, and True in process 1",
        "nans": "fit: check_nans is False in process 0, and True in process 1",
        "stops": "what follows epoch 2 is the next epoch in process 0, and the end of fit, by model.stop_training in",
        "shuffle": "the first batch: part 0 is float32[32, 32]",
        "weights": "the first batch: process 1 has 'part 2', process 0 has not",
        "steps": "the first batch: the number of batches is 1 in process 0, and 2 in process 1",
        "alike": "",
    }
    for one in several.told(several.run(PROGRAM, 2, 2, tmp_path / "run", timeout=200)):  # nobody waits in vain
        for name, message in messages.items():
            text = one[name]
            assert message in text, (name, text)
            assert bool(text) == bool(message), (name, text)
        assert one["epochs_of_all"] == 2


WITHIN_AN_EPOCH = (
    MODEL.replace("join()", "join(timeout=12)")
    + """
import os
class Stops(gx.callbacks.Callback):
    def __init__(self, processes, step):
        self.processes, self.step = processes, step
    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = process in self.processes and batch == self.step
model = made("sharded")
model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=[Stops([0, 1], 1)])
tell(alike=model.optimizer.iterations.numpy().tolist())
try:
    model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=[Stops([1], 0)])
except gx.errors.ProcessError as error:
    tell(message=str(error))
os._exit(0)  # the others wait in a computation, and cannot come to the end
"""
)


@pytest.mark.slow
def test_a_process_that_stops_alone_within_an_epoch_says_so(tmp_path):
    both = several.told(several.run(WITHIN_AN_EPOCH, 2, 2, tmp_path / "run", timeout=200))
    assert [one["alike"] for one in both] == [2, 2]
    message = both[1]["message"]
    assert "process 1 sets model.stop_training after step 1 of epoch 1" in message
    assert "waited 12 s for process 0 of 2" in message
    assert "self.model.stop_training = True in on_epoch_end" in message
