"""A model whose structure is the data: recursive cells read arithmetic trees, each of another shape.

The forward pass is a Python recursion over the tree, which decides by the values it meets: no padding, no batching, no
graph that is compiled first. The tape records whatever the recursion did.
"""

import random

import numpy as np

import graftax as gx
from graftax import layers, ops

STEPS = 100
WIDTH = 8
random.seed(0)
gx.set_random_seed(0)


def make_tree(depth, root=True):
    """A number, or an operation and two trees."""
    if depth == 0 or (not root and random.random() < 0.3):
        return random.choice([0, 1, 2])
    return random.choice(["plus", "minus"]), make_tree(depth - 1, False), make_tree(depth - 1, False)


def evaluate(tree):
    if isinstance(tree, int):
        return tree
    name, left, right = tree
    return evaluate(left) + evaluate(right) if name == "plus" else evaluate(left) - evaluate(right)


class TreeNetwork(gx.Module):
    """A vector for each number, a cell for each operation, and a number read off the vector of any tree."""

    def __init__(self):
        self.numbers = gx.Variable(shape=(3, WIDTH), initializer="glorot_uniform")
        self.cells = {"plus": layers.Dense(WIDTH, use_bias=False), "minus": layers.Dense(WIDTH, use_bias=False)}
        self.readout = layers.Dense(1)

    def errors(self, tree):
        """The vector of a tree, and the errors at it and at every tree inside."""
        if isinstance(tree, int):
            vector, inside = self.numbers[tree : tree + 1], []
        else:
            name, left, right = tree
            (a, inside_a), (b, inside_b) = self.errors(left), self.errors(right)
            vector, inside = self.cells[name](ops.concatenate([a, b], axis=1)), [*inside_a, *inside_b]
        return vector, [*inside, self.readout(vector)[0, 0] - evaluate(tree)]


def huber(error):
    """The loss, chosen by the value of the error: a plain `if`."""
    return error**2 if abs(float(error)) < 1 else 2 * abs(error) - 1


def mean_error(model, trees):
    return float(np.mean([abs(float(model.errors(tree)[1][-1])) for tree in trees]))


model = TreeNetwork()
for operation in ("plus", "minus"):
    model.errors((operation, 1, 2))  # builds the layers
optimizer = gx.optimizers.Adam(0.03)
variables = model.trainable_variables
deeper = [make_tree(4) for _ in range(20)]
before = mean_error(model, deeper)

nodes = 0
for step in range(STEPS):
    tree = make_tree(3)
    with gx.GradientTape() as tape:
        _, errors = model.errors(tree)
        loss = sum(map(huber, errors)) / len(errors)
    gradients = tape.gradient(loss, variables, unconnected_gradients="zero")  # a tree may lack an operation
    optimizer.apply(gradients, variables)
    nodes += len(errors)
    if step % 20 == 0:
        print(f"step {step:2d}: a tree of {len(errors):2d} nodes, loss {float(loss):.4f}")

after = mean_error(model, deeper)
print(f"mean error on deeper trees: {before:.3f} before, {after:.3f} after {STEPS} trees of {nodes} nodes together")
assert after < 0.3 * before
