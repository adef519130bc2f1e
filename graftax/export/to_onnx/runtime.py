"""ONNX Runtime, which runs a file that was written, to see whether it computes the same; optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from graftax.core.errors import ExportError, MissingLibraryError
from graftax.export.to_onnx.messages import Numbers


def library(instead: str) -> Any:
    """Return the library.

    Args:
        instead: What to do where it is not installed.

    Raises:
        MissingLibraryError: it is not installed, or does not load.
    """
    try:
        return import_module("onnxruntime")
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "onnxruntime"
        raise MissingLibraryError(
            "an export to ONNX needs onnxruntime",
            "it runs the file, to see whether that computes what the model does; "
            + ("it is not installed" if missing else f"it does not load: {error}"),
            f"pip install 'graftax[onnx]'{instead}",
        ) from None


class Session:
    """A file that runs on one thread.

    Args:
        path: The file.

    Raises:
        ExportError: the runtime does not take it.
    """

    def __init__(self, path: Path) -> None:
        runtime = library(", or check=False")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4  # what it says besides its exceptions is about speed
        try:
            self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # it has classes of its own for what it cannot load
            raise ExportError(
                f"ONNX Runtime {runtime.__version__} does not take what was written",
                str(error).strip().partition("\n")[0],
                "opset=17, a newer onnxruntime, or gx.export.save",
            ) from error

    def run(self, inputs: Mapping[str, Numbers], wanted: Sequence[str]) -> list[Numbers]:
        """Return results by name.

        Raises:
            ExportError: it stops with an error.
        """
        there = {one.name for one in self._session.get_inputs()}
        given = {name: array for name, array in inputs.items() if name in there}
        try:
            return list(self._session.run(list(wanted), given))
        except Exception as error:  # as above
            sizes = ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items())
            raise ExportError(
                f"what was written fails in ONNX Runtime, for {sizes}",
                str(error).strip().partition("\n")[0],
                "constraints=[...] between sizes, or bounds= of a Spec of integers, if the function fails there, too",
            ) from error
