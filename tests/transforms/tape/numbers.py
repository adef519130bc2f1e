"""Numbers, and whether they agree."""

import numpy as np

from graftax import ops


def close(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


def number(value):
    return ops.asarray(float(value))
