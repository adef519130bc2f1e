"""What XLA says of a program before it runs."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class JaxLowering:
    """A program on its way to the compiler.

    Args:
        lowered: What ``jax.jit(...).lower(...)`` gives.
    """

    def __init__(self, lowered: Any) -> None:
        self._lowered = lowered

    def text(self) -> str:
        """Return the program in StableHLO."""
        return str(self._lowered.as_text())

    def memory(self) -> tuple[int, int, int, int, int]:
        """Return bytes of arguments, results, results in the place of arguments, what is held in between, the code."""
        sizes = self._compiled.memory_analysis()
        return (
            sizes.argument_size_in_bytes,
            sizes.output_size_in_bytes,
            sizes.alias_size_in_bytes,
            sizes.temp_size_in_bytes,
            sizes.generated_code_size_in_bytes,
        )

    def cost(self) -> tuple[float, float]:
        """Return floating operations and bytes moved."""
        costs = self._compiled.cost_analysis()
        return float(costs.get("flops", 0.0)), float(costs.get("bytes accessed", 0.0))

    @cached_property
    def _compiled(self) -> Any:
        return self._lowered.compile()
