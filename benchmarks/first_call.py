"""How long a training step takes to trace and compile: the first call."""

from benchmarks.harness import GRAFTAX, Work
from benchmarks.nets import Net
from benchmarks.training_step import NETS, hand_written, own_loop, sized

NAMES = list(NETS)[:2]
DEEP = {"deep MLP, 40 × Dense(64)": Net((64,) * 40, 64, 32)}

WORKS = [
    Work(
        f"first call of a training step, {name}",
        "compiled",
        {"reference": sized(hand_written, net), GRAFTAX: sized(own_loop, net)},
        first_call=True,
    )
    for name, net in ({name: NETS[name] for name in NAMES} | DEEP).items()
]
