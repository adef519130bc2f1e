"""What a loss reaches: minimize refuses one that depends on none of its variables, and warns of some that it misses."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import GradientError
from graftax.optimizers import LBFGS, SAM, SGD, Adam, AdamW, CrossShard, Lion, Lookahead, Muon, Prodigy, Sophia

rng = np.random.default_rng(0)
X = rng.normal(size=(8, 3)).astype("float32")

OPTIMIZERS = {
    "SGD": lambda: SGD(0.1, momentum=0.9),
    "AdamW": lambda: AdamW(0.1, weight_decay=0.1),
    "accumulation": lambda: Adam(0.1, accumulation_steps=2),
    "loss scale": lambda: SGD(0.1, weight_decay=0.1, loss_scale="dynamic"),
    "clips and averages": lambda: SGD(0.1, global_clipnorm=1.0, ema_momentum=0.9),
    "Lion": lambda: Lion(0.1, weight_decay=0.1),
    "Muon": lambda: Muon(0.1),
    "Prodigy": lambda: Prodigy(1.0),
    "Lookahead": lambda: Lookahead(AdamW(0.1, weight_decay=0.1), every=1),
    "CrossShard": lambda: CrossShard(AdamW(0.1, weight_decay=0.1)),
    "SAM": lambda: SAM(AdamW(0.1, weight_decay=0.1)),
    "Sophia": lambda: Sophia(0.1, weight_decay=0.1),
    "LBFGS": lambda: LBFGS(max_iterations=2),
}


def built():
    model = gx.Sequential([layers.Dense(1)])
    model(X)
    return model


class Trained(gx.Model):
    """A model whose own step minimizes what the test says."""

    def __init__(self, minimize):
        super().__init__()
        self.minimize = minimize

    def call(self, x):
        return x

    def train_step(self, batch):
        return {"loss": self.minimize()}


def run_in_fit(minimize, optimizer):
    model = Trained(minimize)
    model.compile(optimizer)
    model.fit(X, verbose=0, batch_size=8)


WAYS = {
    "eager": lambda minimize, optimizer: minimize(),
    "jit": lambda minimize, optimizer: gx.jit(minimize)(),
    "own train_step": run_in_fit,
}


def loss_of(model):
    return ops.mean((model(X) - 1.0) ** 2)


def cases(a, b):
    """Return by name: a loss, the variables, and whether none is reached; else those of ``b`` are not."""
    before, both = loss_of(a), [*a.trainable_variables, *b.trainable_variables]
    return {
        "other model": (lambda: loss_of(a), b.trainable_variables, True),
        "other Module": (lambda: loss_of(a), b, True),
        "computed before": (lambda: before, a.trainable_variables, True),
        "stop_gradient": (lambda: ops.stop_gradient(loss_of(a)), a.trainable_variables, True),
        "some of another model": (lambda: loss_of(a), both, False),
        "a part behind stop_gradient": (lambda: loss_of(a) + ops.stop_gradient(loss_of(b)), both, False),
    }


CASES = list(cases(built(), built()))


def values(variables):
    found = variables if isinstance(variables, list) else variables.trainable_variables
    return [variable.numpy() for variable in found]


@pytest.mark.in_turn(108, broad=31)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_what_a_loss_does_not_reach_is_refused_or_named_and_stays(kind, case, way):
    a, b = built(), built()
    loss, variables, refused = cases(a, b)[case]
    optimizer = OPTIMIZERS[kind]()
    before = values(variables)

    def minimize():
        return optimizer.minimize(loss, variables)

    if refused:
        with pytest.raises(GradientError, match="depends on none of the variables layers/0/kernel, layers/0/bias"):
            WAYS[way](minimize, optimizer)
        stays = range(len(before))
    else:
        with pytest.warns(UserWarning, match="no gradient for layers/0/kernel, layers/0/bias: not updated"):
            WAYS[way](minimize, optimizer)
        assert kind == "accumulation" or not np.array_equal(values(variables)[0], before[0])
        stays = (2, 3)
    for place in stays:
        np.testing.assert_array_equal(values(variables)[place], before[place])
    assert int(optimizer.iterations) == 0 or not refused


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["AdamW", "SAM", "LBFGS", "Sophia", "Lookahead"])
def test_frozen_variables_are_refused_alone_and_left_among_others(kind, way):
    a, b = built(), built()
    b.freeze()
    optimizer = OPTIMIZERS[kind]()
    with pytest.raises(GradientError, match="frozen"):
        optimizer.minimize(lambda: loss_of(a), b.variables)
    WAYS[way](lambda: optimizer.minimize(lambda: loss_of(a), [*a.variables, *b.variables]), optimizer)  # no warning


def test_variables_that_a_rule_freezes_are_not_named():
    a, b = built(), built()
    model = gx.Sequential([a, b])
    optimizer = SGD(0.1, rules=[("layers/1/**", {"frozen": True})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.minimize(lambda: loss_of(a), model)


@pytest.mark.broad
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_a_step_whose_branch_is_constant_is_the_same_eagerly_and_compiled(weight_decay):
    ends = []
    for run in (lambda fn: fn, gx.jit):
        w, v = gx.Variable([1.0, -2.0], name="w"), gx.Variable([3.0], name="v")
        optimizer = AdamW(0.1, weight_decay=weight_decay)

        def step(flag, w=w, v=v, optimizer=optimizer):
            loss = lambda: gx.cond(flag, lambda: ops.sum(w**2) + ops.sum(v**2), lambda: ops.asarray(0.0))  # noqa: E731
            return optimizer.minimize(loss, [w, v])

        run_step = run(step)
        for flag in (True, False, True, False):
            run_step(ops.asarray(flag))
        ends.append([w.numpy(), v.numpy(), int(optimizer.iterations)])
    for eager, compiled in zip(*ends, strict=True):
        np.testing.assert_allclose(eager, compiled, rtol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("flow", ["switch", "while_loop"])
def test_other_choices_of_an_eager_step_count_like_cond(flow):
    ends = []
    for run in (lambda fn: fn, gx.jit):
        w, v = gx.Variable([1.0, -2.0], name="w"), gx.Variable([3.0], name="v")
        optimizer = AdamW(0.1, weight_decay=0.1)

        def loss(turns, w=w, v=v):
            if flow == "switch":
                return gx.switch(turns, [lambda: ops.sum(w), lambda: ops.sum(w**2) + ops.sum(v**2)])
            more = gx.while_loop(lambda c: c[0] < turns, lambda c: (c[0] + 1, c[1] + v[0] ** 2), (0, 0.0), 3)
            return more[1] + ops.sum(w**2)

        run_step = run(lambda turns, loss=loss, w=w, v=v, o=optimizer: o.minimize(lambda: loss(turns), [w, v]))
        for turns in (1, 0, 1, 0):
            run_step(ops.asarray(turns))
        ends.append([w.numpy(), v.numpy()])
    for eager, compiled in zip(*ends, strict=True):
        np.testing.assert_allclose(eager, compiled, rtol=1e-6)


class WithHead(gx.Model):
    """A model with a second head, which Python switches off."""

    def __init__(self):
        super().__init__()
        self.out, self.head = layers.Dense(1), layers.Dense(1)
        self.use_head = True

    def call(self, x):
        return self.out(x) + self.head(x) if self.use_head else self.out(x)


Y = rng.normal(size=(8, 1)).astype("float32")


def twice(step, eager):
    step = step if eager else gx.jit(step)
    step(), step()


def by_minimize(model, optimizer, eager):
    twice(lambda: optimizer.minimize(lambda: ops.mean((model(X) - Y) ** 2), model), eager)


def by_fit(model, optimizer, eager):
    model.compile(optimizer, "mse", run_eagerly=eager)
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)


def by_tape(model, optimizer, eager):
    def step():
        with gx.GradientTape() as tape:
            loss = ops.mean((model(X) - Y) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

    twice(step, eager)


KINDS_BY_WAY = {
    by_minimize: set(OPTIMIZERS) - {"accumulation", "LBFGS"},
    by_fit: set(OPTIMIZERS) - {"accumulation", "LBFGS"},
    by_tape: set(OPTIMIZERS) - {"accumulation", "LBFGS", "SAM", "Sophia", "loss scale"},  # these need the loss
}


@pytest.mark.in_turn(12, broad=4)
@pytest.mark.filterwarnings("ignore:no gradient for")
@pytest.mark.parametrize(
    ("train", "kind"), [(way, kind) for way, kinds in KINDS_BY_WAY.items() for kind in sorted(kinds)]
)
def test_a_head_that_is_switched_off_rests_eagerly_and_compiled(kind, train):
    ends = []
    for eager in (True, False):
        gx.set_random_seed(0)
        model, optimizer = WithHead(), OPTIMIZERS[kind]()
        model(X)
        train(model, optimizer, eager)
        before, model.use_head = values(model.head), False
        train(model, optimizer, eager)
        for one, other in zip(before, values(model.head), strict=True):
            np.testing.assert_array_equal(one, other)
        ends.append(values(model))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_two_models_may_take_turns_in_one_eager_loss():
    a, b = built(), built()
    optimizer = Adam(0.1)
    both = [*a.trainable_variables, *b.trainable_variables]
    turn = [a]
    loss = lambda: loss_of(turn[0])  # noqa: E731
    with pytest.warns(UserWarning, match="no gradient"):
        optimizer.minimize(loss, both)
    turn[0] = b
    before = values(a), values(b)
    with pytest.warns(UserWarning, match="no gradient"):
        optimizer.minimize(loss, both)
    for one, other in zip(values(a), before[0], strict=True):
        np.testing.assert_array_equal(one, other)  # the momentum of the step before does not move it
    assert not np.array_equal(values(b)[0], before[1][0])


def test_a_second_loss_of_one_optimizer_is_looked_at_on_its_own():
    a = built()
    optimizer = SGD(0.1)
    optimizer.minimize(lambda: loss_of(a), a)
    before = loss_of(a)
    with pytest.raises(GradientError, match="depends on none"):
        optimizer.minimize(lambda: before, a)


@pytest.mark.broad
def test_nothing_that_the_loss_assigns_is_kept_when_it_is_refused():
    a, b, calls = built(), built(), gx.Variable(0, trainable=False)

    def loss():
        calls.assign_add(1)
        return loss_of(a)

    for optimizer in (SGD(0.1), SAM(SGD(0.1)), LBFGS(), Sophia(0.1)):
        with pytest.raises(GradientError, match="depends on none"):
            optimizer.minimize(loss, b)
    assert int(calls) == 0


def test_the_curvature_of_another_model_is_refused():
    a, b = built(), built()
    with pytest.raises(GradientError, match="depends on none"):
        Sophia(0.1).update_hessian(lambda: loss_of(a), b.trainable_variables)


@pytest.mark.broad
def test_the_gradient_function_gives_zeros_as_the_derivative_is():
    a, b = built(), built()
    _, gradients = gx.value_and_grad(lambda: loss_of(a), wrt=b.trainable_variables)()
    assert [float(abs(gradient).max()) for gradient in gradients] == [0.0, 0.0]
