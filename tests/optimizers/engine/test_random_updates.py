"""An elementwise rule that draws numbers or assigns does so once for each variable, compiled as in eager code."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops


class Noisy(gx.Optimizer):
    elementwise = True

    def __init__(self, draw, **options):
        super().__init__(0.1, **options)
        self.noise = gx.random.SeedGenerator(3)
        self.count = gx.Variable(0.0, trainable=False, role="counter")
        self.draw = draw

    def create_slots(self, variable):
        return {"mean": gx.Slot()}

    def update(self, gradient, value, slots, step):
        mean = 0.5 * slots.mean + gradient
        return value - step.learning_rate * mean + self.draw(self, gradient), {"mean": mean}


DRAWS = {
    "a stream": lambda rule, gradient: gx.random.normal(gradient.shape, seed=rule.noise),
    "the global stream": lambda rule, gradient: gx.random.normal(gradient.shape),
    "a count of its own": lambda rule, gradient: 0.01 / rule.count.assign_add(1.0),
    "a number": lambda rule, gradient: gx.random.uniform(gradient.shape, seed=7),
}


def steps(run, draw):
    gx.set_random_seed(1)
    shapes = [(2, 3), (4,), (3,), (2, 2)]
    variables = [gx.Variable(np.ones(shape, "float32")) for shape in shapes]
    rule = Noisy(draw)
    step = run(lambda: rule.minimize(lambda: sum(ops.sum(v**2) for v in variables), variables))
    for _ in range(3):
        step()
    return [v.numpy() for v in (*variables, *rule.variables)]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("draw", DRAWS)
def test_compiled_and_eager_steps_do_the_same(draw):
    for one, other in zip(steps(gx.jit, DRAWS[draw]), steps(lambda f: f, DRAWS[draw]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
