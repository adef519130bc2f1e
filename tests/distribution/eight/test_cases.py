"""The cases of docs/cases.md that need several devices and one process."""

import copy
import pickle
import warnings
from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax import ops
from graftax.errors import ArgumentError, ArgumentTypeError, SelectorError, StateError
from tests.distribution.eight.programs import compilations

X = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
Y = np.random.default_rng(1).normal(size=(16, 4)).astype("float32")


def model(**compiled: Any) -> gx.Model:
    made = gx.Sequential([gx.layers.Dense(16, activation="relu", name="up"), gx.layers.Dense(4, name="down")])
    if compiled:
        made.compile(**compiled)
    return made


def sharded(**options: Any) -> gd.Distribution:
    return gd.FullyShardedDataParallel(gd.mesh(data=8), min_size=16, **options)


def axes_of(variable: Any) -> tuple[Any, ...]:
    spec = tuple(variable.value.sharding.spec)
    return (*spec, *(None,) * (len(variable.shape) - len(spec)))


def trained(distribution: gd.Distribution | None, **fit: Any) -> gx.Model:
    gx.set_random_seed(0)
    if distribution is None:
        made = model(optimizer="adam", loss="mse")
    else:
        with distribution.scope():
            made = model(optimizer="adam", loss="mse")
    made.fit(X, Y, batch_size=8, epochs=2, verbose=0, **fit)
    return made


