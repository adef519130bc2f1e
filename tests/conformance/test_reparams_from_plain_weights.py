"""Plain weights of a checkpoint go into every expression as an assignment does, by each way to restore them."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import GraftError, KindMismatch
from tests.conformance.reparam_cases import PAIRS, ROWS, Row

ALL = ROWS | PAIRS
RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 6)).astype("float32")


def net(row=None):
    with gx.variable_creator_scope(row.creator() if row.afresh else row.creator, where="**/kernel"):
        return gx.Sequential([layers.Dense(5)])


def fitting(row: Row) -> np.ndarray:
    """A value that the expression can give; its singular values are far from each other, as power iterations need."""
    u, _, v = np.linalg.svd(RNG.normal(size=(6, 5)), full_matrices=False)
    return np.asarray(row.value(u @ np.diag([4.0, 3.0, 2.0, 1.5, 1.0]) @ v), "float32")


def load(model, path):
    model.load_weights(path)


def cover(model, path):
    gx.Checkpoint(model=model).restore(path, mode="cover")


def select(model, path):
    gx.Checkpoint(model=model).restore(path, only=["**/kernel", "**/kernel/**"], mode="overlap")


def load_later(model, path):
    load(model, path)
    model(X)


@pytest.mark.parametrize("restore", [load, cover, select, load_later], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", [name for name, row in ALL.items() if row.inverse])
def test_a_restored_plain_weight_is_the_assigned_one(tmp_path, name, restore):
    row = ALL[name]
    plain = gx.Sequential([layers.Dense(5)])
    plain.build_for(X)
    plain.layers[0].kernel.assign(fitting(row))
    plain.save_weights(tmp_path / "plain")
    model, twin = net(row), net(row)
    for one in (model, twin) if restore is not load_later else (twin,):
        one(X)
    twin.layers[0].kernel.assign(plain.layers[0].kernel.value)
    restore(model, tmp_path / "plain")
    wanted, scale = twin.layers[0].kernel.numpy(), np.linalg.norm(twin.layers[0].kernel.numpy())
    assert np.linalg.norm(model.layers[0].kernel.numpy() - wanted) <= 1e-3 * scale


def test_grafted_expressions_below_others_take_plain_weights_too(tmp_path):
    plain = gx.Sequential([layers.Dense(5)])
    plain.build_for(X)
    plain.layers[0].kernel.assign(fitting(ROWS["spectral_norm"]))
    plain.save_weights(tmp_path / "plain")
    for outer in (gx.reparam.LoRA(2), gx.reparam.Mask(), gx.reparam.DoRA(2)):
        model = gx.Sequential([layers.Dense(5)])
        model.build_for(X)
        gx.graft(model, gx.reparam.SpectralNorm(), where="**/kernel", tolerance=100.0)
        gx.graft(model, outer, where="**/kernel")
        model.load_weights(tmp_path / "plain")
        np.testing.assert_allclose(model(X), plain(X), atol=1e-4)


def test_the_base_alone_of_a_normed_weight_brings_its_vectors_along(tmp_path):
    row = ROWS["spectral_norm"]
    saved, model = net(row), net(row)
    for one in (saved, model):
        one(X)
    saved.layers[0].kernel.assign(fitting(row))
    gx.Checkpoint(model=saved).save(tmp_path / "c")
    report = gx.Checkpoint(model=model).restore(tmp_path / "c", only="**/base")
    assert report.followed == ("model/layers/0/kernel/left", "model/layers/0/kernel/right")
    assert report.as_dict()["followed"] == report.followed
    assert "computed again" in report.details()
    np.testing.assert_allclose(model.layers[0].kernel.numpy(), saved.layers[0].kernel.numpy(), atol=1e-6)
    later = net(row)
    gx.Checkpoint(model=later).restore(tmp_path / "c", only="**/base")
    later(X)
    np.testing.assert_allclose(later.layers[0].kernel.numpy(), saved.layers[0].kernel.numpy(), atol=1e-3)
    whole = net(row)
    gx.Checkpoint(model=whole).restore(tmp_path / "c")
    whole(X)
    for one, other in zip(whole.variables, saved.variables, strict=True):  # saved vectors stay as they were
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_a_refused_restore_leaves_the_vectors_where_they_were(tmp_path):
    class Refusing(gx.reparam.Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.base = next_creator(spec.replace(name="base"))
            self.state = next_creator(spec.replace(name="state", role="state", trainable=False))

        def forward(self):
            return self.base + 0 * self.state

        def follow_base(self):
            self.state.assign_add(np.ones(self.shape, "float32"))
            raise ValueError("no")

    plain = gx.Sequential([layers.Dense(5)])
    plain(X)
    plain.save_weights(tmp_path / "plain")
    with gx.variable_creator_scope(Refusing, where="**/kernel"):
        model = gx.Sequential([layers.Dense(5)])
    model(X)
    before = [v.numpy() for v in model.variables]
    with pytest.raises((GraftError, ValueError)) as raised:
        model.load_weights(tmp_path / "plain")
    assert not isinstance(raised.value, KindMismatch)
    for one, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(one.numpy(), value)


@pytest.mark.parametrize("compiled", [False, True])
def test_averages_of_normed_weights_have_norm_1(compiled):
    """The vectors follow the averages for the block, and are again what they were after it."""
    model = net(ROWS["spectral_norm"])
    model(X)
    optimizer = gx.optimizers.Adam(0.1, ema_momentum=0.9)
    targets = RNG.normal(size=(4, 5)).astype("float32")

    def step():
        optimizer.minimize(lambda: gx.ops.mean((model(X, training=True) - targets) ** 2), model.trainable_variables)

    run = gx.jit(step) if compiled else step
    for _ in range(10):
        run()
    before = [v.numpy() for v in model.variables]
    with optimizer.averaged():
        assert abs(np.linalg.norm(model.layers[0].kernel.numpy(), 2) - 1) < 1e-3
    for one, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(one.numpy(), value)
    optimizer.assign_averages()
    assert abs(np.linalg.norm(model.layers[0].kernel.numpy(), 2) - 1) < 1e-3
