"""A schedule for another number than the learning rate is refused, and the lines of the message do what it would."""

import re

import numpy as np
import pytest

import graftax as gx
from graftax.errors import ArgumentTypeError

schedule = gx.optimizers.schedules.CosineDecay(0.5, 16)
X = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
Y = X[:, :1]


@pytest.mark.parametrize("given", [schedule, lambda step: 0.1], ids=["schedule", "function"])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("weight_decay", lambda given: gx.optimizers.AdamW(1e-3, weight_decay=given)),
        ("weight_decay", lambda given: gx.optimizers.SGD(0.1, rules=[("**", {"weight_decay": given})])),
        ("weight_decay", lambda given: setattr(gx.optimizers.SGD(0.1), "weight_decay", given)),
        ("beta_1", lambda given: gx.optimizers.Adam(beta_1=given)),
        ("global_clipnorm", lambda given: gx.optimizers.SGD(0.1, global_clipnorm=given)),
    ],
)
def test_the_message_names_a_variable_and_who_assigns_it(name, make, given):
    with pytest.raises(ArgumentTypeError, match="only the learning rate may be a function of the step") as caught:
        make(given)
    assert caught.value.instead.startswith(f"{name} = graftax.Variable(")
    assert f"{name}.assign(schedule(optimizer.iterations))" in caught.value.instead


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.broad
def test_these_lines_work_in_fit(eagerly):
    with pytest.raises(ArgumentTypeError) as caught:
        gx.optimizers.SGD(0.1, weight_decay=schedule)
    lines = re.fullmatch(r"(weight_decay = .*?) for it, and fit\(\.\.\., (callbacks=.*)\)", caught.value.instead)
    names = {"graftax": gx, "schedule": schedule}
    exec(lines[1], names)
    names["optimizer"] = gx.optimizers.SGD(0.1, weight_decay=names["weight_decay"])
    found = eval(f"dict({lines[2]})", names)["callbacks"]
    model = gx.Sequential([gx.layers.Dense(1, use_bias=False)])
    model.build((None, 3))
    model.compile(names["optimizer"], "mse", run_eagerly=eagerly)
    w = model.layers[0].kernel.numpy()
    model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=found)
    for step in range(16):
        x, y = (part[step % 8 * 8 :][:8] for part in (X, Y))
        rate = 0.5 * 0.5 * (1 + np.cos(np.pi * step / 16))
        w = w - 0.1 * rate * w - 0.1 * 2 * x.T @ (x @ w - y) / 8
    np.testing.assert_allclose(model.layers[0].kernel.numpy(), w, atol=1e-6)
