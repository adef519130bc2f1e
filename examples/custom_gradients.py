"""Gradients of your own: a logarithm that survives large arguments, and gradients clipped where they are made.

A function with `custom_gradient` returns its value and a function that gives the gradients. The Variables that it reads
are found by themselves; `grad_fn` gets them and tells their gradients, too.
"""

import numpy as np

import graftax as gx
from graftax import ops


def naive_log1pexp(x):
    return ops.log(1 + ops.exp(x))


@gx.custom_gradient
def log1pexp(x):
    e = ops.exp(x)
    return ops.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


print("d/dx log(1 + exp(x)):   derived      told")
for x in (0.0, 10.0, 100.0):
    derived, told = float(gx.grad(naive_log1pexp)(x)), float(gx.grad(log1pexp)(x))
    print(f"            at {x:5.0f} {derived:12.6f} {told:9.6f}")
assert np.isnan(derived)
assert told == 1.0


@gx.custom_gradient
def clip_backward(x, limit):
    """The identity, whose gradient has at most that norm."""
    return x, lambda dy: (dy * ops.minimum(1.0, limit / ops.maximum(ops.norm(dy), 1e-12)), None)


@gx.jit
def through_time(limit):
    """What 60 steps of a recurrence hand back to its start, clipped at each step."""

    def last(state):
        for _ in range(60):
            state = clip_backward(ops.matmul(weight, state), limit)
        return ops.sum(state)

    return gx.grad(last)(ops.ones(3))


weight = np.diag([1.3, 1.0, 0.7]).astype("float32")
print("gradient norm at the start of a recurrence that grows by 1.3 a step, after 60 steps:")
for limit in (np.inf, 10.0, 1.0):
    norm = float(ops.norm(through_time(limit)))
    print(f"   limit {limit:4.0f}: {norm:12.4g}")
assert norm < 1.31


class Scale(gx.Module):
    """A gain that moves as its logarithm would: by factors, so that a large one takes larger steps."""

    def __init__(self, gain):
        self.gain = gx.Variable(gain, name="gain")

    @gx.custom_gradient
    def __call__(self, x):
        def grad_fn(dy, variables=None):
            (gain,) = variables
            return dy * gain, [ops.sum(dy * x) * gain**2]

        return x * self.gain, grad_fn


scale = Scale(8.0)
x = ops.asarray([1.0, 2.0])
[(gradient, variable)] = gx.implicit_gradients(lambda: ops.sum(scale(x)))()
print(f"{variable.path}: plain gradient {float(ops.sum(x)):.0f}, told {float(gradient):.0f}")
assert float(gradient) == 3 * 64

# gradients of gradients are those of grad_fn
x = 0.5
second = float(gx.grad(gx.grad(log1pexp))(x))
exact = float(ops.sigmoid(x) * (1 - ops.sigmoid(x)))
print(f"second derivative of log(1 + exp(x)) at {x}: {second:.6f}, exactly {exact:.6f}")
assert abs(second - exact) < 1e-6