def test_dt1_one_device_gives_the_bits_of_no_distribution() -> None:
    alone, plain = trained(gd.DataParallel(gd.mesh(data=1))), trained(None)
    for one, other in zip(alone.variables, plain.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert gd.DataParallel(gd.mesh(data=1)).shard(X) is X


def test_dt2_losses_are_means_over_the_rows_of_all_devices() -> None:
    d = gd.DataParallel()
    with d.scope():
        layer = gx.layers.Dense(1, kernel_initializer="ones")
    loss = gx.jit(lambda x: ops.mean(layer(x)))(d.shard(X))
    np.testing.assert_allclose(loss, X.sum(1).mean(), rtol=1e-5)


def test_dt3_rows_that_devices_cannot_share_are_on_each_of_them() -> None:
    d = gd.DataParallel()
    rows = d.shard({"x": X, "odd": X[:11], "one": 3.0, "nothing": None})
    assert rows["x"].sharding.spec[0] == "data"
    assert rows["odd"].is_fully_replicated
    assert rows["one"].is_fully_replicated
    assert rows["nothing"] is None
    assert {shard.data.shape for shard in rows["x"].addressable_shards} == {(2, 8)}
    np.testing.assert_array_equal(rows["odd"], X[:11])


@pytest.mark.parametrize("inside", [True, False])
def test_dt5_what_is_made_elsewhere_joins_the_others(inside: bool) -> None:
    wanted = trained(None)
    d = sharded()
    gx.set_random_seed(0)
    with d.scope():
        made = model()
        if inside:
            made.compile("adam", "mse")
    if not inside:
        made.compile("adam", "mse")
    made.fit(X, Y, batch_size=8, epochs=2, verbose=0)
    np.testing.assert_allclose(made.layers[0].kernel.numpy(), wanted.layers[0].kernel.numpy(), atol=1e-6)
    assert axes_of(made.optimizer.slots()[0].slot) == axes_of(made.layers[0].kernel) == (None, "data")
    assert len(made.optimizer.iterations.value.devices()) == 8


def test_dt5_a_variable_from_outside_is_on_each_device_once_it_is_used_with_others() -> None:
    scale = gx.Variable(2.0)
    d = sharded()
    with d.scope():
        layer = gx.layers.Dense(16)
        layer.build((None, 8))
    assert len(scale.value.devices()) == 1
    gx.jit(lambda x: layer(x) * scale)(d.shard(X))
    assert len(scale.value.devices()) == 8
    assert "not placed: beside" in d.report(_Both(layer, scale)).rows[-1].why
    gx.jit(lambda x: x * scale)(X)  # alone again, it goes back
    assert len(scale.value.devices()) == 1


class _Both(gx.Module):
    def __init__(self, *parts: Any) -> None:
        super().__init__()
        self.parts = list(parts)


def test_dt6_a_rule_that_selects_nothing_raises_once_all_is_built() -> None:
    d = gd.ModelParallel(gd.mesh(data=4, model=2), [("layers/7/kernel", (None, "model"))])
    with d.scope():
        made = model(optimizer="sgd", loss="mse")
    with pytest.raises(SelectorError, match="layers/7/kernel.*matches none") as told:
        made.fit(X, Y, verbose=0)
    assert "layers/0/kernel" in str(told.value)
    with pytest.raises(SelectorError, match="layers/7/kernel"), d.scope():
        model().build_for(X)
    before = model()
    before.build_for(X)
    with pytest.raises(SelectorError, match="layers/7/kernel"):
        d.place(before)
    assert all(len(v.value.devices()) == 1 for v in before.variables)


def test_dt6_a_rule_that_need_not_select_anything_says_so() -> None:
    d = gd.ModelParallel(
        gd.mesh(data=4, model=2), [("**/kernel", (None, "model")), gd.OptionalRule("**/gamma", ("model",))]
    )
    with d.scope():
        model().build_for(X)


@pytest.mark.parametrize(
    ("rule", "says", "instead"),
    [
        (("**/kernel", ("model",)), "1 entries for 2 dimensions", "('model', None)"),
        (("**/bias", ("data",)), "6, the size of dimension 0, is not divisible by 4", "a size of 4 or 8"),
    ],
)
def test_dt7_a_rule_that_does_not_fit_names_path_and_shape_and_what_would_do(
    rule: Any, says: str, instead: str
) -> None:
    d = gd.ModelParallel(gd.mesh(data=4, model=2), [rule])
    with d.scope():
        layer = gx.Sequential([gx.layers.Dense(6)])
    with pytest.raises(ArgumentError, match=says) as told:
        layer(X)
    assert "layers/0/" in str(told.value)
    assert instead in str(told.value)


@pytest.mark.parametrize(
    ("axes", "says"),
    [((None, "modle"), "the mesh has the axes data, model"), (("model", "model"), "splits two dimensions")],
)
def test_dt7_axes_are_looked_at_when_a_rule_is_given(axes: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        gd.ModelParallel(gd.mesh(data=4, model=2), [("**/kernel", axes)])


def step_of(layer: gx.Layer) -> Any:
    optimizer = gx.optimizers.SGD(0.1)

    @gx.jit
    def step(x: Any) -> Any:
        return optimizer.minimize(lambda: ops.mean(layer(x) ** 2), layer.trainable_variables)

    return step


def test_dt8_a_batch_that_is_not_spread_is_told_once() -> None:
    d = gd.DataParallel()
    with d.scope():
        layer = gx.layers.Dense(4)
    layer.build((None, 8))
    step = step_of(layer)
    with pytest.warns(UserWarning, match="each of 8 devices computes the whole batch.*distribution.shard"):
        step(X)
    step(X)  # once is enough
    other = step_of(layer)
    other(d.shard(X))
    other(d.shard(X[:11]))  # which cannot be spread, and was asked to be
    gx.jit(lambda x: layer(x))(X)  # changes no weight


def test_dt9_weights_that_stay_whole_are_named_before_the_first_step() -> None:
    d = sharded()
    with d.scope():
        made = gx.Sequential([gx.layers.Dense(9), gx.layers.Dense(15)])
        made.compile("sgd", "mse")
    with pytest.raises(StateError, match=r"of the bytes of weights stay whole.*layers/1/kernel") as told:
        made.fit(X, np.zeros((16, 15), "float32"), batch_size=8, verbose=0)
    assert "tolerance=" in str(told.value)
    before = made.layers[0].kernel.numpy()
    with pytest.raises(StateError):
        made.fit(X, np.zeros((16, 15), "float32"), batch_size=8, verbose=0)
    np.testing.assert_array_equal(made.layers[0].kernel.numpy(), before)
    allowed = sharded(tolerance=1.0)
    allowed.place(made)
    made.fit(X, np.zeros((16, 15), "float32"), batch_size=8, verbose=0)


def test_dt10_a_checkpoint_is_the_same_whatever_the_mesh(tmp_path: Any) -> None:
    split, plain = trained(sharded()), trained(None)
    gx.Checkpoint(model=split, optimizer=split.optimizer).save(tmp_path / "split")
    gx.Checkpoint(model=plain, optimizer=plain.optimizer).save(tmp_path / "plain")
    one, other = (gx.checkpoint.read(tmp_path / name) for name in ("split", "plain"))
    assert list(one) == list(other)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], atol=1e-6)
    gx.Checkpoint(model=split, optimizer=split.optimizer).restore(tmp_path / "plain")
    assert axes_of(split.layers[0].kernel) == (None, "data")
    np.testing.assert_array_equal(split.layers[0].kernel.numpy(), plain.layers[0].kernel.numpy())


