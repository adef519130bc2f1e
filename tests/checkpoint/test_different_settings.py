"""Settings of expressions are part of what a weight is: saved, compared by a restore, and never lost in silence."""

import copy
import inspect

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.index import Kind
from graftax.checkpoint.reader import Reader
from graftax.core.errors import MatchError, SettingsMismatch

X = np.ones((1, 2), "float32")
ADAPTER = "m/layers/0/kernel/adapters/p"


def module(_):
    return gx.Sequential([gx.layers.Dense(4)])


OTHERS = {
    "DoRA": {"rank": (1, 2), "alpha": (1, 8), "name": ("a", "b"), "stabilized": (False, True)},
    "FakeQuant": {"bits": (8, 4), "per": ("tensor", "channel"), "symmetric": (True, False)},
    "HyperNetwork": {"embedding_size": (8, 4)},
    "Int4": {"per": ("channel", "tensor")},
    "Int8": {"per": ("channel", "tensor")},
    "LoRA": {"rank": (1, 2), "alpha": (1, 8), "name": ("a", "b"), "stabilized": (False, True)},
    "LowRank": {"rank": (1, 2)},
    "Mask": {},
    "Orthogonal": {"map": ("cayley", "matrix_exp")},
    "Positive": {"map": ("softplus", "exp"), "floor": (0.0, 0.5)},
    "Shared": {"transpose": (False, True)},
    "SpectralNorm": {"iterations": (1, 3), "epsilon": (1e-12, 1e-3)},
    "VariationalNormal": {"prior_stddev": (1.0, 2.0), "kl_weight": (1.0, 0.1)},
    "WeightNorm": {},
}
"""Two values of each setting of each creator; other settings of it are as in `REST`."""
REST = {
    "LoRA": {"rank": 2},
    "DoRA": {"rank": 2},
    "LowRank": {"rank": 1},
    "HyperNetwork": {"module": module},
    "Shared": {"source": lambda held: held["source"]},
}
NO_SETTINGS = {
    "VariationalNormal": {"stddev"},  # where a Variable starts
    "HyperNetwork": {"module"},  # a Module, whose Variables are saved
    "Shared": {"source"},
}
ROWS = [(name, setting) for name, settings in OTHERS.items() for setting in settings]


def creators():
    kinds = {n: getattr(gx.reparam, n) for n in dir(gx.reparam) if inspect.isclass(getattr(gx.reparam, n))}
    # of a part, of base classes, and of what prunes by the step of training
    return {n: k for n, k in kinds.items() if n not in ("Adapter", "AdapterCreator", "Reparam", "PruningSchedule")}


def test_each_setting_of_each_creator_has_a_row():
    named = {
        name: set(inspect.signature(kind.__init__).parameters)
        - {"self", "args", "kwargs"}
        - NO_SETTINGS.get(name, set())
        for name, kind in creators().items()
    }
    assert named == {name: set(settings) for name, settings in OTHERS.items()}


def made(kind, /, **settings):
    held = {"source": gx.Variable(np.eye(2, dtype="float32"))}
    rest = {key: value(held) if callable(value) else value for key, value in REST.get(kind, {}).items()}
    with gx.variable_creator_scope(getattr(gx.reparam, kind)(**{**rest, **settings}), where="**/kernel"):
        held["layers"] = [gx.layers.Dense(2, use_bias=False)]
        held["layers"][0](X)
    return held


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("name", "setting"), ROWS, ids=["-".join(row) for row in ROWS])
def test_another_value_is_refused_and_the_same_one_restored(saved, name, setting):
    one, other = (made(name, **{setting: value}) for value in OTHERS[name][setting])
    path = saved(m=one)
    twin = made(name, **{setting: OTHERS[name][setting][0]})
    Checkpoint(m=twin).restore(path).assert_consumed()
    np.testing.assert_array_equal(twin["layers"][0](X), one["layers"][0](X))
    with pytest.raises(MatchError):
        Checkpoint(m=other).restore(path)


def grafted(creator):
    net = gx.Sequential([gx.layers.Dense(2, use_bias=False)])
    net(X)
    gx.graft(net, creator, where="**/kernel")
    for variable in net.variables:
        variable.assign(np.ones(variable.shape))
    return net


def low_rank(alpha=1):
    return grafted(gx.reparam.LoRA(1, alpha=alpha, name="p"))


def test_the_error_names_both_and_nothing_changes(saved):
    path = saved(m=low_rank())
    net = low_rank(8)
    net.layers[0].kernel.base.assign(np.zeros((2, 2)))
    before = np.asarray(net(X))
    with pytest.raises(SettingsMismatch, match="saved with scale=1.0, and has scale=8.0") as error:
        Checkpoint(m=net).restore(path, mode="cover")
    assert 'settings="program"' in error.value.instead
    assert error.value.report.other_settings == ((ADAPTER, {"scale": 1.0}, {"scale": 8.0}),)
    np.testing.assert_array_equal(net(X), before)


