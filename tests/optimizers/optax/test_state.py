"""What a transformation gives back is used in full or refused; nothing of it is broadcast, cut off or dropped."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError


class Transformation(NamedTuple):
    init: Any
    update: Any


def negated(gradients):
    return {path: -gradient for path, gradient in gradients.items()}


REFUSED = {
    "numbers in place of arrays": lambda g, s, p: (dict.fromkeys(g, -0.1), s),
    "rows in place of matrices": lambda g, s, p: ({k: v[-1:] for k, v in g.items()}, s),
    "flags": lambda g, s, p: ({k: v > 0 for k, v in g.items()}, s),
    "complex numbers": lambda g, s, p: ({k: 1j * v for k, v in g.items()}, s),
    "nothing for one": lambda g, s, p: ({"w": -g["w"]}, s),
    "something for another": lambda g, s, p: ({**negated(g), "other": -g["w"]}, s),
    "a list": lambda g, s, p: (list(negated(g).values()), s),
    "a count and a half": lambda g, s, p: (negated(g), {"count": s["count"] + 0.5}),
}


@pytest.mark.parametrize("row", REFUSED)
def test_what_does_not_fit_is_refused_and_nothing_moves(row):
    w, b = gx.Variable(np.ones((2, 3), "float32"), name="w"), gx.Variable(np.ones((2,), "float32"), name="b")
    optimizer = gx.optimizers.Optax(Transformation(lambda params: {"count": 0}, REFUSED[row]))
    with pytest.raises(ArgumentError, match="Optax"):
        optimizer.apply([np.ones((2, 3), "float32"), np.ones((2,), "float32")], [w, b])
    assert float(np.sum(w.numpy())) == 6
    assert float(np.sum(b.numpy())) == 2
    assert int(optimizer.state["count"]) == 0
