"""A number in another form is in the remedy: what was meant, not an example."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, ops, random, reparam
from graftax.core.errors import GraftaxError
from graftax.core.hyperparameters import meant_number

CALLS: dict[str, Callable[[Any], Any]] = {
    "count": lambda n: random.choice(32, n),
    "units": lambda n: layers.Dense(n),
    "num_classes": lambda n: ops.one_hot([1], n),
    "k": lambda n: ops.top_k(np.ones(9, "float32"), n),
    "axis": lambda n: ops.argmax(np.ones((2,) * 9, "float32"), axis=n),
    "kernel_size": lambda n: layers.Conv2D(8, n),
    "rank": lambda n: reparam.LoRA(n),
    "num_thresholds": lambda n: metrics.AUC(n),
    "chunk_size": lambda n: gx.vectorized_map(ops.abs, np.ones(9, "float32"), chunk_size=n),
    "minval": lambda n: random.randint((2,), n, 9),
    "patience": lambda n: gx.callbacks.EarlyStopping(patience=n),
}
FRACTIONS: dict[str, Callable[[Any], Any]] = {
    "rate": lambda n: layers.Dropout(n),
    "alpha": lambda n: ops.elu([1.0], n),
    "q": lambda n: losses.CategoricalGeneralizedCrossEntropy(n),
    "delta": lambda n: losses.Huber(n),
    "label_smoothing": lambda n: losses.BinaryCrossentropy(label_smoothing=n),
    "learning_rate": lambda n: gx.optimizers.SGD(n),
    "momentum": lambda n: gx.optimizers.SGD(0.1, momentum=n),
}


@pytest.mark.parametrize("given", [3.0, "3", (3,)])
@pytest.mark.parametrize("name", CALLS)
def test_an_integer_in_another_form_is_the_remedy(name: str, given: Any) -> None:
    with pytest.raises(GraftaxError) as caught:
        CALLS[name](given)
    assert caught.value.instead.startswith(f"{name}=3")
    CALLS[name](3)


@pytest.mark.parametrize("given", ["0.25", (0.25,), [0.25]])
@pytest.mark.parametrize("name", FRACTIONS)
def test_a_number_in_another_form_is_the_remedy(name: str, given: Any) -> None:
    with pytest.raises(GraftaxError) as caught:
        FRACTIONS[name](given)
    assert caught.value.instead.startswith(f"{name}=0.25")
    FRACTIONS[name](0.25)


@pytest.mark.parametrize("given", [-3, 0, (0,), "none", (3, 4), 2.5, None, True, float("inf")])
def test_what_says_no_number_that_fits_gets_an_example(given: Any) -> None:
    assert meant_number(given, 8, lambda number: number > 0) == 8


def test_a_value_that_is_known_later_gets_an_example() -> None:
    found = []
    gx.jit(lambda x: found.append(meant_number(x, 8)) or x)(ops.ones(()))
    assert found == [8]
