"""Low rank against full rank: the same net reads digits with a fraction of its weights.

One creator puts a product of two thin matrices behind every kernel of the hidden layers; net and training stay as they
are. The last row factorises the trained full-rank net by `gx.graft`, with the best matrices for what it has learnt,
instead of training the factors.

    python examples/low_rank_digits.py
"""

import os

import numpy as np
from sklearn.datasets import load_digits

import graftax as gx
from graftax import layers

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
EPOCHS = 1 if FAST else 25
HIDDEN = gx.select("layers/0/kernel") | gx.select("layers/1/kernel")

images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
order = np.random.default_rng(0).permutation(len(images))
test, train = np.split(order, [len(images) // 5])
if FAST:
    train = train[:256]  # whole batches: nothing is compiled for a smaller last one


def network():
    return gx.Sequential([layers.Dense(256, activation="relu"), layers.Dense(256, activation="relu"), layers.Dense(10)])


def trained(model):
    optimizer = gx.optimizers.Adam(1e-3)
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"])
    model.fit(images[train], labels[train], epochs=EPOCHS, batch_size=32, verbose=0)
    return model


def report(title, model):
    size = sum(v.size for v in model.trainable_variables)
    accuracy = model.evaluate(images[test], labels[test], verbose=0)["accuracy"]
    print(f"{title:34} {size:>10,} {accuracy:>9.2%}")
    return accuracy


print(f"{'':34} {'parameters':>10} {'accuracy':>9}")
gx.set_random_seed(0)
full = trained(network())
best = report("full rank", full)
for rank in [8] if FAST else [16, 8, 4]:
    gx.set_random_seed(0)
    with gx.variable_creator_scope(gx.reparam.LowRank(rank), where=HIDDEN):
        model = network()
        model.build_for(images[:1])
    accuracy = report(f"rank {rank}", trained(model))
    assert FAST or rank < 16 or accuracy > best - 0.03
gx.graft(full, gx.reparam.LowRank(8), where=HIDDEN, tolerance=1.0)
report("full rank, cut to rank 8 afterwards", full)
