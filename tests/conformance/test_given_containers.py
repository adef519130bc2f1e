"""No object keeps a list, a dict or an array that it was given: the caller may change it, or give it to another."""

import inspect
import types

import numpy as np
import pytest

from graftax import callbacks, constraints, distribution, initializers, layers, losses, metrics, optimizers
from graftax.optimizers import schedules

NAMESPACES = (callbacks, constraints, distribution, initializers, layers, losses, metrics, optimizers, schedules)
KINDS = ("Sequence", "Mapping", "list", "dict", "ArrayLike")
SKIPPED = {
    "FlaxLayer": "it needs flax",
    "WandB": "it needs wandb",
    "MLflow": "it needs mlflow",
    "GlobalRows": "its batches are an iterator, which is read",
    "LocalRows": "its batches are an iterator, which is read",
    "Logs": "it is what hooks get, and may write to",
    "PlacementReport": "it is a result",
    "ModelParallel": "its rules are those of Distribution",
    "Distribution": "its rules are those of DataParallel",
    "InputLayer": "Input makes it",
    "Masking": "its value is one number",
}


VALUES = {
    "noise_shape": [None, 1],
    "bin_boundaries": [1.0, 2.0],
    "output_shape": [None, 3],
    "vocabulary": ["a", "b"],
    "idf_weights": [1.0, 2.0],
    "arguments": {"scale": 2.0},
    "shared_axes": [1],
    "dims": [2, 1],
    "factor": [-0.1, 0.1],
    "height_factor": [-0.1, 0.1],
    "width_factor": [-0.1, 0.1],
    "value_range": [0.0, 1.0],
    "scale": [0.1, 0.2],
    "target_shape": [4],
    "ngrams": [1, 2],
    "thresholds": [0.2, 0.6],
    "threshold": [0.2, 0.6],
    "label_weights": [0.2, 0.6],
    "target_class_ids": [0, 1],
    "pos_weight": [1.0, 2.0],
    "class_weight": [1.0, 2.0],
    "alpha": [0.2, 0.3],
    "adamw": ["**/bias"],
    "boundaries": [10],
    "values": [0.1, 0.2],
    "hyperparameters": {"units": 3},
    "value": np.ones((2, 2)),
    "axes": [1, 1],
}
BY_CLASS = {  # the rest of what a constructor needs, and values that depend on the class
    "Rescaling": {"scale": np.ones(3), "offset": np.ones(3)},
    "IntegerLookup": {"vocabulary": [1, 2], "output_mode": "tf_idf"},
    "EinsumDense": {"equation": "ab,bc->ac"},
    "Lambda": {"function": lambda x, scale: x * scale},
    "AlphaDropout": {"rate": 0.5},
    "Dropout": {"rate": 0.5},
    "Normalization": {"axis": [-1], "mean": np.zeros(3), "variance": np.ones(3)},
    "TextVectorization": {"vocabulary": ["a", "b"], "output_mode": "tf_idf"},
    "StringLookup": {"vocabulary": ["a", "b"], "output_mode": "tf_idf"},
    "RandomContrast": {"factor": [0.1, 0.2]},
    "IoU": {"num_classes": 2},
    "MinMaxNorm": {"min_value": 0.1},
    "AUC": {"multi_label": True, "num_labels": 2},
    "TensorBoard": {"directory": "logs"},
    "Join": {"schedules": [0.1, 0.2], "boundaries": [10]},
    "RNN": {"cell": [layers.LSTMCell(2)]},
    "StackedRNNCells": {"cells": [layers.LSTMCell(2)]},
    "PiecewiseConstant": {"boundaries": [10], "values": [0.1, 0.2]},
    "Permute": {"dims": [2, 1]},
    "Muon": {"rules": [("**/bias", {"learning_rate_multiplier": 0.1})]},
    "DataParallel": {"rules": [("**/bias", (None,))]},
    "FullyShardedDataParallel": {"rules": [("**/bias", (None,))]},
}


def _rows():
    found = {}
    for space in NAMESPACES:
        for name in dir(space):
            kind = getattr(space, name)
            if not inspect.isclass(kind) or name in SKIPPED or kind.__name__ != name:
                continue
            for one in inspect.signature(kind).parameters.values():
                if any(word in str(one.annotation) for word in KINDS) and "Callable" not in str(one.annotation):
                    found[f"{name}-{one.name}"] = kind, one.name
    return found


ROWS = _rows()
ARGUMENTS = {
    "filters": 4, "rate": 0.5, "units": 4, "groups": 2, "size": 2, "pool_size": 2, "kernel_size": 2, "output_size": 2,
    "factor": 0.5, "height_factor": 0.5, "width_factor": 0.5, "learning_rate": 0.1,
}  # fmt: skip


def _value(kind, argument):
    name = kind.__name__
    if argument in BY_CLASS.get(name, {}):
        return BY_CLASS[name][argument]
    if argument in VALUES:
        return VALUES[argument]
    if argument == "rules":
        return [("**/bias", {"learning_rate_multiplier": 0.1})]
    if argument == "axis":
        return [-1]
    rank = int(name.removesuffix("Transpose")[-2])
    return [{"strides": 2, "output_padding": 1, "dilation_rate": 1}.get(argument, 3)] * rank


BESIDE = {
    "output_padding": {"strides": 2},
    "idf_weights": {"vocabulary", "output_mode"},
    "mean": {"variance"},
    "variance": {"mean"},
    "thresholds": {"multi_label", "num_labels"},
    "label_weights": {"multi_label", "num_labels"},
}


def _made(kind, argument, given):
    parameters = inspect.signature(kind).parameters.values()
    needed = {one.name for one in parameters if one.default is one.empty}
    known = {**ARGUMENTS, **BY_CLASS.get(kind.__name__, {})}
    beside = BESIDE.get(argument, {})
    options = {name: value for name, value in known.items() if name in {*needed, *beside}}
    return kind(**{**options, **(beside if isinstance(beside, dict) else {}), argument: given})


def _kept(value, found):
    """Add all lists, dicts and arrays that are kept below an object, by id."""
    if id(value) in found or isinstance(value, type | types.ModuleType | types.FunctionType | str | int | float):
        return
    found[id(value)] = value
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    else:
        names = getattr(type(value), "__slots__", ()) if type(value).__module__.startswith("graftax") else ()
        slots = [getattr(value, name, None) for name in names]
        parts = [*getattr(value, "__dict__", {}).values(), *slots]
    for part in parts:
        _kept(part, found)


@pytest.mark.parametrize("row", ROWS)
def test_what_was_given_is_not_kept(row):
    kind, argument = ROWS[row]
    given = _value(kind, argument)
    made = _made(kind, argument, given)
    found = {}
    _kept(vars(made), found)
    assert not [one for one in found.values() if one is given]
    if isinstance(given, np.ndarray):
        assert not [one for one in found.values() if isinstance(one, np.ndarray) and np.shares_memory(one, given)]
