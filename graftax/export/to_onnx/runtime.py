"""ONNX Runtime, which runs a file that was written, to see whether it computes the same; optional."""

from __future__ import annotations

import re
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
            "gx.export.onnx() compares the file with the function, for which it needs onnxruntime",
            "onnxruntime " + ("is not installed" if missing else f"cannot be imported: {error}"),
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
                f"ONNX Runtime {runtime.__version__} cannot load the file that was written; it was deleted",
                _words(error),
                "opset=17, which every version of ONNX Runtime that is tested loads; a newer onnxruntime; or "
                "gx.export.save",
            ) from error

    def run(self, inputs: Mapping[str, Numbers], names: Sequence[str]) -> list[Numbers]:
        """Return results by name.

        Raises:
            ExportError: it stops with an error.
        """
        there = {one.name for one in self._session.get_inputs()}
        given = {name: array for name, array in inputs.items() if name in there}
        try:
            return list(self._session.run(list(names), given))
        except Exception as error:  # as above
            sizes = ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items())
            raise ExportError(
                f"the file that was written fails in ONNX Runtime for {sizes}; it was deleted",
                _words(error),
                'constraints=["time >= 2"], or bounds=(0, 9) in the Spec of an integer input, if the function itself '
                "fails for such sizes or numbers, too; otherwise gx.export.save",
            ) from error


def _words(error: Exception) -> str:
    """Return what ONNX Runtime says, without the names of its own source files and functions.

    Example:
        >>> _words(
        ...     RuntimeError("[ONNXRuntimeError] : 1 : FAIL : Load failed:/src/core/a.h:46 void f(int) Opset 99 is new")
        ... )
        'Load failed: Opset 99 is new'
    """
    text = str(error).strip().partition("\n")[0]
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    return re.sub(r":/\S+:\d+ [\w:<>*&, ]+\(.*?\)(?: const)? ", ": ", text, count=1)
