"""What the `call` of a layer takes beside its inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple


class Signature(NamedTuple):
    """What a layer's `call` takes beside its inputs."""

    takes_training: bool
    default_training: bool | None
    takes_mask: bool


@cache
def signature_of(call: Callable[..., Any]) -> Signature:
    """Looked up once for each `call`."""
    parameters = inspect.signature(call).parameters
    training = parameters.get("training")
    default = training.default if training is not None else None
    return Signature(training is not None, default if isinstance(default, bool) else None, "mask" in parameters)
