"""A step of a session that raises in the middle: the checkpoint has whole steps, however the step is written."""

import numpy as np
import pytest

import graftax as gx
from graftax.callbacks import LambdaCallback, ModelCheckpoint


def parts():
    first, second = gx.Variable([0.0], name="first"), gx.Variable([0.0], name="second")

    @gx.jit
    def both():
        first.assign_add([1.0])
        second.assign_add([1.0])

    return first, second, both


def plain(first, second, both, fails):
    first.assign_add([1.0])
    if fails:
        raise ValueError("in the middle")
    second.assign_add([1.0])


def around(first, second, both, fails):
    both()
    if fails:
        raise ValueError("in the middle")


STEPS = {"plain": plain, "around": around}


def run(folder, step, fails_at, before=None, error=ValueError, **options):
    first, second, both = parts()
    with gx.training.session(
        [ModelCheckpoint(folder, every=100)], resume=folder, first=first, second=second, **options
    ) as session:
        while session.steps < 5:
            if before == session.steps:
                session.step(both)
            else:
                session.step(step, first, second, both, session.steps == fails_at)
    return first, second


@pytest.mark.broad
@pytest.mark.parametrize("before", [None, 2], ids=["alone", "after-a-compiled-step"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
def test_the_checkpoint_has_whole_steps_and_the_resumed_run_goes_on_from_there(tmp_path, step, before):
    with pytest.raises(ValueError, match="in the middle"):
        run(tmp_path, step, fails_at=3, before=before)
    manager = gx.CheckpointManager(tmp_path)
    with gx.checkpoint.read(manager.latest().path) as arrays:
        assert (manager.latest().step, float(arrays["first"][0]), float(arrays["second"][0])) == (3, 3, 3)
    first, second = run(tmp_path, step, fails_at=None)
    assert (float(first[0]), float(second[0])) == (5, 5)


def test_what_the_step_has_done_stays_in_the_objects(tmp_path):
    first, second, both = parts()
    saving = ModelCheckpoint(tmp_path, every=100)
    with gx.training.session([saving], first=first, second=second) as run:
        run.step(plain, first, second, both, False)
        with pytest.raises(ValueError, match="in the middle"):
            run.step(plain, first, second, both, True)
    assert (float(first[0]), float(second[0])) == (2, 1)


def test_without_a_model_checkpoint_nothing_is_kept():
    first, second, _ = parts()
    seen = []
    watch = LambdaCallback(on_train_batch_end=lambda batch, logs: None)
    with gx.training.session([watch], first=first, second=second) as session:
        for _ in range(3):
            session.step(lambda: seen.append(session._state._at.retreat))
    assert seen == [None] * 3


@pytest.mark.broad
def test_settings_of_expressions_that_a_session_goes_on_with_are_told(tmp_path):
    def loop(alpha):
        layer = gx.layers.Dense(1, use_bias=False)
        layer(np.ones((1, 2), "float32"))
        gx.graft(layer, gx.reparam.LoRA(1, alpha=alpha), where="kernel")
        with gx.training.session([ModelCheckpoint(tmp_path, every=1)], resume=tmp_path, layer=layer) as session:
            session.step(lambda: 0.0)

    loop(1)
    with pytest.warns(UserWarning, match=r"resume=: layer/kernel/adapters/lora goes on with scale=8\.0"):
        loop(8)
