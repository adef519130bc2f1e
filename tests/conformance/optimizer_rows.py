"""One row for each optimizer; `test_optimizers.py` says what all of them promise."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from graftax.optimizers import (
    ADOPT,
    LAMB,
    LARS,
    SGD,
    SM3,
    SOAP,
    AdaBelief,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Adan,
    AdEMAMix,
    Ftrl,
    Lion,
    Muon,
    Nadam,
    NAdamW,
    Novograd,
    Optimizer,
    Prodigy,
    RAdam,
    RMSprop,
    Rprop,
    ScheduleFreeAdamW,
    ScheduleFreeSGD,
    Shampoo,
    SignSGD,
    Sophia,
    Yogi,
)


@dataclass(frozen=True)
class Row:
    """An optimizer and the promises of the table that it cannot make.

    Args:
        make: The optimizer, with the given options of the base class.
        stops_at_rate_zero: Whether nothing moves at a rate of zero; not so where slots remember earlier rates.
        quick: Whether it is tried in the quick suite; the others only with the slow tests.
        amplifies: How much more than elementwise rules it makes of rounding, as orthogonalised directions do.
    """

    make: Callable[..., Optimizer]
    stops_at_rate_zero: bool = True
    quick: bool = False
    amplifies: float = 1.0


BASIC = {
    "sgd": Row(lambda **o: SGD(0.1, **o), quick=True),
    "sgd momentum": Row(lambda **o: SGD(0.05, momentum=0.9, **o), stops_at_rate_zero=False, quick=True),
    "sgd nesterov": Row(lambda **o: SGD(0.05, momentum=0.9, nesterov=True, **o), stops_at_rate_zero=False),
    "adam": Row(lambda **o: Adam(0.1, **o), quick=True),
    "adam torch": Row(lambda **o: Adam(0.1, epsilon=1e-3, epsilon_form="torch", **o)),
    "amsgrad": Row(lambda **o: Adam(0.1, amsgrad=True, **o)),
    "adamw": Row(lambda **o: AdamW(0.1, **{"weight_decay": 0.01, **o}), quick=True),
}
# Rules that treat each element alone.
ELEMENTWISE = {
    "nadam": Row(lambda **o: Nadam(0.1, **o)),
    "nadam keras": Row(lambda **o: Nadam(0.1, momentum_decay=1.0, **o)),
    "nadamw": Row(lambda **o: NAdamW(0.1, **{"weight_decay": 0.001, **o})),
    "radam": Row(lambda **o: RAdam(0.1, beta_2=0.9, **o)),
    "radam optax": Row(lambda **o: RAdam(0.1, beta_2=0.9, epsilon_form="optax", **o)),
    "adamax": Row(lambda **o: Adamax(0.2, **o)),
    "adamax torch": Row(lambda **o: Adamax(0.2, epsilon_form="torch", **o)),
    "adabelief": Row(lambda **o: AdaBelief(0.1, **o)),
    "yogi": Row(lambda **o: Yogi(0.1, **o)),
    "adan": Row(lambda **o: Adan(0.1, **o)),
    "ademamix": Row(lambda **o: AdEMAMix(0.1, beta_3=0.95, alpha=0.5, **o)),
    "ademamix warm": Row(lambda **o: AdEMAMix(0.1, beta_3=0.95, alpha=0.5, warmup_steps=20, **o)),
    "adopt": Row(lambda **o: ADOPT(0.1, beta_2=0.99, **o)),
    "adopt unclipped": Row(lambda **o: ADOPT(0.1, beta_2=0.99, clipping=False, **o)),
    "rmsprop": Row(lambda **o: RMSprop(0.05, **o), quick=True),
    "rmsprop momentum": Row(lambda **o: RMSprop(0.02, momentum=0.5, initial_rms=1.0, **o), stops_at_rate_zero=False),
    "rmsprop centered": Row(lambda **o: RMSprop(0.02, centered=True, epsilon=1e-2, epsilon_form="torch", **o)),
    "adagrad": Row(lambda **o: Adagrad(1.0, **o)),
    "adagrad torch": Row(lambda **o: Adagrad(1.0, initial_accumulator=0.0, epsilon_form="torch", **o)),
    "adadelta": Row(lambda **o: Adadelta(epsilon=0.01, **o)),
    "ftrl": Row(lambda **o: Ftrl(2.0, **o)),
    "ftrl penalties": Row(
        lambda **o: Ftrl(2.0, -0.6, l1_strength=0.01, l2_strength=0.001, l2_shrinkage=0.001, beta=0.1, **o)
    ),
    "schedule free sgd": Row(lambda **o: ScheduleFreeSGD(0.3, 5, **o), stops_at_rate_zero=False),
    "schedule free adamw": Row(lambda **o: ScheduleFreeAdamW(0.3, 5, beta_2=0.99, **o), stops_at_rate_zero=False),
    "schedule free paper": Row(
        lambda **o: ScheduleFreeAdamW(0.3, beta_2=0.9, correction="rate", **o), stops_at_rate_zero=False
    ),
    "lion": Row(lambda **o: Lion(0.06, beta_2=0.9, **o), quick=True),
    "rprop": Row(lambda **o: Rprop(0.1, **o)),
    "sign sgd": Row(lambda **o: SignSGD(0.05, **o)),
    "signum": Row(lambda **o: SignSGD(0.05, momentum=0.9, **o)),
}
# Rules that look at a whole variable, at several, or at the loss.
WHOLE = {
    "prodigy": Row(lambda **o: Prodigy(d0=0.05, **o)),
    "prodigy tuned": Row(
        lambda **o: Prodigy(
            0.5, beta_2=0.99, d0=0.01, growth_rate=2.0, safeguard_warmup=True, use_bias_correction=True, **o
        )
    ),
    "adafactor": Row(lambda **o: Adafactor(0.1, **o)),
    "adafactor absolute": Row(lambda **o: Adafactor(0.1, relative_step=False, **o)),
    "lamb": Row(lambda **o: LAMB(0.05, **o)),
    "lars": Row(lambda **o: LARS(0.05, trust=1.0, momentum=0.5, **o), stops_at_rate_zero=False),
    "novograd": Row(lambda **o: Novograd(0.02, beta_1=0.8, **o)),
    "sm3": Row(lambda **o: SM3(1.0, **o)),
    "sm3 plain": Row(lambda **o: SM3(1.0, momentum=0.0, **o)),
    "muon": Row(lambda **o: Muon(0.1, scale="shape", **o), quick=True),
    "shampoo": Row(lambda **o: Shampoo(0.5, epsilon=0.1, **o)),
    "shampoo grafted": Row(lambda **o: Shampoo(0.2, epsilon=0.1, decay=0.9, update_every=3, graft="sgd", **o)),
    "soap": Row(lambda **o: SOAP(0.1, epsilon=1e-3, update_every=3, **o), amplifies=10.0),
    "sophia": Row(lambda **o: Sophia(0.1, 0.9, 0.9, gamma=1.0, update_every=2, **o)),
}

ROWS = BASIC | ELEMENTWISE | WHOLE


def param(name: str, row: Row):
    return pytest.param(row, id=name, marks=() if row.quick else pytest.mark.slow)


every_row = pytest.mark.parametrize("row", [param(name, row) for name, row in ROWS.items()])
