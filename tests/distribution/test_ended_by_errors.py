"""An exception in one of several processes ends all within seconds, and each says why."""

import signal

import pytest

from tests.distribution import several

PROGRAM = """
join(heartbeat=5, timeout=300)
who, how = arguments
rng = np.random.default_rng(0)
x, y = rng.normal(size=(64, 8)).astype("float32"), rng.normal(size=(64, 1)).astype("float32")
class Fails(gx.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 1 and who in (str(process), "all"):
            raise OSError(f"the disk of {process} is gone")
with gd.FullyShardedDataParallel(min_size=4).scope():
    model = gx.Sequential([gx.layers.Dense(64), gx.layers.Dense(1)])
    model.compile("adam", "mse")
try:
    model.fit(x, y, batch_size=16, epochs=50, verbose=0, callbacks=[Fails()])
except gx.errors.ProcessError as error:
    tell(lost=str(error))
    raise
except OSError:
    if how == "caught":
        raise SystemExit(3)
    raise
"""


@pytest.mark.slow
@pytest.mark.parametrize("who", ["0", "1", "all"])
def test_an_exception_in_one_process_ends_all_soon(who):
    ended = several.run(PROGRAM, 2, 2, who, "raised", timeout=200)  # far less than the time to wait for others
    for number, one in enumerate(ended):
        if who in (str(number), "all"):
            assert one.status == 1, one.text[-3000:]
            assert f"OSError: the disk of {number} is gone" in one.text
        else:
            assert one.status in (1, -signal.SIGABRT), one.text[-3000:]
    if who == "1":
        assert "process 0 lost the others in a computation: Gloo" in ended[0].told["lost"]
        assert "process 1 was ended by OSError: the disk of 1 is gone" in ended[0].told["lost"]


@pytest.mark.slow
def test_who_ends_all_alike_ends_with_its_own_status():
    ended = several.run(PROGRAM, 2, 2, "all", "caught", timeout=200)
    assert [one.status for one in ended] == [3, 3]
