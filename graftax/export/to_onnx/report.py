"""What an export to ONNX has done."""

from __future__ import annotations

from dataclasses import dataclass, field

from graftax.export.report import only_one_value


@dataclass(frozen=True)
class OnnxReport:
    """What `graftax.export.onnx` wrote, and how near it is to the function.

    Attributes:
        path: The file.
        bytes: Its size, that of a file with arrays beside it included; weights of an artefact are not counted.
        opset: The version of the operators.
        inputs: Names of what it takes, with sizes and dtypes, such as ``"float32[batch, 8]"``.
        outputs: Names of what it gives, likewise.
        operators: How many of each operator there are.
        sizes: The values of free sizes at which it was compared; empty with ``check=False``.
        error: The largest difference, in units of the largest magnitude of a result, or of 1.
        integer_products: How many products are of integers.
        folded: The weights that were expressions and are plain now.
        left_out: What checks of the function say, of which a file has none.

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
