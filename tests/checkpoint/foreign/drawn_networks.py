"""Networks drawn at random, as a module of torch and as a model: images and rows, turned into each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pytest

import graftax as gx
from graftax import layers as L
from graftax import ops

torch = pytest.importorskip("torch")
nn = torch.nn
functional = torch.nn.functional


class Step(NamedTuple):
    """One step: its kind, the places of what it takes, what comes out, and what goes in."""

    kind: str
    takes: tuple[int, ...]
    shape: tuple[int, ...]
    before: tuple[int, ...]


@dataclass
class Drawing:
    """The shapes of all values, channels last, without the batch; the steps; and which values are the results."""

    shapes: list[tuple[int, ...]]
    steps: list[Step]
    results: list[int]


IMAGES = "conv conv norm groups slope relu pool grow add join flatten flatten mean gate scale".split()
ROWS = "dense dense dense norm whole_norm slope relu add times join image image".split()


class _Pen:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.made = Drawing([(4, 4, int(self.rng.integers(2, 5))), (int(self.rng.integers(5, 7)),)], [], [])

    def pick(self, those: list[Any]) -> Any:
        return those[int(self.rng.integers(len(those)))]

    def add(self, kind: str, takes: tuple[int, ...], shape: tuple[int, ...]) -> int:
        self.made.steps.append(Step(kind, takes, shape, self.made.shapes[takes[0]]))
        self.made.shapes.append(shape)
        return len(self.made.shapes) - 1

    def step(self) -> None:
        shapes = self.made.shapes
        k = int(self.rng.integers(len(shapes)))
        shape = shapes[k]
        kind = self.pick(IMAGES if len(shape) == 3 else ROWS)
        alike = [j for j, other in enumerate(shapes) if other == shape]
        beside = [j for j, other in enumerate(shapes) if len(other) == len(shape) and other[:-1] == shape[:-1]]
        size, channels = shape[0], shape[-1]
        if kind in ("add", "times"):
            self.add(kind, (k, self.pick(alike)), shape)
        elif kind == "join" and channels < 200:
            other = self.pick(beside)
            self.add(kind, (k, other), (*shape[:-1], channels + shapes[other][-1]))
        elif kind == "conv":
            self.add(kind, (k,), (*shape[:-1], self.pick([2, 3, channels])))
        elif kind == "dense":
            self.add(kind, (k,), (self.pick([channels if channels < 40 else 6, 4, 12, 16]),))
        elif (kind == "pool" and size >= 4) or (kind == "grow" and size <= 2):
            now = size // 2 if kind == "pool" else size * 2
            self.add(kind, (k,), (now, now, channels))
        elif kind == "flatten":
            self.add(kind, (k,), (prod(shape),))
        elif kind == "mean":
            self.add(kind, (k,), (channels,))
        elif kind == "gate":
            row = self.pick([j for j, other in enumerate(shapes) if len(other) == 1])
            self.add(kind, (k, row), shape)
        elif kind == "image" and channels % 4 == 0 and channels <= 64:
            side = 4 if channels % 16 == 0 and self.rng.random() < 0.5 else 2
            self.add(kind, (k,), (side, side, channels // side**2))
        elif kind in ("norm", "groups", "whole_norm", "slope", "relu", "scale"):
            self.add(kind, (k,), shape)


def draw(seed: int) -> Drawing:
    pen = _Pen(seed)
    for _ in range(int(pen.rng.integers(4, 12))):
        pen.step()
    made = pen.made
    used = {j for step in made.steps for j in step.takes}
    for k in [j for j in range(2, len(made.shapes)) if j not in used] or [len(made.shapes) - 1]:
        if len(made.shapes[k]) == 3:  # nothing else says that it is an image
            k = pen.add("conv", (k,), (*made.shapes[k][:-1], 2))
            k = pen.add("flatten", (k,), (prod(made.shapes[k]),))
        made.results.append(pen.add("dense", (k,), (3,)))
    return made


def _their_part(step: Step, made: Drawing) -> Any:
    channels, image = step.before[-1], len(step.before) == 3
    match step.kind:
        case "conv":
            return nn.Conv2d(channels, step.shape[-1], 3, padding=1)
        case "dense":
            return nn.Linear(channels, step.shape[-1])
        case "gate":
            return nn.Linear(made.shapes[step.takes[1]][-1], channels)
        case "norm":
            return nn.BatchNorm2d(channels) if image else nn.BatchNorm1d(channels)
        case "groups":
            return nn.GroupNorm(1, channels)
        case "whole_norm":
            return nn.LayerNorm(channels)
        case "slope":
            return nn.PReLU(channels)
    return None


def _our_part(step: Step) -> Any:
    image = len(step.before) == 3
    match step.kind:
        case "conv":
            return L.Conv2D(step.shape[-1], 3, padding=1)
        case "dense":
            return L.Dense(step.shape[-1])
        case "gate":
            return L.Dense(step.before[-1])
        case "norm":
            return L.BatchNormalization(epsilon=1e-5)
        case "groups":
            return L.GroupNormalization(1, epsilon=1e-5)
        case "whole_norm":
            return L.LayerNormalization(epsilon=1e-5)
        case "slope":
            return L.PReLU(shared_axes=(1, 2) if image else None)
    return None


class Theirs(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    def __init__(self, made: Drawing) -> None:
        super().__init__()
        self.made = made
        for i, step in enumerate(made.steps):
            if (part := _their_part(step, made)) is not None:
                setattr(self, f"part{i}", part)

    def forward(self, image: Any, row: Any) -> Any:
        values = [image, row]
        for i, step in enumerate(self.made.steps):
            one, *other = [values[j] for j in step.takes]
            values.append(self.compute(step, getattr(self, f"part{i}", None), one, other))
        return torch.cat([values[j] for j in self.made.results], 1)

    def compute(self, step: Step, part: Any, one: Any, other: list[Any]) -> Any:
        match step.kind:
            case "gate":
                return one * torch.sigmoid(part(other[0]))[:, :, None, None]
            case "relu":
                return torch.relu(one)
            case "pool":
                return functional.max_pool2d(one, 2)
            case "grow":
                return functional.interpolate(one, scale_factor=2)
            case "add":
                return one + other[0]
            case "times":
                return one * other[0]
            case "join":
                return torch.cat([one, *other], 1)
            case "flatten":
                return one.flatten(1)
            case "mean":
                return one.mean((2, 3))
            case "scale":
                return one * torch.tanh(one.mean(1, keepdim=True))
            case "image":
                return one.view(-1, step.shape[-1], *step.shape[:-1])
        return part(one)


class Ours(gx.Model):
    """The same with layers for what needs no weights, too, or with ops."""

    def __init__(self, made: Drawing, with_layers: bool) -> None:
        super().__init__()
        self.made, self.with_layers = made, with_layers
        self.flatten, self.pool, self.mean = L.Flatten(), L.MaxPooling2D(2), L.GlobalAveragePooling2D()
        self.grow, self.relu = L.UpSampling2D(2), L.ReLU()
        for i, step in enumerate(made.steps):
            if (part := _our_part(step)) is not None:
                setattr(self, f"part{i}", part)

    def call(self, image: Any, row: Any) -> Any:
        values = [image, row]
        for i, step in enumerate(self.made.steps):
            one, *other = [values[j] for j in step.takes]
            part = getattr(self, f"part{i}", None)
            if self.with_layers and step.kind in ("flatten", "pool", "mean", "grow", "relu"):
                part = getattr(self, step.kind)
            values.append(self.compute(step, part, one, other))
        return ops.concatenate([values[j] for j in self.made.results], axis=1)

    def compute(self, step: Step, part: Any, one: Any, other: list[Any]) -> Any:
        if part is not None and step.kind != "gate":
            return part(one)
        match step.kind:
            case "gate":
                return one * ops.sigmoid(part(other[0]))[:, None, None, :]
            case "relu":
                return ops.relu(one)
            case "pool":
                return ops.max_pool(one, 2)
            case "grow":
                return ops.repeat(ops.repeat(one, 2, axis=1), 2, axis=2)
            case "add":
                return one + other[0]
            case "times":
                return one * other[0]
            case "join":
                return ops.concatenate([one, *other], axis=-1)
            case "flatten":
                return ops.reshape(one, (one.shape[0], -1))
            case "mean":
                return ops.mean(one, axis=(1, 2))
            case "scale":
                return one * ops.tanh(ops.mean(one, axis=-1, keepdims=True))
        return ops.reshape(one, (-1, *step.shape))
