"""What the base class does for every rule: accumulation, averages, loss scaling, clipping relative to the weights."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.optimizers import SGD, Adam, AdamW, LossScale, schedules

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all

runs = pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
GRADIENTS = np.random.default_rng(0).normal(size=(8, 2, 3)).astype("float32")


class Mine(gx.Optimizer):
    """A rule from outside, not elementwise."""

    def create_slots(self, variable):
        return {"norm": gx.Slot(shape=())}

    def update(self, gradient, value, slots, step):
        norm = 0.9 * slots.norm + ops.norm(gradient)
        return value - step.learning_rate * gradient / norm, {"norm": norm}


MAKERS = {
    "sgd": lambda **o: SGD(schedules.ExponentialDecay(0.1, 1, 0.5), momentum=0.9, **o),
    "adamw": lambda **o: AdamW(0.1, weight_decay=0.1, global_clipnorm=0.5, **o),
    "mine": lambda **o: Mine(0.1, **o),
}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def variables():
    return [gx.Variable(np.full((2, 3), 1.0, "float32")), gx.Variable(np.full((3,), 2.0, "float32"))]


def pair(gradient):
    return [gradient, gradient[0]]


def trained(optimizer, gradients, run=gx.jit):
    found = variables()
    step = run(lambda g: optimizer.apply(pair(g), found))
    for gradient in gradients:
        step(ops.asarray(gradient))
    return found, step


def assert_close(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-6)


# --- accumulation ---------------------------------------------------------------------------------------------------


@pytest.mark.in_turn(5)
@runs
@makers
def test_op15_accumulation_is_the_large_batch(make, run):
    optimizer, large = make(accumulation_steps=4), make()
    found, _ = trained(optimizer, GRADIENTS, run)
    expected, _ = trained(large, GRADIENTS.reshape(2, 4, 2, 3).mean(1), run)
    assert_close(found, expected)
    assert int(optimizer.iterations) == int(large.iterations) == 2


@pytest.mark.broad
def test_op15_nothing_moves_before_the_last_small_batch():
    optimizer = SGD(1.0, weight_decay=0.1, accumulation_steps=2)
    found, step = trained(optimizer, GRADIENTS[:3])
    after_one_update, _ = trained(SGD(1.0, weight_decay=0.1), [GRADIENTS[:2].mean(0)])
    assert_close(found, after_one_update)
    assert int(optimizer.gathered) == 1
    assert step.trace_count == 1


@pytest.mark.broad
def test_accumulation_goes_on_where_a_checkpoint_left_it(tmp_path):
    optimizer = Adam(0.1, accumulation_steps=4)
    found, step = trained(optimizer, GRADIENTS[:6])
    gx.Checkpoint(optimizer=optimizer, variables=found).save(tmp_path / "c")
    for gradient in GRADIENTS[6:]:
        step(ops.asarray(gradient))
    other, again = Adam(0.1, accumulation_steps=4), variables()
    gx.Checkpoint(optimizer=other, variables=again).restore(tmp_path / "c")
    for gradient in GRADIENTS[6:]:
        other.apply(pair(ops.asarray(gradient)), again)
    assert_close(again, found)


@pytest.mark.broad
def test_what_is_frozen_in_between_stays_and_the_rest_goes_on():
    optimizer = SGD(1.0, accumulation_steps=2)
    found, step = trained(optimizer, GRADIENTS[:1])
    found[1].trainable = False
    step(ops.asarray(GRADIENTS[1]))
    np.testing.assert_array_equal(found[1].numpy(), [2.0] * 3)
    np.testing.assert_allclose(found[0].numpy(), 1 - GRADIENTS[:2].mean(0), rtol=1e-6)


@pytest.mark.broad
def test_fit_accumulates():
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
    models = [gx.Sequential([gx.layers.Dense(1, kernel_initializer="ones")]) for _ in range(2)]
    for model, steps in zip(models, (1, 4), strict=True):
        model.compile(SGD(0.1, accumulation_steps=steps), "mse")
        model.fit(x, x[:, :1], batch_size=8 // steps, shuffle=False, epochs=2, verbose=0)
    assert_close(models[0].variables, models[1].variables)


@pytest.mark.parametrize("steps", [0, 1.5, True])
def test_a_number_of_steps_that_is_none(steps):
    with pytest.raises(gx.errors.ArgumentError, match="accumulation_steps"):
        SGD(0.1, accumulation_steps=steps)


# --- averages -------------------------------------------------------------------------------------------------------


@runs
def test_op16_the_average_starts_at_the_first_value_after_a_step(run):
    optimizer = SGD(0.1, ema_momentum=0.9)
    found, expected = variables(), None
    step = run(lambda g: optimizer.apply(pair(g), found))
    for gradient in GRADIENTS[:4]:
        step(ops.asarray(gradient))
        value = found[0].numpy()
        expected = value if expected is None else 0.9 * expected + 0.1 * value
    np.testing.assert_allclose(optimizer.slot(found[0], "moving_average").numpy(), expected, rtol=1e-6)
    raw = found[0].numpy()
    with optimizer.averaged():
        np.testing.assert_allclose(found[0].numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(found[0].numpy(), raw)
    optimizer.assign_averages()
    np.testing.assert_allclose(found[0].numpy(), expected, rtol=1e-6)


@pytest.mark.broad
def test_op16_the_average_moves_with_updates_not_with_small_batches():
    both = SGD(0.1, ema_momentum=0.5, accumulation_steps=2)
    found, _ = trained(both, GRADIENTS)
    plain = SGD(0.1, ema_momentum=0.5)
    other, _ = trained(plain, GRADIENTS.reshape(4, 2, 2, 3).mean(1))
    np.testing.assert_allclose(
        both.slot(found[0], "moving_average").numpy(), plain.slot(other[0], "moving_average").numpy(), rtol=1e-6
    )


def test_an_error_inside_of_averaged_puts_the_values_back():
    optimizer = SGD(0.1, ema_momentum=0.5)
    found, _ = trained(optimizer, GRADIENTS)
    raw = found[0].numpy()
    with pytest.raises(ZeroDivisionError), optimizer.averaged():
        raise ZeroDivisionError
    np.testing.assert_array_equal(found[0].numpy(), raw)


def test_to_train_inside_of_averaged_is_refused():
    optimizer = SGD(0.1, ema_momentum=0.5)
    found, step = trained(optimizer, GRADIENTS)
    with optimizer.averaged(), pytest.raises(gx.errors.StateError, match="averaged"):
        optimizer.apply(pair(GRADIENTS[0]), found)
    step(ops.asarray(GRADIENTS[0]))


def test_averages_that_are_not_kept():
    with pytest.raises(gx.errors.StateError, match="ema_momentum"), SGD(0.1).averaged():
        pass
    with pytest.raises(gx.errors.ArgumentError, match="ema_momentum"):
        SGD(0.1, ema_momentum=1.0)


def test_the_average_of_16_bit_weights_is_kept_in_32():
    optimizer = SGD(0.1, ema_momentum=0.5)
    w = gx.Variable(np.ones(3, "float32"), dtype="bfloat16")
    optimizer.apply([ops.ones((3,), "bfloat16")], [w])
    assert optimizer.slot(w, "moving_average").dtype == "float32"
    with optimizer.averaged():
        assert w.dtype == "bfloat16"


def test_rules_do_not_see_the_slots_of_the_base():
    seen = []

    class Looking(gx.Optimizer):
        def update(self, gradient, value, slots, step):
            seen.append(sorted(vars(slots)))
            return value, {}

    trained(Looking(0.1, ema_momentum=0.5, accumulation_steps=2), GRADIENTS[:2])
    assert seen
    assert all(names == [] for names in seen)

    class Clashing(gx.Optimizer):
        def create_slots(self, variable):
            return {"moving_average": gx.Slot()}

    with pytest.raises(gx.errors.ArgumentError, match="moving_average"):
        Clashing(0.1).build(variables())


# --- loss scaling ---------------------------------------------------------------------------------------------------


@pytest.mark.broad
@runs
def test_op24_a_step_that_is_not_finite_is_left_out_and_halves_the_scale(run):
    optimizer = Adam(0.1, loss_scale=LossScale(1024.0), ema_momentum=0.5)
    found = variables()
    step = run(lambda g: optimizer.apply(pair(g), found))
    step(ops.asarray(GRADIENTS[0]))
    before = [v.numpy() for v in [*found, *optimizer.variables]]
    names = list(optimizer.named_variables())
    step(ops.asarray(GRADIENTS[1]).at[0, 0].set(np.inf))
    after = dict(zip([*range(2), *names], [v.numpy() for v in [*found, *optimizer.variables]], strict=True))
    changed = {name for name, a, b in zip(after, before, after.values(), strict=True) if not np.array_equal(a, b)}
    assert changed == {"loss_scale/scale", "loss_scale/good_steps"}
    assert float(optimizer.loss_scale.scale) == 512
    step(ops.asarray(GRADIENTS[2]))
    assert int(optimizer.iterations) == 2


@pytest.mark.broad
def test_op24_the_scale_doubles_after_good_steps():
    optimizer = SGD(0.1, loss_scale=LossScale(8.0, growth_interval=3))
    _, step = trained(optimizer, GRADIENTS[:7])
    assert float(optimizer.loss_scale.scale) == 32
    assert int(optimizer.loss_scale.good_steps) == 1
    assert step.trace_count == 1


def test_a_fixed_scale_changes_no_result_and_never_itself():
    plain, scaled = variables(), variables()
    for found, optimizer in ((plain, SGD(0.1)), (scaled, SGD(0.1, loss_scale=256.0))):
        for _ in range(3):
            loss = optimizer.minimize(lambda found=found: ops.sum(found[0] * found[0]) * ops.sum(found[1]), found)
    assert_close(scaled, plain)
    assert float(optimizer.loss_scale.scale) == 256
    assert float(loss) < 36


@pytest.mark.broad
def test_small_gradients_of_float16_survive_with_a_scale():
    moved = {}
    for scale in (None, "dynamic"):
        w = gx.Variable(np.ones(1, "float32"))
        optimizer = SGD(1e7, loss_scale=scale)

        def loss(w=w):
            tiny = ops.cast(w, "float16") * np.float16(1e-4)
            return ops.sum(tiny * np.float16(1e-4))

        optimizer.minimize(loss, [w])
        moved[scale] = float(1 - w.numpy()[0])
    assert moved[None] == 0
    assert moved["dynamic"] == pytest.approx(0.1, rel=0.05)


@pytest.mark.broad
def test_fit_scales_and_shows_the_loss_itself():
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
    losses = []
    for scale in (None, "dynamic"):
        model = gx.Sequential([gx.layers.Dense(1, kernel_initializer="ones")])
        model.compile(SGD(0.1, loss_scale=scale), "mse")
        losses.append(model.fit(x, x[:, :1], batch_size=4, shuffle=False, epochs=2, verbose=0).history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)


@pytest.mark.parametrize("scale", ["much", True, -1.0])
def test_a_scale_that_is_none(scale):
    with pytest.raises(gx.errors.ArgumentError):
        SGD(0.1, loss_scale=scale)


@pytest.mark.broad
def test_accumulation_leaves_out_what_is_not_finite():
    optimizer = SGD(1.0, loss_scale=LossScale(1.0, None), accumulation_steps=2)
    found, step = trained(optimizer, GRADIENTS[:1])
    step(ops.full((2, 3), np.nan))
    step(ops.asarray(GRADIENTS[1]))
    np.testing.assert_allclose(found[0].numpy(), 1 - GRADIENTS[:2].mean(0), rtol=1e-6)


# --- clipping relative to the weights ---------------------------------------------------------------------------------


def test_adaptive_clip_by_units():
    value = np.float32([[3, 0], [4, 0], [0, 0.0]])
    gradient = np.float32([[0.3, 1], [0.4, 0], [0, 0]])
    w = gx.Variable(value)
    SGD(1.0, adaptive_clip=0.01).apply([gradient], [w])
    moved = value - w.numpy()
    np.testing.assert_allclose(moved[:, 0], gradient[:, 0] / 0.5 * 0.05, rtol=1e-5)
    np.testing.assert_allclose(moved[:, 1], [1e-5, 0, 0], rtol=1e-4)  # weights of 0 count as 1e-3


def test_adaptive_clip_leaves_what_is_short():
    w = gx.Variable([3.0, 4.0])
    SGD(1.0, adaptive_clip=0.1).apply([[0.3, 0.0]], [w])
    np.testing.assert_allclose(w.numpy(), [2.7, 4.0], rtol=1e-6)


def test_several_clips_act_in_their_order():
    gradient = np.float32([3, -4, 0.05])
    w = gx.Variable(np.zeros(3, "float32"))
    SGD(1.0, clipvalue=0.1, clipnorm=0.2, adaptive_clip=1.0).apply([gradient], [w])
    clipped = np.clip(gradient, -0.1, 0.1)
    expected = clipped * min(1, 0.2 / np.linalg.norm(clipped))
    expected *= 1e-3 / np.linalg.norm(expected)
    np.testing.assert_allclose(w.numpy(), -expected, rtol=1e-5)


# --- all at once ------------------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_copies_and_reprs():
    optimizer = Adam(0.1, accumulation_steps=2, ema_momentum=0.5, adaptive_clip=0.1)
    assert repr(optimizer) == "Adam(learning_rate=0.1, adaptive_clip=0.1, accumulation_steps=2, ema_momentum=0.5)"
    found, _ = trained(optimizer, GRADIENTS[:3])
    twin, others = copy.deepcopy((optimizer, found))
    twin.apply(pair(GRADIENTS[3]), others)
    optimizer.apply(pair(GRADIENTS[3]), found)
    assert_close(others, found)