def test_the_program_may_have_its_own_and_the_report_lists_them(saved):
    net = low_rank(8)
    net.layers[0].kernel.base.assign(np.zeros((2, 2)))
    report = Checkpoint(m=net).restore(saved(m=low_rank()), settings="program")
    np.testing.assert_array_equal(net(X), np.full((1, 2), 2 + 2 * 8.0))
    assert "scale=1.0 when it was saved; scale=8.0 now" in str(report)
    assert report.as_dict()["other_settings"] == [{"path": ADAPTER, "saved": {"scale": 1.0}, "now": {"scale": 8.0}}]


def test_of_a_part_only_what_is_restored_is_compared(saved):
    path, net = saved(m=low_rank()), low_rank(8)
    assert not Checkpoint(m=net).restore(path, only="m/layers/0/kernel/base").other_settings
    with pytest.raises(SettingsMismatch):
        Checkpoint(m=net).restore(path, only=gx.is_adapter)
    with pytest.raises(SettingsMismatch):
        Checkpoint(m=net).restore(path, only=f"{ADAPTER}/up", trainable="program")


def test_a_setting_that_was_assigned_is_saved_by_the_next_save_too(tmp_path):
    net = low_rank()
    checkpoint = Checkpoint(m=net)
    checkpoint.save(tmp_path / "1")
    net.layers[0].kernel.adapters["p"].scale = 3.0
    checkpoint.save(tmp_path / "3")
    assert Checkpoint(m=low_rank(3)).restore(tmp_path / "3").other_settings == ()
    with pytest.raises(SettingsMismatch):
        Checkpoint(m=low_rank(3)).restore(tmp_path / "1")


def waiting(alpha):
    with gx.variable_creator_scope(gx.reparam.LoRA(1, alpha=alpha, name="p"), where="**/kernel"):
        return gx.Sequential([gx.layers.Dense(2, use_bias=False)])


@pytest.mark.parametrize("copied", [lambda net: net, copy.deepcopy], ids=["itself", "copy"])
def test_layers_that_are_built_later_are_compared_then(saved, copied):
    path = saved(m=low_rank())
    net = waiting(8)
    Checkpoint(m=net).restore(path)
    net = copied(net)
    with pytest.raises(SettingsMismatch, match=r"scale=1\.0, and has scale=8\.0"):
        net(X)
    allowed = waiting(8)
    report = Checkpoint(m=allowed).restore(path, settings="program")
    np.testing.assert_array_equal(copied(allowed)(X), np.full((1, 2), 2 + 2 * 8.0))
    assert report.other_settings or copied is copy.deepcopy
    same = waiting(1)
    Checkpoint(m=same).restore(path)
    np.testing.assert_array_equal(copied(same)(X), np.full((1, 2), 4.0))
    left = waiting(8)
    Checkpoint(m=left).restore(path, only="m/layers/0/kernel/base", mode="cover")


def test_files_without_settings_are_compared_with_nothing(saved, monkeypatch):
    monkeypatch.setattr(gx.reparam.Adapter, "_gx_facts", lambda self: {})
    path = saved(m=low_rank())
    monkeypatch.undo()
    assert Checkpoint(m=low_rank(8)).restore(path).other_settings == ()


class Own(gx.Reparam):
    """A weight with settings of all kinds."""

    untracked = frozenset({"reads"})

    def __init__(self, next_creator, spec, **settings):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))
        self.function, self._private, self.reads = np.abs, 1, 0
        for name, value in settings.items():
            setattr(self, name, value)

    def forward(self):
        return gx.ops.asarray(self.base)


KINDS = {
    "text": ("a", "b"),
    "none": (None, 1),
    "big": (2**80, 2**81),
    "complex": (1j, 2j),
    "bytes": (b"a", b"b"),
    "scalar": (np.float32(0.5), np.float32(0.25)),
    "tuple": ((1, (2.0,)), (1, (3.0,))),
    "dict": ({1: "a", "b": [2]}, {1: "a", "b": [3]}),
    "nan": (float("nan"), 0.0),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_your_own_expressions(saved, kind):
    one, same, other = (
        grafted(lambda next_creator, spec, value=value: Own(next_creator, spec, given=value))
        for value in (KINDS[kind][0], copy.deepcopy(KINDS[kind][0]), KINDS[kind][1])
    )
    path = saved(m=one)
    with Reader(path) as reader:
        facts = [n.payload["facts"]["settings"] for n in reader.index.nodes if n.kind is Kind.OBJECT and n.payload]
    assert [set(one) for one in facts] == [{"function", "given"}]
    assert not Checkpoint(m=same).restore(path).other_settings
    with pytest.raises(SettingsMismatch, match="given="):
        Checkpoint(m=other).restore(path)


def test_a_whole_model_keeps_what_was_assigned(tmp_path):
    net = low_rank()
    net.layers[0].kernel.adapters["p"].scale = 3.0
    net.save(tmp_path / "whole")
    np.testing.assert_array_equal(gx.load_model(tmp_path / "whole")(X), net(X))


def test_there_is_no_such_choice(saved):
    with pytest.raises(gx.errors.ArgumentError, match="settings='mine'"):
        Checkpoint(m=low_rank()).restore(saved(m=low_rank()), settings="mine")
