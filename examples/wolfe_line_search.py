"""Quasi-Newton with a line search of the strong Wolfe conditions: plain Python loops and comparisons of real values.

The search follows Nocedal & Wright, "Numerical Optimization", algorithms 3.5 and 3.6. Nothing is compiled first and
nothing is a placeholder: `if`, `while` and `print` see numbers, and the tape differentiates whatever was computed.
"""

import numpy as np

import graftax as gx
from graftax import ops

SUFFICIENT, CURVATURE = 1e-4, 0.9
calls = 0


def rosenbrock(x):
    return ops.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def value_and_gradient(point):
    global calls
    calls += 1
    x = ops.asarray(point, "float32")
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = rosenbrock(x)
    return float(y), np.asarray(tape.gradient(y, x), np.float64)


class Line:
    """The function along a direction."""

    def __init__(self, point, direction):
        self.point, self.direction = point, direction
        self.value, gradient = value_and_gradient(point)
        self.slope = gradient @ direction

    def at(self, step):
        value, gradient = value_and_gradient(self.point + step * self.direction)
        return value, gradient @ self.direction

    def falls_enough(self, step, value):
        return value <= self.value + SUFFICIENT * step * self.slope

    def is_flat_enough(self, slope):
        return abs(slope) <= CURVATURE * abs(self.slope)


def wolfe_step(line):
    """A step that satisfies both conditions: grow until it is bracketed, then narrow down."""
    before, value_before, slope_before, step = 0.0, line.value, line.slope, 1.0
    for attempt in range(20):
        value, slope = line.at(step)
        if not line.falls_enough(step, value) or (attempt and value >= value_before):
            return narrow(line, (before, value_before, slope_before), (step, value, slope))
        if line.is_flat_enough(slope):
            return step
        if slope >= 0:
            return narrow(line, (step, value, slope), (before, value_before, slope_before))
        before, value_before, slope_before, step = step, value, slope, 2 * step
    return step


def narrow(line, low, high):
    for _ in range(30):
        step = 0.5 * (low[0] + high[0])
        value, slope = line.at(step)
        if not line.falls_enough(step, value) or value >= low[1]:
            high = step, value, slope
        elif line.is_flat_enough(slope):
            return step
        else:
            high = low if slope * (high[0] - low[0]) >= 0 else high
            low = step, value, slope
    return low[0]


x = np.array([-1.2, 1.0, -0.5, 0.8])
inverse = np.eye(len(x))  # of the Hessian, as BFGS learns it
value, gradient = value_and_gradient(x)
for iteration in range(1, 61):
    direction = -inverse @ gradient
    step = wolfe_step(Line(x, direction))
    moved = step * direction
    x = x + moved
    value, new_gradient = value_and_gradient(x)
    change, gradient = new_gradient - gradient, new_gradient
    if iteration % 5 == 1:
        print(f"iteration {iteration:2d}: value {value:10.6f}, step {step:.3g}, slope {np.linalg.norm(gradient):.2e}")
    if np.linalg.norm(gradient) < 1e-3:
        break
    rho = 1 / (change @ moved)
    left = np.eye(len(x)) - rho * np.outer(moved, change)
    inverse = left @ inverse @ left.T + rho * np.outer(moved, moved)

print(f"minimum at {np.round(x, 3)} after {iteration} iterations and {calls} gradients")
assert np.allclose(x, 1, atol=1e-2)
