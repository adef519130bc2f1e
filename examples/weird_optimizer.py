"""An optimizer that no library has fused for you, in fifteen lines: op by op, and compiled as a whole.

Written with arrays in and arrays out, a rule is a dozen small operations for each variable. Run one after the other,
each reads arrays from memory and writes another. Compiled, the update of all variables is one program. The source stays
the same, and so do the numbers.
"""

import os
import statistics
import time

import numpy as np

import graftax as gx
from graftax import ops

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
LARGE, ROUNDS = (64, 3) if FAST else (1024, 15)


class Weird(gx.Optimizer):
    """Momentum with a higher power of the gradient; trains badly, runs fast."""

    elementwise = True

    def __init__(self, learning_rate=1e-2, beta=0.9, **options):
        super().__init__(learning_rate, **options)
        self.beta = beta

    def create_slots(self, variable):
        return {"momentum": gx.Slot(), "cube": gx.Slot()}

    def update(self, gradient, value, slots, step):
        momentum = self.beta * slots.momentum + (1 - self.beta) * gradient
        cube = self.beta * slots.cube + (1 - self.beta) * gradient**3
        direction = momentum + ops.sign(cube) * ops.abs(cube) ** (1 / 3)
        return value - step.learning_rate * direction, {"momentum": momentum, "cube": cube}


def contestant(shapes, compiled):
    """Variables, an optimizer for them, and a function that makes one step."""
    rng = np.random.default_rng(0)
    variables = [gx.Variable(rng.normal(size=shape).astype("float32")) for shape in shapes]
    gradients = [ops.asarray(rng.normal(size=shape).astype("float32")) for shape in shapes]
    optimizer = Weird()

    def step(gradients):
        optimizer.apply(gradients, variables)

    run = gx.jit(step) if compiled else step

    def one():
        run(gradients)
        for variable in variables:
            variable.numpy()  # waits for the numbers

    return variables, one


def race(shapes):
    """The median time of a step in ms, op by op and compiled, measured in turns; both must give the same numbers."""
    plain, compiled = contestant(shapes, False), contestant(shapes, True)
    times = [], []
    for _ in range(ROUNDS + 1):
        for (_, one), record in zip((plain, compiled), times, strict=True):
            start = time.perf_counter()
            one()
            record.append(time.perf_counter() - start)
    for a, b in zip(plain[0], compiled[0], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)
    return [statistics.median(record[1:]) * 1e3 for record in times]  # the first step compiles


print(f"{'':38s}   op by op    compiled   times faster")
for name, shapes in {
    "one matrix of 8 x 8": [(8, 8)],
    f"one matrix of {LARGE} x {LARGE}": [(LARGE, LARGE)],
    "50 layers of 16 x 16, with biases": [(16, 16), (16,)] * (4 if FAST else 50),
}.items():
    slow, fast = race(shapes)
    print(f"   {name:35s} {slow:7.2f} ms  {fast:7.2f} ms {slow / fast:14.1f}")

# The same rule trains a net, and all that the base class offers holds for it: schedules, clipping, decay, averages.
gx.set_random_seed(1)
model = gx.Sequential([gx.layers.Dense(32, activation="tanh"), gx.layers.Dense(1)])
x = np.linspace(-2, 2, 64, dtype="float32")[:, None]
rate = gx.optimizers.schedules.CosineDecay(2e-2, 200)
model.compile(Weird(rate, global_clipnorm=1.0, ema_momentum=0.9), "mse")
history = model.fit(x, np.sin(2 * x), batch_size=64, epochs=200, verbose=0).history["loss"]
print(f"loss of a small net: {history[0]:.4f} -> {history[-1]:.4f}")
with model.optimizer.averaged():
    print(f"with the averages of its weights: {model.evaluate(x, np.sin(2 * x), verbose=0)['loss']:.4f}")
