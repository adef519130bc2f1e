"""Unwritable: what a rule raises; `Translation` makes an ExportError of it, with the layer and the line of the user."""

from __future__ import annotations


class Unwritable(Exception):
    """An equation that cannot be written as nodes of ONNX, with the reason and what to write instead.

    Args:
        why: Why it cannot be written.
        instead: What the user can do.
    """

    def __init__(self, why: str, instead: str) -> None:
        super().__init__(why)
        self.why, self.instead = why, instead
