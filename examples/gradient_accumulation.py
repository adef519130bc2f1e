"""A batch that does not fit into memory: several small ones, and one update along the mean of their gradients.

The update is that of the large batch for every rule, since all that the optimizer does (clipping, decay, schedules,
averages, its count) happens once an update. What has been gathered lies in slots, so that a checkpoint in the middle
loses nothing.
"""

import os
import tempfile

import numpy as np

import graftax as gx
from graftax import layers
from graftax.optimizers import AdamW, schedules

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
SMALL, TIMES, EPOCHS = 16, 4, 1 if FAST else 10

rng = np.random.default_rng(0)
x = rng.normal(size=(512, 8)).astype("float32")
y = np.sin(x[:, :2])


def make(**options):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(32, activation="tanh"), layers.Dense(2)])
    model(x[:1])
    rate = schedules.CosineDecay(1e-2, EPOCHS * len(x) // (SMALL * TIMES))
    model.compile(AdamW(rate, global_clipnorm=1.0, ema_momentum=0.9, **options), "mse")
    return model


large, small = make(), make(accumulation_steps=TIMES)
large.fit(x, y, batch_size=SMALL * TIMES, epochs=EPOCHS, shuffle=False, verbose=0)
history = small.fit(x, y, batch_size=SMALL, epochs=EPOCHS, shuffle=False, verbose=0)
losses = history.history["loss"]
print(f"{TIMES} batches of {SMALL} an update: loss {losses[0]:.4f}, {int(small.optimizer.iterations)} updates")
apart = max(abs(a.numpy() - b.numpy()).max() for a, b in zip(large.variables, small.variables, strict=True))
print(
    f"batches of {SMALL * TIMES}: {int(large.optimizer.iterations)} updates; the weights differ by {apart:.1e} at most"
)
assert int(large.optimizer.iterations) == int(small.optimizer.iterations)
assert apart < 1e-3

# A checkpoint between two updates.
again = make(accumulation_steps=TIMES)
rows = slice(0, SMALL)
with tempfile.TemporaryDirectory() as folder:
    small.train_on_batch(x[rows], y[rows])
    gx.Checkpoint(model=small, optimizer=small.optimizer).save(f"{folder}/middle")
    gx.Checkpoint(model=again, optimizer=again.optimizer).restore(f"{folder}/middle")
for model in (small, again):
    for i in range(1, TIMES):
        rows = slice(i * SMALL, (i + 1) * SMALL)
        model.train_on_batch(x[rows], y[rows])
same = all((a.numpy() == b.numpy()).all() for a, b in zip(small.variables, again.variables, strict=True))
print(f"saved after one batch of {TIMES}, restored, and gone on: the same weights, bit for bit: {same}")
assert same
