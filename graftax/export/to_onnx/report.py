"""What an export to ONNX has done."""

from __future__ import annotations

from dataclasses import dataclass, field

from graftax.export.report import only_one_value


@dataclass(frozen=True)
class OnnxReport:
    """The result of `graftax.export.onnx`.

    Attributes:
        path: The file.
        bytes: Its size, including a file with arrays beside it, but not the weights of an artefact.
        opset: The version of the operator set.
        inputs: The inputs by name, with dtypes and sizes, such as ``"float32[batch, 8]"``.
        outputs: The outputs, likewise.
        operators: The number of nodes of each operator.
        sizes: The values of free sizes in the comparisons; empty with ``check=False``.
        error: The largest error, relative to the largest magnitude of a result, or to 1.
        integer_products: The number of integer products.
        folded: The weights that are expressions and were folded.
        left_out: The checks of the function that the file does not have.

    Example:
        >>> print(OnnxReport("model.onnx", 1200, 17, {"x": "float32[batch, 8]"}, {"output": "float32[batch, 2]"}))
        model.onnx: 1.2 kB, 0 nodes, opset 17, not compared
          x: float32[batch, 8]
          -> output: float32[batch, 2]
    """

    path: str
    bytes: int
    opset: int
    inputs: dict[str, str]
    outputs: dict[str, str]
    operators: dict[str, int] = field(default_factory=dict)
    sizes: tuple[dict[str, int], ...] = ()
    error: float = 0.0
    integer_products: int = 0
    folded: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        compared = (
            f"error {self.error:.1e} at {len(self.sizes)} sizes{only_one_value(self.sizes)}"
            if self.sizes
            else "not compared"
        )
        size = f"{self.bytes / 1e6:.1f} MB" if self.bytes >= 1e6 else f"{self.bytes / 1e3:.1f} kB"
        lines = [f"{self.path}: {size}, {sum(self.operators.values())} nodes, opset {self.opset}, {compared}"]
        lines += [f"  {name}: {kind}" for name, kind in self.inputs.items()]
        lines += [f"  -> {name}: {kind}" for name, kind in self.outputs.items()]
        lines += [f"  products of integers: {self.integer_products}"] if self.integer_products else []
        lines += [f"  folded: {', '.join(self.folded)}"] if self.folded else []
        lines += [f"  without the checks: {', '.join(self.left_out)}"] if self.left_out else []
        return "\n".join(lines)
