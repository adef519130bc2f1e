"""Batches with masked arrays of NumPy are refused on one device, too, where there is nothing to shard."""

import numpy as np
import pytest

import graftax as gx
from graftax.errors import ArgumentTypeError

MASKED = np.ma.masked_array(np.ones((4, 3)), np.eye(4, 3, dtype=bool))


@pytest.mark.parametrize("batch", [MASKED, (np.ones(4), MASKED), {"x": MASKED}], ids=["array", "tuple", "dict"])
def test_a_masked_array_is_refused(batch: object) -> None:
    with pytest.raises(ArgumentTypeError, match=r"a masked array of shape \(4, 3\) with 3 of 12"):
        gx.distribution.DataParallel(gx.distribution.mesh(data=1)).shard(batch)
