"""assign_state is the inverse of state and of pure_state; set_state is for Python values alone."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops


def dense(seed: int) -> gx.layers.Dense:
    gx.set_random_seed(seed)
    layer = gx.layers.Dense(2)
    layer.build((None, 3))
    return layer


def same(one: gx.Module, other: gx.Module) -> None:
    for (path, a), (name, b) in zip(gx.state(one).items(), gx.state(other).items(), strict=True):
        assert path == name
        np.testing.assert_array_equal(a, b)


def test_it_takes_back_what_state_gave():
    layer, other = dense(0), dense(1)
    state = gx.state(other)
    gx.assign_state(layer, state)
    same(layer, other)
    layer.kernel.assign(layer.kernel * 0)  # which moves nobody else
    np.testing.assert_array_equal(other.kernel, state["kernel"])


@pytest.mark.broad
def test_random_streams_and_statistics_go_along():
    def net() -> gx.Sequential:
        model = gx.Sequential([gx.layers.Dense(2), gx.layers.BatchNormalization(), gx.layers.Dropout(0.5)])
        model.build((None, 3))
        return model

    gx.set_random_seed(0)
    first, second = net(), net()
    x = np.ones((4, 3), "float32")
    first(x, training=True)
    gx.assign_state(second, gx.state(first))
    same(first, second)
    np.testing.assert_array_equal(first(x, training=True), second(x, training=True))


def test_it_takes_back_what_pure_state_gave():
    layer, adam = dense(0), gx.optimizers.Adam(0.1)
    start = adam.pure_state(layer)
    values = gx.state(layer)

    def step() -> None:
        adam.minimize(lambda: ops.sum(layer(np.ones((2, 3), "float32")) ** 2), layer)

    step()
    after = gx.state(layer)
    gx.assign_state(adam, start)
    gx.assign_state(layer, values)
    assert int(adam.iterations) == 0
    step()
    for path, value in gx.state(layer).items():
        np.testing.assert_array_equal(value, after[path])


@pytest.mark.broad
def test_compiled_code_and_tapes_see_assignments():
    layer = dense(0)
    wanted = {"kernel": np.ones((3, 2), "float32"), "bias": np.zeros(2, "float32")}
    compiled = gx.jit(lambda factor: gx.assign_state(layer, {k: factor * v for k, v in wanted.items()}))
    compiled(np.float32(3))
    np.testing.assert_array_equal(layer.kernel, np.full((3, 2), 3))
    factor = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        gx.assign_state(layer, {k: factor * v for k, v in wanted.items()})
        total = ops.sum(layer(np.ones((1, 3), "float32")))
    assert float(tape.gradient(total, factor)) == 6
    gradient = gx.grad(
        lambda f: [gx.assign_state(layer, {k: f * v for k, v in wanted.items()}), ops.sum(layer.kernel)][1]
    )
    assert float(gradient(ops.asarray(1.0))) == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: {"kernel": s["kernel"]}, r"without \['bias'\]"),
        (lambda s: {**s, "biass": s["bias"]}, r"with \['biass'\]"),
        (lambda s: {**s, "bias": np.zeros(3, "float32")}, r"assign_state got float32\[3\] for 'bias'"),
        (lambda s: {**s, "bias": np.zeros(2, "int32")}, r"int32\[2\] for 'bias'"),
    ],
)
def test_all_or_none(change, words):
    layer, other = dense(0), dense(1)
    before = gx.state(layer)
    with pytest.raises(gx.errors.ArgumentError, match=words):
        gx.assign_state(layer, change(gx.state(other)))
    for path, value in gx.state(layer).items():
        np.testing.assert_array_equal(value, before[path])


def test_what_it_does_not_take():
    layer = dense(0)
    with pytest.raises(gx.errors.ArgumentTypeError, match="state of type list"):
        gx.assign_state(layer, [1.0])
    with pytest.raises(gx.errors.ArgumentTypeError, match=r"assign_state\(module, state\)"):
        gx.assign_state([layer], gx.state(layer))
    with pytest.raises(gx.errors.NotBuiltError):
        gx.assign_state(gx.layers.Dense(2), gx.state(layer))
    sgd = gx.optimizers.SGD(0.1, momentum=0.5)
    state = sgd.pure_state(layer)
    with pytest.raises(gx.errors.ArgumentError, match=r"optimizer.build\(variables\)"):
        gx.assign_state(gx.optimizers.SGD(0.1, momentum=0.5), state)


def test_paths_of_a_larger_model():
    """Found by an outsider: `v.path` begins at the model that holds the net."""
    holder = gx.Module()
    holder.net = net = dense(0)
    long = {v.path: v.value for v in net.variables}
    with pytest.raises(gx.errors.ArgumentError, match=r"module.named_variables\(\).*begins with 'net/'"):
        gx.functional_call(net, long, np.ones((1, 3), "float32"))
    short = {path: v.value for path, v in net.named_variables().items()}
    gx.functional_call(net, short, np.ones((1, 3), "float32"))


def test_set_state_is_refused_where_none_is_defined():
    layer = dense(0)
    for given in (gx.state(layer), "foo", 1):
        with pytest.raises(gx.errors.ArgumentError, match=r"assign_state\((dense|module), state\)"):
            layer.set_state(given)
    sgd = gx.optimizers.SGD(0.1)
    with pytest.raises(gx.errors.ArgumentError, match="pure_state"):
        sgd.set_state(sgd.pure_state(layer))
    layer.set_state(layer.get_state())  # None: there is none, and none to take back


class Forgets(gx.Module):
    def __init__(self) -> None:
        self.count = 1

    def get_state(self) -> int:
        return self.count


class Remembers(Forgets):
    def set_state(self, state: int) -> None:
        super().set_state(state)
        self.count = state


def test_a_checkpoint_with_a_state_that_nobody_takes_back(tmp_path):
    gx.Checkpoint(part=Forgets()).save(tmp_path / "a")
    with pytest.raises(gx.errors.ArgumentError, match="Forgets defines no set_state"):
        gx.Checkpoint(part=Forgets()).restore(tmp_path / "a")
    kept, after = Remembers(), Remembers()
    kept.count = 7
    gx.Checkpoint(part=kept).save(tmp_path / "b")
    gx.Checkpoint(part=after).restore(tmp_path / "b")
    assert after.count == 7
