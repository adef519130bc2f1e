"""Two codes in a byte, of every shape."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graftax.backend import registry
from graftax.reparam.grid import pack_int4, unpack_int4


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple), st.integers(0, 99))
def test_what_is_packed_comes_back(shape, seed):
    codes = np.random.default_rng(seed).integers(-8, 8, shape).astype("int8")
    with registry.use("numpy"):
        pairs = pack_int4(codes)
        assert (pairs.shape, pairs.dtype) == ((-(-codes.size // 2),), np.uint8)
        np.testing.assert_array_equal(unpack_int4(pairs, shape), codes)
