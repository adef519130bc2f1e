"""A traced function as a graph of ONNX with its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.equations import Equations
from graftax.core.dtypes import is_complex
from graftax.core.errors import ExportError
from graftax.export.to_onnx import messages
from graftax.export.to_onnx.elementwise import BFLOAT16
from graftax.export.to_onnx.graph import File, Graph
from graftax.export.to_onnx.integers import Integers
from graftax.export.to_onnx.messages import Numbers
from graftax.export.to_onnx.sizes import message_sizes
from graftax.export.to_onnx.step import full_value
from graftax.export.to_onnx.translation import Translation
from graftax.export.to_onnx.values import Computed, Known, Operand, is_fixed
from graftax.export.tracing import Traced


class Written:
    """A graph as messages, and the arrays that it refers to.

    Args:
        file: What its graphs share.
        graph: The graph.
        inputs: Messages of what comes in.
        outputs: Messages of what goes out.
        kinds: What goes out, such as ``"float32[batch, 8]"``, by name.
    """

    def __init__(
        self, file: File, graph: Graph, inputs: list[bytes], outputs: list[bytes], kinds: dict[str, str]
    ) -> None:
        self.file = file
        self.kinds = kinds
        self._graph = graph
        self._inputs = inputs
        self._outputs = outputs

    @property
    def arrays(self) -> list[tuple[str, Numbers]]:
        """Return the arrays with their names."""
        return [one for one in self.file.arrays if self.file.uses[one[0]] > 0]

    def model(self, arrays: list[bytes], version: str, notes: dict[str, str], observed: tuple[str, ...] = ()) -> bytes:
        """Return the whole file.

        Args:
            arrays: Messages of the arrays.
            version: That of graftax.
            notes: What is said of it.
            observed: Values that are to be outputs, too.
        """
        outputs = [*self._outputs, *(messages.value_of_any_size(name, "float32") for name in observed)]
        content = messages.graph(self._graph.nodes, "graftax", arrays, self._inputs, outputs)
        return messages.model(content, self.file.opset, version, notes)


def write(traced: Traced, equations: Equations, integers: Integers, opset: int) -> Written:
    """Write a traced function, its weights as arrays of the file.

    Raises:
        ExportError: something in it has no counterpart.
    """
    jaxpr, constants = traced.program.opened
    values = [np.asarray(one) for one in (*constants, *(cell.buffer for cell in traced.program.read))]
    _refuse_unknown_kinds(jaxpr)
    names = [f"new/{name}" if name in {one.name for one in traced.inputs} else name for name in traced.results]
    file = File(opset, [*(one.name for one in traced.inputs), *names])
    for cell, array in zip(traced.program.read, values[len(constants) :], strict=True):
        file.call(array, cell.path)
    graph = Graph(file)
    given = list(jaxpr.invars[len(values) :])
    inputs: list[Operand] = []
    for one, variable in zip(traced.inputs, given, strict=True):
        shape = tuple(variable.aval.shape)
        for axis, size in enumerate(shape):
            if not is_fixed(size) and str(size).isidentifier() and str(size) not in file.sizes:
                file.sizes[str(size)] = one.name, axis
        inputs.append(Computed(one.name, shape))
    said = [
        messages.value(one.name, str(variable.aval.dtype), message_sizes(variable.aval.shape))
        for one, variable in zip(traced.inputs, given, strict=True)
    ]
    results = Translation(equations, integers).write(graph, jaxpr, [*map(Known, values), *inputs])
    outputs: list[bytes] = []
    kinds: dict[str, str] = {}
    for operand, variable, name in zip(results, jaxpr.outvars, names, strict=True):
        graph.rename(full_value(graph, operand, variable.aval.shape), name)
        sizes = message_sizes(variable.aval.shape)
        outputs.append(messages.value(name, str(variable.aval.dtype), sizes))
        kinds[name] = f"{variable.aval.dtype}[{', '.join(map(str, sizes))}]"
    graph.prune()
    return Written(file, graph, said, outputs, kinds)


def _refuse_unknown_kinds(jaxpr: Any) -> None:
    for variable in (*jaxpr.invars, *jaxpr.outvars):
        kind = str(variable.aval.dtype)
        if kind == "bfloat16":
            raise ExportError(f"an array of bfloat16[{', '.join(map(str, variable.aval.shape))}]", *BFLOAT16)
        if kind not in messages.KINDS:
            raise ExportError(
                f"an array of {kind}[{', '.join(map(str, variable.aval.shape))}]",
                f"ONNX Runtime does not compute with {kind}",
                "ops.real(x) and ops.imag(x) as two arrays, for inputs and outputs: the real and imaginary parts"
                if is_complex(kind)
                else 'ops.cast(x, "float32") before the end of the function, and Spec(..., "float32") for an input',
            )
