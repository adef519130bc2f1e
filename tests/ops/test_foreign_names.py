"""Names from elsewhere, of ops and of their arguments: taken, or answered with what to write; docs of ops: A4, A11."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError, MissingAttributeError
from graftax.ops import foreign_names
from graftax.ops.signatures import parameters, required_names
from graftax.ops.table import ALIASES, OPS
from graftax.variables import array_names

PACKAGE = Path(gx.__file__).parent
THREE = np.array([1.0, 2.0, 3.0], "float32")


def told(kind: type[Exception], function: Any) -> Any:
    with pytest.raises(kind) as caught:
        function()
    assert caught.value.reason
    assert caught.value.instead
    return caught.value


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("concat", "ops.concatenate"),
        ("cat", "ops.concatenate"),
        ("reduce_sum", "ops.sum"),
        ("reduce_mean", "ops.mean"),
        ("astype", 'ops.cast(x, "float32")'),
        ("unsqueeze", "ops.expand_dims(x, axis)"),
        ("view", "ops.reshape(x, shape)"),
        ("permute", "ops.transpose(x, (0, 2, 1))"),
        ("hardtanh", "ops.hard_tanh"),
        ("erf_inv", "ops.erfinv"),
        ("softmx", "ops.softmax"),
        ("Matmul", "ops.matmul"),
        ("masked_fill", "ops.where(mask, value, x)"),
        ("xyzzy", "dir(graftax.ops)"),
    ],
)
def test_a4_a_function_that_there_is_not(name: str, instead: str) -> None:
    error = told(MissingAttributeError, lambda: getattr(ops, name))
    assert instead in error.instead
    assert isinstance(error, AttributeError)
    assert not hasattr(ops, "__wrapped__")


LIBRARIES = ["numpy.linalg", "jax.scipy.linalg", "scipy.linalg", "torch.linalg", "jax.scipy.special"]
SAME = {
    "cholesky_ex": "ops.cholesky", "lu_factor_ex": "ops.lu_factor", "solve_ex": "ops.solve", "inv_ex": "ops.inv",
}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_function_of_elsewhere_is_not_answered_with_one_that_is_only_spelled_alike(library: str) -> None:
    module = pytest.importorskip(library)
    names = [name for name in dir(module) if name[0] != "_" and inspect.isroutine(getattr(module, name))]
    assert names
    for name in {*names} - {*dir(ops)}:
        if _answered(name):
            continue
        instead = told(MissingAttributeError, lambda name=name: getattr(ops, name)).instead
        assert instead == SAME.get(name, instead if instead.startswith("dir(") else None), f"{name}: {instead}"


def test_words_for_norms_of_elsewhere_are_told_what_they_mean() -> None:
    x = np.float32([[1, 2], [3, 4]])
    assert "ops.svd(x" in told(ArgumentTypeError, lambda: ops.norm(x, ord="nuc")).instead
    found = ops.sum(ops.svd(x, full_matrices=False)[1], axis=-1)
    np.testing.assert_allclose(found, np.linalg.norm(x, "nuc"), rtol=1e-5)
    assert "axis=(-2, -1)" in told(ArgumentTypeError, lambda: ops.norm(x, ord="fro")).instead
    np.testing.assert_allclose(ops.norm(x, axis=(-2, -1)), np.linalg.norm(x, "fro"), rtol=1e-5)


def test_lines_for_matrices_compute_what_they_stand_for() -> None:
    x = np.float32([[3, 1], [1, 2]])
    values, vectors = ops.eigh(x)
    root = (vectors * ops.sqrt(values)) @ ops.conj(vectors.mT)
    np.testing.assert_allclose(root @ root, x, rtol=1e-5)
    places = np.float32([[0, 1], [2, 0]])
    np.testing.assert_array_equal(ops.stack(ops.nonzero(places), axis=-1), np.argwhere(places))
    with_nan, other = np.float32([1, np.nan, 3]), np.float32([2, 5, np.nan])
    larger = ops.where(ops.isnan(with_nan), other, ops.where(ops.isnan(other), with_nan, ops.maximum(with_nan, other)))
    np.testing.assert_array_equal(larger, np.fmax(with_nan, other))


def test_a4_names_of_keras_that_mean_the_same_are_taken(keras: Any) -> None:
    for name, ours in ALIASES.items():
        assert getattr(ops, name) is getattr(ops, ours)
        assert callable(getattr(keras.ops, name))
    assert ops.convert_to_numpy(THREE).tolist() == [1, 2, 3]


def test_a4_every_function_of_keras_is_there_or_answered(keras: Any) -> None:
    missing = [
        name for name in dir(keras.ops) if not name.startswith("_") and name not in dir(ops) and not _answered(name)
    ]
    assert set(missing) <= NO_ANSWER


NO_ANSWER = set(
    "argpartition bartlett cdist correlate diagflat dsplit fmax fmin hsplit i0 isreal jvp kaiser "
    "ldexp nextafter polar vander vectorize vsplit array_split switch".split()
)
"""What graftax has no function for; the answer is the nearest name, or where to look."""


def _answered(name: str) -> bool:
    return name in foreign_names._LINES or name in foreign_names._OPS


def _names_in(text: str) -> list[str]:
    return re.findall(r"\b(?:graftax|ops)(?:\.[A-Za-z_]\w*)+", text)


def _found(dotted: str) -> Any:
    here: Any = gx if dotted.startswith("graftax") else ops
    for part in dotted.split(".")[1:]:
        here = getattr(here, part)
    return here


def test_a4_what_the_answers_name_is_there() -> None:
    answers = [*foreign_names._LINES.values(), *array_names._LINES.values(), *array_names._SETTINGS.values()]
    answers += [f"ops.{name}" for name in foreign_names._OPS.values()]
    for answer in answers:
        for dotted in _names_in(answer):
            assert _found(dotted) is not None
    parameters = {p for name in OPS for p in inspect.signature(getattr(ops, name)).parameters}
    assert set(foreign_names._KEYWORDS.values()) <= parameters


def test_a4_answers_are_no_names_that_there_are() -> None:
    assert not (set(foreign_names._LINES) | set(foreign_names._OPS) | set(ALIASES)) & set(OPS)


@pytest.mark.parametrize("keyword", ["axis", "axes"])
def test_a4_moments_take_axes_as_in_keras_and_axis_as_before(keyword: str) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    mean, variance = ops.moments(x, **{keyword: 0}, keepdims=True)
    np.testing.assert_allclose(mean, x.mean(0, keepdims=True))
    np.testing.assert_allclose(variance, x.var(0, keepdims=True))
    told(ArgumentTypeError, lambda: ops.moments(x, axis=0, axes=1))  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda: ops.softmax(THREE, axes=0), "axis= in place of axes="),
        (lambda: ops.sum(THREE, dim=0), "axis= in place of dim="),
        (lambda: ops.sum(THREE, keepdim=True), "keepdims= in place of keepdim="),
        (lambda: ops.reshape(THREE, newshape=(3, 1)), "shape= in place of newshape="),
        (lambda: ops.add(x1=THREE, x2=THREE), "x= in place of x1=, y= in place of x2="),
        (lambda: ops.var(THREE, unbiased=False), "ddof= in place of unbiased="),
        (lambda: ops.one_hot([1], num_clases=3), "num_classes= in place of num_clases="),
        (lambda: ops.concatenate(xs=[THREE]), "arrays= in place of xs="),
        (lambda: ops.exp(THREE, out=THREE), "leave out= out"),
        (lambda: ops.einsum("i->", THREE, optimise=True), "leave optimise= out"),
        (
            lambda: ops.meshgrid(THREE, sparse=True),
            "other functions of graftax.ops before or after ops.meshgrid, "
            "or leave sparse= out if it was at its default",
        ),
    ],
)
def test_a4_a_keyword_that_there_is_not_names_the_right_one(call: Any, instead: str) -> None:
    error = told(ArgumentTypeError, call)
    assert error.instead == instead
    assert isinstance(error, TypeError)


@pytest.mark.parametrize("name", OPS)
def test_a4_every_op_names_what_is_missing_or_too_much(name: str) -> None:
    function = getattr(ops, name)
    if not any(one.named for one in parameters(OPS[name])):
        assert "nonsense=" in told(ArgumentTypeError, lambda: function(nonsense=1)).received
    must = [one for one in required_names(OPS[name]) if one != "subscripts"]
    if must:
        assert must[0] in told(ArgumentTypeError, function).received


@pytest.mark.broad
def test_a11_docstrings_have_no_bars_that_documentation_tools_take_for_references() -> None:
    """reStructuredText reads ``|x - y|`` as the name of something to be put there."""
    wrong = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module, ast.AsyncFunctionDef)):
                text = re.sub(
                    r"``[^`]*``|`[^`]*`|^ *(>>>|\.\.\.).*$", "", ast.get_docstring(node) or "", flags=re.MULTILINE
                )
                wrong += [f"{file.name}: {bar}" for bar in re.findall(r"(?<![\w|])\|[^\s|][^|\n]*\|(?![\w|])", text)]
    wrong += [f"ops.{op.name}" for op in OPS.values() if "|" in op.doc]
    assert not wrong
