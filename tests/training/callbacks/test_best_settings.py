"""Restored best weights are those of the best epoch: with the settings of expressions, and the adapters in use."""

import numpy as np
import pytest

import graftax as gx
from graftax.callbacks import EarlyStopping, LambdaCallback, SwapAverages
from graftax.core.errors import StateError
from graftax.reparam import LoRA

X = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2)


def adapted() -> gx.Model:
    gx.set_random_seed(0)
    model = gx.Sequential([gx.layers.Dense(2)])
    model.compile(gx.optimizers.SGD(0.1, ema_momentum=0.5), "mse")
    model(X)
    gx.graft(model, LoRA(1, alpha=4.0, name="a"), where="**/kernel")
    gx.graft(model, LoRA(1, alpha=2.0, name="b"), where="**/kernel")
    return model


def rescale(model: gx.Model, epoch: int) -> None:
    model.layers[0].kernel.adapters["a"].scale = float(epoch)


def switch(model: gx.Model, epoch: int) -> None:
    gx.adapters.use(model, *(["a"], ["b", "a"], ["b"], [])[epoch])


def run(change, *others, stop=None, epochs=4, **options):
    """Run epochs of which the second is best, and return the model, and what it computed at the end of that."""
    model, values, best = adapted(), iter([3.0, 1.0, 2.0, 2.0]), []

    def end(epoch, logs):
        logs.update(val_loss=next(values))
        if epoch == 1:
            best.append(np.asarray(model.predict(X, verbose=0)))

    changes = LambdaCallback(on_epoch_begin=lambda epoch, logs: change(model, epoch), on_epoch_end=end)
    stop = stop or EarlyStopping(patience=9, restore_best_weights=True)
    model.fit(X, X, epochs=epochs, verbose=0, callbacks=[changes, *others, stop], **options)
    return model, best


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("change", [rescale, switch])
@pytest.mark.parametrize("others", [[], [SwapAverages(at_end=False)]], ids=["alone", "beside averages"])
def test_the_model_computes_what_it_did_in_the_best_epoch(change, others):
    model, (best,) = run(change, *others, **({"validation_data": (X, X)} if others else {}))
    np.testing.assert_allclose(model.predict(X, verbose=0), best, rtol=1e-6)


def test_averages_come_with_the_settings_of_their_epoch():
    model, _ = run(rescale, SwapAverages())
    assert model.layers[0].kernel.adapters["a"].scale == 1.0


@pytest.mark.broad
def test_a_resumed_run_knows_the_settings_of_the_best_epoch():
    stop, other = EarlyStopping(restore_best_weights=True), EarlyStopping(restore_best_weights=True)
    run(switch, stop=stop)
    model = adapted()
    other.set_model(model)
    other.set_params({})
    other.set_state(stop.get_state())
    other.on_train_end()
    assert list(model.layers[0].kernel.active) == ["b", "a"]
    earlier = {name: value for name, value in stop.get_state().items() if name != "best_settings"}
    other.set_state(earlier)
    other.on_train_end()  # as of an earlier version: weights alone


@pytest.mark.broad
def test_other_weights_than_in_the_best_epoch_are_told():
    def graft(model, epoch):
        if epoch == 2:
            gx.graft(model, LoRA(1, name="c"), where="**/kernel")

    with pytest.raises(StateError, match="gx.graft before fit"):
        run(graft)
