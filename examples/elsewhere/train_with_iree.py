"""A training step that runs without Python: exported here, compiled by IREE, run by IREE's own tool.

The step has all that training needs: the model with batch normalization, the loss, Adam with its slots and a schedule.
IREE takes programs of fixed sizes, and of one platform.

    pip install graftax[export] iree-base-compiler iree-base-runtime
    python examples/elsewhere/train_with_iree.py
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import graftax as gx
from graftax import layers

STEPS = 5
PLACES = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
COMPILE, RUN = (shutil.which(f"iree-{name}", path=PLACES) for name in ("compile", "run-module"))

rng = np.random.default_rng(0)
x = rng.normal(size=(32, 8)).astype("float32")
y = (x[:, :1] * x[:, 1:2] > 0).astype("float32")

gx.set_random_seed(0)
net = gx.Sequential([layers.Dense(32, "relu"), layers.BatchNormalization(), layers.Dense(1)])
optimizer = gx.optimizers.Adam(gx.optimizers.schedules.CosineDecay(1e-2, 100))
net(x)
optimizer.build(net.trainable_variables)


def train_step(x, y):
    loss, gradients = gx.value_and_grad(lambda: ((net(x, training=True) - y) ** 2).mean(), net.trainable_variables)()
    optimizer.apply(gradients, net.trainable_variables)
    return loss


with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    sizes = gx.export.Spec("32 8"), gx.export.Spec("32 1")
    step = gx.export.Signature(train_step, *sizes, assigns=True)
    gx.export.save(folder / "net", {"train_step": step}, roots={"net": net, "optimizer": optimizer}, platforms=["cpu"])

    program = folder / "step.vmfb"
    compile_it = [COMPILE, "--iree-input-type=stablehlo", "--iree-hal-target-backends=llvm-cpu"]
    stablehlo = folder / "net" / "functions" / "train_step.stablehlo"
    subprocess.run([*compile_it, "--iree-llvmcpu-target-cpu=generic", stablehlo, "-o", program], check=True)

    # the arguments of the program: what it reads and assigns, what it only reads, the inputs
    about = json.loads((folder / "net" / "manifest.json").read_text())["signatures"]["train_step"]
    values = load_file(folder / "net" / "weights.safetensors")
    losses = []
    for _ in range(STEPS):
        given = [*(values[name] for name in (*about["writes_read"], *about["reads"])), x, y]
        results = [folder / "loss.npy", *(folder / f"new{i}.npy" for i in range(len(about["writes"])))]
        run_it = [RUN, "--device=local-sync", f"--module={program}", "--function=main"]
        for i, array in enumerate(given):
            np.save(folder / f"given{i}.npy", array)
            run_it.append(f"--input=@{folder / f'given{i}.npy'}")
        subprocess.run([*run_it, *(f"--output=@{path}" for path in results)], check=True, stdout=subprocess.DEVNULL)
        loss, *new = [np.load(path) for path in results]
        losses.append(float(loss))
        values.update(zip(about["writes"], new, strict=True))

here = [float(train_step(x, y)) for _ in range(STEPS)]
for outside, inside in zip(losses, here, strict=True):
    print(f"loss {outside:.6f} by IREE, {inside:.6f} here")
np.testing.assert_allclose(losses, here, rtol=1e-5)
np.testing.assert_allclose(values["net/layers/0/kernel"], net.layers[0].kernel.numpy(), atol=1e-5)
