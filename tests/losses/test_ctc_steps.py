"""CTC of labels that need more steps than there are: an error that names the sample, or 0 if that is asked for."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses
from graftax.core.errors import DataError

LOGITS = np.random.default_rng(3).normal(size=(2, 3, 4)).astype("float32")
LABELS = np.array([[1, -1, -1], [1, 1, 2]])
TOLD = r"(?s)^labels\[1\] = \[1, 1, 2\] for 3 steps.*3 labels and 1 blank between.* need 4 steps.*zero_infinity=True"


@pytest.mark.parametrize("blank", [0, 3])
def test_too_few_steps_are_named(blank):
    with pytest.raises(DataError, match=TOLD):
        losses.CTC(blank)(LABELS, LOGITS)
    assert np.isfinite(losses.CTC(blank)([[1, -1, -1], [1, 2, 1]], LOGITS))  # none are equal: three steps will do
    assert np.isfinite(losses.CTC(blank)(LABELS, LOGITS, sample_weight=[1.0, 0.0]))
    assert np.isfinite(losses.CTC(blank)(LABELS, LOGITS, mask=np.array([True, False])))


@pytest.mark.broad
def test_steps_that_a_mask_hides_do_not_count():
    keep = np.array([[True, True, True], [True, False, True]])
    labels = np.array([[1, -1, -1], [1, 2, 3]])
    with pytest.raises(DataError, match=r"(?s)^labels\[1\] = \[1, 2, 3\] for 2 steps.*3 labels need 3 steps"):
        losses.CTC()(labels, LOGITS, mask=keep)
    assert np.isfinite(losses.CTC()(labels, LOGITS, mask=keep & [[True], [False]]))


@pytest.mark.broad
def test_compiled_functions():
    assert np.isinf(gx.jit(losses.CTC())(LABELS, LOGITS))
    with pytest.raises(DataError, match=TOLD):
        gx.jit(losses.CTC(), checked=True)(LABELS, LOGITS)
    found = gx.jit(losses.CTC(zero_infinity=True), checked=True)(LABELS, LOGITS)
    np.testing.assert_allclose(found, losses.CTC()(LABELS[:1], LOGITS[:1]) / 2, rtol=1e-6)


@pytest.mark.broad
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}, {"steps_per_execution": 2}])
@pytest.mark.parametrize("padded", [False, True])
def test_a_model_says_it_before_it_is_trained(options, padded):
    model = gx.Sequential([layers.Masking(), layers.Dense(4)])
    model.compile(gx.optimizers.SGD(0.1), losses.CTC(), **options)
    x = np.concatenate([LOGITS, np.zeros_like(LOGITS)], 1) if padded else LOGITS
    model(x)
    before = model.layers[1].kernel.numpy()
    for run in (model.fit, model.evaluate):
        with pytest.raises(DataError, match=TOLD):
            run(x, LABELS, verbose=0)
    np.testing.assert_array_equal(model.layers[1].kernel.numpy(), before)
    assert np.isfinite(model.evaluate(x, LABELS, sample_weight=np.array([1.0, 0.0]), verbose=0)["loss"])
    if padded:
        x[1, 4] = 1  # a fourth step that counts
        assert np.isfinite(model.evaluate(x, LABELS, verbose=0)["loss"])
    model.compile(gx.optimizers.SGD(0.1), losses.CTC(zero_infinity=True), **options)
    assert np.isfinite(model.fit(x, LABELS, verbose=0).history["loss"]).all()


@pytest.mark.references
def test_zero_infinity_as_in_torch():
    torch = pytest.importorskip("torch")
    logits = torch.tensor(LOGITS, requires_grad=True)
    expected = torch.nn.functional.ctc_loss(
        logits.log_softmax(-1).transpose(0, 1),
        torch.tensor([1, 1, 1, 2]),
        torch.tensor([3, 3]),
        torch.tensor([1, 3]),
        reduction="none",
        zero_infinity=True,
    )
    expected.mean().backward()
    each = losses.CTC(zero_infinity=True, reduction="none")(LABELS, LOGITS)
    np.testing.assert_allclose(each, expected.detach().numpy(), rtol=1e-5)
    gradient = gx.grad(lambda z: losses.CTC(zero_infinity=True)(LABELS, z))(LOGITS)
    np.testing.assert_allclose(gradient, logits.grad.numpy(), atol=1e-6)
