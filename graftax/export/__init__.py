"""Export: programs that run without graftax; imported when first used.

Example:
    >>> import graftax as gx
    >>> dir(gx.export)
    ['OnnxReport', 'Signature', 'Spec', 'onnx']
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers go by the name

if TYPE_CHECKING:
    from graftax.export.signature import Signature as Signature
    from graftax.export.spec import Spec as Spec
    from graftax.export.to_onnx.export import onnx as onnx
    from graftax.export.to_onnx.report import OnnxReport as OnnxReport

__all__ = ["OnnxReport", "Signature", "Spec", "onnx"]

_HOMES = {
    "OnnxReport": "graftax.export.to_onnx.report",
    "Signature": "graftax.export.signature",
    "Spec": "graftax.export.spec",
    "onnx": "graftax.export.to_onnx.export",
}
"""Whoever looks at an artefact only, such as ``graftax export show``, imports no array library."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'graftax.export' has no attribute {name!r}", name=name)
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
