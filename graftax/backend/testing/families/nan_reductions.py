"""Functions that leave nan out: sample inputs; NumPy has functions of these names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import Case, X, case

HOLES = np.array([[1.5, math.nan, -0.5], [math.nan, 2.0, 3.5]], "float32")
NAMES = "nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian"

CASES: dict[str, list[Case]] = {
    **{name: [case(HOLES), case(HOLES, axis=0), case(X, axis=1, keepdims=True)] for name in NAMES.split()},
    **{name: [case(HOLES), case(HOLES, axis=1)] for name in ("nanargmax", "nanargmin", "nancumsum", "nancumprod")},
    "nanquantile": [case(HOLES, 0.3), case(HOLES, [0.25, 0.5], axis=1)],
    "nanpercentile": [case(HOLES, 30), case(HOLES, [25, 50], axis=1)],
}
CASES["nanstd"].append(case(HOLES, axis=1, ddof=1))
REFERENCES: dict[str, Callable[..., Any]] = {}
DIFFERENTIABLE = (
    "nansum nanmean nanmax nanmin nanprod nanvar nanstd nanmedian nanquantile nanpercentile nancumsum nancumprod"
)
NOT_DIFFERENTIABLE = "nanargmax nanargmin"
KINDS = {
    "biuhc": "nansum nanprod nanmean nanvar nanstd nancumsum nancumprod",
    "biuh": "nanmax nanmin nanargmax nanargmin nanmedian nanquantile nanpercentile",
}
