"""An optimizer that is saved without any of its slots, or restored so, says it."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint

X = np.ones((2, 3), "float32")


def trained(optimizer=None, steps=1, net=None):
    net = net or gx.Sequential([gx.layers.Dense(2), gx.layers.Dense(1)])
    net(X)
    optimizer = optimizer or gx.optimizers.Adam(0.1)
    for _ in range(steps):
        optimizer.minimize(lambda: gx.ops.mean(net(X) ** 2), net)
    return net, optimizer


@pytest.mark.broad
def test_a_save_of_the_optimizer_alone_warns(tmp_path):
    net, optimizer = trained()
    with pytest.warns(
        UserWarning, match=r"the save of 'o' leaves out all slots of Adam \(8: o/slots\(momentum\)"
    ) as told:
        Checkpoint(o=optimizer).save(tmp_path / "o")
    assert "Instead: Checkpoint(model=model, optimizer=optimizer)" in str(told[0].message)
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=r'all slots .*Instead: only=\["model/\*\*", "o/\*\*"\]'):
        Checkpoint(m=net, o=optimizer).save(tmp_path / "q", only="o/**")
    Checkpoint(model=net, o=optimizer).save(tmp_path / "told", only=["model/**", "o/**"])  # which warns of nothing
    with pytest.raises(UserWarning):
        Checkpoint(o=optimizer).save(tmp_path / "e")
    assert not (tmp_path / "e").exists()  # as an error, it comes before anything is written


@pytest.mark.broad
def test_saves_with_slots_or_without_the_optimizer_do_not_warn(tmp_path):
    net, optimizer = trained()
    checkpoint = Checkpoint(m=net, o=optimizer)
    for i, only in enumerate(["m/layers/0/** o/**".split(), "m/**", "o/iterations", None]):
        checkpoint.save(tmp_path / f"{i}", only=only)
    Checkpoint(head=net.layers[1], o=optimizer).save(tmp_path / "head")
    Checkpoint(o=trained(gx.optimizers.SGD(0.1))[1]).save(tmp_path / "plain")


@pytest.mark.broad
def test_adapters_with_the_optimizer_do_not_warn(tmp_path):
    net, _ = trained()
    gx.graft(net, gx.reparam.LoRA(rank=1), where="**/kernel")
    other = gx.optimizers.SGD(0.1, momentum=0.9)
    adam = gx.optimizers.Adam(0.1, rules=[("layers/1/bias", {"optimizer": other})])
    _, optimizer = trained(adam, net=net)
    report = Checkpoint(m=net, o=optimizer).save(tmp_path / "a", only=gx.is_adapter | "o/**")
    assert report.left_out
    with pytest.warns(UserWarning, match=r"'o' leaves out all slots of Adam \(11: ") as told:
        Checkpoint(o=optimizer).save(tmp_path / "o")
    assert len(told) == 1


def alone(tmp_path, optimizer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Checkpoint(o=optimizer).save(tmp_path / "o")
    return tmp_path / "o"


@pytest.mark.broad
@pytest.mark.parametrize("steps", [0, 2], ids=["without slots", "with slots"])
def test_a_restore_without_slots_warns(tmp_path, steps):
    _, optimizer = trained(steps=3)
    path = alone(tmp_path, optimizer)
    net, other = trained(steps=steps)
    with pytest.warns(UserWarning, match=r"'o' is restored with iterations=3, and the checkpoint has no slots of it"):
        Checkpoint(m=net, o=other).restore(path, only="o/**")
    assert int(other.iterations) == 3
    if steps:
        with pytest.warns(UserWarning, match=r"such as o/slots\(momentum\)/layers/0/kernel: Adam goes on"):
            Checkpoint(o=other).restore(path)
    other.iterations.assign(1)
    with pytest.raises(UserWarning, match="goes on with fresh ones"):
        Checkpoint(m=net, o=other).restore(path, only="o/**")
    assert int(other.iterations) == 1  # as an error, it comes before anything is changed


@pytest.mark.broad
def test_restores_that_lose_nothing_do_not_warn(tmp_path):
    net, optimizer = trained(steps=3)
    path = alone(tmp_path, optimizer)
    Checkpoint(m=net, o=optimizer).restore(path, only="o/**", mode="cover")
    Checkpoint(m=net, o=optimizer).restore(path, only="o/iterations")
    Checkpoint(m=net, o=optimizer).save(tmp_path / "all")
    other, new = trained(steps=0)
    Checkpoint(m=other, o=new).restore(tmp_path / "all", skip="m/**")
    Checkpoint(m=other, o=new).restore(tmp_path / "all")
    plain, momentless = trained(gx.optimizers.SGD(0.1))
    Checkpoint(m=plain, o=momentless).save(tmp_path / "sgd")
    Checkpoint(m=plain, o=momentless).restore(tmp_path / "sgd")
    begun, fresh = trained(steps=0)
    Checkpoint(m=begun, o=fresh).save(tmp_path / "begun")
    Checkpoint(m=begun, o=fresh).restore(tmp_path / "begun")
