"""Every transform of every transform, of a function in every form, is that of the plain function (X1)."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import tree
from graftax.core.errors import GradientError, StateError

WEIGHT, MEAN, X = 1.3, 0.4, 0.7


class Program(gx.Module):
    """A scalar function that reads one Variable and moves another, in every form in which it may be given."""

    def __init__(self):
        super().__init__()
        self.weight = gx.Variable(WEIGHT)
        self.mean = gx.Variable(MEAN, trainable=False)
        self.calls = gx.Variable(0, trainable=False)

    def plain(self, x):
        value = self.weight * x**3 + ops.sin(x * self.mean)
        self.calls.assign_add(1)
        return value

    compiled = gx.jit(plain)


class Reader(Program):
    """The same that moves nothing, for transforms in which nothing may be assigned."""

    def plain(self, x):
        return self.weight * x**3 + ops.sin(x * self.mean)

    compiled = gx.jit(plain)


def pure(x):
    return WEIGHT * x**3 + jnp.sin(x * MEAN)


def negated_twice(fn):
    @functools.wraps(fn)
    def run(*args):
        return ops.negative(ops.negative(fn(*args)))

    return run


FORMS = {
    "function": lambda p: lambda x: p.plain(x),
    "jitted function": lambda p: gx.jit(lambda x: p.plain(x)),
    "bound method": lambda p: p.plain,
    "bound jitted method": lambda p: p.compiled,
    "unbound jitted method": lambda p: functools.partial(type(p).compiled, p),
    "partial": lambda p: functools.partial(p.plain),
    "partial of a jitted method": lambda p: functools.partial(p.compiled),
    "decorated": lambda p: negated_twice(p.plain),
    "decorated jitted method": lambda p: negated_twice(p.compiled),
    "jitted decorated jitted function": lambda p: gx.jit(negated_twice(gx.jit(lambda x: p.plain(x)))),
}


def scalar(fn):
    """As a user would: a decorator that makes one number of whatever a transform gives."""

    @functools.wraps(fn)
    def run(*args):
        leaves = [ops.reshape(ops.asarray(leaf), (-1,)) for leaf in tree.flatten(fn(*args))]
        return ops.sum(ops.stack([ops.sum(leaf) * (i + 1) for i, leaf in enumerate(leaves)]))

    return run


def pure_scalar(fn):
    return lambda x: sum(jnp.sum(leaf) * (i + 1) for i, leaf in enumerate(jax.tree.leaves(fn(x))))


def pairs(x):
    return ops.stack([ops.asarray(x), 2 * ops.asarray(x)])


def itself(f):
    return f


def pure_gradient(f):
    return jax.grad(pure_scalar(f))


# What each does with a function of one number, and how functional JAX says it.
TRANSFORMS = {
    "jit": (gx.jit, itself),
    "checked": (lambda f: gx.jit(f, checked=True), itself),
    "max_retraces": (lambda f: gx.jit(f, max_retraces=3), itself),
    "remat": (gx.remat, itself),
    "recompute_grad": (gx.recompute_grad, itself),
    "grad": (lambda f: gx.grad(scalar(f)), pure_gradient),
    "value_and_grad": (lambda f: gx.value_and_grad(scalar(f)), lambda f: jax.value_and_grad(pure_scalar(f))),
    "gradients_function": (
        lambda f: gx.gradients_function(scalar(f)),
        lambda f: lambda x: [jax.grad(pure_scalar(f))(x)],
    ),
    "jvp": (
        lambda f: lambda x: gx.jvp(scalar(f), [x], [ops.asarray(2.0)]),
        lambda f: lambda x: jax.jvp(pure_scalar(f), [x], [2.0]),
    ),
    "jacobian": (
        lambda f: lambda x: gx.jacobian(scalar(f), ops.asarray(x)),
        lambda f: jax.jacrev(pure_scalar(f)),
    ),
    "scan": (
        lambda f: lambda x: gx.scan(lambda carry, row: (carry, scalar(f)(row)), 0.0, pairs(x))[1],
        lambda f: lambda x: jnp.stack([pure_scalar(f)(x), pure_scalar(f)(2 * x)]),
    ),
    "cond": (
        lambda f: lambda x: gx.cond(x > 0, scalar(f), lambda x: 0 * x, x),
        lambda f: pure_scalar(f),
    ),
    "tape": (
        lambda f: lambda x: of_tape(scalar(f), x),
        pure_gradient,
    ),
}

# Those that are near relatives of the ones above: the quick tests pair them with a few, the slow ones with all.
RELATIVES = {
    "map_fn": (
        lambda f: lambda x: gx.map_fn(scalar(f), pairs(x)),
        lambda f: lambda x: jnp.stack([pure_scalar(f)(x), pure_scalar(f)(2 * x)]),
    ),
    "vectorized_map": (
        lambda f: lambda x: gx.vectorized_map(scalar(f), pairs(x)),
        lambda f: lambda x: jnp.stack([pure_scalar(f)(x), pure_scalar(f)(2 * x)]),
    ),
    "associative_scan": (
        lambda f: lambda x: gx.associative_scan(lambda a, b: a * b * scalar(f)(x), pairs(x)),
        lambda f: lambda x: jnp.stack([x, 2 * x * x * pure_scalar(f)(x)]),
    ),
    "while_loop": (lambda f: lambda x: twice(scalar(f), x), lambda f: lambda x: pure_twice(pure_scalar(f), x)),
    "switch": (
        lambda f: lambda x: gx.switch(ops.cast(ops.asarray(x) > 0, "int32"), [lambda x: 0 * x, scalar(f)], x),
        lambda f: pure_scalar(f),
    ),
    "value_and_gradients_function": (
        lambda f: gx.value_and_gradients_function(scalar(f)),
        lambda f: lambda x: (pure_scalar(f)(x), [jax.grad(pure_scalar(f))(x)]),
    ),
    "implicit_gradients": (lambda f: scaled(scalar(f)), lambda f: pure_scalar(f)),
    "accumulator": (lambda f: lambda x: of_accumulator(scalar(f), x), pure_gradient),
    "hessian": (lambda f: lambda x: gx.hessian(scalar(f), ops.asarray(x)), lambda f: jax.hessian(pure_scalar(f))),
    "custom_gradient": (lambda f: with_own_rule(scalar(f)), lambda f: pure_scalar(f)),
    "grad_pass_through": (
        lambda f: gx.grad_pass_through(scalar(f)),
        lambda f: lambda x: x + jax.lax.stop_gradient(pure_scalar(f)(x) - x),
    ),
    "functional_call": (lambda f: functionally(scalar(f)), lambda f: pure_scalar(f)),
    "template": (
        lambda f: gx.template(lambda x: scalar(f)(x) * gx.Variable(1.0, trainable=False)),
        lambda f: pure_scalar(f),
    ),
    "run_eagerly": (lambda f: lambda x: eagerly(scalar(f), x), lambda f: pure_scalar(f)),
}
ALL = TRANSFORMS | RELATIVES


def twice(fn, x):
    step = lambda c: (c[0] + 1, c[1] + 0.1 * fn(c[1]))  # noqa: E731
    return gx.while_loop(lambda c: c[0] < 2, step, (0, ops.asarray(x)), maximum_iterations=3)[1]


def pure_twice(fn, x):
    once = x + 0.1 * fn(x)
    return once + 0.1 * fn(once)


def scaled(fn):
    """The gradient with respect to a factor, which is the value."""
    factor = gx.Variable(1.0)

    def run(x):
        found = gx.implicit_gradients(lambda x: factor * fn(x))(x)
        return next(gradient for gradient, variable in found if variable is factor)

    return run


def of_accumulator(fn, x):
    x = ops.asarray(x)
    with gx.ForwardAccumulator(x, ops.ones_like(x)) as accumulator:
        y = fn(x)
    return accumulator.jvp(y)


def with_own_rule(fn):
    @gx.custom_gradient
    def run(x):
        value, gradient = gx.value_and_grad(fn)(x)
        return value, lambda dy, variables=(): (dy * gradient, [None for _ in variables])

    return run


class Called(gx.Module):
    def __init__(self, fn):
        super().__init__()
        self.factor = gx.Variable(1.0)
        self._run = fn

    def __call__(self, x):
        return self.factor * self._run(x)


def functionally(fn):
    module = Called(fn)
    return lambda x: gx.functional_call(module, {"factor": 1.0}, x)[0]


def eagerly(fn, *args):
    with gx.run_eagerly():
        return fn(*args)


def of_tape(fn, x):
    x = ops.asarray(x)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = fn(x)
    return tape.gradient(y, x)


def numbers(value):
    return [np.asarray(leaf, "float64") for leaf in tree.flatten(value)]


@functools.cache
def numbers_of(pure_outer, pure_inner):
    """What functional JAX gives, once for all pairs of transforms that it says in the same way."""
    return numbers(jax.tree.leaves(jax.jit(pure_outer(pure_inner(pure)))(jnp.float32(X))))


def program_for(*transforms):
    return (Reader if {"vectorized_map", "associative_scan"}.intersection(transforms) else Program)()


def assert_agrees(outer, inner, forms, arounds=("eager", "compiled")):
    make_outer, pure_outer = ALL[outer]
    make_inner, pure_inner = ALL[inner]
    expected = numbers_of(pure_outer, pure_inner)
    calls = None
    for form in forms:
        for around in arounds:
            program = program_for(outer, inner)
            made = make_outer(make_inner(FORMS[form](program)))
            made = gx.jit(made, checked="checked" in (outer, inner)) if around == "compiled" else made
            for run in (1, 2):  # the second one finds what the first has kept
                found = numbers(made(X))
                np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5, err_msg=f"{form}, {around}, {run}")
            now = int(program.calls)
            calls = now if calls is None else calls
            assert now == calls, f"{form}, {around}: the function was run another number of times"


# What runs as a program by itself cannot say what a check inside of it has found, and says so.
UNCHECKED = ("jit", "max_retraces", "remat", "recompute_grad", "scan", "map_fn", "vectorized_map")
OWN_RULES = ("custom_gradient", "grad_pass_through")  # which go backwards only
FORWARDS = ("jvp", "accumulator")
REFUSED = [*itertools.product(UNCHECKED, ["checked"]), *itertools.product(FORWARDS, OWN_RULES)]
PAIRS = [pair for pair in itertools.product(ALL, ALL) if pair not in REFUSED]
OFTEN = ("jit", "grad")
NEXT = dict(zip(TRANSFORMS, [*TRANSFORMS][1:], strict=False))
QUICK = [
    (outer, inner)
    for outer, inner in PAIRS
    if outer in OFTEN or inner in OFTEN or outer == inner or inner == NEXT.get(outer)
]


def shown(pairs):
    return [" of ".join(pair) for pair in pairs]


@pytest.mark.in_turn(60, broad=22)
@pytest.mark.parametrize(("outer", "inner"), QUICK, ids=shown(QUICK))
def test_x1_a_transform_of_a_transform(outer, inner):
    number = QUICK.index((outer, inner))
    names = list(FORMS)
    around = ("eager", "compiled")[number % 2]  # the slow tests take both ways
    assert_agrees(outer, inner, [names[number % len(names)]], (around,))


@pytest.mark.slow
@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=shown(PAIRS))
def test_x1_a_transform_of_a_transform_in_all_forms(outer, inner):
    assert_agrees(outer, inner, FORMS)


@pytest.mark.parametrize("outer", UNCHECKED)
def test_checks_inside_of_what_does_not_look_are_refused(outer):
    made = ALL[outer][0](gx.jit(program_for(outer).plain, checked=True))
    with pytest.raises(StateError, match=r"graftax\.jit\(\.\.\., checked=True\)"):
        made(X)


@pytest.mark.in_turn(4, 1)
@pytest.mark.parametrize("outer", UNCHECKED[2:])
def test_checks_around_the_whole_look_inside(outer):
    made = gx.jit(ALL[outer][0](gx.jit(program_for(outer).plain, checked=True)), checked=True)
    expected = numbers(jax.tree.leaves(ALL[outer][1](pure)(jnp.float32(X))))
    np.testing.assert_allclose(numbers(made(X)), expected, rtol=2e-4)


@pytest.mark.in_turn(4, 2)
@pytest.mark.parametrize("outer", FORWARDS)
@pytest.mark.parametrize("inner", OWN_RULES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_forward_derivatives_of_rules_that_go_backwards_are_refused(outer, inner, compiled):
    made = ALL[outer][0](ALL[inner][0](Program().plain))
    with pytest.raises(GradientError, match="its rule goes backwards only"):
        (gx.jit(made) if compiled else made)(X)
