"""Every transform of every transform, of a function in every form, is that of the plain function (X1)."""

import collections
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core import tree
from graftax.core.errors import StateError

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
    "unbound jitted method": lambda p: functools.partial(Program.compiled, p),
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


def assert_agrees(outer, inner, forms):
    make_outer, pure_outer = TRANSFORMS[outer]
    make_inner, pure_inner = TRANSFORMS[inner]
    expected = numbers_of(pure_outer, pure_inner)
    calls = None
    for form in forms:
        for around in ("eager", "compiled"):
            program = Program()
            made = make_outer(make_inner(FORMS[form](program)))
            made = gx.jit(made, checked="checked" in (outer, inner)) if around == "compiled" else made
            for run in (1, 2):  # the second one finds what the first has kept
                found = numbers(made(X))
                np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5, err_msg=f"{form}, {around}, {run}")
            now = int(program.calls)
            calls = now if calls is None else calls
            assert now == calls, f"{form}, {around}: the function was run another number of times"


# What runs as a program by itself cannot say what a check inside of it has found, and says so.
UNCHECKED = ("jit", "max_retraces", "remat", "recompute_grad", "scan")
REFUSED = [(outer, "checked") for outer in UNCHECKED]
PAIRS = [pair for pair in itertools.product(TRANSFORMS, TRANSFORMS) if pair not in REFUSED]
ids = [" of ".join(pair) for pair in PAIRS]


@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=ids)
def test_x1_a_transform_of_a_transform(outer, inner):
    number = PAIRS.index((outer, inner))
    names = list(FORMS)
    assert_agrees(outer, inner, [names[number % len(names)]])


@pytest.mark.slow
@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=ids)
def test_x1_a_transform_of_a_transform_in_all_forms(outer, inner):
    assert_agrees(outer, inner, FORMS)


@pytest.mark.parametrize("outer", UNCHECKED)
def test_checks_inside_of_what_does_not_look_are_refused(outer):
    made = TRANSFORMS[outer][0](gx.jit(Program().plain, checked=True))
    with pytest.raises(StateError, match=r"graftax\.jit\(\.\.\., checked=True\)"):
        made(X)


@pytest.mark.parametrize("outer", UNCHECKED[2:])
def test_checks_around_the_whole_look_inside(outer):
    made = gx.jit(TRANSFORMS[outer][0](gx.jit(Program().plain, checked=True)), checked=True)
    expected = numbers(jax.tree.leaves(TRANSFORMS[outer][1](pure)(jnp.float32(X))))
    np.testing.assert_allclose(numbers(made(X)), expected, rtol=2e-4)


class Named(gx.Module):
    def __init__(self):
        super().__init__()
        self.gamma = gx.Variable(1.0)
        self.beta = gx.Variable(2.0)
        self.alpha = gx.Variable(3.0)

    def loss(self):
        return self.gamma**2 + self.beta * self.alpha


NAMES = ["gamma", "beta", "alpha"]


def test_x3_gradients_of_a_module_keep_their_order_when_compiled():
    module = Named()
    assert list(gx.grad(module.loss, wrt=module)()) == NAMES
    assert list(gx.jit(gx.grad(module.loss, wrt=module))()) == NAMES
    assert [float(g) for g in gx.jit(gx.grad(module.loss, wrt=module))().values()] == [2, 3, 2]


def rows(*names):
    return {name: ops.asarray([float(i), i + 1.0]) for i, name in enumerate(names)}


ORDERED = {
    "jit": lambda f: gx.jit(f)(rows("z", "b", "a")),
    "vectorized_map": lambda f: gx.vectorized_map(f, rows("z", "b", "a")),
    "map_fn": lambda f: gx.map_fn(f, rows("z", "b", "a")),
    "scan": lambda f: gx.scan(lambda c, x: (f(c), None), rows("z", "b", "a"), None, 2)[0],
    "scanned rows": lambda f: gx.scan(lambda c, x: (c, f(x)), 0.0, rows("z", "b", "a"))[1],
    "cond": lambda f: gx.jit(lambda p: gx.cond(p, f, lambda d: {k: d[k] for k in "abz"}, rows("z", "b", "a")))(True),
    "while_loop": lambda f: gx.while_loop(lambda d: d["a"][0] < 9, lambda d: {**f(d), "a": d["a"] + 9}, rows(*"zba")),
    "remat": lambda f: gx.remat(f)(rows("z", "b", "a")),
    "jvp": lambda f: gx.jvp(f, [rows("z", "b", "a")], [rows("z", "b", "a")])[1],
    "jacobian": lambda f: gx.jacobian(f, rows("z", "b", "a")),
    "aux": lambda f: gx.grad(lambda x: (x * 0.0, f(rows("z", "b", "a"))), has_aux=True)(1.0)[1],
    "py_function": lambda f: called_in_python(f),
    "run_eagerly": lambda f: eagerly(gx.jit(f), rows("z", "b", "a")),
}


def eagerly(fn, *args):
    with gx.run_eagerly():
        return fn(*args)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", ORDERED)
def test_x3_dicts_keep_their_order(name, compiled):
    def make():
        return ORDERED[name](lambda given: dict(given))

    found = gx.jit(make, allow_callback=True)() if compiled else make()
    assert list(found) == ["z", "b", "a"]


def called_in_python(fn):
    announced = {name: gx.ArraySpec((2,), "float32") for name in ("z", "b", "a")}
    return gx.py_function(lambda a: fn({"b": a, "z": a, "a": a}), [rows("a")["a"]], output=announced)


def test_x3_branches_may_give_their_keys_in_another_order():
    swap = gx.jit(lambda p, x: gx.cond(p, lambda: {"z": x, "a": 2 * x}, lambda: {"a": x, "z": -x}))
    assert {k: float(v) for k, v in swap(True, 1.0).items()} == {"z": 1, "a": 2}
    assert {k: float(v) for k, v in swap(False, 1.0).items()} == {"z": -1, "a": 1}


def test_x3_a_carry_may_come_back_with_its_keys_in_another_order():
    last, _ = gx.scan(lambda c, _: ({"a": c["a"] + 1, "z": c["z"] * 2}, None), {"z": 1.0, "a": 0.0}, None, 3)
    assert {k: float(v) for k, v in last.items()} == {"z": 8, "a": 3}


def test_x3_weights_of_a_value_may_have_their_keys_in_another_order():
    value = lambda x: {"z": x, "a": 10 * x}  # noqa: E731
    (gradient,) = gx.gradients_function(value)(2.0, dy={"a": 0.0, "z": 1.0})
    assert float(gradient) == 1


def test_x3_registered_containers_go_through():
    Pair = collections.namedtuple("Pair", "y x")
    given = Pair(collections.OrderedDict(z=1.0, a=2.0), collections.defaultdict(list, {"y": 3.0, "c": [4.0]}))
    found = gx.jit(lambda pair: pair)(given)
    assert type(found) is Pair
    assert list(found.y) == ["z", "a"]
    assert list(found.x) == ["y", "c"]
    assert found.x["new"] == []
