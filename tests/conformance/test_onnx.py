"""Every layer and every reparametrisation as an ONNX file that ONNX Runtime runs; the export compares the two."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.export.spec import Spec
from graftax.export.to_onnx import translation
from tests.conformance import layer_rows, reparam_cases
from tests.conformance.test_layers import built

pytest.importorskip("onnxruntime")
FIXED = {
    "dense_1d": "its only axis is that of the features",
    "mixture_of_experts_capacity": "how many tokens an expert takes follows from their number",
}
ALSO_TIME = [
    "dense_3d", "conv1d_causal", "max_pooling1d", "layer_normalization", "lstm", "gru", "multi_head_attention",
    "simple_rnn", "rnn", "rnn_stacked", "bidirectional", "time_distributed", "zero_padding1d", "up_sampling1d",
    "global_average_pooling1d", "attention", "additive_attention", "sine_position_encoding",
    "transformer_encoder", "transformer_decoder", "mixture_of_experts", "embedding",
    "rotary_embedding", "conv1d_transpose",
]  # fmt: skip
"""Rows whose second axis can be free, too."""


def specs_of(x: Any, free: int) -> list[Spec]:
    """What a layer takes, its first axes free; of several inputs, the first axes that are like those of the first."""
    arrays = x if isinstance(x, list) else [x]
    names = ["batch", "time"][:free]
    sizes = dict(zip(arrays[0].shape, names, strict=False))
    return [
        Spec(
            [sizes.get(size, size) if i < free else size for i, size in enumerate(one.shape)],
            str(one.dtype),
            bounds=(0, 8),
        )
        if one.dtype.kind == "i"
        else Spec([sizes.get(size, size) if i < free else size for i, size in enumerate(one.shape)], str(one.dtype))
        for one in arrays
    ]


def called(layer: Any, several: bool) -> Any:
    return lambda *x: layer(list(x) if several else x[0], training=False)


@pytest.mark.parametrize(
    ("name", "free"),
    [(name, int(name not in FIXED)) for name in layer_rows.ROWS] + [(name, 2) for name in ALSO_TIME],
)
def test_a_layer_gives_the_same_in_onnx_runtime(name: str, free: int, tmp_path: Path):
    layer, x = built(layer_rows.ROWS[name])
    report = gx.export.onnx(
        tmp_path / "layer.onnx",
        called(layer, isinstance(x, list)),
        *specs_of(x, free),
        constraints=["time >= 3"] if free == 2 else [],
    )
    assert len(report.sizes) == (2 if free else 1)
    assert report.error < 1e-5


@pytest.mark.parametrize("fold", [True, False], ids=["folded", "live"])
@pytest.mark.parametrize("name", reparam_cases.ROWS | reparam_cases.PAIRS)
def test_a_grafted_weight_gives_the_same_in_onnx_runtime(
    name: str, fold: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if not fold:
        monkeypatch.setattr(translation, "_SMALL", 0)  # small expressions would be folded, too
    row = (reparam_cases.ROWS | reparam_cases.PAIRS)[name]
    x = np.random.default_rng(0).normal(size=(3, 5, 8)).astype("float32")
    with gx.variable_creator_scope(row.creator() if row.afresh else row.creator, where="**/kernel"):
        model = gx.Sequential([layers.Dense(8, "tanh"), layers.Conv1D(4, 3, padding="same")])
        model(x)
    for variable in model.trainable_variables:
        variable.assign_add(np.random.default_rng(1).normal(0, 0.05, variable.shape).astype("float32"))
    report = gx.export.onnx(tmp_path / "model.onnx", model, Spec("batch 5 8"), fold=fold)
    assert report.error < 1e-5
    folds = fold and name not in ("int8", "int4")  # what stores integers stays live
    assert bool(report.folded) == folds
