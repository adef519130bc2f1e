"""What the loop of a session does before and after its steps, in runs that end somewhere and are resumed."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.callbacks import ModelCheckpoint


class Killed(BaseException):
    """The end of a process."""


class NoLastSave(ModelCheckpoint):
    """What a process leaves that is killed: nothing is saved at the end."""

    def on_exception(self, error):
        pass


class Loader(gx.Module):
    """Batches, with the place among them as Python state."""

    untracked = ("place",)

    def __init__(self):
        super().__init__()
        self.place, self.order = 0, np.arange(3)

    def get_state(self):
        return {"place": self.place, "order": self.order}

    def set_state(self, state):
        self.place, self.order = state["place"], state["order"]

    def __iter__(self):
        return self

    def __next__(self):
        self.place += 1
        self.order = np.roll(self.order, 1)
        return float(self.place + 10 * self.order[0])


class Program:
    """A loop that takes a batch, draws, changes a rate, steps, and moves an average behind."""

    def __init__(self, folder, compiled, ends, kind=ModelCheckpoint):
        self.w, self.rate, self.mean = gx.Variable(1.0), gx.Variable(1.0), gx.Variable(0.0)
        self.loader, self.ends, self.folder = Loader(), ends, folder
        self.step = gx.jit(self.move) if compiled else self.move
        self.checkpoint = kind(folder, every=2)

    def move(self, x, noise):
        self.w.assign(0.9 * self.w + self.rate * x + noise)

    def run(self, ends_at=None, steps=7):
        gx.set_random_seed(3)
        roots = {"w": self.w, "rate": self.rate, "mean": self.mean, "loader": self.loader}
        with gx.training.session([self.checkpoint], resume=self.folder, **roots) as run:

            def reach(place):
                if ends_at == (run.steps, place):
                    raise Killed

            while run.steps < steps:
                reach("before")
                x = next(self.loader)
                noise = gx.random.normal(())
                if run.steps % 3 == 2:
                    self.rate.assign(self.rate * 0.5)
                reach("in front of step")
                run.step(self.step, x, noise)
                reach("behind step")
                self.mean.assign(0.5 * self.mean + 0.5 * self.w)
                if self.ends:
                    run.end_step()
        return [float(v) for v in (self.w, self.rate, self.mean)] + [self.loader.place]


@pytest.mark.parametrize("kind", [ModelCheckpoint, NoLastSave], ids=["exception", "killed"])
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_a_loop_that_ends_its_steps_is_resumed_exactly(compiled, kind, tmp_path):
    whole = Program(tmp_path / "whole", compiled, True).run()
    for step in range(1, 7):
        for place in ("before", "in front of step", "behind step"):
            if (step, place) == (1, "behind step"):  # nobody knows yet that the loop ends its steps
                continue
            folder = tmp_path / f"{step} {place}"
            with pytest.raises(Killed):
                Program(folder, compiled, True, kind).run(ends_at=(step, place))
            assert Program(folder, compiled, True).run() == whole, (step, place)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_an_error_within_a_step(compiled, tmp_path):
    whole = Program(tmp_path / "whole", compiled, True).run()

    class Fails(Program):
        def move(self, x, noise):
            super().move(x, noise)
            if not compiled and self.loader.place == 4:
                raise Killed

    class FailsBehind(gx.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 3:
                raise Killed

    program = Fails(tmp_path / "run", compiled, True)
    if compiled:
        hidden, real = FailsBehind(), gx.training.session
        session = lambda callbacks, **rest: real([*callbacks, hidden], **rest)  # noqa: E731
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gx.training, "session", session)
            with pytest.raises(Killed):
                program.run()
    else:
        with pytest.raises(Killed):
            program.run()
    assert Program(tmp_path / "run", compiled, True).run() == whole


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_a_loop_that_does_not_say_so_is_warned_once(compiled, tmp_path):
    with pytest.warns(
        UserWarning, match=r"rate, mean, loader, the global random stream changed .* run.end_step"
    ) as told:
        Program(tmp_path, compiled, False).run()
    assert len([one for one in told if "end_step" in str(one.message)]) == 1


def test_nothing_is_said_where_all_happens_in_the_step(tmp_path, recwarn):
    w, loader = gx.Variable(0.0), Loader()
    with gx.training.session([ModelCheckpoint(tmp_path, every=1)], w=w, loader=loader) as run:
        for _ in range(3):
            run.step(lambda: w.assign_add(next(loader)))
        run.end_epoch({"loss": 1.0})
        next(loader)  # the checkpoint of that epoch is written
        run.step(lambda: w.assign_add(next(loader)))
    assert not recwarn.list


class Counts(gx.Model):
    """A model with Python state that its steps change."""

    untracked = ("calls", "fails_at")

    def __init__(self, fails_at=None):
        super().__init__()
        self.dense, self.calls, self.fails_at = gx.layers.Dense(1), [], fails_at

    def get_state(self):
        return {"calls": self.calls}  # the list itself, which goes on to change

    def set_state(self, state):
        self.calls = state["calls"]

    def call(self, x):
        return self.dense(x)

    def train_step(self, batch):
        self.calls.append(len(self.calls))
        if len(self.calls) == self.fails_at:
            raise Killed
        return {"loss": self.optimizer.minimize(lambda: ops.mean(self(batch[0]) ** 2), self.trainable_variables)}


@pytest.mark.parametrize("fails_at", [2, 3, 5])
def test_python_state_of_a_model_is_that_before_the_step_that_failed(fails_at, tmp_path):
    ends = []
    for folder, fails in ((tmp_path / "whole", None), (tmp_path / "run", fails_at), (tmp_path / "run", None)):
        gx.set_random_seed(1)
        model = Counts(fails)
        model.compile("sgd", run_eagerly=True)
        try:
            model.fit(
                np.ones((12, 2), "float32"), batch_size=2, verbose=0, resume=folder, callbacks=[ModelCheckpoint(folder)]
            )
        except Killed:
            continue
        ends.append((model.calls, model.dense.kernel.numpy().tolist()))
    assert ends[0] == ends[1]
    assert ends[0][0] == list(range(6))
