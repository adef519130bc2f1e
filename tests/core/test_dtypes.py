"""What kind of numbers a dtype holds is asked in one place, and answered alike for names and dtypes."""

import ast
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import graftax
from graftax.core.dtypes import is_complex, is_floating, is_inexact

PACKAGE = Path(graftax.__file__).parent
DTYPES = {
    "bool": "", "int8": "", "uint16": "", "int32": "", "int64": "", "float16": "f", "float32": "f", "float64": "f",
    "complex64": "c", "complex128": "c",
}  # fmt: skip
OTHER_NAMES = {"core/argument_kinds.py": "names of types in annotations, none of dtypes"}


@pytest.mark.parametrize("name", DTYPES)
def test_names_and_dtypes_of_numpy_give_the_same_answers(name: str) -> None:
    for dtype in (name, np.dtype(name), np.zeros(1, name).dtype):
        assert is_floating(dtype) == np.issubdtype(name, np.floating)
        assert is_complex(dtype) == np.issubdtype(name, np.complexfloating)
        assert is_inexact(dtype) == np.issubdtype(name, np.inexact)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_short_floats_are_floating_though_numpy_calls_them_void(dtype: type) -> None:
    assert is_floating(np.dtype(dtype))
    assert is_inexact(np.dtype(dtype).name)
    assert not is_complex(np.dtype(dtype))


@pytest.mark.broad
def test_no_other_module_reads_the_kind_out_of_a_name() -> None:
    """``"float" in str(x.dtype)`` was written in fifteen ways, and some of them forgot a kind."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        own = file.relative_to(PACKAGE)
        if own.parts[0] == "backend" or own.as_posix() in ("core/dtypes.py", *OTHER_NAMES):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                words = [node.left]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
                words = [word for one in node.args for word in ast.walk(one)]
            else:
                continue
            if any(isinstance(one, ast.Constant) and one.value in ("float", "bfloat", "complex") for one in words):
                found.append(f"{own}:{node.lineno}")
    assert found == []
