"""Optimizers by name, for ``model.compile("adam")``."""

from __future__ import annotations

from collections.abc import Callable

from graftax.core.errors import ArgumentTypeError
from graftax.core.known_names import unknown
from graftax.core.short_traceback import door
from graftax.optimizers.minimizer import Minimizer, check_signature
from graftax.optimizers.optimizer import Optimizer
from graftax.optimizers.update_rules.adabelief import AdaBelief
from graftax.optimizers.update_rules.adadelta import Adadelta
from graftax.optimizers.update_rules.adafactor import Adafactor
from graftax.optimizers.update_rules.adagrad import Adagrad
from graftax.optimizers.update_rules.adam import Adam
from graftax.optimizers.update_rules.adamax import Adamax
from graftax.optimizers.update_rules.adamw import AdamW
from graftax.optimizers.update_rules.adan import Adan
from graftax.optimizers.update_rules.ademamix import AdEMAMix
from graftax.optimizers.update_rules.adopt import ADOPT
from graftax.optimizers.update_rules.ftrl import Ftrl
from graftax.optimizers.update_rules.lamb import LAMB
from graftax.optimizers.update_rules.lars import LARS
from graftax.optimizers.update_rules.lion import Lion
from graftax.optimizers.update_rules.muon import Muon
from graftax.optimizers.update_rules.nadam import Nadam
from graftax.optimizers.update_rules.nadamw import NAdamW
from graftax.optimizers.update_rules.novograd import Novograd
from graftax.optimizers.update_rules.prodigy import Prodigy
from graftax.optimizers.update_rules.radam import RAdam
from graftax.optimizers.update_rules.rmsprop import RMSprop
from graftax.optimizers.update_rules.rprop import Rprop
from graftax.optimizers.update_rules.schedule_free import ScheduleFreeAdamW, ScheduleFreeSGD
from graftax.optimizers.update_rules.sgd import SGD
from graftax.optimizers.update_rules.shampoo import Shampoo
from graftax.optimizers.update_rules.sign_sgd import SignSGD
from graftax.optimizers.update_rules.sm3 import SM3
from graftax.optimizers.update_rules.soap import SOAP
from graftax.optimizers.update_rules.sophia import Sophia
from graftax.optimizers.update_rules.yogi import Yogi
from graftax.variables.graph.module import Module

_CLASSES: tuple[Callable[[], Optimizer], ...] = (
    SGD,
    Adam,
    AdamW,
    Nadam,
    NAdamW,
    RAdam,
    Adamax,
    AdaBelief,
    Yogi,
    Adan,
    AdEMAMix,
    ADOPT,
    RMSprop,
    Adagrad,
    Adadelta,
    Ftrl,
    Lion,
    Rprop,
    SignSGD,
    Prodigy,
    ScheduleFreeAdamW,
    ScheduleFreeSGD,
    Adafactor,
    LAMB,
    LARS,
    Muon,
    Novograd,
    SM3,
    Shampoo,
    SOAP,
    Sophia,
)
NAMES: dict[str, Callable[[], Optimizer]] = {getattr(kind, "__name__", "").lower(): kind for kind in _CLASSES}


@door
def get(optimizer: str | Minimizer) -> Minimizer:
    """The optimizer itself, or one with default arguments by its name.

    Raises:
        ArgumentError: there is none of that name.
        ArgumentTypeError: it is neither a name nor something that minimizes in the way that training asks for.

    Example:
        >>> get("adam")
        Adam(learning_rate=0.001)
    """
    if isinstance(optimizer, Module) and isinstance(optimizer, Minimizer):
        check_signature(optimizer)
        return optimizer
    if isinstance(optimizer, type) and issubclass(optimizer, Module):
        raise ArgumentTypeError(
            f"optimizer={optimizer.__name__}, the class", "one is made first", f"optimizer={optimizer.__name__}(...)"
        )
    if not isinstance(optimizer, str):
        raise ArgumentTypeError(
            f"optimizer={optimizer!r:.60}",
            "it is a name, a graftax optimizer, or another graftax.Module with minimize(loss_fn, variables, has_aux)",
            _instead(optimizer),
        )
    if optimizer.lower() not in NAMES:
        raise unknown("optimizer", optimizer, NAMES, "or an optimizer: graftax.optimizers.Adam(1e-3)")
    return NAMES[optimizer.lower()]()


def _instead(given: object) -> str:
    if hasattr(given, "init") and hasattr(given, "update"):
        return "optimizer=graftax.optimizers.Optax(transformation)"
    return "optimizer=graftax.optimizers.Adam(1e-3)"
