"""Nine tenths of the weights pruned: all at once, or little by little while training goes on.

`Mask` is grafted onto a trained net, `prune` masks the weights of smallest magnitude over all layers, and a compiled
step does both: learn, and prune as far as a `PruningSchedule` says for this step. Both ways train for as long.

    python examples/pruning.py
"""

import copy
import os

import numpy as np
from sklearn.datasets import load_digits

import graftax as gx
from graftax import layers
from graftax.reparam import Mask, PruningSchedule, prune

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
FRACTION, BATCH, STEPS = 0.9, 32, 8 if FAST else 1200

images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
order = np.random.default_rng(0).permutation(len(images))
test, train = np.split(order, [len(images) // 5])
entropy = gx.losses.SparseCategoricalCrossentropy(from_logits=True)


def train_for(model, steps, schedule=None):
    optimizer = gx.optimizers.Adam(1e-3)
    weights = model.trainable_variables

    @gx.jit
    def step(x, y):
        _, gradients = gx.value_and_grad(lambda: entropy(y, model(x, training=True)), wrt=weights)()
        optimizer.apply(gradients, weights)
        if schedule is not None:
            prune(model, schedule(optimizer.iterations), globally=True)

    draw = np.random.default_rng(1)
    for _ in range(steps):
        rows = draw.choice(train, BATCH)
        step(images[rows], labels[rows])


def accuracy(model):
    return np.mean(np.asarray(model(images[test])).argmax(-1) == labels[test])


def report(title, model):
    kernels = [layer.kernel.numpy() for layer in model.layers]
    left = sum(np.count_nonzero(kernel) for kernel in kernels)
    print(f"{title:36} {left:>8,} {accuracy(model):>9.2%}")
    return left


gx.set_random_seed(0)
dense = gx.Sequential([layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu"), layers.Dense(10)])
dense(images[:1])
train_for(dense, STEPS)
print(f"{'':36} {'weights':>8} {'accuracy':>9}")
all_of_them = report("dense", dense)

once = copy.deepcopy(dense)
gx.graft(once, Mask(), where="**/kernel")
prune(once, FRACTION, globally=True)
report("pruned at once", once)
train_for(once, STEPS)
report("pruned at once, then trained", once)

gradually = copy.deepcopy(dense)
gx.graft(gradually, Mask(), where="**/kernel")
train_for(gradually, STEPS, PruningSchedule(FRACTION, steps=STEPS // 2))
gx.ungraft(gradually)  # plain weights again, with zeros in them
left = report("pruned by a schedule while trained", gradually)
assert abs(left / all_of_them - (1 - FRACTION)) < 0.01
