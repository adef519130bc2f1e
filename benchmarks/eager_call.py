"""A forward call from plain Python, without gx.jit around it; and the same call compiled."""

from typing import Any

import jax

import graftax as gx
from benchmarks.harness import GRAFTAX, JITTED, KERAS, TORCH, Run, Work
from benchmarks.nets import Net, data, forward, graftax_net, keras_net, torch_array, torch_net, weights
from benchmarks.training_step import sized

NETS = {
    "Dense(64), 32 × 64": Net((64,), 64, 32),
    "MLP of ten Dense(64), 32 × 64": Net((64,) * 10, 64, 32),
}


def op_by_op(net: Net) -> Run:
    (x, _), values = data(net), weights(net)
    return lambda: forward(values, x)


def jitted(net: Net) -> Run:
    (x, _), values, compiled = data(net), weights(net), jax.jit(forward)
    return lambda: compiled(values, x)


def eager(net: Net) -> Run:
    (x, _), model = data(net), graftax_net(net)
    return lambda: model(x)


def compiled(net: Net) -> Run:
    (x, _), model = data(net), gx.jit(graftax_net(net))
    return lambda: model(x)


def keras_call(net: Net) -> Run:
    (x, _), model = data(net), keras_net(net)
    return lambda: model(x)


def torch_call(net: Net) -> Run:
    import torch

    x, model = torch_array(data(net)[0]), torch_net(net)

    def run() -> Any:
        with torch.no_grad():
            return model(x)

    return run


WORKS = [
    work
    for name, net in NETS.items()
    for work in (
        Work(
            f"call, {name}",
            "op by op",
            {
                "reference": sized(op_by_op, net),
                GRAFTAX: sized(eager, net),
                JITTED: sized(jitted, net),
                KERAS: sized(keras_call, net),
                TORCH: sized(torch_call, net),
            },
        ),
        Work(
            f"call, {name}, in `gx.jit`", "compiled", {"reference": sized(jitted, net), GRAFTAX: sized(compiled, net)}
        ),
    )
]
