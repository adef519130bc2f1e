"""Plain values, arrays, methods and classes around a compiled function: where one changes, it is traced again."""

import importlib
import operator
import pathlib
import sys
from types import ModuleType

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from tests.transforms.compile.cells import Cells

F = "@gx.jit\ndef f(x):\n    return "
CLOSURE = """
def make(a):
    @gx.jit
    def f(x):
        return {body}

    def put(value):
        nonlocal a
        a = value

    return f, put, a

"""
NET = """
A = 1.0
class Base(gx.Model):
    def __init__(self):
        super().__init__()
        self.d = layers.Dense(1, kernel_initializer="ones")
    def call(self, x):
        return self.d(x) * A
class Net(Base):
    def more(self, x):
        return super().call(x)
class Other(Net):
    def call(self, x):
        return self.d(x) * 13
net = Net()
f = gx.jit(lambda x: net(ops.reshape(x, (1, 1))))
"""
PLAIN = """
class Plain:
    k = 1.0
    def __init__(self):
        self.a = 1.0
    def g(self, x):
        return x * self.a * self.k
class Twice(Plain):
    def g(self, x):
        return x * 2
one = Plain()
"""
DESCRIPTOR = """
class By:
    def __init__(self):
        self.v = 1.0
    def __get__(self, one, kind):
        return self.v
class Plain:
    d = By()
one = Plain()
"""
CASES = {
    "float": ("A = 0.1\n" + F + "x * A", "A = 0.2"),
    "equal numbers of other types": ("A = 1\n" + F + "ops.asarray(A).dtype.itemsize + x", "A = True", "A = 1.0"),
    "zeros of other signs": ("A = 0.0\n" + F + "ops.arctan2(A, -x)", "A = -0.0"),
    "bool": ("A = True\n" + F + "x if A else -x", "A = False"),
    "string": ("A = 'a'\n" + F + "{'a': x, 'b': 2 * x}[A]", "A = 'b'"),
    "None": ("A = None\n" + F + "x if A is None else A * x", "A = 3.0"),
    "array": (
        "A = np.ones(3, 'float32')\n" + F + "x * A",
        "A = np.zeros(3, 'float32')",
        "A[1] = 2",
        "A = ops.ones((4,))",
    ),
    "list": ("A = [1.0, 2.0]\n" + F + "x * A[0]", "A[0] = 4.0", "A = [5.0]", "A.insert(0, 6.0)"),
    "empty list": ("A = []\n" + F + "x * len(A)", "A.append(1)", "A.append(1)", "A.clear()"),
    "dict": ("A = {'a': {'b': 2.0}}\n" + F + "x * A['a']['b']", "A['a']['b'] = 3.0", "A['a'] = {'b': 4}"),
    "named tuple": ("A = collections.namedtuple('C', 'a')(1.0)\n" + F + "x * A.a", "A = A._replace(a=2.0)"),
    "dataclass": (
        "@dataclasses.dataclass\nclass C:\n    a: float = 1.0\nc = C()\n" + F + "x * c.a",
        "c.a = 2.0",
        "c = C(2.0)",
        "c.a = 3.0",
    ),
    "member": ("class E(enum.Enum):\n    a = 1\n    b = 2\nA = E.a\n" + F + "x * A.value", "A = E.b"),
    "op": ("act = ops.relu\n" + F + "act(-x)", "act = ops.tanh", "act = lambda x: x * 7"),
    "nested function": ("A = 1.0\ndef g(x): return x * A\n" + F + "g(x)", "A = 2.0"),
    "function in a dict": ("A = 1.0\nT = {'g': lambda x: x * A}\n" + F + "T['g'](x)", "A = 2.0", "T['g'] = abs"),
    "generator": ("A = [1.0]\ndef g():\n    yield from A\n" + F + "sum(x * a for a in g())", "A.append(3.0)"),
    "decorator": (
        "A = 2.0\ndef d(g):\n    @functools.wraps(g)\n    def w(x): return A * g(x)\n    return w\n"
        "@gx.jit\n@d\ndef f(x): return x",
        "A = 3.0",
    ),
    "attribute of a function": ("def g(x): return x * g.k\ng.k = 2.0\n" + F + "g(x)", "g.k = 3.0"),
    "class made inside": (
        "A = 1.0\nclass C:\n    def __init__(self): self.a = A\n    def g(self, x): return x * self.a\n"
        + F
        + "C().g(x)",
        "A = 2.0",
        "C.g = lambda self, x: x * 9",
    ),
    "nested class": ("class C:\n    class D:\n        a = 1.0\n" + F + "x * C.D.a", "C.D.a = 2.0"),
    "name that comes": (
        "@gx.jit\ndef f(x):\n    try:\n        return x * A\n    except NameError:\n        return x * 0",
        "A = 1.0",
        "del A",
    ),
    "name of Python": (F + "x * max(1, 2)", "max = lambda a, b: 7"),
    "counter": ("N = 0\n@gx.jit\ndef f(x):\n    global N\n    N = N + 1\n    return x * 0 * N", "N = 5"),
    "closure": (CLOSURE.format(body="x * a") + "f, put, a = make(0.1)", "put(0.3)", "put(np.ones(2))"),
    "list that is a default": ("A = [2.0]\n@gx.jit\ndef f(x, k=A): return x * k[0]", "A[0] = 3.0", "A[0] = True"),
    "array that is a keyword default": (
        "A = np.ones(2)\ndef g(x, *, k=A): return x * k\n" + F + "g(x)",
        "A[1] = 3.0",
    ),
    "default of a method": (
        "class C:\n    def g(self, x, k={'a': 2.0}): return x * k['a']\nf = gx.jit(C().g)",
        "C.g.__defaults__[0]['a'] = 5.0",
    ),
    "list in a partial": ("A = [2.0]\nf = gx.jit(functools.partial(lambda a, x: x * a[0], A))", "A[0] = 3.0"),
    "array in a partial": (
        "A = np.ones(2)\nf = gx.jit(functools.partial(lambda x, a: x * a, a=A))",
        "A[1] = 3.0",
        "f.__wrapped__.keywords['a'] = np.zeros(2)",
    ),
    "function in a closure": (CLOSURE.format(body="a(x)") + "f, put, a = make(ops.sin)", "put(ops.cos)"),
    "list in a closure": (CLOSURE.format(body="x * len(a)") + "f, put, a = make([])", "a.append(1)", "put([1, 1])"),
    "global of a net": (NET, "A = 2.0"),
    "method of a class": (NET, "Net.call = lambda self, x: x * 7", "Base.call = lambda self, x: x * 9", "del Net.call"),
    "method behind super": (
        NET + "Net.call = lambda self, x: self.more(x)",
        "Base.call = lambda self, x: x * 9",
        "Net.more = lambda self, x: x",
    ),
    "class of a net": (NET, "net.__class__ = Other", "net.__class__ = Net"),
    "plain object": (PLAIN + F + "one.g(x)", "one.a = 2.0", "Plain.k = 3.0", "Plain.g = lambda self, x: x * 50"),
    "class of a plain object": (PLAIN + F + "one.g(x)", "one.__class__ = Twice"),
    "property": (
        "A = 1.0\nclass C:\n    @property\n    def p(self): return A\nc = C()\n" + F + "x * c.p",
        "A = 2.0",
        "C.p = property(lambda self: 9.0)",
    ),
    "descriptor": (DESCRIPTOR + F + "x * one.d", "vars(Plain)['d'].v = 2.0", "Plain.d = 4.0"),
    "layers": (
        "many = [layers.Dense(1, kernel_initializer='ones')]\n@gx.jit\ndef f(x):\n    x = ops.reshape(x, (1, 1))\n"
        "    for one in many:\n        x = one(x)\n    return x",
        "many.append(layers.Rescaling(3.0))",
        "many[0] = lambda x: x * 4",
    ),
}
QUICK = ("float", "list", "closure", "plain object")


