"""The table of what a selector hits."""

import numpy as np

import graftax as gx
from graftax import layers


def test_rows_say_why():
    model = gx.Sequential([layers.Dense(4), layers.Dense(2)])
    model(np.ones((1, 3), "float32"))
    gx.graft(model, gx.reparam.LoRA(1, name="poet"), where="layers/0/kernel")
    table = gx.explain(model, (gx.select("**/kernel") & ~gx.select("layers/1/**")) | gx.is_adapter | "role_of_none")
    assert [(row.path, row.by) for row in table.rows] == [
        ("layers/0/kernel/base", ("'**/kernel'",)),
        ("layers/0/kernel/adapters/poet/down", ("'**/kernel'", "is_adapter")),
        ("layers/0/kernel/adapters/poet/up", ("'**/kernel'", "is_adapter")),
    ]
    assert [row.trainable for row in table.rows] == [False, True, True]
    assert table.spared == (("layers/1/kernel", "~'layers/1/**'"),)
    assert table.idle == "'role_of_none'"
    assert len(table.near) == 3
    text = str(table)
    assert text.splitlines()[0].endswith("hits 3 of 6 variables, 19 of 33 numbers")
    assert "not layers/1/kernel: ~'layers/1/**'" in text
    assert repr(table) == text


def test_everything_but():
    layer = layers.Dense(2)
    layer.build((3,))
    table = gx.explain(layer, ~gx.select("kernel"))
    assert [(row.path, row.by) for row in table.rows] == [("bias", ("~'kernel'",))]
    assert table.idle == ""
