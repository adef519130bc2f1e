"""Tracebacks at the doors: the user's frames and the message; everything with GRAFTAX_TRACEBACK=full."""

import inspect
import os
import re
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import GraftaxError
from graftax.core.short_traceback import door, shorten

HEAD = """
import numpy as np
import jax.numpy as jnp
import graftax as gx
from graftax import layers, ops

X, Y = np.ones((8, 2), "float32"), np.ones((8, 1), "float32")

class Block(gx.Layer):
    def __init__(self, fail):
        super().__init__()
        self.dense, self.fail = layers.Dense(4), fail

    def call(self, x):
        h = self.dense(x)
        return self.fail(h)

def net(fail, **options):
    model = gx.Sequential([layers.Dense(3), gx.Sequential([Block(fail)]), layers.Dense(1)])
    model.compile("sgd", "mse", **options)
    return model

def wrong_shape(h):
    return ops.matmul(h, h)

def wrong_shape_in_jax(h):
    return jnp.matmul(h, h)

def own(h):
    raise KeyError("mine")
"""

PROGRAMS = {
    "fit": "net(wrong_shape).fit(X, Y, verbose=0)",
    "fit of jax": "net(wrong_shape_in_jax).fit(X, Y, verbose=0)",
    "fit, eagerly": "net(wrong_shape, run_eagerly=True).fit(X, Y, verbose=0)",
    "fit with checks": "net(wrong_shape).fit(X, Y, check_nans=True, verbose=0)",
    "fit, many": "net(wrong_shape, steps_per_execution=2).fit(X, Y, batch_size=2, verbose=0)",
    "own": "net(own).fit(X, Y, verbose=0)",
    "evaluate": "net(wrong_shape).evaluate(X, Y, verbose=0)",
    "predict": "net(wrong_shape).predict(X, verbose=0)",
    "train_on_batch": "net(wrong_shape).train_on_batch(X, Y)",
    "call": "net(wrong_shape)(X)",
    "build": "net(wrong_shape).build((None, 2))",
    "build_for": "net(wrong_shape).build_for(X)",
    "output shape": "net(wrong_shape).compute_output_shape((None, 2))",
    "jit": "gx.jit(wrong_shape)(X)",
    "jit of jax": "gx.jit(wrong_shape_in_jax)(X)",
    "jit of a layer": "gx.jit(net(wrong_shape))(X)",
    "grad": "gx.grad(lambda x: ops.sum(wrong_shape(x)))(X)",
    "value_and_grad": "gx.value_and_grad(lambda x: ops.sum(wrong_shape_in_jax(x)))(X)",
    "jvp": "gx.jvp(wrong_shape, [X], [X])",
    "jacobian": "gx.jacobian(wrong_shape, X)",
    "hessian": "gx.hessian(lambda x: ops.sum(wrong_shape(x)), X)",
    "vectorized_map": "gx.vectorized_map(lambda x: ops.matmul(x, x), X[:, :, None])",
    "scan": "gx.scan(lambda c, x: (c, own(x)), 0.0, X)",
    "cond": "gx.cond(True, own, own, X)",
    "remat": "gx.remat(own)(X)",
    "functional_call": "m = Block(lambda h: h); m(X); m.fail = own; gx.functional_call(m, gx.state(m), X)",
    "x and y": "net(own).fit(X, Y[:3], verbose=0)",
    "a keyword": "net(own).fit(X, Y, epoch=3)",
    "compile": "net(own).compile('sgd', 'msee')",
}


def run(tmp_path, line, *arguments, **environment):
    program = tmp_path / "train.py"
    program.write_text(HEAD + line + "\n")
    kept = {name: value for name, value in os.environ.items() if name != "GRAFTAX_TRACEBACK"}
    found = subprocess.run(
        [sys.executable, *arguments, str(program)],
        capture_output=True,
        text=True,
        env={**kept, "PYTHONPATH": str(Path(gx.__file__).parents[1]), **environment},
        cwd=tmp_path,
        input="bt\nq\n",
        timeout=300,
        check=False,
    )
    return found.stdout + found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a6_a_script_shows_its_own_frames_and_the_message(tmp_path, name):
    check(run(tmp_path, PROGRAMS[name]))


def check(text, lines=25):
    """Only frames of the program, no notice of anybody else, and the message at the end."""
    frames = re.findall(r'  File "(.*?)", line', text)
    assert frames
    assert {Path(file).name for file in frames} == {"train.py"}
    assert "JAX has removed" not in text
    assert len(text.splitlines()) <= lines, text
    assert text.startswith("Traceback")


NEXT = "=== the next script ===\n"

# Two scripts in one process, which takes seconds to start: what Python shows of the first one, then the second one.
BOTH = f"""
import sys

try:
    {PROGRAMS["fit of jax"]}
except Exception:
    sys.excepthook(*sys.exc_info())
sys.stderr.write({NEXT!r})
{PROGRAMS["fit"]}
"""


