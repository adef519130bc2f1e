"""A second-order optimizer: slots of other shapes than the weight, in a page.

Kronecker-factored Shampoo keeps, for a matrix of shape (rows, columns), the sums ``L = sum(g g')`` of shape
(rows, rows) and ``R = sum(g' g)`` of shape (columns, columns), and steps along ``L**(-1/4) g R**(-1/4)``. The roots are
taken with a few steps of Newton's method, in products of matrices only. Slots are Variables: compiling, copies,
checkpoints know them without a word from here.
"""

import os
import tempfile

import numpy as np

import graftax as gx
from graftax import ops

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
STEPS = 5 if FAST else 60


def inverse_fourth_root(matrix, steps=12):
    """``matrix**(-1/4)`` for a symmetric positive matrix, by a coupled Newton iteration (arXiv:2002.09018)."""
    eye = ops.eye(matrix.shape[0])
    size = ops.norm(matrix)
    z = 5 / (2 * size)
    power, root = z * matrix, z**0.25 * eye
    for _ in range(steps):
        factor = (5 * eye - power) / 4
        root = ops.matmul(root, factor)
        twice = ops.matmul(factor, factor)
        power = ops.matmul(ops.matmul(twice, twice), power)
    return root


class Kronecker(gx.Optimizer):
    """Shampoo for matrices, without grafting; plain descent for everything else (Gupta et al., arXiv:1802.09568)."""

    def __init__(self, learning_rate=0.1, ridge=1e-3, **options):
        super().__init__(learning_rate, **options)
        self.ridge = ridge

    def create_slots(self, variable):
        if variable.ndim != 2:
            return {}
        rows, columns = variable.shape
        scaled_eye = lambda key, shape, dtype: self.ridge * np.eye(shape[0], dtype=dtype)  # noqa: E731
        return {
            "left": gx.Slot(shape=(rows, rows), initializer=scaled_eye),
            "right": gx.Slot(shape=(columns, columns), initializer=scaled_eye),
        }

    def update(self, gradient, value, slots, step):
        if len(value.shape) != 2:
            return value - step.learning_rate * gradient, {}
        left = slots.left + ops.matmul(gradient, ops.transpose(gradient))
        right = slots.right + ops.matmul(ops.transpose(gradient), gradient)
        direction = ops.matmul(ops.matmul(inverse_fourth_root(left), gradient), inverse_fourth_root(right))
        return value - step.learning_rate * direction, {"left": left, "right": right}


# A regression whose inputs and outputs are stretched a hundredfold in some directions: what plain descent is bad at.
rng = np.random.default_rng(0)
stretch = np.logspace(-1, 1, 12).astype("float32")
x = rng.normal(size=(256, 12)).astype("float32") * stretch
target = rng.normal(size=(12, 5)).astype("float32")
y = x @ target


def train(optimizer):
    kernel = gx.Variable(np.zeros((12, 5), "float32"), name="kernel")

    @gx.jit
    def step():
        return optimizer.minimize(lambda: ops.mean((ops.matmul(x, kernel) - y) ** 2), [kernel])

    return [float(step()) for _ in range(STEPS)], kernel


for optimizer in (gx.optimizers.SGD(0.005), gx.optimizers.Adam(0.3), Kronecker(1.0)):
    losses, kernel = train(optimizer)
    print(f"{type(optimizer).__name__:10s} loss {losses[0]:.3g} -> {losses[-1]:.3g} in {STEPS} steps")

print({record.name: record.slot.shape for record in optimizer.slots()}, "for a kernel of", kernel.shape)

# A checkpoint has them under their names, and a fresh optimizer takes them back before its first step.
fresh = Kronecker(1.0)
other = gx.Variable(np.zeros((12, 5), "float32"), name="kernel")
with tempfile.TemporaryDirectory() as folder:
    gx.Checkpoint(kernel=kernel, optimizer=optimizer).save(f"{folder}/state")
    gx.Checkpoint(kernel=other, optimizer=fresh).restore(f"{folder}/state")
assert (fresh.slot(other, "left").numpy() == optimizer.slot(kernel, "left").numpy()).all()