def test_dt11_what_is_assigned_goes_home_and_nothing_is_compiled_again(tmp_path: Any) -> None:
    made = trained(sharded())
    kernel = made.layers[0].kernel
    gx.Checkpoint(model=made).save(tmp_path / "c")
    with compilations() as count:
        kernel.assign(np.ones(kernel.shape, "float32"))
        assert axes_of(kernel) == (None, "data")
        kernel.assign_add(np.ones(kernel.shape, "float32"))
        kernel[0] = 3.0
        assert axes_of(kernel) == (None, "data")
        gx.Checkpoint(model=made).restore(tmp_path / "c")
        assert axes_of(kernel) == (None, "data")
        made.set_weights(made.get_weights())
        assert axes_of(kernel) == (None, "data")
        made.reset_metrics()
        made.fit(X, Y, batch_size=8, epochs=1, verbose=0)
        assert count() == 0


def test_dt12_a_read_gives_the_parts_and_numpy_the_whole() -> None:
    made = trained(sharded())
    kernel = made.layers[0].kernel
    assert {shard.data.shape for shard in kernel.value.addressable_shards} == {(8, 2)}
    assert kernel.numpy().shape == (8, 16)
    gathered = sharded().gather({"kernel": kernel, "value": kernel.value})
    assert isinstance(gathered["kernel"], np.ndarray)
    np.testing.assert_array_equal(gathered["kernel"], gathered["value"])


def test_dt13_copies_keep_their_homes_and_pickles_lose_them() -> None:
    made = trained(sharded())
    twin = copy.deepcopy(made)
    assert axes_of(twin.layers[0].kernel) == (None, "data")
    twin.fit(X, Y, batch_size=8, verbose=0)
    layer = made.layers[0]
    assert len(pickle.loads(pickle.dumps(layer)).kernel.value.devices()) == 1


def test_dt14_a_shared_weight_has_the_home_of_its_source() -> None:
    d = sharded()
    with d.scope():
        first = gx.layers.Dense(8)
        first.build((None, 8))
        with gx.variable_creator_scope(gx.reparam.Shared(first.kernel), where="**/kernel"):
            second = gx.layers.Dense(8)
            second.build((None, 8))
    assert second.kernel.variables == [] or second.kernel.variables[0] is first.kernel
    assert axes_of(first.kernel) == ("data", None)


def test_dt15_random_numbers_are_those_of_one_device() -> None:
    found = []
    for d in (gd.DataParallel(gd.mesh(data=1)), gd.DataParallel(), sharded()):
        gx.set_random_seed(0)
        with d.scope():
            layer = gx.layers.Dropout(0.5)
        found.append(np.asarray(gx.jit(lambda x, layer=layer: layer(x, training=True))(d.shard(X))))
        assert layer.seed_generator.state.value.is_fully_replicated
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("order", ["outside", "inside"])
def test_dt16_parts_of_a_weight_have_homes_of_their_own(order: str) -> None:
    d = gd.FullyShardedDataParallel(gd.mesh(data=4, model=2), [("**/kernel", (None, "model"))], min_size=16)
    graft = gx.variable_creator_scope(gx.reparam.WeightNorm(), where="**/kernel")
    scopes = [d.scope(), graft] if order == "inside" else [graft, d.scope()]
    with scopes[0], scopes[1]:
        layer = gx.Sequential([gx.layers.Dense(16)])
        layer.build_for(X)
    rows = {row.path: row for row in d.report(layer).rows}
    assert rows["layers/0/kernel/direction"].axes == ("data", "model")
    assert rows["layers/0/kernel/magnitude"].axes == ("data",)
    assert "of which this is a part" in rows["layers/0/kernel/magnitude"].why