@pytest.fixture(scope="module", params=["short", "full"])
def shown(request, tmp_path_factory):
    """Whether all frames were asked for, and what two scripts show."""
    full = {"GRAFTAX_TRACEBACK": "full"} if request.param == "full" else {}
    of_jax, of_ours = run(tmp_path_factory.mktemp("scripts"), BOTH, **full).split(NEXT)
    return bool(full), {"fit": of_ours, "fit of jax": of_jax}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", ["fit", "fit of jax"])
def test_a6_the_fit_case_is_short_and_the_switch_shows_all(shown, name):
    full, texts = shown
    if full:
        assert texts[name].count("  File ") > 20
        assert "layer.py" in texts[name]
    else:
        check(texts[name], 25 if name == "fit" else 40)


def caught(function, *arguments, **options):
    with pytest.raises(Exception) as info:  # noqa: PT011 - what it is, the caller looks at
        function(*arguments, **options)
    return info.value


def files(error):
    return {Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)}


HERE = Path(__file__).name
X = np.ones((8, 2), "float32")


def names(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:]


def test_a6_the_frames_that_stay_are_the_right_ones():
    def inner(x):
        raise ValueError("mine")

    def outer(x):
        return gx.grad(lambda z: inner(z))(x)

    error = caught(gx.jit(outer), X)
    assert files(error) == {HERE}
    assert names(error) == ["test_a6_the_frames_that_stay_are_the_right_ones", "outer", "<lambda>", "inner"] or names(
        error
    ) == ["outer", "<lambda>", "inner"]
    assert traceback.extract_tb(error.__traceback__)[-1].line == 'raise ValueError("mine")'


def test_a6_causes_keep_their_message_and_lose_the_frames_of_libraries():
    def fails(x):
        try:
            return {}["key"]
        except KeyError as error:
            raise ValueError("mine") from error

    error = caught(gx.jit(fails), X)
    assert isinstance(error.__cause__, KeyError)
    assert files(error.__cause__) == {HERE}
    told = caught(gx.jit(lambda x: 1 / 0 if x.sum() > 0 else x), X)
    assert isinstance(told, GraftaxError)
    assert told.__cause__ is None
    assert told.__suppress_context__


@pytest.mark.parametrize("switch", ["short", "full"])
def test_what_is_told_in_our_words_is_told_once(monkeypatch, switch):
    def wrong(y_true, y_pred):
        return y_pred + np.ones((7, 9), "float32")

    monkeypatch.setenv("GRAFTAX_TRACEBACK", switch)
    model = gx.Sequential([gx.layers.Dense(2)])
    model.compile("sgd", wrong)
    error = caught(lambda: model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0))
    assert isinstance(error, gx.errors.ShapeError)
    assert HERE in files(error)  # the line of the loss is among its frames
    assert "wrong" in [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert (error.__cause__ is None) == (switch == "short")
    assert "direct cause" not in "".join(traceback.format_exception(error)) or switch == "full"
    own = gx.layers.Lambda(lambda x: x + np.ones((7, 9), "float32"))
    other = caught(own, np.ones((4, 3), "float32"))
    assert ("direct cause" in "".join(traceback.format_exception(other))) == (switch == "full")


def test_a6_what_breaks_inside_of_graftax_keeps_its_innermost_frame_and_says_how_to_see_all():
    scope = {"__name__": "graftax.somewhere"}
    exec(compile("def slip():\n    return 1 / 0\n", "somewhere.py", "exec"), scope)
    error = caught(door(scope["slip"]))
    assert "somewhere.py" in files(error)
    assert any("GRAFTAX_TRACEBACK=full" in note for note in error.__notes__)


def test_a6_in_threads_and_where_a_function_catches():
    found = []

    def work():
        try:
            layers.Dense(2)("text")
        except Exception as error:  # noqa: BLE001
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert files(found[0]) == {HERE}

    class Careful(gx.Layer):
        def call(self, x):
            try:
                return ops.matmul(x, x)
            except ValueError:
                return x

    assert Careful()(X).shape == (8, 2)


@pytest.mark.broad
def test_a6_the_debugger_stops_at_the_line_of_the_user(tmp_path):
    text = run(tmp_path, PROGRAMS["fit"], "-m", "pdb", "-c", "continue")
    assert "wrong_shape" in text
    assert re.search(r"train\.py\(\d+\)wrong_shape\(\)", text)
    assert "layers/layer.py" not in text


def test_a6_an_error_without_frames_and_a_circle_of_causes():
    error = ValueError("a")
    shorten(error)
    assert error.__traceback__ is None
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    shorten(first)


def test_a6_a_door_keeps_what_a_function_says_of_itself():
    assert gx.Model.fit.__doc__.startswith("Train")
    assert "epochs" in inspect.signature(gx.Model.fit).parameters
    assert list(inspect.signature(gx.vectorized_map).parameters) == ["fn", "elems", "chunk_size", "in_axes", "out_axes"]
