"""Random numbers: refused, since no runtime draws those that were drawn here."""

from __future__ import annotations

from graftax.export.to_onnx.step import Step, rule
from graftax.export.to_onnx.unwritable import Unwritable
from graftax.export.to_onnx.values import Operand

DRAWS = (
    *("random_bits", "random_seed", "random_wrap", "random_unwrap", "random_split", "random_fold_in", "random_clone"),
    *("random_gamma", "threefry2x32", "rng_bit_generator", "rng_uniform"),
)
"""Operations that are never written, nor computed when the file is."""


@rule(*DRAWS)
def draw(step: Step) -> Operand:
    """Refuse to draw."""
    raise Unwritable(
        "it draws random numbers: a runtime of ONNX draws others than graftax, and numbers that were drawn during the "
        "export would be the same in every run",
        "training=False for layers such as Dropout; the random numbers as an input of the function; or gx.export.save, "
        "whose artefacts draw the same numbers as graftax",
    )


@rule("pure_callback", "io_callback", "debug_callback")
def call_python(step: Step) -> Operand:
    """Refuse to call Python."""
    raise Unwritable(
        "it calls a Python function, and ONNX runs without Python",
        "functions of graftax.ops in place of the Python function",
    )
