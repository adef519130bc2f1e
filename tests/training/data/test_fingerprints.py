"""A resumed run reads again what it was trained on, or says that it does not."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import LambdaCallback, ModelCheckpoint
from graftax.core.errors import DataError
from graftax.training.sources.fingerprint import extend

X = np.arange(24, dtype="float32").reshape(12, 2)


class Killed(BaseException):
    """What a machine does not say."""


class Shuffled:
    """Yields batches in an order of a generator that nobody saves."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)

    def __iter__(self):
        order = self.draw.permutation(12)
        for i in range(0, 12, 2):
            yield X[order[i : i + 2]], X[order[i : i + 2], :1]


def stream(seed):
    while True:
        yield from Shuffled(seed)


def train(data, where, kill_at=None, **options):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(1)])
    model.compile(gx.optimizers.SGD(1e-4), "mse", steps_per_execution=options.pop("steps_per_execution", 1))

    def kill(batch, logs):
        if int(model.optimizer.iterations) == kill_at:
            raise Killed

    callbacks = [ModelCheckpoint(where, every=2), LambdaCallback(on_train_batch_end=kill)]
    model.fit(data, epochs=3, verbose=0, resume=where, callbacks=callbacks, **options)
    return model.get_weights()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("make", "options"),
    [(Shuffled, {}), (Shuffled, {"steps_per_execution": 2}), (stream, {"steps_per_epoch": 4})],
    ids=["a loader", "several steps at once", "a generator"],
)
def test_another_order_is_refused_and_the_same_goes_on(tmp_path, make, options):
    for where in ("other", "same"):
        with pytest.raises(Killed):
            train(make(0), tmp_path / where, 6 if "steps_per_execution" in options else 3, **options)
    with pytest.raises(DataError, match="others than those that it was trained on"):
        train(make(1), tmp_path / "other", **options)
    if make is stream:
        for a, b in zip(
            train(make(0), tmp_path / "same", **options), train(make(0), tmp_path / "whole", **options), strict=True
        ):
            np.testing.assert_array_equal(a, b)


def test_what_a_fingerprint_tells_apart():
    one, other = (X[:2], None), (X[2:4], None)
    assert extend(extend(0, one), other) == extend(extend(0, one), other)
    assert extend(extend(0, one), other) != extend(extend(0, other), one)
    assert extend(0, one) != extend(0, (X[:2].reshape(4), None))
    assert extend(0, (X[:2].T.copy(),)) == extend(0, (X[:2].T,))
