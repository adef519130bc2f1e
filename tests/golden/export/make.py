"""Write the artefact of the JAX that is installed, which later versions are to read; run from the project's root."""

from typing import Any

import jax
import numpy as np

import graftax as gx
from graftax import layers, ops
from graftax.export import Signature, Spec

gx.random.set_random_seed(0)
model = gx.Sequential([layers.Embedding(7, 4), layers.LSTM(3), layers.Dense(2)])
optimizer = gx.optimizers.SGD(0.1, momentum=0.9)


@gx.jit
def step(tokens: Any, target: Any) -> Any:
    def loss() -> Any:
        return ops.mean((model(tokens, training=True) - target) ** 2)

    value, gradients = gx.value_and_grad(loss, wrt=model.trainable_variables)()
    optimizer.apply(gradients, model.trainable_variables)
    return value


tokens = np.arange(12, dtype="int32").reshape(3, 4) % 7
model(tokens)
step(tokens, np.ones((3, 2), "float32"))
spec = Spec("batch time", "int32", (0, 6))
report = gx.export.save(
    f"tests/golden/export/jax-{jax.__version__}.zip",
    {"predict": Signature(model, spec), "step": Signature(step, spec, Spec("batch 2"), assigns=True)},
    roots={"model": model, "optimizer": optimizer},
    overwrite=True,
)
print(report)
