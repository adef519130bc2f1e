"""Files for other tools hold what the parts of expressions are, or these are refused; nothing of it is lost."""

import inspect

import numpy as np
import pytest
from safetensors import safe_open

import graftax as gx
from graftax.core.errors import KindMismatch, MatchError, SettingsMismatch, StateError

X = np.ones((1, 2), "float32")


class Squared(gx.reparam.Reparam):
    """An expression of a user's, without settings."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.root = next_creator(spec.replace(name="root"))

    def forward(self):
        return self.root * self.root


CREATORS = {
    "a user's": lambda: Squared,
    "DoRA": lambda: gx.reparam.DoRA(1, alpha=4),
    "FakeQuant": lambda: gx.reparam.FakeQuant(bits=3),
    "HyperNetwork": lambda: gx.reparam.HyperNetwork(gx.layers.Dense(4)),
    "Int4": gx.reparam.Int4,
    "Int8": lambda: gx.reparam.Int8("tensor"),
    "LoRA": lambda: gx.reparam.LoRA(1, alpha=4),
    "LowRank": lambda: gx.reparam.LowRank(1),
    "Mask": gx.reparam.Mask,
    "Orthogonal": gx.reparam.Orthogonal,
    "Positive": lambda: gx.reparam.Positive(floor=0.5),
    "Shared": lambda: gx.reparam.Shared(gx.Variable(np.eye(2, dtype="float32"))),
    "SpectralNorm": lambda: gx.reparam.SpectralNorm(iterations=2),
    "VariationalNormal": lambda: gx.reparam.VariationalNormal(prior_stddev=2.0),
    "WeightNorm": gx.reparam.WeightNorm,
}


def test_each_creator_has_a_row():
    kinds = {n for n in dir(gx.reparam) if inspect.isclass(getattr(gx.reparam, n))}
    assert kinds - {"Adapter", "AdapterCreator", "Reparam", "PruningSchedule"} == CREATORS.keys() - {"a user's"}


def program(creator=None):
    scopes = [] if creator is None else [gx.variable_creator_scope(CREATORS[creator](), where="kernel")]
    for scope in scopes:
        scope.__enter__()
    layer = gx.layers.Dense(2, use_bias=False)
    layer(X)
    for scope in scopes:
        scope.__exit__(None, None, None)
    return layer


def values(layer):
    return {v.path: np.asarray(v) for v in layer.variables}


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("creator", CREATORS)
def test_safetensors_there_and_back_is_the_same_weight(ckpt, creator):
    layer = program(creator)
    gx.Checkpoint(m=layer).save("it")
    code, _, err = ckpt("convert", "it", "--to", "it.safetensors")
    assert code == 0, err
    with safe_open("it.safetensors", "np") as file:
        assert "graftax_objects" in file.metadata()
        assert {name.removeprefix("m/") for name in file.keys()} == values(layer).keys()  # noqa: SIM118
    assert ckpt("convert", "it.safetensors", "--to", "back")[0] == 0
    code, out, _ = ckpt("diff", "it", "back", "--only", "m/**")
    assert code == 0, out
    twin = program(creator)
    gx.Checkpoint(m=twin).restore("back").assert_consumed()
    np.testing.assert_array_equal(twin(X), layer(X))
    assert [v.trainable for v in twin.variables] == [v.trainable for v in layer.variables]


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("creator", CREATORS)
@pytest.mark.parametrize("command", ["convert", "restore"])
def test_an_npz_has_no_place_for_it(ckpt, creator, command, tmp_path):
    gx.Checkpoint(m=program(creator)).save("it")
    code, _, err = ckpt(command, "it", *(["--to"] if command == "convert" else []), "it.npz")
    assert code == 2
    assert "parts of 1 expressions into it.npz: m/kernel" in err
    assert "instead: OUT.safetensors" in err
    assert "gx.ungraft(model)" in err
    assert not (tmp_path / "it.npz").exists()


@pytest.mark.in_turn(16, broad=8)
@pytest.mark.parametrize("creator", CREATORS)
@pytest.mark.parametrize("kind", ["checkpoint", "safetensors"])
def test_parts_are_not_loaded_as_plain_weights(ckpt, creator, kind):
    gx.Checkpoint(m=program(creator)).save("it")
    assert ckpt("convert", "it", "--to", "it.safetensors")[0] == 0
    path = "it" if kind == "checkpoint" else "it.safetensors"
    for options in ({}, {"cast": "any"}, {"cast": "any", "mode": "cover"}, {"cast": "any", "mode": "overlap"}):
        layer = program()
        before = values(layer)
        with pytest.raises(MatchError, match="kernel"):
            gx.checkpoint.load_foreign(path, layer, **options)
        np.testing.assert_equal(values(layer), before)


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("creator", CREATORS)
def test_nor_into_an_expression(ckpt, creator):
    gx.Checkpoint(m=program()).save("it")
    assert ckpt("convert", "it", "--to", "it.npz")[0] == 0
    with pytest.raises(StateError, match="is a part of the expression"):
        gx.checkpoint.load_foreign("it.npz", program(creator))


class Scaled(Squared):
    def __init__(self, next_creator, spec):
        super().__init__(next_creator, spec)
        self.factor = 2.0


def test_older_checkpoints_do_not_say_what_an_expression_is(ckpt, monkeypatch):
    with gx.variable_creator_scope(Scaled, where="kernel"):
        layer = gx.layers.Dense(2, use_bias=False)
        layer(X)
    metric = gx.metrics.Precision(0.3)
    metric.update([1, 0], [0.5, 0.1])
    with monkeypatch.context() as patch:
        for kind in (gx.reparam.Reparam, gx.metrics.Metric):
            now = kind._gx_facts
            patch.setattr(kind, "_gx_facts", lambda self, now=now: {"settings": now(self)["settings"]})
        gx.Checkpoint(m=layer, metric=metric).save("old")
    code, _, err = ckpt("convert", "old", "--to", "it.npz")
    assert (code, "parts of 1 expressions into it.npz: m/kernel (Scaled" in err) == (2, True)
    assert ckpt("extract", "old", "--to", "part", "--only", "**/kernel")[0] == 0
    gx.Checkpoint(m=layer, metric=metric).save("new")
    for words in (("merge", "old", "new"), ("average", "old", "new")):  # they say the same
        code, _, err = ckpt(*words, "--to", "both", "--overwrite")
        assert code == 0, err
    assert ckpt("diff", "old", "new")[0] == 0


def test_metrics_with_settings_are_no_expressions(ckpt):
    metric = gx.metrics.Precision(0.3)
    metric.update([1, 0, 1], [0.5, 0.4, 0.1])
    gx.Checkpoint(m=metric).save("it")
    assert ckpt("convert", "it", "--to", "it.npz")[0] == 0
    assert "its parts" not in ckpt("average", "it", "it", "--to", "mean")[1]


def test_the_settings_of_the_file_count(ckpt):
    gx.Checkpoint(m=program("LoRA")).save("it")
    ckpt("convert", "it", "--to", "it.safetensors")
    ckpt("convert", "it.safetensors", "--to", "back")
    layer = gx.layers.Dense(2, use_bias=False)
    layer(X)
    gx.graft(layer, gx.reparam.LoRA(1, alpha=1), where="kernel")
    with pytest.raises(SettingsMismatch, match=r"scale=4\.0, and has scale=1\.0"):
        gx.Checkpoint(m=layer).restore("back")
    with pytest.raises(KindMismatch):
        gx.Checkpoint(m=program()).restore("back")


def test_adapters_that_rest_and_what_is_frozen_come_back(ckpt):
    layer = program("LoRA")
    gx.adapters.use(layer)
    layer.freeze()
    gx.Checkpoint(m=layer).save("it")
    ckpt("convert", "it", "--to", "it.safetensors")
    ckpt("convert", "it.safetensors", "--to", "back")
    twin = program("LoRA")
    gx.Checkpoint(m=twin).restore("back")
    assert (gx.adapters.active(twin), twin.trainable_variables) == ([], [])


class Own(gx.Reparam):
    def __init__(self, next_creator, spec, value):
        super().__init__(spec)
        self.base, self.value_given = next_creator(spec.replace(name="base")), value

    def forward(self):
        return gx.ops.asarray(self.base)


@pytest.mark.parametrize("value", [1j, b"x", {1: 2}])
def test_what_json_cannot_say_is_refused(ckpt, value, tmp_path):
    layer = program()
    gx.graft(layer, lambda next_creator, spec: Own(next_creator, spec, value), where="kernel")
    gx.Checkpoint(m=layer).save("it")
    code, _, err = ckpt("convert", "it", "--to", "it.safetensors")
    assert (code, "value_given=" in err, "graftax ckpt extract" in err) == (2, True, True), err
    assert not (tmp_path / "it.safetensors").exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"m": 1}', '{"m": [1, "x", [0, true, "weight", {}]]}', '{"m": [9, "x", null]}']
)
def test_a_forged_header_is_refused(ckpt, text):
    from safetensors.numpy import save_file

    metadata = {"graftax": "1", "graftax_objects": text}
    save_file({"m/w": np.ones(2, "float32")}, "bad.safetensors", metadata=metadata)
    code, _, err = ckpt("convert", "bad.safetensors", "--to", "back")
    assert (code, "instead:" in err) == (3, True), err
