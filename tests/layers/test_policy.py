import pytest

import graftax as gx
from graftax.layers import policy


@pytest.mark.parametrize(
    ("name", "variable", "compute"),
    [
        ("float32", "float32", "float32"),
        ("bfloat16", "bfloat16", "bfloat16"),
        ("mixed_bfloat16", "float32", "bfloat16"),
        ("mixed_float16", "float32", "float16"),
    ],
)
def test_pairs(name, variable, compute):
    found = gx.DTypePolicy(name)
    assert (found.variable_dtype, found.compute_dtype) == (variable, compute)
    assert found == policy.as_policy(name) == policy.as_policy(found)


@pytest.mark.parametrize("name", ["int32", "mixed_float32", "half", ""])
def test_unknown_policies_are_refused(name):
    with pytest.raises(gx.errors.ArgumentError, match=r"names a policy(.|\n)*mixed_bfloat16"):
        gx.DTypePolicy(name)


def test_the_global_policy():
    assert policy.get_dtype_policy().name == "float32"
    gx.set_dtype_policy("bfloat16")
    try:
        assert policy.as_policy(None).name == "bfloat16"
    finally:
        gx.set_dtype_policy("float32")


def test_no_policy_is_none_to_set():
    with pytest.raises(gx.errors.ArgumentError, match="nothing would change"):
        gx.set_dtype_policy(None)
