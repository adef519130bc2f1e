"""Calls as Keras has them, whose messages named what does not do: now each says what does."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError, IndexRangeError, MissingAttributeError, StateError


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"filepath": "runs/b.weights.h5"}, ["directory='runs/b'"]),
        ({"filepath": "b-{epoch:02d}.keras", "save_best_only": True}, ["directory='b'", "monitor=", "keep_best=1"]),
        ({"filepath": "b", "save_weights_only": True}, ["directory='b'", "monitor=", "leave save_weights_only= out"]),
    ],
)
def test_model_checkpoint_tells_all_keywords(given, says):
    with pytest.raises(ArgumentTypeError) as caught:
        gx.callbacks.ModelCheckpoint(**given)
    assert all(part in caught.value.instead for part in says), caught.value.instead
    assert all(f"{name}=" in caught.value.received for name in given)


@pytest.mark.parametrize("hook", ["on_test_batch_end", "on_predict_batch_begin"])
def test_hooks_that_lambda_callback_does_not_take(hook):
    with pytest.raises(ArgumentTypeError, match=f"a subclass of graftax.Callback with {hook}"):
        gx.callbacks.LambdaCallback(**{hook: print})
    assert hasattr(gx.Callback, hook)


@pytest.mark.parametrize("names", [("sequence_length", "sequence_stride"), ("frame_length", "frame_step")])
def test_frames_of_a_spectrum(names):
    with pytest.raises(ArgumentTypeError, match="length= in place of .*step= in place of"):
        ops.stft(np.ones(64, "float32"), **dict(zip(names, (16, 8), strict=True)))


def test_sessions_and_clones():
    with pytest.raises(MissingAttributeError, match=r"copy\.deepcopy"):
        _ = gx.models.clone_model
    for space in (gx, gx.backend):
        with pytest.raises(MissingAttributeError, match=r"graftax\.set_random_seed"):
            _ = space.clear_session


def test_a_metric_that_does_not_know_which_class_to_ignore():
    metric = gx.metrics.SparseCategoricalAccuracy()
    with pytest.raises(IndexRangeError, match="at least 256 outputs; or ignore_class=255"):
        metric.update(np.array([0, 255]), np.ones((2, 3), "float32"))
    metric = gx.metrics.SparseCategoricalAccuracy(ignore_class=255)
    with pytest.raises(IndexRangeError, match="255 is ignored") as caught:
        metric.update(np.array([0, -1]), np.ones((2, 3), "float32"))
    assert caught.value.instead == "labels from 0 to 2, and 255"


def test_averages_before_a_step():
    w = gx.Variable([1.0, 2.0])
    optimizer = gx.optimizers.Adam(1e-2, ema_momentum=0.9)
    with pytest.raises(StateError, match=r"optimizer\.build\(model\.trainable_variables\)"), optimizer.averaged():
        pass
    optimizer.build([w])
    with optimizer.averaged():
        assert w.numpy().tolist() == [1.0, 2.0]
