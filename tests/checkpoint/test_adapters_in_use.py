"""Which adapters are in use, and in which order, is state: restored with the weights that have them."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.index import Kind
from graftax.checkpoint.reader import Reader

X = np.ones((2, 3), "float32")


def adapted(*names, by=gx.reparam.LoRA):
    net = gx.Sequential([gx.layers.Dense(2), gx.layers.Dense(1)])
    net(X)
    for name in names or ("a", "b"):
        gx.graft(net, by(rank=1, name=name), where="**/kernel")
    for variable in net.variables:
        variable.assign(variable + 0.3)
    return net


@pytest.mark.broad
@pytest.mark.parametrize("use", [("b",), ("b", "a"), ()], ids=["one", "order", "none"])
@pytest.mark.parametrize("choice", [{}, {"mode": "cover"}, {"only": "m/**"}], ids=["exact", "cover", "part"])
def test_they_are_used_as_they_were_saved(saved, use, choice):
    net, twin = adapted(), adapted()
    gx.adapters.use(net, *use)
    for variable in twin.variables:
        variable.assign(variable * 0)
    report = Checkpoint(m=twin).restore(saved(m=net), **choice)
    assert gx.adapters.active(twin) == list(use)
    assert [v.path for v in twin.trainable_variables] == [v.path for v in net.trainable_variables]
    np.testing.assert_array_equal(twin(X), net(X))
    assert [one.path for one in report.adapters] == ["m/layers/0/kernel", "m/layers/1/kernel"]
    gx.adapters.use(twin, "a", "b")  # none is left resting
    gx.adapters.use(net, "a", "b")
    assert [v.path for v in twin.trainable_variables] == [v.path for v in net.trainable_variables]


@pytest.mark.broad
def test_the_order_of_kinds_that_do_not_commute(saved):
    def both():
        net = adapted("d", by=gx.reparam.DoRA)
        gx.graft(net, gx.reparam.LoRA(rank=1, name="l"), where="**/kernel")
        for variable in net.trainable_variables:
            variable.assign(variable + 0.3)
        return net

    net, twin = both(), both()
    gx.adapters.use(net, "l", "d")
    Checkpoint(m=twin).restore(saved(m=net))
    np.testing.assert_array_equal(twin(X), net(X))


@pytest.mark.broad
@pytest.mark.parametrize(
    "choice",
    [{"trainable": "program"}, {"mode": "overlap"}, {"only": gx.is_adapter}, {"only": gx.adapters.named("b")}],
    ids=["program", "overlap", "adapters", "one"],
)
def test_the_program_has_its_way_where_a_part_comes_or_it_is_told(saved, choice):
    net, twin = adapted(), adapted()
    gx.adapters.use(net, "b")
    report = Checkpoint(m=twin).restore(saved(m=net), **choice)
    assert gx.adapters.active(twin) == ["a", "b"]
    assert report.adapters[0] == ("m/layers/0/kernel", ("b",), ("a", "b"))
    assert "'b' in use when it was saved; 'a', 'b' now" in str(report)


@pytest.mark.broad
def test_a_program_without_an_adapter_that_was_in_use_keeps_its_own(saved):
    net, other = adapted(), adapted("a")
    gx.adapters.use(net, "b")
    report = Checkpoint(m=other).restore(saved(m=net), mode="cover")
    assert (gx.adapters.active(other), report.adapters) == (["a"], ())


@pytest.mark.broad
@pytest.mark.parametrize("use", [("a",), ("b", "a"), ()], ids=["one", "order", "none"])
@pytest.mark.parametrize(
    "renamed",
    [
        {f"m/layers/{i}/kernel/adapters/poet": f"m/layers/{i}/kernel/adapters/a" for i in (0, 1)},
        {"m/**/poet/*": "m/**/a/*"},
    ],
    ids=["adapters", "globs of their parts"],
)
def test_they_are_used_by_the_names_that_map_gives_them(saved, use, renamed):
    net, twin = adapted(), adapted("poet", "b")
    gx.adapters.use(net, *use)
    for variable in twin.variables:
        variable.assign(variable * 0)
    report = Checkpoint(m=twin).restore(saved(m=net), map=renamed)
    here = tuple("poet" if name == "a" else name for name in use)
    assert gx.adapters.active(twin) == list(here)
    assert report.adapters[0] == ("m/layers/0/kernel", use, here)
    np.testing.assert_array_equal(twin(X), net(X))


@pytest.mark.broad
def test_map_exchanges_two(saved):
    net, twin = adapted(), adapted()
    for variable in net.variables:
        variable.assign(variable + ("/a/" in variable.path))
    gx.adapters.use(net, "a")
    Checkpoint(m=twin).restore(saved(m=net), map={"m/**/a/*": "m/**/b/*", "m/**/b/*": "m/**/a/*"})
    assert gx.adapters.active(twin) == ["b"]
    np.testing.assert_array_equal(twin(X), net(X))


@pytest.mark.broad
@pytest.mark.parametrize("use", [("b",), ("a", "b")], ids=["one", "both"])
def test_an_adapter_that_map_replaces_is_not_the_one_that_was_in_use(saved, use):
    net, twin = adapted(), adapted("b", "c")
    gx.adapters.use(net, *use)
    gx.adapters.use(twin, "c")
    report = Checkpoint(m=twin).restore(saved(m=net), mode="cover", map={"m/**/b/*": "m/**/a/*"}, skip="**/c/*")
    assert (gx.adapters.active(twin), report.adapters) == (["c"], ())


@pytest.mark.broad
def test_a_failed_restore_takes_the_use_back(saved, toys):
    class Picky(toys.Position):
        def set_state(self, state):
            if state == 1:
                raise ValueError("no")

    net, twin = adapted(), adapted()
    gx.adapters.use(net, "b")
    gx.adapters.use(twin, "b", "a")
    trained = [v.path for v in twin.trainable_variables]
    with pytest.raises(ValueError, match="no"):
        Checkpoint(m=twin, p=Picky(2)).restore(saved(m=net, p=toys.Position(1)))
    assert gx.adapters.active(twin) == ["b", "a"]
    assert [v.path for v in twin.trainable_variables] == trained


@pytest.mark.broad
def test_what_fails_after_the_use_was_restored_takes_it_back(saved, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    net, twin = adapted(), adapted()
    gx.adapters.use(net, "b")
    path = saved(m=net)
    monkeypatch.setattr("graftax.checkpoint.restore.check_tied", broken)
    with pytest.raises(KeyboardInterrupt):
        Checkpoint(m=twin).restore(path)
    assert gx.adapters.active(twin) == ["a", "b"]
    assert len(twin.trainable_variables) == 10


@pytest.mark.broad
def test_a_manager_and_later_saves_notice_another_use(tmp_path):
    net = adapted()
    gx.adapters.use(net, "a")
    manager = gx.CheckpointManager(tmp_path, m=net)
    outputs = {}
    for step, use in enumerate([("a",), ("b",), ("b", "a"), ("a", "b")], 1):
        gx.adapters.use(net, *use)
        outputs[step] = use
        manager.save(step)
    for step, use in outputs.items():
        gx.adapters.use(net)
        Checkpoint(m=net).restore(manager.all()[step - 1].path)
        assert gx.adapters.active(net) == list(use)
    gx.adapters.use(net, "b")
    manager.restore_latest()
    assert gx.adapters.active(net) == ["a", "b"]


@pytest.mark.broad
def test_a_compiled_function_notices(saved):
    net = adapted()
    path = saved(m=net)
    run = gx.jit(lambda x: net(x))
    wanted = np.asarray(run(X))
    gx.adapters.use(net, "b")
    assert not np.allclose(run(X), wanted)
    Checkpoint(m=net).restore(path)
    np.testing.assert_array_equal(run(X), wanted)


@pytest.mark.broad
def test_layers_that_are_built_later_use_what_was_saved(saved):
    def unbuilt():
        with (
            gx.variable_creator_scope(gx.reparam.LoRA(rank=1, name="b")),
            gx.variable_creator_scope(gx.reparam.LoRA(rank=1, name="a")),
        ):
            return gx.Sequential([gx.layers.Dense(2), gx.layers.Dense(1)])

    net = unbuilt()
    net(X)
    for variable in net.variables:
        variable.assign(variable + 0.3)
    before = gx.adapters.active(net)
    gx.adapters.use(net, *reversed(before))
    path = saved(m=net)
    for only, trainable, use in ((None, None, before[::-1]), (None, "program", before), (gx.is_adapter, None, before)):
        twin = unbuilt()
        Checkpoint(m=twin).restore(path, only=only, trainable=trainable)
        twin(X)
        assert gx.adapters.active(twin) == use
    gx.adapters.use(net, "b")
    twin = unbuilt()
    Checkpoint(m=twin).restore(saved(m=net))
    np.testing.assert_array_equal(twin(X), net(X))
    assert [v.path for v in twin.trainable_variables] == [v.path for v in net.trainable_variables]


@pytest.mark.broad
def test_fit_resumes_with_the_adapters_in_use(tmp_path):
    def compiled():
        net = adapted()
        net.compile(gx.optimizers.SGD(0.1), "mse")
        return net

    net, twin = compiled(), compiled()
    for one in (net, twin):
        gx.adapters.use(one, "b")
    checkpoints = gx.callbacks.ModelCheckpoint(tmp_path / "c", every=1, keep=1)
    net.fit(X, X[:, :1], epochs=1, verbose=0, callbacks=[checkpoints])
    twin.fit(X, X[:, :1], epochs=1, verbose=0, resume=tmp_path / "c")
    assert gx.adapters.active(twin) == ["b"]
    np.testing.assert_array_equal(twin(X), net(X))


@pytest.mark.broad
def test_files_without_the_record_leave_the_use_as_it_is(saved, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("graftax.checkpoint.drawing.attributes_of_object", lambda thing: None)
        path = saved(m=adapted())
    twin = adapted()
    gx.adapters.use(twin, "b")
    report = Checkpoint(m=twin).restore(path)
    assert (gx.adapters.active(twin), report.adapters) == (["b"], ())


def test_programs_without_adapters_have_no_record(saved):
    with Reader(saved(m=gx.Sequential([gx.layers.Dense(2, use_bias=False)]), v=gx.Variable(1.0))) as reader:
        assert all(node.payload is None for node in reader.index.nodes if node.kind is Kind.OBJECT)
