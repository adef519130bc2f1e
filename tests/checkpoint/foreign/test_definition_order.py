"""Which names somebody has put in another order than that of definition."""

import pytest

from graftax.checkpoint.foreign.definition_order import is_definition_order


def of_layers(*layers, parts=("weight", "bias")):
    return [f"{layer}.{part}" for layer in layers for part in parts]


STACK = [f"layers.{i}" for i in range(12)]
CASES = {
    "Linear, as defined": (of_layers("fc1", "fc2"), False),
    "Linear, sorted": (sorted(of_layers("fc2", "fc1")), True),
    "one Linear, sorted": (["bias", "weight"], True),
    "a list, as defined": (of_layers("first", *STACK, "last"), False),
    "a list, sorted": (sorted(of_layers("first", *STACK, "last")), True),
    "a list, sorted by number": (of_layers("first", *STACK, parts=("bias", "weight")), True),
    "a list without biases, as defined": (of_layers(*STACK, parts=("q.weight", "k.weight")), False),
    "a list without biases, sorted": (sorted(of_layers(*STACK, parts=("q.weight", "k.weight"))), True),
    "a list without biases, that reads as sorted": (of_layers(*STACK[:9], parts=("a.weight", "b.weight")), False),
    "weight norm, as defined": (of_layers("conv1", "conv2", parts=("bias", "weight_g", "weight_v")), False),
    "numbers as keys of a dict": (of_layers("heads.10", "heads.2", "heads.7"), False),
    "Flax": (["Dense_0.bias", "Dense_0.kernel", "Dense_1.bias", "Dense_1.kernel"], True),
    "LSTM, as defined": ([f"rnn.{a}_{b}h_l0" for a in ("weight", "bias") for b in "ih"], False),
    "LSTM, sorted": (sorted(f"rnn.{a}_{b}h_l0" for a in ("weight", "bias") for b in "ih"), True),
    "attention, as defined": (["a.in_proj_weight", "a.in_proj_bias", "a.out_proj.weight", "a.out_proj.bias"], False),
    "attention, sorted": (["a.in_proj_bias", "a.in_proj_weight", "a.out_proj.bias", "a.out_proj.weight"], True),
    "towers, mixed": (["user.0.bias", "item.0.weight", "user.0.weight", "item.0.bias"], True),
    "weights first": (["a.weight", "b.weight", "a.bias", "b.bias"], True),
    "some names that are sorted by chance": (["body.weight", "head.weight", "stem.weight"], False),
    "many names that are sorted": ([f"{name}.weight" for name in ("attn", "body", "conv", "head", "out")], True),
    "letters that count": ([f"block_{letter}.weight" for letter in "abcdef"], False),
    "own parameters before layers": (["cls", "pos", "fc.weight", "fc.bias", "attn.weight"], False),
    "nothing": ([], False),
}


@pytest.mark.parametrize("case", CASES)
def test_names(case):
    names, expected = CASES[case]
    assert is_definition_order(names) is not expected
