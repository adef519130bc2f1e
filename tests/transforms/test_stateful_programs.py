"""Random programs that read and assign Variables, through several transforms, against the same as pure functions."""

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
        st.tuples(st.sampled_from(["jit", "remat", "scan", "while", "grad", "custom"]), body),
        st.tuples(st.just("cond"), name, body, body),
    )


program = st.lists(st.recursive(assignment, blocks, max_leaves=4), min_size=2, max_size=4)

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


BLOCKS = {
    "jit": lambda body, v, x: gx.jit(lambda x: body(x))(x),
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


pure_tripled.defjvp(lambda primals, tangents: (primals[0], 3 * tangents[0]))


def pure_run(statements, s, x):
    for kind, *rest in statements:
        if kind.startswith("assign"):
            new = pure_value(rest[1], s, x)
            s = {**s, rest[0]: {"assign": new, "assign_add": s[rest[0]] + new}.get(kind, s[rest[0]] - new)}
        elif kind == "cond":
            ways = [lambda s: pure_run(rest[1], s, x), lambda s: pure_run(rest[2], s, x)]  # noqa: B023
            s = jax.lax.cond(s[rest[0]] > 0, *ways, {k: jnp.float32(one) for k, one in s.items()})
        elif kind in ("scan", "while"):
            s = pure_run(rest[0], pure_run(rest[0], s, x), x)
        elif kind == "grad":

            def inner(x, s):
                s = pure_run(rest[0], s, x)  # noqa: B023
                return s["a"] * x, s

            gradient, s = jax.grad(inner, has_aux=True)(x, s)
            s = {**s, "b": s["b"] + gradient}
        else:
            s = pure_run(rest[0], s, x)
            if kind == "custom":
                s = {**s, "c": pure_tripled(s["c"] * x)}
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
    whole = gx.jit(loss)
    ways = {
        "tape": lambda x: with_tape(state, loss, x),
        "tape around jit": lambda x: with_tape(state, whole, x),
        "grad": lambda x: with_grad(state, loss, x),
        "grad of jit": lambda x: with_grad(state, whole, x),
        "jit of tape": gx.jit(lambda x: with_tape(state, loss, x)),
        "jit of grad": gx.jit(lambda x: with_grad(state, loss, x)),
    }
    if "custom" not in repr(statements) and "'grad'" not in repr(statements):
        ways["forwards"] = lambda x: forwards(state, loss, x)
        ways["jit of forwards"] = gx.jit(lambda x: forwards(state, loss, x))
    for way in only or ways:
        state.reset()
        np.testing.assert_allclose(ways[way](x), expected, rtol=2e-3, atol=1e-3, err_msg=f"{way} of {statements}")


FIXED = {
    "loops": [
        ("assign", "b", ("mul", ("var", "a"), ("arg",))),
        ("scan", [("assign_add", "a", ("sin", ("var", "b")))]),
        ("cond", "a", [("assign", "c", ("mul", ("var", "a"), ("var", "b")))], [("assign", "a", ("num", 1.5))]),
        ("grad", [("assign_sub", "c", ("mul", ("var", "a"), ("arg",)))]),
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
