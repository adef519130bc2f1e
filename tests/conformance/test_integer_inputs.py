"""Integers, truth values and other floats as inputs: a layer computes with these numbers, or says that it does not."""

import copy
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.errors import DTypeError
from graftax.layers.layer import Layer
from tests.conformance import test_layers
from tests.conformance.lanes import crossed
from tests.conformance.layer_rows import ROWS, SIBLINGS, TRAINED, Row

INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float64"]
POLICIES = {"float32": 2e-5, "mixed_bfloat16": 1e-2, "mixed_float16": 2e-3}
"""How far results may be apart: by the rounding of the dtype in which the layer computes."""

REFUSED = """
    dense conv separable_conv depthwise_conv einsum_dense lstm gru simple_rnn rnn bidirectional time_distributed stack
    multi_head_attention transformer mixture_of_experts
""".split()
"""Weights times integers: these are most often indices that were to go to an Embedding."""
MOVED = """
    max_pooling global_max_pooling adaptive_max_pooling flatten reshape permute repeat_vector zero_padding cropping
    up_sampling pixel_shuffle concatenate maximum minimum identity masking activity_regularization
""".split()
"""Values are moved or chosen, and none is computed: integers stay integers."""
INDICES = "embedding".split()
"""Integers are rows of a table."""
OWN = "lambda".split()
"""The function of the user says."""


def contract(name: str) -> str:
    """Return what a row makes of integers."""
    lists = {"refused": REFUSED, "moved": MOVED, "indices": INDICES, "own": OWN}
    return next((kind for kind, starts in lists.items() if name.startswith(tuple(starts))), "computed")


def examples(row: Row, dtype: str) -> Any:
    """Numbers that short integers hold, where they do not hold their sums and products."""
    rng = np.random.default_rng(7)
    kind = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)

    def one(shape: tuple[int, ...]) -> Any:
        if row.below is not None:
            return rng.integers(0, row.below, shape).astype(kind)
        if is_floating(dtype):
            return rng.uniform(-2, 2, shape).astype(kind)
        low, high = (0, 2) if dtype == "bool" else (0 if dtype[0] == "u" else -60, 120)
        return rng.integers(low, high, shape).astype(kind)

    return [one(shape) for shape in row.inputs] if isinstance(row.inputs, list) else one(row.inputs)


def state(layer: Layer) -> dict[str, np.ndarray]:
    return {path: value.astype("float32") for path, value in test_layers.values(layer).items() if "seed" not in path}


def compare(name: str, policy: str, dtype: str, training: bool, given: Any = None) -> None:
    """Compare a layer with itself for the same numbers in float32, and what it assigns, too."""
    gx.set_random_seed(0)
    layer, _ = test_layers.built(ROWS[name], dtype=policy)
    twin, what = copy.deepcopy(layer), contract(name)
    x = examples(ROWS[name], dtype) if given is None else given
    if dtype in INTEGERS and (what == "refused" or (what, dtype) == ("indices", "bool")):
        with pytest.raises(DTypeError, match=r"(?s)why: .*instead: "):
            layer(x, training=training)
        return
    if what == "indices" and dtype in FLOATS:
        with pytest.raises(DTypeError, match=r"(?s)why: .*instead: "):
            layer(x, training=training)
        return
    same = tree.map_structure(lambda a: np.asarray(a).astype("int32" if what == "indices" else "float32"), x)
    found, wanted = layer(x, training=training), twin(same, training=training)
    tolerance = POLICIES[policy]
    if what == "moved" and dtype in INTEGERS:
        leaf = tree.flatten(x)[0]
        assert str(found.dtype) in (dtype, dtype.replace("64", "32")), (dtype, leaf.dtype)
    elif what != "own":
        assert found.dtype == wanted.dtype
    largest = float(np.abs(np.asarray(wanted, "float64")).max())
    np.testing.assert_allclose(
        np.asarray(found, "float64"), np.asarray(wanted, "float64"), rtol=tolerance, atol=tolerance * largest
    )
    for path, value in state(layer).items():
        np.testing.assert_allclose(value, state(twin)[path], rtol=tolerance, atol=tolerance, err_msg=path)


@pytest.mark.in_turn(36, broad=21)
@pytest.mark.parametrize("name", ROWS)
def test_l18_every_dtype_gives_what_float32_gives(name):
    with registry.use("numpy"):
        for policy in POLICIES:
            for dtype in [*INTEGERS, *FLOATS]:
                for training in (False, True) if name in TRAINED else (False,):
                    compare(name, policy, dtype, training)


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("name", "dtype"), crossed([*ROWS], ["uint8", "int32", "bool", "float16"], SIBLINGS))
def test_arrays_of_jax_and_of_numpy_are_alike(name, dtype):
    """Eager calls of the default backend, each one compiled program, and what a compiled function makes of them."""
    given = examples(ROWS[name], dtype)
    policy = [*POLICIES][len(name) % 3]
    compare(name, policy, dtype, name in TRAINED, given)
    compare(name, policy, dtype, name in TRAINED, tree.map_structure(ops.asarray, given))
    if contract(name) == "indices" or (dtype in INTEGERS and contract(name) == "refused"):
        return
    layer, _ = test_layers.built(ROWS[name], dtype=policy)
    inside, outside = gx.jit(lambda x: layer(x))(given), layer(given)
    assert inside.dtype == outside.dtype
    test_layers.close(inside, outside, POLICIES[policy])


def test_each_contract_names_layers_that_are_there():
    for starts in (REFUSED, MOVED, INDICES, OWN):
        for start in starts:
            assert any(name.startswith(start) for name in ROWS), start


def test_sums_of_bytes_do_not_wrap_around():
    x, y = np.uint8([[200, 3]]), np.uint8([[100, 5]])
    assert gx.layers.Add()([x, y]).tolist() == [[300, 8]]
    assert gx.layers.Subtract()([x, y]).tolist() == [[100, -2]]
    assert gx.layers.Multiply()([x, y]).tolist() == [[20000, 15]]
    assert gx.layers.Dot(1)([x, y]).tolist() == [[20015]]


def test_masking_leaves_truth_values_what_they_are():
    out = gx.layers.Masking()(np.array([[[True, False], [False, False]]]))
    assert str(out.dtype) == "bool"


@pytest.mark.parametrize("block", [gx.layers.TransformerEncoder, gx.layers.TransformerDecoder])
def test_a_transformer_of_indices_says_what_is_missing(block):
    with pytest.raises(DTypeError, match=r"(?s)int32.*most often indices.*Embedding"):
        block(6, 2, normalize_first=True)(np.ones((2, 8, 4), "int32"))
