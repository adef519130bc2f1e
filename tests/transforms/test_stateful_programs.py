"""Random programs that read and assign Variables, through several transforms, against the same as pure functions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops

NAMES = "abc"
START = {"a": 0.5, "b": -0.75, "c": 1.25}

# --- programs ---

number = st.sampled_from([0.5, -1.0, 0.25, 1.5])
name = st.sampled_from(NAMES)
leaf = st.one_of(st.tuples(st.just("var"), name), st.tuples(st.just("num"), number), st.just(("arg",)))
expression = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.tuples(st.just("sin"), inner),
        st.tuples(st.just("add"), inner, inner),
        st.tuples(st.just("mul"), inner, inner),
        st.tuples(st.just("stop"), inner),
    ),
    max_leaves=4,
)
assignment = st.tuples(st.sampled_from(["assign", "assign_add", "assign_sub"]), name, expression)


def blocks(inner):
    body = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.sampled_from([*BLOCKS]), body),
        st.tuples(st.sampled_from(["cond", "switch"]), name, body, body),
    )


program = st.deferred(lambda: st.lists(st.recursive(assignment, blocks, max_leaves=4), min_size=2, max_size=4))

# --- with Variables ---


def value(expression, v, x):
    kind, *parts = expression
    if kind == "var":
        return v[parts[0]].value
    if kind == "num":
        return parts[0]
    if kind == "arg":
        return x
    inner = [value(part, v, x) for part in parts]
    if kind == "add":
        return inner[0] + inner[1]
    if kind == "mul":
        return inner[0] * inner[1]
    return ops.sin(inner[0]) if kind == "sin" else ops.stop_gradient(inner[0])


def run(statements, v, x):
    for kind, *rest in statements:
        if kind.startswith("assign"):
            getattr(v[rest[0]], kind)(value(rest[1], v, x))
        elif kind == "cond":
            gx.cond(v[rest[0]].value > 0, lambda: run(rest[1], v, x), lambda: run(rest[2], v, x))  # noqa: B023
        elif kind == "switch":
            number = ops.cast(v[rest[0]].value <= 0, "int32")
            gx.switch(number, [lambda: run(rest[1], v, x), lambda: run(rest[2], v, x)])  # noqa: B023
        elif kind == "kept":
            KEPT.setdefault((id(v), repr(rest)), gx.jit(functools.partial(run, rest[0], v), allow_callback=True))(x)
        else:
            BLOCKS[kind](lambda x: run(rest[0], v, x), v, x)  # noqa: B023


def in_while(body, v, x):
    def step(i):
        body(x)
        return i + 1

    gx.while_loop(lambda i: i < 2, step, 0, maximum_iterations=3)


def in_grad(body, v, x):
    """What the block assigns stays; a gradient of what it leaves is added to one Variable."""

    def inner(x):
        body(x)
        return v["a"] * x

    v["b"].assign_add(gx.grad(inner)(x))


def in_custom(body, v, x):
    @gx.custom_gradient
    def tripled(x):
        return x * 1.0, lambda dy: 3 * dy

    body(x)
    v["c"].assign(tripled(v["c"] * x))


def in_rule(body, v, x):
    """What a function with a rule of its own assigns carries its gradient; its value has that of the rule."""

    @gx.custom_gradient
    def ruled(x):
        body(x)
        return v["a"] * x, lambda dy, variables=(): (5 * dy, [None] * len(variables))

    v["c"].assign(ruled(x))


def in_tape(body, v, x):
    with gx.GradientTape() as tape:
        tape.watch(x)
        body(x)
        y = v["a"] * x
    v["b"].assign_add(tape.gradient(y, x, unconnected_gradients="zero"))


def in_python(body, v, x):
    body(x)
    v["b"].assign(gx.py_function(lambda y: 2 * ops.sin(y), [v["b"]], output=gx.ArraySpec(())))


class Runner(gx.Module):
    """Runs a block on Variables that are its own."""

    def __init__(self, body, v):
        self.v = v
        self.body = body

    def __call__(self, x):
        self.body(x)


def in_functional_call(body, v, x):
    """Of what the block assigns, one value comes out."""
    runner = Runner(body, v)
    v["a"].assign(gx.functional_call(runner, gx.state(runner), x)[1]["v/a"])


def in_map(body, v, x):
    body(x)
    v["c"].assign(ops.sum(gx.vectorized_map(lambda y: v["a"] * y * v["b"], ops.stack([x, 2 * x]))))


KEPT = {}
"""Compiled functions that are called again and again, by their Variables and their program."""

BLOCKS = {
    "jit": lambda body, v, x: gx.jit(lambda x: body(x), allow_callback=True)(x),
    "kept": None,
    "rule": in_rule,
    "tape": in_tape,
    "python": in_python,
    "functional_call": in_functional_call,
    "map": in_map,
    "remat": lambda body, v, x: gx.remat(body)(x),
    "scan": lambda body, v, x: gx.scan(lambda x, _: (x, body(x)), x, length=2),
    "while": in_while,
    "grad": in_grad,
    "custom": in_custom,
}

# --- as pure functions ---


def pure_value(expression, s, x):
    kind, *parts = expression
    if kind == "var":
        return s[parts[0]]
    if kind == "num":
        return jnp.float32(parts[0])
    if kind == "arg":
        return x
    inner = [pure_value(part, s, x) for part in parts]
    if kind == "add":
        return inner[0] + inner[1]
    if kind == "mul":
        return inner[0] * inner[1]
    return jnp.sin(inner[0]) if kind == "sin" else jax.lax.stop_gradient(inner[0])


@jax.custom_jvp
def pure_tripled(x):
    return x


# the rule counts for derivatives around this one, too
pure_tripled.defjvp(lambda primals, tangents: (pure_tripled(primals[0]), 3 * tangents[0]))


def pure_run(statements, s, x):
    for kind, *rest in statements:
        if kind.startswith("assign"):
            new = pure_value(rest[1], s, x)
            s = {**s, rest[0]: {"assign": new, "assign_add": s[rest[0]] + new}.get(kind, s[rest[0]] - new)}
        elif kind in ("cond", "switch"):
            ways = [lambda s: pure_run(rest[1], s, x), lambda s: pure_run(rest[2], s, x)]  # noqa: B023
            s = jax.lax.cond(s[rest[0]] > 0, *ways, {k: jnp.float32(one) for k, one in s.items()})
        elif kind in ("scan", "while"):
            s = pure_run(rest[0], pure_run(rest[0], s, x), x)
        elif kind == "functional_call":
            s = {**s, "a": pure_run(rest[0], s, x)["a"]}
        elif kind in ("grad", "tape"):

            def inner(x, s):
                s = pure_run(rest[0], s, x)  # noqa: B023
                return s["a"] * x, s

            gradient, s = jax.grad(inner, has_aux=True)(x, s)
            s = {**s, "b": s["b"] + gradient}
        else:
            s = pure_run(rest[0], s, x)
            if kind == "custom":
                s = {**s, "c": pure_tripled(s["c"] * x)}
            elif kind == "rule":
                s = {**s, "c": jax.lax.stop_gradient(s["a"] * x) + 5 * (x - jax.lax.stop_gradient(x))}
            elif kind == "python":
                s = {**s, "b": 2 * jnp.sin(s["b"])}
            elif kind == "map":
                s = {**s, "c": s["a"] * s["b"] * 3 * x}
    return s


# --- comparison ---


class State(gx.Module):
    def __init__(self):
        self.variables_by_name = {k: gx.Variable(one, name=k) for k, one in START.items()}

    def reset(self):
        for k, one in START.items():
            self.variables_by_name[k].assign(one)


def total(values):
    return values["a"] * values["b"] + values["c"] * 0.5 + values["a"] ** 2


def with_tape(state, loss, x):
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    return tape.gradient(y, [*state.variables_by_name.values(), x], unconnected_gradients="zero")


def with_grad(state, loss, x):
    by_variable = gx.grad(lambda: loss(x), wrt=list(state.variables_by_name.values()))()
    state.reset()
    return [*by_variable, gx.grad(loss)(x)]


def forwards(state, loss, x):
    variables = [*state.variables_by_name.values()]
    results = []
    for i in range(len(variables) + 1):
        state.reset()
        tangents = [ops.asarray(float(i == j)) for j in range(len(variables) + 1)]
        with gx.ForwardAccumulator([*variables, x], tangents) as accumulator:
            y = loss(x)
        results.append(accumulator.jvp(y, unconnected_gradients="zero"))
    return results


BACKWARDS_ONLY = ("custom", "grad", "rule", "tape", "python")


def check(statements, only=()):
    state, x = State(), ops.asarray(0.8)

    def loss(x):
        run(statements, state.variables_by_name, x)
        return total(state.variables_by_name)

    def pure(s, x):
        return total(pure_run(statements, s, x))

    by_state, by_x = jax.grad(pure, argnums=(0, 1))({k: jnp.float32(one) for k, one in START.items()}, x)
    expected = [*(by_state[k] for k in NAMES), by_x]
    if not np.all(np.abs(expected) < 1e4):
        return
    KEPT.clear()
    compiled = functools.partial(gx.jit, allow_callback=True)
    whole = compiled(loss)
    ways = {
        "tape": lambda x: with_tape(state, loss, x),
        "tape around jit": lambda x: with_tape(state, whole, x),
        "grad": lambda x: with_grad(state, loss, x),
        "grad of jit": lambda x: with_grad(state, whole, x),
        "jit of tape": compiled(lambda x: with_tape(state, loss, x)),
        "jit of grad": compiled(lambda x: with_grad(state, loss, x)),
    }
    if not any(repr(kind) in repr(statements) for kind in BACKWARDS_ONLY):
        ways["forwards"] = lambda x: forwards(state, loss, x)
        ways["jit of forwards"] = compiled(lambda x: forwards(state, loss, x))
    for way in only or ways:
        for _ in range(2 if "'kept'" in repr(statements) else 1):  # the second one finds what the first has kept
            state.reset()
            np.testing.assert_allclose(ways[way](x), expected, rtol=2e-3, atol=1e-3, err_msg=f"{way} of {statements}")


FIXED = {
    "loops": [
        ("assign", "b", ("mul", ("var", "a"), ("arg",))),
        ("scan", [("assign_add", "a", ("sin", ("var", "b")))]),
        ("cond", "a", [("assign", "c", ("mul", ("var", "a"), ("var", "b")))], [("assign", "a", ("num", 1.5))]),
        ("grad", [("assign_sub", "c", ("mul", ("var", "a"), ("arg",)))]),
    ],
    "bridges": [
        ("kept", [("functional_call", [("assign_add", "b", ("mul", ("var", "a"), ("arg",)))])]),
        ("rule", [("python", [("assign_sub", "a", ("sin", ("arg",)))])]),
        (
            "switch",
            "b",
            [("tape", [("assign", "c", ("mul", ("var", "a"), ("var", "b")))])],
            [("assign", "a", ("arg",))],
        ),
        ("map", [("assign_add", "b", ("num", 0.25))]),
    ],
    "rules": [
        ("jit", [("custom", [("assign_add", "c", ("var", "b"))])]),
        ("remat", [("while", [("assign_sub", "b", ("mul", ("var", "c"), ("arg",)))])]),
        ("assign", "a", ("add", ("stop", ("var", "c")), ("sin", ("var", "a")))),
    ],
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", FIXED)
def test_x2_a_program_of_many_parts(name):
    check(FIXED[name], only=("tape", "grad of jit", "jit of tape"))


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(program)
def test_x2_many_random_programs(statements):
    check(statements)
