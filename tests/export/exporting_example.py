"""A program that runs another one, and then exports the models that it called: what tests of the examples start.

    python exporting_example.py EXAMPLE.py FOLDER artefact|onnx

Of each layer that was called by itself, ``FOLDER/<number>`` is its artefact, or ``FOLDER/<number>.onnx`` its ONNX file.
Beside an artefact, ``FOLDER/<number>-<i>.npz`` has inputs of several sizes, and what graftax computes of them. It
prints what was written.
"""

import itertools
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np

import graftax as gx
from graftax.export import Spec
from graftax.export.first_call import specs_of_first_call
from graftax.export.trial_inputs import made_up
from graftax.export.trial_sizes import numbers_of
from graftax.layers import building
from graftax.variables.graph.walking import walk

BATCHES, LENGTHS = (1, 3, 8), (5, 9)


def called_by(example: str) -> list[gx.Layer]:
    """Run a program, and return the layers that it called, but those that are parts of others."""
    called: list[gx.Layer] = []
    build = building.build_in_call

    def noted(layer: Any, *rest: Any) -> None:
        called.append(layer)
        build(layer, *rest)

    building.build_in_call = noted
    sys.argv = [example]
    runpy.run_path(example, run_name="__main__")
    parts = {id(part) for one in called for part in walk(one) if part is not one}
    return [one for one in called if one.built and id(one) not in parts]


def specs_of(model: gx.Layer) -> list[Spec]:
    """Return what a model takes: the first axis is free, and of tokens the length, too."""
    tables = [one.input_dim for one in walk(model) if isinstance(one, gx.layers.Embedding)]
    found = []
    for spec in specs_of_first_call(model):
        tokens = bool(tables) and spec.dtype == "int32" and len(spec.shape) == 2
        found.append(Spec("batch time", "int32", (0, min(tables) - 1)) if tokens else spec)
    return found


def export(model: gx.Layer, folder: Path, number: int) -> Any:
    """Write an artefact, and inputs of several sizes with what the model computes of them."""
    specs = specs_of(model)
    take = specs if any("time" in spec.names for spec in specs) else []  # else what the first call took
    compiled = gx.jit(lambda *inputs: model(*inputs, training=False))
    for i, (batch, time) in enumerate(itertools.product(BATCHES, LENGTHS if take else (0,))):
        inputs = [made_up(one, numbers_of(one.shape, {"batch": batch, "time": time})) for one in specs]
        np.savez(folder / f"{number}-{i}.npz", *inputs, expected=np.asarray(compiled(*inputs)))
    path = folder / str(number)
    return model.export(path, *take) if isinstance(model, gx.Model) else gx.export.save(path, model, *take)


def main(example: str, folder: str, kind: str) -> None:
    """Run, export, and print what was written."""
    models = called_by(example)
    for number, model in enumerate(models):
        if kind == "onnx":
            print("exported", gx.export.onnx(Path(folder, f"{number}.onnx"), model, *specs_of(model)))
        else:
            print("exported", export(model, Path(folder), number))
    print(len(models), "models")


if __name__ == "__main__":
    main(*sys.argv[1:])
