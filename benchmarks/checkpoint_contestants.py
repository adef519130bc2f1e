"""Who saves arrays and reads them: the bare device, graftax, safetensors, torch, Orbax. Each imports what it needs.

None of them imports another's library: each runs in a process of its own, see `benchmarks.checkpoint_worker`.
"""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import numpy as np

Run = Callable[[str], Any]


class Size(NamedTuple):
    """How many arrays, of how many float32 elements each, and in how many rounds."""

    count: int
    elements: int
    rounds: int

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.count * self.elements * 4

    def __str__(self) -> str:
        each = self.elements * 4
        return f"{self.count:,} × {f'{each / 1e6:.1f} MB' if each >= 1e6 else f'{each / 1e3:.1f} kB'}"


def arrays(size: Size) -> dict[str, jax.Array]:
    """All of the arrays, by the paths that they have in a net of layers with ten weights each."""
    drawn = [np.random.default_rng(i).random(size.elements, "float32") for i in range(10)]
    return {
        f"net/blocks/{i // 10}/weights/{i % 10}": jax.block_until_ready(jax.numpy.array(drawn[i % 10]))
        for i in range(size.count)
    }


def synced(path: str) -> None:
    """Wait until a file and its name are on the device."""
    for name in (path, os.path.dirname(path)):
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def raw(size: Size) -> dict[str, Run]:
    """The bytes of all arrays in a row, and nothing else."""
    held = arrays(size)

    def save(path: str) -> None:
        views = [memoryview(np.asarray(value)).cast("B") for value in held.values()]
        with open(path, "wb", buffering=0) as file:
            for first in range(0, len(views), 500):
                os.writev(file.fileno(), views[first : first + 500])
        synced(path)

    return {"save": save}


def graftax(size: Size) -> dict[str, Run]:
    """A `Checkpoint` of a net, whose weights are in layers of ten."""
    net = import_module("benchmarks.checkpoint_net").Net(size.count, size.elements)
    checkpoint, variables = import_module("graftax").Checkpoint(net=net), net.variables
    some = [f"net/blocks/{i}/**" for i in range(max(1, size.count // 1000))]

    def restore(path: str, only: list[str] | None = None) -> None:
        checkpoint.restore(path, only=only)
        jax.block_until_ready([variable.value for variable in variables])

    return {
        "save": checkpoint.save,
        "restore": restore,
        "restore 1 %": lambda path: restore(path, some),
        "begin": lambda path: checkpoint.save(path, async_=True),
        "finish": lambda path: checkpoint.wait(),
    }


def safetensors(size: Size) -> dict[str, Run]:
    """A file of safetensors, by its functions for NumPy, and one `device_put`."""
    library, held = import_module("safetensors.numpy"), arrays(size)

    def save(path: str) -> None:
        library.save_file({name: np.asarray(value) for name, value in held.items()}, path)
        synced(path)

    def restore(path: str) -> None:
        held.update(zip(held, jax.device_put(list(library.load_file(path).values())), strict=True))
        jax.block_until_ready(held)

    return {"save": save, "restore": restore}


def torch(size: Size) -> dict[str, Run]:
    """A file of torch, of tensors of its own, which stay where they are read."""
    library = import_module("torch")
    held = {name: library.from_numpy(np.array(value)) for name, value in arrays(size).items()}

    def save(path: str) -> None:
        library.save(held, path)
        synced(path)

    def restore(path: str) -> None:
        held.update(library.load(path, weights_only=True))

    return {"save": save, "restore": restore}


def orbax(size: Size) -> dict[str, Run]:
    """A `StandardCheckpointer` of Orbax, which syncs what it writes."""
    checkpointer = import_module("orbax.checkpoint").StandardCheckpointer()
    held = arrays(size)
    wanted = {name: jax.ShapeDtypeStruct(value.shape, value.dtype) for name, value in held.items()}

    def save(path: str) -> None:
        checkpointer.save(path, held)
        checkpointer.wait_until_finished()

    def restore(path: str) -> None:
        held.update(checkpointer.restore(path, wanted))
        jax.block_until_ready(held)

    return {"save": save, "restore": restore}


MAKERS: dict[str, Callable[[Size], dict[str, Run]]] = {
    "graftax": graftax,
    "raw": raw,
    "safetensors": safetensors,
    "torch": torch,
    "orbax": orbax,
}


def contestants() -> list[str]:
    """The names of those whose library is installed."""
    return [name for name in MAKERS if name in ("raw", "graftax") or find_spec(name) is not None]
