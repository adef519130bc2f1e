"""How others save arrays and read them: safetensors, torch, Orbax, those that are installed."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

Arrays = Mapping[str, jax.Array]
Run = Callable[[str], Any]


class Peer(NamedTuple):
    """One library.

    ``saver`` takes arrays by name and gives what writes them to a path; ``restorer`` takes a path and the arrays, and
    gives what reads them onto the device.
    """

    saver: Callable[[Arrays], Run]
    restorer: Callable[[str, Arrays], Run]


def peers() -> dict[str, Peer]:
    """Those that are installed."""
    makers = {"safetensors": _safetensors, "torch": _torch, "orbax": _orbax}
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ImportError:
            continue
    return found


def synced(path: str) -> None:
    """Wait until a file and its name are on the device."""
    for name in (path, os.path.dirname(path)):
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _safetensors() -> Peer:
    from safetensors import numpy as library

    def saver(arrays: Arrays) -> Run:
        def run(path: str) -> None:
            library.save_file({name: np.asarray(value) for name, value in arrays.items()}, path)
            synced(path)

        return run

    def restorer(saved: str, arrays: Arrays) -> Run:
        return lambda path: jax.device_put(list(library.load_file(saved).values()))

    return Peer(saver, restorer)


def _torch() -> Peer:
    import torch

    def saver(arrays: Arrays) -> Run:
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}

        def run(path: str) -> None:
            torch.save(tensors, path)
            synced(path)

        return run

    def restorer(saved: str, arrays: Arrays) -> Run:
        return lambda path: list(torch.load(saved, weights_only=True).values())

    return Peer(saver, restorer)


def _orbax() -> Peer:
    import orbax.checkpoint as library

    checkpointer = library.StandardCheckpointer()

    def saver(arrays: Arrays) -> Run:
        def run(path: str) -> None:
            checkpointer.save(path, dict(arrays))
            checkpointer.wait_until_finished()

        return run

    def restorer(saved: str, arrays: Arrays) -> Run:
        wanted = {name: jax.ShapeDtypeStruct(value.shape, value.dtype) for name, value in arrays.items()}
        return lambda path: checkpointer.restore(saved, wanted)

    return Peer(saver, restorer)
