"""Optimizers and learning-rate schedules.

The base and the declaration of slots, for rules of one's own, are `Optimizer` and `Slot`.
"""

from graftax.optimizers import schedules as schedules
from graftax.optimizers.adam import Adam as Adam
from graftax.optimizers.adamw import AdamW as AdamW
from graftax.optimizers.optimizer import Optimizer as Optimizer
from graftax.optimizers.sgd import SGD as SGD
from graftax.optimizers.slot import Slot as Slot

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "Slot", "schedules"]