@pytest.mark.in_turn(4, broad=2)
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.broad) for name in CASES]
)
def test_compiled_code_is_as_eager_code_after_each_change(name, monkeypatch):
    begin, *changes = CASES[name]
    cells = Cells(monkeypatch)
    cells.run(begin)
    for change in ("", *changes):
        cells.run(change)
        first, second, plain = cells.results()
        assert (first, second) == pytest.approx((plain, plain), rel=1e-6), change


@pytest.mark.broad
@pytest.mark.parametrize("name", ["global of a net", "method of a class", "plain object", "class made inside"])
def test_code_in_a_namespace_without_a_name(name, monkeypatch):
    begin, *changes = CASES[name]
    cells = Cells(monkeypatch, name=None)
    cells.run(begin)
    for change in ("", *changes):
        cells.run(change)
        first, second, plain = cells.results()
        assert (first, second) == (plain, plain), change


def test_nothing_is_traced_again_where_values_stay(monkeypatch):
    cells = Cells(monkeypatch)
    cells.run("A, B, C = 0.1, {'a': [1.0]}, np.ones(3)\n" + F + "x * A * B['a'][0] * C")
    cells.results()
    cells.run("A, new, B['a'], C = 0.3 - 0.2, 1, [1.0], np.ones(3)\nA = 0.1")
    cells.results()
    assert cells.known["f"].trace_count == 1


