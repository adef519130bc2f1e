"""The libraries whose weights can be read: their rules, how their arrays are grouped, and how they are recognized."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.rules import flax, keras, torch
from graftax.checkpoint.foreign.rules.flax_groups import flax_groups
from graftax.checkpoint.foreign.rules.keras_groups import keras_groups
from graftax.checkpoint.foreign.rules.own_groups import own_groups
from graftax.checkpoint.foreign.rules.torch_groups import torch_groups
from graftax.checkpoint.foreign.unit import Group, Rule
from graftax.core.errors import ArgumentError

Grouped = tuple[list[Group], dict[str, str]]


class Source(NamedTuple):
    """A library: rules by class of layer, and how its arrays are grouped, named and ordered.

    ``by_depth`` is True where the layers of a graph are in the order of their distance from its outputs, and
    ``names_lists`` False where a list ``layers`` of a user's class is not in the names.
    """

    rules: Mapping[str, Rule]
    groups: Callable[[ForeignFile, bool], Grouped]
    channels_first: bool = False
    by_name: bool = False
    by_depth: bool = False
    names_lists: bool = True


SOURCES = {
    "torch": Source(torch.RULES, torch_groups, channels_first=True),
    "keras": Source(keras.RULES, lambda file, _: keras_groups(file), by_depth=True, names_lists=False),
    "flax": Source(flax.RULES, lambda file, _: flax_groups(file)),
    "graftax": Source({}, lambda file, _: own_groups(file), by_name=True),
}

_ENDS = {
    "torch": {"weight", "running_mean", "in_proj_weight", "num_batches_tracked"},
    "graftax": {"kernel", "gamma", "beta", "embeddings", "moving_mean", "recurrent_kernel"},
    "flax": {"scale", "embedding"},
}
_TORCH_RECURRENT = re.compile(r"weight_(ih|hh)(_l\d+(_reverse)?)?")

_OTHER_NAMES = {
    **dict.fromkeys(("pytorch", "pt", "hf", "huggingface", "hugging_face", "transformers", "safetensors"), "torch"),
    **dict.fromkeys(("tensorflow", "tf", "tf.keras", "keras3", "h5"), "keras"),
    **dict.fromkeys(("jax", "linen", "nnx", "orbax", "haiku"), "flax"),
    **dict.fromkeys(("gx", "own"), "graftax"),
}


def source_of(file: ForeignFile, source: str | None) -> str:
    """Return the library that wrote a file: the given one, else by its format, else by its names.

    Args:
        file: The file.
        source: The library, if it is given; else None.

    Raises:
        ArgumentError: the library is unknown, or the names occur in several libraries.
    """
    if source is not None:
        if source not in SOURCES:
            meant = _OTHER_NAMES.get(str(source).lower(), "torch")
            raise ArgumentError(
                f"source={source!r:.60}",
                f"the libraries whose layouts are known are {', '.join(map(repr, SOURCES))}",
                f"source={meant!r}",
            )
        return source
    ends = {name.replace(".", "/").rpartition("/")[2] for name in file.arrays}
    ends = {"weight" if _TORCH_RECURRENT.fullmatch(end) else end for end in ends}
    if file.source == "graftax" and _ENDS["torch"] & ends and not _ENDS["graftax"] & ends:
        return "torch"  # a checkpoint that was made of a file of torch, which keeps its names and layouts
    if file.source is not None:
        return file.source
    likely = [name for name, words in _ENDS.items() if words & ends]
    if "flax" in likely and "graftax" in likely and not (_ENDS["graftax"] - {"kernel"}) & ends:
        likely.remove("graftax")  # Flax and graftax both use the name kernel
    if len(likely) == 1:
        return likely[0]
    if all(re.fullmatch(r"arr_\d+", name) for name in file.arrays):  # np.savez(path, *arrays)
        raise ArgumentError(
            f"{file.path}, with the names arr_0 to arr_{len(file.arrays) - 1}",
            "they are numbers of arrays, and say neither which library nor which weight",
            f"model.set_weights(list(np.load({os.fspath(file.path)!r}).values())), if they are in the order of "
            "model.weights; or source= with names= for each array",
        )
    shown = ", ".join(list(file.arrays)[:4])
    raise ArgumentError(
        f"{file.path}, with the names {shown}{', ...' if len(file.arrays) > 4 else ''}",
        f"these names do not say which library wrote it{f': it may be {likely}' if likely else ''}; layouts differ",
        f"source={' or source='.join(map(repr, SOURCES))}",
    )
