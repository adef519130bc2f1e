"""Each layer its own rate, decay and optimizer: rules that select variables, and a table that says what came of them.

A rule that selects nothing fails, so that a misspelt name does not cost a training run. The table is made by the same
code that the training goes by.
"""

import os

import numpy as np

import graftax as gx
from graftax import layers, ops
from graftax.optimizers import SGD, AdamW, Muon

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
EPOCHS = 2 if FAST else 60

gx.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(512, 16)).astype("float32")
y = np.tanh(x @ rng.normal(size=(16, 3)).astype("float32"))

model = gx.Sequential([layers.Dense(32, activation="tanh"), layers.Dense(32, activation="tanh"), layers.Dense(3)])
model(x[:1])

# Deeper layers learn more slowly, by a factor of two for each, as is usual in fine-tuning. Biases do not decay.
depth = len(model.layers)
falling = [(f"layers/{i}/**", {"learning_rate_multiplier": 0.5 ** (depth - 1 - i)}) for i in range(depth)]
optimizer = AdamW(3e-3, weight_decay=0.01, rules=[*falling, ("**/bias", {"weight_decay": 0.0})])
print(optimizer.explain(model))
model.compile(optimizer, "mse")
history = model.fit(x, y, epochs=EPOCHS, verbose=0).history["loss"]
print(f"loss {history[0]:.4f} -> {history[-1]:.4f}\n")

# Several optimizers: what a rule selects is moved by the one that it names, everything else by the one around it.
# Clipping by the global norm is one for all.
head = SGD(0.05, momentum=0.9)
mixed = Muon(2e-3, global_clipnorm=1.0, rules=[("layers/2/**", {"optimizer": head}), ("layers/0/**", {"frozen": True})])
print(mixed.explain(model))
frozen = model.layers[0].kernel.numpy()
model.compile(mixed, "mse")
history = model.fit(x, y, epochs=EPOCHS, verbose=0).history["loss"]
print(f"loss {history[0]:.4f} -> {history[-1]:.4f}")
assert (model.layers[0].kernel.numpy() == frozen).all(), "frozen is frozen, bit for bit"
assert head.slot(model.layers[2].kernel, "momentum").shape == (32, 3)

try:
    AdamW(1e-3, rules=[("**/gamma", {"weight_decay": 0.0})]).explain(model)
except gx.errors.SelectorError as error:
    print(f"\n{error}")

# The same in a loop of one's own.
adam = AdamW(1e-3, rules=falling)


@gx.jit
def step(x, y):
    return adam.minimize(lambda: ops.mean((model(x) - y) ** 2), model.trainable_variables)


print(f"\nand by hand: {float(step(x, y)):.4f} -> {float(step(x, y)):.4f}")
