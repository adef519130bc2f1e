"""Values that still wait for layers, when the program is saved again or copied: none is lost, and none comes twice."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.variables.graph.module import Module

X = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)


class Pair(Module):
    """A generator and a discriminator, of which the second is often not needed."""

    def __init__(self):
        self.g, self.d = layers.Dense(3), layers.Dense(1)

    def both(self):
        return np.asarray(self.d(self.g(X)))


class Program:
    def __init__(self, seed):
        gx.set_random_seed(seed)
        self.pair, self.optimizer = Pair(), gx.optimizers.Adam(0.1)
        self.checkpoint = gx.Checkpoint(pair=self.pair, optimizer=self.optimizer)

    def train(self):
        def loss():
            return ops.mean(self.pair.d(self.pair.g(X)) ** 2)

        return [float(self.optimizer.minimize(loss, self.pair)) for _ in range(3)]


@pytest.fixture
def trained(tmp_path):
    program = Program(0)
    program.pair.both()
    program.train()
    program.checkpoint.save(tmp_path / "first")
    return program


def resumed(path, seed=1):
    program = Program(seed)
    program.checkpoint.restore(path)
    return program


WAITING = {
    "pair/d/kernel",
    "pair/d/bias",
    "optimizer/slots(momentum)/pair/d/kernel",
    "optimizer/slots(velocity)/pair/d/kernel",
    "optimizer/slots(momentum)/pair/d/bias",
    "optimizer/slots(velocity)/pair/d/bias",
}


@pytest.mark.broad
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_save_passes_on_what_waits_with_its_slots(trained, tmp_path, overwrite):
    half = resumed(tmp_path / "first")
    half.pair.g(X)
    path = tmp_path / ("first" if overwrite else "second")
    report = half.checkpoint.save(path, overwrite=overwrite)
    assert (set(report.waiting), report.left_out) == (WAITING, ())
    assert "passed on pair/d/kernel: it still waits" in str(report)
    expected = trained.train()
    whole = resumed(path, seed=2)
    whole.pair.both()
    half.pair.both()
    assert whole.train() == expected
    assert half.train() == expected, "what was passed on still waits here, too"


@pytest.mark.broad
def test_a_save_between_restore_and_the_first_layer_is_whole(trained, tmp_path):
    resumed(tmp_path / "first").checkpoint.save(tmp_path / "second")
    whole = resumed(tmp_path / "second", seed=2)
    whole.pair.both()
    assert whole.train() == trained.train()
    assert whole.checkpoint.save(tmp_path / "third").waiting == ()


@pytest.mark.broad
def test_a_part_that_waits_can_be_saved_alone_and_says_so(trained, tmp_path):
    half = resumed(tmp_path / "first")
    half.pair.g(X)
    report = half.checkpoint.save(tmp_path / "part", only="pair/d/**")
    assert report.waiting == ("pair/d/kernel", "pair/d/bias")
    other = Pair()
    gx.Checkpoint(pair=other).restore(tmp_path / "part", only="pair/d/**", mode="cover")
    other.g(X)
    other.d(X)
    np.testing.assert_array_equal(other.d.kernel, trained.pair.d.kernel)


def test_what_waits_is_saved_under_the_names_of_the_new_checkpoint(trained, tmp_path):
    half = resumed(tmp_path / "first")
    outer = gx.Checkpoint(nets={"gan": half.pair})
    assert set(outer.save(tmp_path / "second").waiting) == {
        f"nets/gan/{part}/{name}" for part in "gd" for name in ("kernel", "bias")
    }
    other = Pair()
    gx.Checkpoint(nets={"gan": other}).restore(tmp_path / "second")
    np.testing.assert_array_equal(other.both(), trained.pair.both())


@pytest.mark.broad
def test_of_two_restores_the_later_one_is_passed_on_and_the_rest_of_the_earlier(tmp_path):
    first, second = Pair(), Pair()
    first.both(), second.both()
    for name, pair in (("first", first), ("second", second)):
        gx.Checkpoint(pair=pair).save(tmp_path / name)
    half = Pair()
    gx.Checkpoint(pair=half).restore(tmp_path / "first")
    gx.Checkpoint(pair=half).restore(tmp_path / "second", only="pair/d/**")
    gx.Checkpoint(pair=half).save(tmp_path / "third")
    for built in (Pair(), copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        if built is not half:
            gx.Checkpoint(pair=built).restore(tmp_path / "third")
        built.both()
        np.testing.assert_array_equal(built.g.kernel, first.g.kernel)
        np.testing.assert_array_equal(built.d.kernel, second.d.kernel)


def test_shared_variables_that_wait_stay_shared(tmp_path, toys):
    v = toys.number(3)
    gx.Checkpoint(m=toys.Box(a=v, b=v, c=[v])).save(tmp_path / "first")
    late = toys.Box(a=None, b=None, c=[])
    gx.Checkpoint(m=late).restore(tmp_path / "first")
    assert len(gx.Checkpoint(m=late).save(tmp_path / "second").waiting) == 1
    late.a = toys.number(0)
    late.a.assign(7.0)
    assert gx.Checkpoint(m=late).save(tmp_path / "third").waiting == ()
    for name, expected in (("second", 3), ("third", 7)):
        w = toys.number(0)
        box = toys.Box(a=w, b=w, c=[w])
        gx.Checkpoint(m=box).restore(tmp_path / name).assert_consumed()
        assert float(w) == expected


def test_containers_that_wait_are_passed_on(tmp_path, toys):
    inner = toys.Box(table={"a": toys.number(1), 7: [toys.number(2), toys.number(3)]})
    gx.Checkpoint(m=toys.Box(inner=inner, items=[toys.number(4), toys.number(5)])).save(tmp_path / "first")
    late = toys.Box(inner=None, items=[])
    gx.Checkpoint(m=late).restore(tmp_path / "first")
    late.items.append(toys.number(0))
    gx.Checkpoint(m=late).save(tmp_path / "second")
    full = toys.Box(
        inner=toys.Box(table={"a": toys.number(0), 7: [toys.number(0), toys.number(0)]}),
        items=[toys.number(0), toys.number(0)],
    )
    gx.Checkpoint(m=full).restore(tmp_path / "second").assert_consumed()
    assert [float(v) for v in full.variables] == [1, 2, 3, 4, 5]


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}


@pytest.mark.broad
@pytest.mark.parametrize("how", COPIES)
def test_copies_carry_what_waits_and_the_original_keeps_it(trained, tmp_path, how):
    half = resumed(tmp_path / "first")
    half.pair.g(X)
    twin = COPIES[how](half.pair)
    gx.set_random_seed(9)
    np.testing.assert_array_equal(twin.both(), trained.pair.both())
    np.testing.assert_array_equal(half.pair.both(), trained.pair.both())


@pytest.mark.broad
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("optimizer_first", [False, True])
def test_slots_that_wait_go_with_a_copy_of_their_optimizer(trained, tmp_path, how, optimizer_first):
    half = resumed(tmp_path / "first")
    half.pair.g(X)
    if optimizer_first:
        half.optimizer, half.pair = COPIES[how]((half.optimizer, half.pair))
    else:
        half.pair, half.optimizer = COPIES[how]((half.pair, half.optimizer))
    gx.set_random_seed(9)
    half.pair.both()
    assert half.train() == trained.train()


@pytest.mark.broad
@pytest.mark.parametrize("how", COPIES)
def test_slots_that_wait_are_not_made_for_a_copy_of_the_model_alone(trained, tmp_path, how):
    half = resumed(tmp_path / "first")
    twin = COPIES[how](half.pair)
    twin.both()
    assert half.optimizer.slots() == []
    half.pair.both()
    assert half.train() == trained.train()


@pytest.mark.broad
def test_a_copy_of_a_copy_and_a_shallow_one(trained, tmp_path):
    half = resumed(tmp_path / "first")
    twin = copy.deepcopy(copy.deepcopy(half.pair))
    alone = copy.copy(half.pair.d)
    for layer in (alone, twin.d, half.pair.d):
        layer(X)
        np.testing.assert_array_equal(layer.kernel, trained.pair.d.kernel)


@pytest.mark.broad
def test_a_copy_without_anything_that_waits_carries_nothing(trained, tmp_path):
    half = resumed(tmp_path / "first")
    half.pair.both()
    twin = copy.deepcopy(half.pair)
    assert twin._gx_pending is None
    assert "_gx_pending" not in half.pair.__getstate__()


def adapted():
    with gx.variable_creator_scope(gx.reparam.LoRA(rank=2, name="poet"), where="**/kernel"):
        return gx.Sequential([layers.Dense(4), layers.Dense(2)])


@pytest.mark.broad
def test_parts_of_expressions_that_wait_are_passed_on_and_selected(tmp_path):
    model = adapted()
    model(X)
    for v in model.trainable_variables:
        v.assign(np.full(v.shape, 0.5, v.dtype))
    wanted = np.asarray(model(X))
    gx.Checkpoint(model=model).save(tmp_path / "first")
    half = adapted()
    gx.Checkpoint(model=half).restore(tmp_path / "first")
    gx.Checkpoint(model=half).save(tmp_path / "second")
    report = gx.Checkpoint(model=half).save(tmp_path / "poet", only=gx.is_adapter)
    assert len(report.waiting) == 4
    assert all("/kernel/" in path and "base" not in path for path in report.waiting)
    whole, built = adapted(), adapted()
    gx.Checkpoint(model=whole).restore(tmp_path / "second")
    built(X)
    gx.Checkpoint(model=built).restore(tmp_path / "second")
    for each in (half, whole, built):
        np.testing.assert_array_equal(each(X), wanted)


@pytest.mark.broad
def test_a_plain_weight_that_waits_for_an_expression_is_passed_on_as_it_was_saved(tmp_path):
    plain = gx.Sequential([layers.Dense(4), layers.Dense(2)])
    wanted = np.asarray(plain(X))
    gx.Checkpoint(model=plain).save(tmp_path / "first")
    half = adapted()
    gx.Checkpoint(model=half).restore(tmp_path / "first")
    gx.Checkpoint(model=half).save(tmp_path / "second")
    again = gx.Sequential([layers.Dense(4), layers.Dense(2)])
    again(X)
    gx.Checkpoint(model=again).restore(tmp_path / "second").assert_consumed()
    np.testing.assert_array_equal(again(X), wanted)
    np.testing.assert_array_equal(copy.deepcopy(half)(X), wanted)


class Counting(Pair):
    """Modules with Python state of their own: the pair, and the optimizer that keeps the slots."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def get_state(self):
        return {"count": self.count}

    def set_state(self, state):
        self.count = state["count"]


class CountingAdam(gx.optimizers.Adam):
    def get_state(self):
        return {"kind": "counting"}

    def set_state(self, state):
        assert state == {"kind": "counting"}


def test_what_waits_is_saved_below_modules_with_python_state(tmp_path):
    def program():
        pair, optimizer = Counting(), CountingAdam(0.1)
        return pair, optimizer, gx.Checkpoint(pair=pair, optimizer=optimizer)

    pair, optimizer, checkpoint = program()
    expected = pair.both()
    pair.count = 3
    optimizer.minimize(lambda: ops.mean(pair.d(pair.g(X)) ** 2), pair)
    expected = pair.both()
    checkpoint.save(tmp_path / "first")
    _, _, checkpoint = program()
    checkpoint.restore(tmp_path / "first")
    assert set(checkpoint.save(tmp_path / "second").waiting) >= WAITING
    pair, optimizer, checkpoint = program()
    checkpoint.restore(tmp_path / "second")
    np.testing.assert_array_equal(pair.both(), expected)
    assert pair.count == 3