def test_dt16_a_graft_after_place_has_homes_by_the_same_rules() -> None:
    made = trained(None)
    d = gd.FullyShardedDataParallel(gd.mesh(data=8), min_size=32)
    d.place(made)
    gx.graft(made, gx.reparam.LoRA(rank=8), where="**/kernel")
    assert axes_of(made.layers[0].kernel.base) == (None, "data")
    down = next(v for path, v in made.named_variables().items() if path.endswith("layers/0/kernel/adapters/lora/down"))
    assert "data" in axes_of(down)
    made.fit(X, Y, batch_size=8, verbose=0)
    gx.ungraft(made)
    assert axes_of(made.layers[0].kernel) == (None, "data")


def test_dt17_two_meshes_in_one_program_are_named() -> None:
    first, second = gd.DataParallel(gd.mesh(data=8)), gd.DataParallel(gd.mesh(data=4, devices=jax.devices()[:4]))
    with first.scope():
        one = gx.Variable([1.0], name="one")
    with second.scope():
        other = gx.Variable([1.0], name="other")
    with pytest.raises(StateError, match=r"'one' and 'other'.*'data': 8.*'data': 4"):
        gx.jit(lambda: one + other)()


def test_dt17_the_innermost_scope_counts() -> None:
    with gd.DataParallel().scope(), sharded().scope():
        inner = gx.Variable(np.ones((8, 8), "float32"))
    assert axes_of(inner) == ("data", None)


def test_dt18_a_device_and_a_distribution_exclude_each_other() -> None:
    with sharded().scope(), pytest.raises(StateError, match="one inside of the other"), gx.device("cpu:1"):
        pass
    with gx.device("cpu:1"), sharded().scope(), pytest.raises(StateError, match="one inside of the other"):
        gx.Variable([1.0])


def test_dt18_the_default_generator_goes_to_the_mesh_of_the_program_that_uses_it() -> None:
    first, second = gd.DataParallel(gd.mesh(data=8)), gd.DataParallel(gd.mesh(data=4))
    found = []
    for d in (first, second, first, None):
        with warnings.catch_warnings():
            layer = gx.Variable(np.ones(8, "float32"))
            if d is not None:
                with d.scope():
                    layer = gx.Variable(np.ones(8, "float32"))
            found.append(len(gx.jit(lambda v=layer: v * gx.random.uniform((8,)))().devices()))
    assert found == [8, 4, 8, 1]


@pytest.mark.parametrize("role", ["seed", "counter", "hyper", "metric"])
def test_dt19_what_is_no_weight_is_never_split(role: str) -> None:
    d = gd.FullyShardedDataParallel(gd.mesh(data=8), [gd.OptionalRule("**", ("data",))], min_size=1)
    with d.scope():
        made = gx.Variable(np.zeros(8, "float32"), role=role, trainable=False)
    assert made.value.is_fully_replicated
    assert len(made.value.devices()) == 8


def test_a_mesh_of_another_type_is_refused_with_the_line_to_write() -> None:
    explicit = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Explicit,))
    with pytest.raises(ArgumentTypeError, match="Auto"):
        gd.DataParallel(explicit)
    with pytest.raises(ArgumentTypeError, match="got a mesh"):
        gd.DataParallel("data")  # type: ignore[arg-type]


def test_idle_devices_are_told() -> None:
    d = gd.DataParallel(gd.mesh(data=3))
    with d.scope():
        layer = gx.layers.Dense(2)
    layer.build((None, 3))
    assert "3 devices, 5 idle" in str(d.report(layer))
