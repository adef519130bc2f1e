"""Checks of random numbers: a key gives the same on every backend, so what must come is written down.

The numbers are those of ``jax.random`` with its partitionable Threefry-2x32, for the key 0x0123456789abcdef.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.testing.check import Kit, rows

SEED = 0x0123456789ABCDEF
_LOGITS = np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]], "float32")


def _key(kit: Kit) -> Any:
    return kit.backend.random.key(SEED)


def _check_keys(kit: Kit) -> None:
    random = kit.backend.random
    kit.close(_key(kit), np.array([0x01234567, 0x89ABCDEF], "uint32"), "key")
    kit.close(random.key(-1), np.array([0xFFFFFFFF, 0xFFFFFFFF], "uint32"), "key of a negative seed")
    kit.close(random.key(42), np.array([0, 42], "uint32"), "key of a small seed")
    kit.close(random.fold_in(_key(kit), 7), np.array([4088276499, 716131499], "uint32"), "fold_in")
    kit.close(random.fold_in(_key(kit), 0xFFFFFFFF), np.array([3817488396, 205695334], "uint32"), "fold_in")
    kit.close(
        random.fold_in(_key(kit), kit.array(7)),
        np.array([4088276499, 716131499], "uint32"),
        "fold_in of an array",
    )
    three = [[1300777217, 3691926423], [1732957046, 53132507], [1004234386, 1809863715]]
    kit.close(random.split(_key(kit), 3), np.array(three, "uint32"), "split")


def _check_bits(kit: Kit) -> None:
    six = [[2441484950, 1684041645, 1346056881], [492367484, 3425123764, 3244788998]]
    kit.close(kit.backend.random.bits(_key(kit), (2, 3)), np.array(six, "uint32"), "bits")
    kit.close(kit.backend.random.bits(_key(kit), ()), np.array(2441484950, "uint32"), "bits of shape ()")
    kit.close(kit.backend.random.bits(_key(kit), (0, 2)), np.zeros((0, 2), "uint32"), "no bits")


def _check_uniform(kit: Kit) -> None:
    random = kit.backend.random
    three = np.array([0.5684524774551392, 0.3920964002609253, 0.31340324878692627], "float32")
    found = random.uniform(_key(kit), (3,), "float32")
    assert np.array_equal(kit.host(found), three), f"uniform gives {kit.host(found)}, not the bits of {three}"
    kit.close(random.uniform(_key(kit), (3,), "float32", -2.0, 3.0), three * 5 - 2, "uniform between bounds")
    half = random.uniform(_key(kit), (3,), "float16")
    kit.close(half, three.astype("float16"), "uniform in float16, which is drawn in float32 and rounded")
    coarse = kit.host(random.uniform(_key(kit), (10_000,), "float16"))
    assert coarse.max() < 1, "uniform in float16 reaches maxval, to which draws are rounded up"
    many = kit.host(random.uniform(_key(kit), (10_000,), "float32"))
    assert many.min() >= 0, "uniform below minval"
    assert many.max() < 1, "uniform reaches maxval"


def _check_normal(kit: Kit) -> None:
    random = kit.backend.random
    four = np.array([0.1724357306957245, -0.2738591432571411, -0.4862266182899475, -1.2022247314453125], "float32")
    kit.close(random.normal(_key(kit), (4,), "float32"), four, "normal")
    four = np.array([-0.0965777859, -0.3383040428, -0.4519881606, -0.7730873823], "float32")
    kit.close(random.truncated_normal(_key(kit), -1.0, 0.5, (4,), "float32"), four, "truncated_normal")
    many = kit.host(random.normal(_key(kit), (20_000,), "float32"))
    assert abs(many.mean()) < 0.05
    assert abs(many.std() - 1) < 0.05


def _check_integers(kit: Kit) -> None:
    random = kit.backend.random
    six = np.array([1, -1, -3, 7, -3, -1], "int32")
    kit.close(random.randint(_key(kit), (6,), -3, 11, "int32"), six, "randint")
    eight = np.array([False, True, True, True, False, False, True, False])
    kit.close(random.bernoulli(_key(kit), 0.4, (8,)), eight, "bernoulli")
    nine = np.array([3, 8, 4, 7, 0, 6, 5, 2, 1], "int32")
    kit.close(random.permutation(_key(kit), 9), nine, "permutation")
    rows_of_two = np.arange(18, dtype="float32").reshape(9, 2)
    kit.close(random.permutation(_key(kit), kit.array(rows_of_two)), rows_of_two[nine], "permutation of rows")
    kit.close(random.categorical(_key(kit), kit.array(_LOGITS)), np.array([2, 0], "int32"), "categorical")


def _check_purity(kit: Kit) -> None:
    key = _key(kit)
    first, again = kit.backend.random.bits(key, (4,)), kit.backend.random.bits(key, (4,))
    kit.close(again, kit.host(first), "the same key again")
    kit.close(key, np.array([0x01234567, 0x89ABCDEF], "uint32"), "the key after a draw")


CHECKS = rows(
    "random",
    keys=_check_keys,
    bits=_check_bits,
    uniform=_check_uniform,
    normal=_check_normal,
    integers=_check_integers,
    purity=_check_purity,
)
