"""Dicts and registered containers keep their order through every transform (X3)."""

import collections

import pytest

import graftax as gx
from graftax import ops


class Named(gx.Module):
    def __init__(self):
        super().__init__()
        self.gamma = gx.Variable(1.0)
        self.beta = gx.Variable(2.0)
        self.alpha = gx.Variable(3.0)

    def loss(self):
        return self.gamma**2 + self.beta * self.alpha


NAMES = ["gamma", "beta", "alpha"]


def test_x3_gradients_of_a_module_keep_their_order_when_compiled():
    module = Named()
    assert list(gx.grad(module.loss, wrt=module)()) == NAMES
    assert list(gx.jit(gx.grad(module.loss, wrt=module))()) == NAMES
    assert [float(g) for g in gx.jit(gx.grad(module.loss, wrt=module))().values()] == [2, 3, 2]


def rows(*names):
    return {name: ops.asarray([float(i), i + 1.0]) for i, name in enumerate(names)}


ORDERED = {
    "jit": lambda f: gx.jit(f)(rows("z", "b", "a")),
    "vectorized_map": lambda f: gx.vectorized_map(f, rows("z", "b", "a")),
    "map_fn": lambda f: gx.map_fn(f, rows("z", "b", "a")),
    "scan": lambda f: gx.scan(lambda c, x: (f(c), None), rows("z", "b", "a"), None, 2)[0],
    "scanned rows": lambda f: gx.scan(lambda c, x: (c, f(x)), 0.0, rows("z", "b", "a"))[1],
    "cond": lambda f: gx.jit(lambda p: gx.cond(p, f, lambda d: {k: d[k] for k in "abz"}, rows("z", "b", "a")))(True),
    "while_loop": lambda f: gx.while_loop(lambda d: d["a"][0] < 9, lambda d: {**f(d), "a": d["a"] + 9}, rows(*"zba")),
    "remat": lambda f: gx.remat(f)(rows("z", "b", "a")),
    "jvp": lambda f: gx.jvp(f, [rows("z", "b", "a")], [rows("z", "b", "a")])[1],
    "jacobian": lambda f: gx.jacobian(f, rows("z", "b", "a")),
    "aux": lambda f: gx.grad(lambda x: (x * 0.0, f(rows("z", "b", "a"))), has_aux=True)(1.0)[1],
    "py_function": lambda f: called_in_python(f),
    "run_eagerly": lambda f: eagerly(gx.jit(f), rows("z", "b", "a")),
}


def eagerly(fn, *args):
    with gx.run_eagerly():
        return fn(*args)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", ORDERED)
def test_x3_dicts_keep_their_order(name, compiled):
    def make():
        return ORDERED[name](lambda given: dict(given))

    found = gx.jit(make, allow_callback=True)() if compiled else make()
    assert list(found) == ["z", "b", "a"]


def called_in_python(fn):
    announced = {name: gx.ArraySpec((2,), "float32") for name in ("z", "b", "a")}
    return gx.py_function(lambda a: fn({"b": a, "z": a, "a": a}), [rows("a")["a"]], output=announced)


def test_x3_branches_may_give_their_keys_in_another_order():
    swap = gx.jit(lambda p, x: gx.cond(p, lambda: {"z": x, "a": 2 * x}, lambda: {"a": x, "z": -x}))
    assert {k: float(v) for k, v in swap(True, 1.0).items()} == {"z": 1, "a": 2}
    assert {k: float(v) for k, v in swap(False, 1.0).items()} == {"z": -1, "a": 1}


def test_x3_a_carry_may_come_back_with_its_keys_in_another_order():
    last, _ = gx.scan(lambda c, _: ({"a": c["a"] + 1, "z": c["z"] * 2}, None), {"z": 1.0, "a": 0.0}, None, 3)
    assert {k: float(v) for k, v in last.items()} == {"z": 8, "a": 3}


def test_x3_weights_of_a_value_may_have_their_keys_in_another_order():
    value = lambda x: {"z": x, "a": 10 * x}  # noqa: E731
    (gradient,) = gx.gradients_function(value)(2.0, dy={"a": 0.0, "z": 1.0})
    assert float(gradient) == 1


def test_x3_registered_containers_go_through():
    Pair = collections.namedtuple("Pair", "y x")
    given = Pair(collections.OrderedDict(z=1.0, a=2.0), collections.defaultdict(list, {"y": 3.0, "c": [4.0]}))
    found = gx.jit(lambda pair: pair)(given)
    assert type(found) is Pair
    assert list(found.y) == ["z", "a"]
    assert list(found.x) == ["y", "c"]
    assert found.x["new"] == []
