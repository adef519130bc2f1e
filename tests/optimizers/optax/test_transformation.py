"""Transformations of optax as optimizers: the numbers of optax run by hand, and what the state goes through."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, BackendCapabilityError, CheckpointError
from graftax.optimizers import SGD, Optax

optax = pytest.importorskip("optax")
contrib = optax.contrib

RNG = np.random.default_rng(0)
SHAPES = {"kernel": (3, 2), "bias": (2,)}
START = {name: RNG.normal(size=shape).astype("float32") for name, shape in SHAPES.items()}
GRADIENTS = [
    {name: (RNG.normal(size=shape) * scale).astype("float32") for name, shape in SHAPES.items()}
    for scale in (1, 30, 0.1)
]


class Net(gx.Module):
    def __init__(self, dtype="float32", names=SHAPES):
        super().__init__()
        for name in names:
            setattr(self, name, gx.Variable(START[name], dtype=dtype))


def apply(optimizer, net, steps=GRADIENTS, run=lambda f: f):
    step = run(lambda gradients: optimizer.apply(gradients, net.named_variables()))
    for gradients in steps:
        step(gradients)
    return step


def by_hand(tx, steps=GRADIENTS, start=START):
    values, state = start, tx.init(start)
    for gradients in steps:
        updates, state = tx.update(gradients, state, values)
        values = optax.apply_updates(values, updates)
    return values, state


def no_bias(params):
    return {path: not path.endswith("bias") for path in params}


def labels(params):
    return {path: "slow" if path.endswith("bias") else "fast" for path in params}


def schedule(count):
    return 0.1 / (count + 1)


KINDS = {
    "chain": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.1)),
    "labels": lambda: optax.multi_transform({"fast": optax.adam(0.1), "slow": optax.sgd(0.1, 0.9)}, labels),
    "mask": lambda: optax.masked(optax.adam(0.1), no_bias),
    "hyperparams": lambda: optax.inject_hyperparams(optax.adam)(schedule),
    "multi steps": lambda: optax.MultiSteps(optax.adam(0.1), 2),
    "finite": lambda: optax.apply_if_finite(optax.sgd(0.1, 0.9), 3),
}
MORE = {
    "sgd": lambda: optax.sgd(0.1, 0.9, nesterov=True),
    "lion": lambda: optax.lion(0.1),
    "adafactor": lambda: optax.adafactor(0.1, min_dim_size_to_factor=1),
    "lamb": lambda: optax.lamb(0.1, weight_decay=0.1),
    "rmsprop": lambda: optax.rmsprop(0.1, centered=True, momentum=0.9),
    "radam": lambda: optax.radam(0.1),
    "adabelief": lambda: optax.adabelief(0.1),
    "adan": lambda: optax.adan(0.1),
    "sm3": lambda: optax.sm3(0.1),
    "narrow": lambda: optax.adam(0.1, mu_dtype="bfloat16"),
    "lbfgs": lambda: optax.lbfgs(0.1, memory_size=2, linesearch=None),
    "ema": lambda: optax.chain(optax.sgd(0.1), optax.ema(0.9)),
    "named": lambda: optax.named_chain(("kernel", optax.adam(0.1)), ("other", optax.scale(0.5))),
    "skip": lambda: optax.MultiSteps(optax.sgd(0.1), 1, should_skip_update_fn=optax.skip_not_finite),
    "conditional": lambda: optax.conditionally_transform(optax.adam(0.1), lambda count: count < 2),
    "muon": lambda: contrib.muon(0.1),
    "prodigy": lambda: contrib.prodigy(),
    "mechanic": lambda: contrib.mechanize(optax.sgd(0.1)),
    "schedule free": lambda: contrib.schedule_free_adamw(0.1),
    "sam": lambda: contrib.sam(optax.sgd(0.1), optax.sgd(0.1)),
    "dog": lambda: contrib.dog(init_step=("distance", 1e-2)),
}


def kinds(*quick):
    return [pytest.param(kind, marks=() if kind in quick else pytest.mark.slow) for kind in KINDS | MORE]


@pytest.mark.parametrize("kind", kinds("labels", "mask", "hyperparams", "finite"))
def test_the_numbers_are_those_of_optax_bit_for_bit(kind):
    make = (KINDS | MORE)[kind]
    net, optimizer = Net(), Optax(make())
    apply(optimizer, net)
    expected, state = by_hand(make())
    for name, variable in net.named_variables().items():
        np.testing.assert_array_equal(variable.numpy(), expected[name], err_msg=name)
    kept = sum(v.size for v in optimizer.variables) - 2  # without iterations and learning_rate
    assert kept == sum(np.size(leaf) for leaf in gx.backend.current().tracing.flatten(state)[0])


@pytest.mark.parametrize("kind", kinds("chain", "multi steps"))
def test_compiled_it_is_traced_once(kind):
    make = (KINDS | MORE)[kind]
    net = Net()
    assert apply(Optax(make()), net, run=gx.jit).trace_count == 1
    expected, _ = by_hand(make())
    rtol = 1e-2 if kind == "narrow" else 1e-4  # compiled, a rounding to 16 bits may be left out
    for name, variable in net.named_variables().items():
        np.testing.assert_allclose(variable.numpy(), expected[name], rtol=rtol, atol=1e-6, err_msg=name)


def momentum(rate=0.5, **options):
    """``trace = 0.5 * trace + gradient;  w -= rate * trace``"""
    return Optax(optax.sgd(rate, 0.5), **options)


def test_what_is_frozen_or_new_has_a_state_of_its_own():
    net, optimizer = Net(), Optax(optax.chain(optax.sgd(0.5, 0.5), optax.scale_by_schedule(lambda count: 1.0)))
    one, two, three = GRADIENTS
    apply(optimizer, net, [one])
    net.kernel.trainable = False
    optimizer.apply([two["bias"]], [net.bias])
    net.kernel.trainable = True
    net.scale = gx.Variable(START["bias"])
    optimizer.apply([three["kernel"], three["bias"], three["bias"]], [net.kernel, net.bias, net.scale])

    def moved(start, gradients):
        w, trace = gx.Variable(start), momentum()
        for gradient in gradients:
            trace.apply([gradient], [w])
        return w.numpy()

    np.testing.assert_array_equal(net.kernel.numpy(), moved(START["kernel"], [one["kernel"], three["kernel"]]))
    np.testing.assert_array_equal(net.bias.numpy(), moved(START["bias"], [g["bias"] for g in GRADIENTS]))
    np.testing.assert_array_equal(net.scale.numpy(), moved(START["bias"], [three["bias"]]))
    assert int(optimizer.state["1.count"]) == 3
    assert set(optimizer.named_variables()) - {"iterations", "learning_rate", "state/1.count"} == {
        f"slots/{name}/0.0.trace" for name in ("kernel", "bias", "scale")
    }


def test_a_state_stays_with_its_variable_when_this_moves_to_another_place():
    net, optimizer = Net(), momentum(rules=[("**", {"weight_decay": 0.0})])
    apply(optimizer, net, GRADIENTS[:1])
    slot = optimizer.slot(net.bias, "0.trace")

    class Outer(gx.Module):
        def __init__(self):
            super().__init__()
            self.inner = net

    twin, outer = gx.Variable(START["bias"]), Outer()
    assert net.bias.path == "inner/bias"
    elsewhere = Outer()
    elsewhere.inner = Net()  # another Variable of the same path
    other = elsewhere.inner.bias
    assert other.path == net.bias.path
    optimizer.apply([GRADIENTS[1]["bias"]] * 2, [outer.inner.bias, other])
    np.testing.assert_array_equal(slot.numpy(), 0.5 * GRADIENTS[0]["bias"] + GRADIENTS[1]["bias"])
    momentum().apply([GRADIENTS[1]["bias"]], [twin])
    np.testing.assert_array_equal(other.numpy(), twin.numpy())


def test_a_checkpoint_goes_on_exactly_and_one_of_another_transformation_raises(tmp_path):
    net, optimizer = Net(), Optax(KINDS["chain"]())
    apply(optimizer, net, GRADIENTS[:2])
    gx.Checkpoint(model=net, optimizer=optimizer).save(tmp_path / "c")
    fresh, its = Net(), Optax(KINDS["chain"]())
    gx.Checkpoint(model=fresh, optimizer=its).restore(tmp_path / "c")
    assert int(its.state["1.0.count"]) == 2
    copied, of_it = copy.deepcopy((fresh, its))
    for one, two in ((net, optimizer), (fresh, its), (copied, of_it)):
        apply(two, one, GRADIENTS[2:])
    for one, two in ((fresh, its), (copied, of_it)):
        for a, b in zip((*net.variables, *optimizer.variables), (*one.variables, *two.variables), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    with pytest.raises(CheckpointError, match=r"slots\(1.0.mu\)/model/kernel"):
        gx.Checkpoint(model=Net(), optimizer=momentum()).restore(tmp_path / "c")


@pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up
def test_the_options_of_every_optimizer_are_around_it():
    """Rate, multiplier, decay, accumulation, loss scale, averages, constraints; compiled."""
    net, plain = Net(), Net()
    rules = [("bias", {"learning_rate_multiplier": 0.5, "weight_decay": 0.0})]
    options = {"accumulation_steps": 2, "loss_scale": 4.0, "ema_momentum": 0.5, "slot_dtype": "bfloat16"}
    optimizer = momentum(learning_rate=0.5, weight_decay=0.25, rules=rules, **options)
    net.bias.constraint = lambda value: ops.maximum(value, 0.0)
    scaled = [{name: 4 * g for name, g in step.items()} for step in GRADIENTS[:2]]
    broken = {name: g + np.float32(np.inf) for name, g in scaled[0].items()}
    step = apply(optimizer, net, [scaled[0], broken, scaled[1]], gx.jit)
    mean = {name: (GRADIENTS[0][name] + GRADIENTS[1][name]) / 2 for name in SHAPES}
    kernel, bias = (plain.kernel.numpy() * (1 - 0.5 * 0.25), plain.bias.numpy())
    np.testing.assert_allclose(net.kernel.numpy(), kernel - 0.25 * mean["kernel"], rtol=1e-5)
    np.testing.assert_allclose(net.bias.numpy(), np.maximum(bias - 0.125 * mean["bias"], 0), rtol=1e-5)
    np.testing.assert_array_equal(optimizer.slot(net.bias, "moving_average").numpy(), net.bias.numpy())
    assert optimizer.slot(net.bias, "0.trace").dtype == "bfloat16"
    assert int(optimizer.iterations) == step.trace_count == 1


def test_another_optimizer_may_name_it():
    net, inner = Net(), momentum()
    SGD(1.0, rules=[("kernel", {"optimizer": inner})]).apply(GRADIENTS[0], net.named_variables())
    np.testing.assert_array_equal(net.kernel.numpy(), START["kernel"] - np.float32(0.5) * GRADIENTS[0]["kernel"])
    np.testing.assert_array_equal(net.bias.numpy(), START["bias"] - GRADIENTS[0]["bias"])


def test_16_bits_are_updated_in_32():
    net, optimizer = Net("bfloat16"), Optax(optax.adam(0.1))
    apply(optimizer, net)
    rounded = {name: v.numpy().astype("float32") for name, v in Net("bfloat16").named_variables().items()}
    expected, _ = by_hand(optax.adam(0.1), start=rounded)
    assert net.bias.dtype == "bfloat16"
    assert optimizer.slot(net.bias, "0.mu").dtype == "float32"
    np.testing.assert_allclose(net.bias.numpy().astype("float32"), expected["bias"], rtol=2e-2)


def test_hyperparameters_of_the_state_can_be_assigned_in_a_compiled_step():
    net = Net(names=["bias"])
    optimizer = Optax(optax.inject_hyperparams(optax.sgd)(learning_rate=1.0))
    step = apply(optimizer, net, [{"bias": np.zeros(2, "float32")}], gx.jit)
    optimizer.state["hyperparams.learning_rate"].assign(0.25)
    step({"bias": np.ones(2, "float32")})
    np.testing.assert_array_equal(net.bias.numpy(), START["bias"] - np.float32(0.25))
    assert step.trace_count == 1


def test_fit_and_what_compile_says_of_a_bare_transformation():
    model = gx.Sequential([gx.layers.Dense(1)])
    with pytest.raises(ArgumentTypeError, match=r"optimizer=graftax.optimizers.Optax\("):
        model.compile(optax.adam(0.1), "mse")
    x = np.linspace(-1, 1, 16, dtype="float32")[:, None]
    model.compile(Optax(optax.adam(0.1)), "mse")
    loss = model.fit(x, 2 * x + 1, batch_size=16, epochs=40, verbose=0).history["loss"]
    assert loss[-1] < loss[0] / 20


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Optax(optax.adam), ArgumentTypeError, r"Optax\(adam\(1e-3\)\)"),
        (lambda: Optax(optax.MultiSteps), ArgumentTypeError, "Optax got MultiSteps"),
        (lambda: Optax("adam"), ArgumentTypeError, r"Optax\(optax.adamw\(1e-3\)\)"),
        (lambda: Optax(SGD(0.1)), ArgumentTypeError, "Optax got SGD"),
        (lambda: Optax(optax.masked(optax.sgd(0.1), {"kernel": True, "bias": False})), ArgumentError, "lambda params"),
        (
            lambda: Optax(optax.multi_transform({"a": optax.sgd(0.1)}, dict.fromkeys(SHAPES, "a"))),
            ArgumentError,
            "func",
        ),
        (lambda: Optax(optax.flatten(optax.adam(0.1))), ArgumentError, "one for all of them together"),
        (lambda: Optax(optax.noisy_sgd(0.1, key=0)), ArgumentError, "a key of jax.random at '0.rng_key'"),
        (lambda: Optax(optax.lbfgs()), ArgumentError, "optimizers.LBFGS for a line"),
    ],
)
def test_refused_where_it_is_made(make, error, said):
    with pytest.raises(error, match=said):
        make()


def counting(params):
    """A mask that looks at how many there are."""
    return dict.fromkeys(params, len(params) > 1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: optax.polyak_sgd(), "does not know the loss"),
        (lambda: optax.chain(optax.sgd(0.1), contrib.reduce_on_plateau()), "does not know the loss"),
        (lambda: contrib.dog(), "the values of all variables together"),
        (lambda: optax.masked(optax.adam(0.1), counting), "look at each variable alone"),
        (lambda: optax.GradientTransformation(lambda p: {"n": np.zeros(len(p))}, None), "for all of them together"),
        (
            lambda: optax.GradientTransformation(lambda p: 0, lambda g, s, p: (g, (s, s))),
            "init gave another structure",
        ),
    ],
)
def test_refused_at_the_first_update(make, said):
    tx = make()
    tx = tx._replace(update=lambda g, s, p: (g, s)) if tx.update is None else tx
    with pytest.raises(ArgumentError, match=said):
        apply(Optax(tx), Net())


def test_what_it_raises_itself_gets_a_note():
    def update(gradients, state, params):
        raise KeyError("decoder")

    with pytest.raises(KeyError) as caught:
        apply(Optax(optax.GradientTransformation(lambda params: {}, update)), Net())
    assert "dicts of arrays by the path" in " ".join(caught.value.__notes__)


def test_numpy_has_no_optax():
    with gx.backend.use("numpy"), pytest.raises(BackendCapabilityError):
        momentum()
