"""Grouping the tensors of a state dict by module; stacked recurrent layers and packed projections are split.

Source: torch.nn for the names of modules of torch, and the models of transformers for those of Hugging Face.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.unit import Group
from graftax.core.errors import ArgumentError

_OF_LAYERS = {"weight", "bias", "running_mean", "running_var", "weight_ih", "weight_hh", "bias_ih", "bias_hh"}
_OLDER = {"gamma": "weight", "beta": "bias"}  # layer normalizations that were converted from TensorFlow
_RECURRENT = re.compile(r"(weight_ih|weight_hh|bias_ih|bias_hh)_l(\d+)(_reverse)?")
_PACKED = ("in_proj", "qkv", "c_attn", "Wqkv", "qkv_proj")
_BUFFERS = {
    "num_batches_tracked": "a count of batches, which no layer of graftax needs",
    "masked_bias": "a constant of the causal mask",
    "position_ids": "the numbers 0, 1, 2, ...",
    "inv_freq": "the frequencies of rotary positions, which are computed",
}
_MASK = "the causal mask, which is computed"


def torch_groups(file: ForeignFile, takes_apart: bool) -> tuple[list[Group], dict[str, str]]:
    """Return the tensors of a file grouped by module, and those that no layer needs, with the reason.

    Args:
        file: A state dict.
        takes_apart: Whether packed attention projections are split for three layers.

    Raises:
        ArgumentError: the projections are packed head by head.
    """
    ignored: dict[str, str] = {}
    found: dict[str, Group] = {}
    names = {name.replace("/", ".") for name in file.arrays}
    for position, (name, array) in enumerate(file.arrays.items()):
        prefix, _, last = name.replace("/", ".").rpartition(".")  # a checkpoint that was made of such a file has /
        reason = _BUFFERS.get(last)
        if last == "bias" and len(array.shape) == 4 and array.shape[:2] == (1, 1):
            reason = _MASK
        if reason:
            ignored[name] = reason
            continue
        if last in _OLDER and all(_join(prefix, one) in names for one in _OLDER):
            last = _OLDER[last]
        group, key = _place(prefix, last)
        found.setdefault(group, Group(group, {}, position)).arrays[key] = array
    groups = [_as_linear(group, found) for group in found.values()]
    if takes_apart:
        groups = _merge(part for group in groups for part in _split_packed(group))
    return groups, ignored


def _place(prefix: str, last: str) -> tuple[str, str]:
    """Return the group of a tensor and its name within the group."""
    recurrent = _RECURRENT.fullmatch(last)
    if recurrent:
        return _join(prefix, f"l{recurrent[2]}{recurrent[3] or ''}"), recurrent[1]
    if last in ("in_proj_weight", "in_proj_bias"):
        return _join(prefix, "in_proj"), last.removeprefix("in_proj_")
    if last in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
        return _join(prefix, last.removesuffix("_weight")), "weight"
    return (prefix, last) if last in _OF_LAYERS else (_join(prefix, last), "")


def _join(prefix: str, last: str) -> str:
    return f"{prefix}.{last}" if prefix else last


def _as_linear(group: Group, groups: dict[str, Group]) -> Group:
    """Return a group whose weight is ``(out, in)``; the Conv1D of transformers has ``(in, out)``."""
    last = group.name.rpartition(".")[2]
    weight = group.arrays.get("weight")
    if not last.startswith("c_") or weight is None or len(weight.shape) != 2 or not _has_conv1d(groups):
        return group
    rows, columns = weight.shape
    turned = weight.derive(weight.name, (columns, rows), lambda x: x.T)
    return Group(group.name, {**group.arrays, "weight": turned}, group.position)


def _has_conv1d(groups: dict[str, Group]) -> bool:
    packed = [group.arrays["weight"].shape for name, group in groups.items() if name.endswith("c_attn")]
    return any(len(shape) == 2 and shape[1] == 3 * shape[0] for shape in packed)


def _split_packed(group: Group) -> list[Group]:
    prefix, _, last = group.name.rpartition(".")
    if last == "query_key_value":
        raise ArgumentError(
            f"{group.name} has query, key and value of one head after the other in one array",
            "the file does not say how many heads there are, so it cannot be split",
            "split it in torch into q_proj, k_proj and v_proj, and save these",
        )
    if last not in _PACKED or any(array.shape[0] % 3 for array in group.arrays.values()):
        return [group]
    return [
        Group(
            _join(prefix, name),
            {key: _take_third(array, number) for key, array in group.arrays.items()},
            group.position,
        )
        for number, name in enumerate(("q_proj", "k_proj", "v_proj"))
    ]


def _merge(groups: Iterable[Group]) -> list[Group]:
    """Return groups with those of one name in one: weights of their own, and their part of a packed bias."""
    found: dict[str, Group] = {}
    for group in groups:
        found.setdefault(group.name, Group(group.name, {}, group.position)).arrays.update(group.arrays)
    return list(found.values())


def _take_third(array: ForeignArray, number: int) -> ForeignArray:
    size = array.shape[0] // 3
    cut: Callable[[HostArray], HostArray] = partial(_rows, low=number * size, high=(number + 1) * size)
    return array.derive(f"{array.name}[{number * size}:{(number + 1) * size}]", (size, *array.shape[1:]), cut)


def _rows(x: HostArray, low: int, high: int) -> HostArray:
    return x[low:high]
