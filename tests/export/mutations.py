"""Random changes of an artefact, as damage or a forger would make them, and everything that may be done with one."""

import contextlib
import copy
import io
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.cli.export_show import run
from graftax.cli.parser import parser
from graftax.export import Signature, Spec
from graftax.export.serving import Server

INPUTS: dict[str, tuple[Any, ...]] = {
    "predict": (np.arange(18, dtype="float32").reshape(3, 6) / 9, np.array([0, 4, 1], "int32")),
    "pair": ({"a": np.ones((2, 6), "float32"), "b": [np.ones((4, 6), "float32")]},),
    "step": (np.arange(12, dtype="float32").reshape(2, 6) / 5,),
}
"""What the programs of `saved` are called with."""

STRANGE: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**30, -(10**400), 0.5, 1e400, float("nan")),
    *("", "x", "batch", "b c", "2*", "__import__('os')", "batch.real", "9" * 5000, "(" * 300, "-" * 4000 + "1", "\0"),
    *("float32", "int8", "int4", "bfloat16", "object", "U1000000000", "V8", "O", "datetime64", "é", "\ud800"),
    *("mod(batch,0)", "batch>=1", "batch*batch", "f(x)", "max(1)", "1<2<3", "a-a", "floordiv(batch,0)", "9**9**9"),
    *("values", "signatures", "manifest", "../../x", "model/kernel", "batch>=10", "codes", "scale", "[" * 100),
    *(
        [],
        [0],
        [0, 0],
        [1, 0],
        ["batch"],
        [None],
        [[[]]],
        [-1, "x"],
        [2**62, 2**62],
        {},
        {"a": 0},
        {"": None},
        {"b": [0]},
    ),
]
"""What is put in place of a part of a manifest."""


class Small(gx.Model):
    """Two inputs, integers that are codes, and a count that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.table = gx.layers.Embedding(5, 6)
        self.first, self.second = gx.layers.Dense(6), gx.layers.Dense(6)
        self.count = gx.Variable(np.float32(1), trainable=False)

    def call(self, x: Any, tokens: Any) -> dict[str, Any]:
        y = self.first(x) + self.table(tokens)
        return {"y": y, "both": [self.second(y), None]}

    def step(self, x: Any) -> Any:
        self.count.assign_add(1.0)
        return self.second(x) * self.count


def saved(path: Path) -> Path:
    """Write an artefact with all that a manifest may say, and a checkpoint of it; return its folder."""
    gx.random.set_random_seed(0)
    model = Small()
    model(*INPUTS["predict"])
    model.step(INPUTS["step"][0])
    gx.graft(model, gx.reparam.FakeQuant(8, per="channel"), where="first/kernel")
    gx.export.save(
        path,
        {
            "predict": Signature(model, Spec("batch 6"), Spec("batch", "int32", (0, 4)), constraints=["batch >= 2"]),
            "pair": Signature(
                lambda pair: {"sum": model.first(pair["a"]) + 1, "other": pair["b"][0][0]},
                {"a": Spec("n 6"), "b": [Spec("2*n 6")]},
            ),
            "step": Signature(model.step, Spec("n 6"), assigns=True),
        },
        roots={"net": model},
    )
    gx.ungraft(model, where="first/kernel")
    Checkpoint(net=model).save(path.parent / "ckpt")
    return path


def mutated(value: Any, dice: random.Random) -> Any:
    """Return JSON with one to three parts of it changed."""
    value = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        holders = [one for one in _holders(value) if one]
        holder = dice.choice(holders)
        key = dice.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        kind = dice.randrange(7)
        if kind == 6:  # another order
            parts = [*holder.items()] if isinstance(holder, dict) else [*holder]
            dice.shuffle(parts)
            holder.clear()
            (holder.update if isinstance(holder, dict) else holder.extend)(parts)
        elif kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[str(dice.choice(STRANGE))[:30]] = copy.deepcopy(dice.choice([*holder.values(), *STRANGE]))
        elif kind == 1:
            holder.insert(key, copy.deepcopy(dice.choice([*holder, *STRANGE])))
        elif kind == 2:  # a part of another place
            other = dice.choice(holders)
            parts = list(other.values()) if isinstance(other, dict) else other
            holder[key] = copy.deepcopy(dice.choice(parts or [None]))
        elif kind == 3 and type(holder[key]) is int:
            holder[key] += dice.choice((-1, 1, 10**9))
        else:
            holder[key] = copy.deepcopy(dice.choice(STRANGE))
    return value


def _holders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for one in list(value.values() if isinstance(value, dict) else value):
            yield from _holders(one)


def changed_bytes(data: bytes, dice: random.Random) -> bytes:
    """Return bytes with one changed, some left out, or some doubled."""
    at, kind = dice.randrange(len(data)), dice.randrange(3)
    more = dice.randrange(1, 20)
    changed = bytes([data[at] ^ (1 << dice.randrange(8))])
    return data[:at] + (changed + data[at + 1 :], data[at + more :], data[at : at + more] + data[at:])[kind]


def shown(folder: Path) -> None:
    """What ``graftax export show`` does, in both of its forms."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        for words in ([], ["--json"]):
            run(parser().parse_args(["export", "show", str(folder), *words]))


def warmed(folder: Path) -> None:
    """What ``graftax export serve --warm 1,2`` does before the first request."""
    server = Server(folder, port=0, warm=(1, 2))
    for one in server.batchers.values():
        one.stop()
    server.server_close()
