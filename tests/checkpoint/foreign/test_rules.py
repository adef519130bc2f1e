"""Rules say how each weight of a layer is made: a layer whose weights have other names would be refused."""

import numpy as np
import pytest

from graftax.checkpoint.foreign.layer_rules import rule_of
from graftax.checkpoint.foreign.sources import SOURCES
from graftax.core.errors import ArgumentError
from tests.conformance.layer_rows import ROWS


@pytest.mark.broad
@pytest.mark.parametrize("source", ["torch", "keras", "flax"])
def test_a_rule_knows_all_weights_of_its_layers(source):
    seen = set()
    for name, row in ROWS.items():
        shapes = row.inputs if isinstance(row.inputs, list) else [row.inputs]
        dtype = "float32" if row.below is None else "int32"
        layer, inputs = row.make(), [np.ones(shape, dtype) for shape in shapes]
        if rule_of(layer, SOURCES[source].rules) is None:
            continue
        layer(inputs if isinstance(row.inputs, list) else inputs[0])
        for owner in {id(v._gx_owner): v._gx_owner for v in layer.variables if v.role == "weight"}.values():
            rule = rule_of(owner, SOURCES[source].rules)
            if rule is None:
                continue
            try:
                known = rule(owner)
            except ArgumentError:  # the library has no such layer
                continue
            own = {key for key, v in vars(owner).items() if any(v is w for w in layer.variables) and v.role == "weight"}
            assert own <= set(known), (name, type(owner).__name__)
            seen |= own
    assert {"kernel", "gamma", "scale"} <= seen
