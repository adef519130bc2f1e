"""A net trained here that answers in JavaScript: digits, with integer products, as an ONNX file for Node.

    python make_model.py && npm install --ignore-scripts && node predict.cjs

writes model.onnx, rows.json and expected.json into this folder; the last command prints the logits of the rows, which
are those in expected.json but for rounding.
"""

import json

import numpy as np

import graftax as gx
from graftax import layers

rng = np.random.default_rng(0)
labels = rng.integers(0, 4, 512)
images = rng.normal(0, 0.3, (512, 8, 8, 1)).astype("float32")
for image, label in zip(images, labels, strict=True):  # a bright quarter: which one is asked
    top, left = divmod(int(label), 2)
    image[4 * top : 4 * top + 4, 4 * left : 4 * left + 4] += 1

model = gx.Sequential(
    [
        layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(32, "relu"),
        layers.Dense(4),
    ]
)
model.compile(gx.optimizers.Adam(1e-2), gx.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(images, labels, epochs=3, batch_size=64, verbose=0)

report = gx.export.onnx(
    "model.onnx",
    model,
    images[:16],
    products="int8",
    calibration=[images[:128], images[128:256]],
    overwrite=True,
)
print(report)
with open("rows.json", "w") as file:
    json.dump(images[256:264].tolist(), file)
with open("expected.json", "w") as file:
    json.dump(np.asarray(model(images[256:264], training=False)).tolist(), file)
