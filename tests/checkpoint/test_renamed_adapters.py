"""`map=` may give the values of one adapter to another: use and settings go with them, built or not."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import SettingsMismatch

X = np.ones((2, 3), "float32")
AT = "m/layers/0/kernel/adapters"
RENAMED = {
    "adapter": (("a", "q"), {f"{AT}/q": f"{AT}/b"}),
    "glob": (("a", "q"), {"m/**/adapters/q/*": "m/**/adapters/b/*"}),
    "parts": (("a", "q"), {f"{AT}/q/down": f"{AT}/b/down", f"{AT}/q/up": f"{AT}/b/up"}),
    "chain": (("b", "q"), {f"{AT}/q": f"{AT}/b", f"{AT}/b": f"{AT}/a"}),
    "swap": (("a", "b"), {f"{AT}/a": f"{AT}/b", f"{AT}/b": f"{AT}/a"}),
}


def program(names, built=True, alphas=(1, 2)):
    first, second = (gx.reparam.LoRA(1, name=n, alpha=a) for n, a in zip(names, alphas, strict=True))
    with gx.variable_creator_scope(second, where="**/kernel"), gx.variable_creator_scope(first, where="**/kernel"):
        net = gx.Sequential([gx.layers.Dense(2, use_bias=False)])
        if built:
            net(X)
    for i, variable in enumerate(net.variables):
        variable.assign(variable + 0.3 * (i + 1))
    return net


def alphas_of(renamed):
    """Return what the adapters of the program must have, in which the names are others."""
    names, renames = RENAMED[renamed]
    tail = {
        new.split("adapters/")[1].split("/")[0]: old.split("adapters/")[1].split("/")[0] for new, old in renames.items()
    }
    return [{"a": 1, "b": 2}[tail.get(name, name)] for name in names]


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("use", [("b",), ("a",), ("b", "a"), ()])
@pytest.mark.parametrize("renamed", RENAMED)
def test_the_adapters_in_use_go_by_their_names_here(saved, renamed, use, built):
    names, renames = RENAMED[renamed]
    net = program(("a", "b"))
    gx.adapters.use(net, *use)
    twin = program(names, built, alphas_of(renamed))
    report = Checkpoint(m=twin).restore(saved(m=net), map=renames)
    np.testing.assert_allclose(twin(X), net(X), rtol=1e-6)
    report.assert_consumed()
    assert len(gx.adapters.active(twin)) == len(use)


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("renamed", RENAMED)
def test_their_settings_are_compared(saved, renamed, built):
    names, renames = RENAMED[renamed]
    net = program(("a", "b"))
    path = saved(m=net)

    def restore_and_build():
        Checkpoint(m=twin).restore(path, map=renames)
        twin(X)

    for alphas in ((7, 7), alphas_of(renamed)[::-1]):
        twin = program(names, built, alphas)
        with pytest.raises(SettingsMismatch, match="scale="):
            restore_and_build()
        twin = program(names, built, alphas)
        Checkpoint(m=twin).restore(path, map=renames, settings="saved")
        np.testing.assert_allclose(twin(X), net(X), rtol=1e-6)
