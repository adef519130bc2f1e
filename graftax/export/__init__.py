"""Export: programs that run without graftax; imported when first used.

Example:
    >>> import graftax as gx
    >>> dir(gx.export)[-4:]
    ['load', 'onnx', 'save', 'take_back']
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers go by the name

if TYPE_CHECKING:
    from graftax.export.assigning_back import TakeReport as TakeReport
    from graftax.export.assigning_back import take_back as take_back
    from graftax.export.loading import load as load
    from graftax.export.manifest import ArtefactError as ArtefactError
    from graftax.export.replaying import CheckReport as CheckReport
    from graftax.export.replaying import check as check
    from graftax.export.report import ExportReport as ExportReport
    from graftax.export.run import Artefact as Artefact
    from graftax.export.run import Function as Function
    from graftax.export.saving import save as save
    from graftax.export.signature import Signature as Signature
    from graftax.export.spec import Spec as Spec
    from graftax.export.to_onnx.export import onnx as onnx
    from graftax.export.to_onnx.report import OnnxReport as OnnxReport

_HOMES = {
    "Artefact": "graftax.export.run",
    "ArtefactError": "graftax.export.manifest",
    "CheckReport": "graftax.export.replaying",
    "ExportReport": "graftax.export.report",
    "Function": "graftax.export.run",
    "OnnxReport": "graftax.export.to_onnx.report",
    "Signature": "graftax.export.signature",
    "Spec": "graftax.export.spec",
    "TakeReport": "graftax.export.assigning_back",
    "check": "graftax.export.replaying",
    "load": "graftax.export.loading",
    "onnx": "graftax.export.to_onnx.export",
    "save": "graftax.export.saving",
    "take_back": "graftax.export.assigning_back",
}
"""So a program that only inspects artefacts, such as ``graftax export show``, imports no array library."""

__all__ = [
    "Artefact",
    "ArtefactError",
    "CheckReport",
    "ExportReport",
    "Function",
    "OnnxReport",
    "Signature",
    "Spec",
    "TakeReport",
    "check",
    "load",
    "onnx",
    "save",
    "take_back",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        return import_module("graftax.core.namespaces").make_getattr("export")(name)
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