def test_a_default_that_the_function_only_adds_to_does_not_count(monkeypatch):
    cells = Cells(monkeypatch)
    cells.run("@gx.jit\ndef f(x, calls=[], scale=[2.0]):\n    calls.append(1)\n    return x * scale[0]")
    cells.results()
    assert cells.known["f"].trace_count == 1


@pytest.mark.broad
def test_the_log_tells_which_value_changed_and_what_helps(monkeypatch, caplog):
    caplog.set_level("INFO", logger="graftax")
    cells = Cells(monkeypatch)
    cells.run("A = 0\n" + F + "x * A")
    for _ in range(6):
        cells.results()
        cells.run("A += 1")
    assert "f reads A: 0 -> 1" in caplog.text
    assert "A = graftax.Variable(4, trainable=False), and A.assign(value) to change it" in caplog.text


def test_a_counter_is_refused_where_no_more_traces_are_allowed(monkeypatch):
    cells = Cells(monkeypatch)
    cells.run("N = 0\n@gx.jit(max_retraces=1)\ndef f(x):\n    global N\n    N = N + 1\n    return x")
    f = cells.known["f"]
    f(1.0), f(1.0)
    with pytest.raises(gx.errors.RetraceError, match="in the function itself"):
        f(1.0)


# from JAX 0.11 on, operators of traced arrays find what JAX has once made of such an array, also in plain jax.jit
OF_OLD = pytest.mark.skipif(tuple(map(int, jax.__version__.split(".")[:2])) > (0, 10), reason="JAX keeps a copy")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("dtype", "times"),
    [
        ("float32", operator.mul),
        ("float32", ops.multiply),
        ("float64", ops.multiply),
        pytest.param("float64", operator.mul, marks=OF_OLD),
        pytest.param("int64", operator.mul, marks=OF_OLD),
    ],
    ids=["float32", "float32 by an op", "float64 by an op", "float64", "int64"],
)
def test_an_array_that_changes_in_place_is_computed_with_as_it_is_then(dtype, times):
    held = np.zeros(3, dtype)
    f = gx.jit(lambda x: times(x, held))
    found = [np.asarray(f(2.0)).tolist()]
    held[1] = 5
    found.append(np.asarray(f(2.0)).tolist())
    assert found == [[0.0, 0.0, 0.0], [0.0, 10.0, 0.0]]


# --- files ----------------------------------------------------------------------------------------------------------

FILE = "alpha = {alpha}\nclass S:\n    k = 1.0\ndef g(x): return x * alpha * {factor}\ndef h(x): return g(x)\n"


@pytest.fixture
def helpers(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "helpers_of_values.py").write_text(FILE.format(alpha=1.0, factor=1.0))
    importlib.invalidate_caches()
    yield importlib.import_module("helpers_of_values")
    del sys.modules["helpers_of_values"]


@pytest.mark.broad
@pytest.mark.parametrize("body", ["helpers.h(x)", "helpers.alpha * x", "h(x)", "x * helpers.S.k", "(lambda: h(x))()"])
def test_a_file_whose_names_change_or_that_is_loaded_again(helpers, body, monkeypatch):
    cells = Cells(monkeypatch)
    cells.run(f"import helpers_of_values as helpers\nfrom helpers_of_values import h\n{F}{body}")
    changes = [
        lambda: setattr(helpers, "alpha", 3.0),
        lambda: setattr(helpers.S, "k", 4.0),
        lambda: setattr(helpers, "g", lambda x: x * 20),
        lambda: pathlib.Path(helpers.__file__).write_text(FILE.format(alpha=5.0, factor=7.0)),
        lambda: importlib.reload(helpers),
    ]
    for change in changes:
        change()
        first, second, plain = cells.results()
        assert (first, second) == (plain, plain)


def test_code_that_a_notebook_exchanges_when_a_file_changes(helpers, monkeypatch):
    """As IPython's autoreload does, which is loaded there."""
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    h = helpers.h
    f = gx.jit(lambda x: h(x))
    found = [float(f(2.0))]
    helpers.g.__code__ = (lambda x: x * 30.0).__code__
    found.append(float(f(2.0)))
    assert (found, f.trace_count) == ([2.0, 60.0], 2)
