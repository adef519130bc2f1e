"""Functions and classes that a compiled function names: where a name stands for another one, it is traced again."""

import sys
from types import ModuleType

import numpy as np
import pytest

import graftax as gx
from graftax.transforms.compile.jit import jit
from graftax.transforms.compile.reach import find_modules

BEGIN = """
import functools
import numpy as np
import graftax as gx
from graftax import layers, ops

def scale(x):
    return x * 2.0

def outer(x):
    return scale(x) + 1.0

half = functools.partial(lambda by, x: x / by, 2.0)

class Rule:
    def apply(self, x):
        return x * 2.0

@gx.jit
def inner(x):
    return scale(x)

class Net(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return scale(self.dense(x))
"""


class Notebook:
    """Cells that run one after another, in one file that is none."""

    def __init__(self) -> None:
        self.module = ModuleType("a_notebook")
        self.run(BEGIN)

    def run(self, cell: str) -> None:
        exec(compile(cell, "<cell>", "exec"), vars(self.module))

    def __getattr__(self, name: str):
        return vars(self.module)[name]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook()
    monkeypatch.setitem(sys.modules, "a_notebook", made.module)
    return made


AGAIN = "def scale(x):\n    return x * 3.0"


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("body", "cell", "expected"),
    [
        ("scale(x)", AGAIN, (2.0, 3.0)),
        ("outer(x)", AGAIN, (3.0, 4.0)),
        ("inner(x)", AGAIN, (2.0, 3.0)),
        ("inner(x)", "@gx.jit\ndef inner(x):\n    return x * 4.0", (2.0, 4.0)),
        ("Rule().apply(x)", "class Rule:\n    def apply(self, x):\n        return x * 5.0", (2.0, 5.0)),
        ("half(x)", "half = functools.partial(lambda by, x: x / by, 4.0)", (0.5, 0.25)),
        ("scale(x)", "scale = gx.jit(lambda x: x * 6.0)", (2.0, 6.0)),
    ],
    ids=["function", "through a function", "through a compiled one", "compiled", "class", "partial", "made compiled"],
)
def test_a_name_that_is_defined_again(notebook, body, cell, expected):
    notebook.run(f"@gx.jit\ndef step(x):\n    return {body}")
    step = notebook.step
    before = [float(step(1.0)), float(step(1.0))]
    notebook.run(cell)
    after = [float(step(1.0)), float(step(1.0))]
    assert (before, after, step.trace_count) == ([expected[0]] * 2, [expected[1]] * 2, 2)


def test_the_reason_is_told(notebook, caplog):
    caplog.set_level("INFO", logger="graftax")
    notebook.run("@gx.jit\ndef step(x):\n    return scale(x)")
    notebook.step(1.0)
    notebook.run(AGAIN)
    notebook.step(1.0)
    assert "step.scale() changed" in caplog.text


def test_a_name_that_is_gone_raises_as_in_plain_python(notebook):
    notebook.run("@gx.jit\ndef step(x):\n    return scale(x)")
    notebook.step(1.0)
    del notebook.module.scale
    with pytest.raises(NameError, match="scale"):
        notebook.step(1.0)


def test_a_name_that_stands_for_an_array_now(notebook):
    notebook.run("scale_ = scale\n@gx.jit\ndef step(x):\n    return scale_(x) if callable(scale_) else scale_[0] * x")
    assert float(notebook.step(1.0)) == 2.0
    notebook.module.scale_ = np.asarray([7.0, 8.0])
    assert float(notebook.step(1.0)) == 7.0


def test_nothing_is_traced_again_where_names_stay(notebook):
    notebook.run("@gx.jit\ndef step(x):\n    return outer(x)")
    notebook.step(1.0)
    notebook.run("other = 1\ndef another(x):\n    return x")
    gx.Variable(1.0, trainable=False)
    notebook.step(1.0)
    assert notebook.step.trace_count == 1


def test_what_libraries_define_is_left_out():
    @jit
    def step(x):
        return np.square(x) if isinstance(x, np.ndarray) else x

    _, around = find_modules([step])
    assert not around.named.get(id(vars(np)))


def beside(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("a_file_beside")
    exec("def inner(x):\n    return x * 2.0\n\ndef scale(x):\n    return inner(x)", vars(module))
    monkeypatch.setitem(sys.modules, "a_file_beside", module)
    return module


def test_functions_of_another_file_that_is_named(notebook, monkeypatch):
    notebook.module.helpers = module = beside(monkeypatch)
    notebook.run("@gx.jit\ndef step(x):\n    return helpers.scale(x)")
    assert float(notebook.step(1.0)) == 2.0
    module.scale = lambda x: x * 4.0
    assert float(notebook.step(1.0)) == 4.0


def test_what_to_do_where_another_file_alone_names_a_function(notebook, monkeypatch):
    notebook.module.helpers = module = beside(monkeypatch)
    cell = "@gx.jit\ndef step(x):\n    return helpers.scale(x)"
    notebook.run(cell)
    assert float(notebook.step(1.0)) == 2.0
    module.inner = lambda x: x * 4.0
    notebook.run(cell)
    assert float(notebook.step(1.0)) == 4.0


@pytest.mark.broad
def test_to_compile_a_model_again_follows_another_file(notebook, monkeypatch):
    notebook.module.helpers = module = beside(monkeypatch)
    notebook.run("model = gx.Sequential([layers.Lambda(lambda x: helpers.scale(x))])\nx = np.ones((2, 1), 'float32')")
    model, x = notebook.model, notebook.x
    model.compile(loss="mse")
    assert [model.predict(x, verbose=0)[0, 0], model.evaluate(x, x, verbose=0)["loss"]] == [2.0, 1.0]
    module.inner = lambda x: x * 4.0
    model.compile(loss="mse")
    assert [model.predict(x, verbose=0)[0, 0], model.evaluate(x, x, verbose=0)["loss"]] == [4.0, 9.0]


@pytest.mark.broad
def test_predict_evaluate_and_fit_of_a_model(notebook):
    x = np.ones((4, 2), "float32")
    model = notebook.Net()
    model.compile(gx.optimizers.SGD(0.0), "mse")

    def numbers():
        loss = model.fit(x, x[:, :1], verbose=0).history["loss"][0]
        return [float(model.predict(x, verbose=0)[0, 0]), model.evaluate(x, x[:, :1], verbose=0)["loss"], loss]

    assert numbers() == [4.0, 9.0, 9.0]
    notebook.run(AGAIN)
    assert numbers() == [6.0, 25.0, 25.0]


@pytest.mark.broad
def test_what_a_loss_and_a_layer_of_a_function_name(notebook):
    notebook.run(
        "model = gx.Sequential([layers.Lambda(lambda x: scale(x))])\n"
        "model.compile(loss=lambda y, p: ops.mean(scale(y - p)))\n"
        "x = np.ones((2, 1), 'float32')\n"
    )
    model, x = notebook.model, notebook.x
    assert [model.predict(x, verbose=0)[0, 0], model.evaluate(x, x, verbose=0)["loss"]] == [2.0, -2.0]
    notebook.run(AGAIN)
    assert [model.predict(x, verbose=0)[0, 0], model.evaluate(x, x, verbose=0)["loss"]] == [3.0, -6.0]
