"""A strict restore resets the slots that the saved optimizer had not made: training repeats exactly."""

import numpy as np
import pytest

import graftax as gx
from graftax.optimizers import LBFGS, SGD, Adam, Lookahead, ScheduleFreeSGD, Sophia
from tests.conformance.optimizer_rows import ROWS

X = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2)


def _minimized(optimizer, variables, steps):
    w, b = variables
    for _ in range(steps):
        optimizer.minimize(lambda: gx.ops.sum((X @ w.value + b.value - 1.0) ** 2), variables)
    return [v.numpy() for v in variables]


def _repeats(make, path, before=0, between=3):
    """Save after some steps, train, restore, train again; return the report."""
    w, b = gx.Variable([[0.5, -1.0], [0.25, 2.0]]), gx.Variable([0.5, 1.0], name="b")
    optimizer = make()
    _minimized(optimizer, [w, b], before)
    checkpoint = gx.Checkpoint(w=w, b=b, optimizer=optimizer)
    checkpoint.save(path)
    first = _minimized(optimizer, [w, b], between)
    report = checkpoint.restore(path).assert_consumed()
    again = _minimized(optimizer, [w, b], between)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    return report


MAKERS = {
    "momentum": lambda: SGD(0.1, momentum=0.9),
    "average": lambda: SGD(0.1, ema_momentum=0.9),
    "accumulation": lambda: SGD(0.1, momentum=0.9, accumulation_steps=2),
    "loss scale": lambda: SGD(0.1, momentum=0.9, loss_scale="dynamic"),
    "another optimizer": lambda: SGD(0.1, rules=[("b", {"optimizer": Adam(0.1)})]),
    "around": lambda: Lookahead(SGD(0.1, momentum=0.9), every=2),
    "starts at the value": lambda: ScheduleFreeSGD(0.1),
    "history": lambda: LBFGS(history_size=2),
    "curvature": lambda: Sophia(0.1, seed=0),
}


@pytest.mark.broad
@pytest.mark.parametrize("name", MAKERS)
def test_saved_before_the_first_step(name, tmp_path):
    report = _repeats(MAKERS[name], tmp_path / "c")
    assert report.reset
    assert not report.fresh


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_of_every_optimizer(name, tmp_path):
    _repeats(ROWS[name].make, tmp_path / "c")
    _repeats(ROWS[name].make, tmp_path / "d", before=2)


def _trained(optimizer=None):
    w, optimizer = gx.Variable([1.0, 2.0]), optimizer or SGD(0.1, momentum=0.9)
    return w, optimizer, gx.Checkpoint(w=w, optimizer=optimizer)


def _momentum(w, optimizer):
    return optimizer.slot(w, "momentum").numpy().tolist()


def test_the_report_says_so(tmp_path):
    w, optimizer, checkpoint = _trained()
    checkpoint.save(tmp_path / "c")
    optimizer.apply([[1.0, 1.0]], [w])
    assert _momentum(w, optimizer) != [0.0, 0.0]
    report = checkpoint.restore(tmp_path / "c")
    assert report.reset == report.as_dict()["reset"] == ("optimizer/slots(momentum)/w",)
    assert "1 reset" in str(report)
    assert "not in the checkpoint, given its initial value" in str(report)
    assert _momentum(w, optimizer) == [0.0, 0.0]


@pytest.mark.parametrize("options", [{"mode": "overlap"}, {"only": "w"}, {"skip": "w"}, {"skip": "role:slot"}], ids=str)
def test_what_is_not_asked_for_stays(options, tmp_path):
    w, optimizer, checkpoint = _trained()
    checkpoint.save(tmp_path / "c")
    optimizer.apply([[1.0, 1.0]], [w])
    kept = _momentum(w, optimizer)
    report = checkpoint.restore(tmp_path / "c", **options)
    assert report.reset == ()
    assert _momentum(w, optimizer) == kept


def test_mode_cover_resets_too(tmp_path):
    w, optimizer, checkpoint = _trained()
    checkpoint.save(tmp_path / "c")
    optimizer.apply([[1.0, 1.0]], [w])
    assert checkpoint.restore(tmp_path / "c", mode="cover").reset
    assert _momentum(w, optimizer) == [0.0, 0.0]


def test_a_variable_that_was_frozen_when_it_was_saved(tmp_path):
    w, b, optimizer = gx.Variable([1.0, 2.0]), gx.Variable([1.0], trainable=False), SGD(0.1, momentum=0.9)
    checkpoint = gx.Checkpoint(w=w, b=b, optimizer=optimizer)
    optimizer.apply([[1.0, 1.0]], [w])
    saved = _momentum(w, optimizer)
    checkpoint.save(tmp_path / "c")
    b.trainable = True
    optimizer.apply([[1.0, 1.0], [1.0]], [w, b])
    report = checkpoint.restore(tmp_path / "c", trainable="program")
    assert report.reset == ("optimizer/slots(momentum)/b",)
    assert _momentum(w, optimizer) == saved
    assert _momentum(b, optimizer) == [0.0]


def test_a_slot_of_another_initial_value(tmp_path):
    class Counting(SGD):
        def create_slots(self, variable):
            return {"seen": gx.Slot(shape=(), initializer=5.0)}

        def update(self, gradient, value, slots, step):
            return value - gradient, {"seen": slots.seen + 1.0}

    w, optimizer, checkpoint = _trained(Counting(0.1))
    checkpoint.save(tmp_path / "c")
    optimizer.apply([[1.0, 1.0]], [w])
    assert float(optimizer.slot(w, "seen")) == 6.0
    checkpoint.restore(tmp_path / "c")
    assert float(optimizer.slot(w, "seen")) == 5.0


def test_an_error_changes_nothing(tmp_path):
    class Failing(SGD):
        fails = False

        def create_slots(self, variable):
            if self.fails:
                raise RuntimeError("no slots")
            return super().create_slots(variable)

    w, optimizer, checkpoint = _trained(Failing(0.1, momentum=0.9))
    checkpoint.save(tmp_path / "c")
    optimizer.apply([[1.0, 1.0]], [w])
    kept = w.numpy().tolist(), _momentum(w, optimizer)
    optimizer.fails = True
    with pytest.raises(RuntimeError, match="no slots"):
        checkpoint.restore(tmp_path / "c")
    optimizer.fails = False
    assert (w.numpy().tolist(), _momentum(w, optimizer)) == kept
    assert int(optimizer.iterations) == 1


@pytest.mark.broad
def test_fit_repeats_after_a_manager(tmp_path):
    x, y = np.ones((8, 2), "float32"), np.ones((8, 1), "float32")
    model = gx.Sequential([gx.Input((2,)), gx.layers.Dense(1)])
    model.compile(Adam(0.1), "mse")
    manager = gx.CheckpointManager(tmp_path / "run", model=model, optimizer=model.optimizer)
    manager.save(0)
    first = model.fit(x, y, epochs=3, verbose=0).history["loss"]
    manager.restore_latest()
    assert model.fit(x, y, epochs=3, verbose=0).history["loss"] == first
