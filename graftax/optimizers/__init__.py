"""Optimizers and learning-rate schedules.

The base and the declaration of slots, for rules of one's own, are `Optimizer` and `Slot`.
"""

import sys as _sys
import typing as _typing

from graftax.core.namespaces import answering as _answering
from graftax.optimizers import schedules as schedules
from graftax.optimizers.arguments.foreign_names import CLASSES as _ELSEWHERE
from graftax.optimizers.engine.loss_scale import LossScale as LossScale
from graftax.optimizers.engine.slot import Slot as Slot
from graftax.optimizers.lbfgs.lbfgs import LBFGS as LBFGS
from graftax.optimizers.minimizer import Minimizer as Minimizer
from graftax.optimizers.optax.transformation import Optax as Optax
from graftax.optimizers.optimizer import Optimizer as Optimizer
from graftax.optimizers.update_rules.adabelief import AdaBelief as AdaBelief
from graftax.optimizers.update_rules.adadelta import Adadelta as Adadelta
from graftax.optimizers.update_rules.adafactor import Adafactor as Adafactor
from graftax.optimizers.update_rules.adagrad import Adagrad as Adagrad
from graftax.optimizers.update_rules.adam import Adam as Adam
from graftax.optimizers.update_rules.adamax import Adamax as Adamax
from graftax.optimizers.update_rules.adamw import AdamW as AdamW
from graftax.optimizers.update_rules.adan import Adan as Adan
from graftax.optimizers.update_rules.ademamix import AdEMAMix as AdEMAMix
from graftax.optimizers.update_rules.adopt import ADOPT as ADOPT
from graftax.optimizers.update_rules.ftrl import Ftrl as Ftrl
from graftax.optimizers.update_rules.lamb import LAMB as LAMB
from graftax.optimizers.update_rules.lars import LARS as LARS
from graftax.optimizers.update_rules.lion import Lion as Lion
from graftax.optimizers.update_rules.lookahead import Lookahead as Lookahead
from graftax.optimizers.update_rules.muon import Muon as Muon
from graftax.optimizers.update_rules.nadam import Nadam as Nadam
from graftax.optimizers.update_rules.nadamw import NAdamW as NAdamW
from graftax.optimizers.update_rules.novograd import Novograd as Novograd
from graftax.optimizers.update_rules.prodigy import Prodigy as Prodigy
from graftax.optimizers.update_rules.radam import RAdam as RAdam
from graftax.optimizers.update_rules.rmsprop import RMSprop as RMSprop
from graftax.optimizers.update_rules.rprop import Rprop as Rprop
from graftax.optimizers.update_rules.sam import SAM as SAM
from graftax.optimizers.update_rules.schedule_free import ScheduleFreeAdamW as ScheduleFreeAdamW
from graftax.optimizers.update_rules.schedule_free import ScheduleFreeSGD as ScheduleFreeSGD
from graftax.optimizers.update_rules.sgd import SGD as SGD
from graftax.optimizers.update_rules.shampoo import Shampoo as Shampoo
from graftax.optimizers.update_rules.sign_sgd import SignSGD as SignSGD
from graftax.optimizers.update_rules.sm3 import SM3 as SM3
from graftax.optimizers.update_rules.soap import SOAP as SOAP
from graftax.optimizers.update_rules.sophia import Sophia as Sophia
from graftax.optimizers.update_rules.yogi import Yogi as Yogi

__all__ = [
    "ADOPT",
    "LAMB",
    "LARS",
    "LBFGS",
    "SAM",
    "SGD",
    "SM3",
    "SOAP",
    "AdEMAMix",
    "AdaBelief",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Adan",
    "Ftrl",
    "Lion",
    "Lookahead",
    "LossScale",
    "Minimizer",
    "Muon",
    "NAdamW",
    "Nadam",
    "Novograd",
    "Optax",
    "Optimizer",
    "Prodigy",
    "RAdam",
    "RMSprop",
    "Rprop",
    "ScheduleFreeAdamW",
    "ScheduleFreeSGD",
    "Shampoo",
    "SignSGD",
    "Slot",
    "Sophia",
    "Yogi",
    "schedules",
]

for _name in [name for name, found in globals().items() if type(found) is type(_sys) and name not in __all__]:
    if not _name.startswith("_"):
        del globals()[_name]  # modules are found where they lie; as attributes they would hide that `adam` is `Adam`

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("optimizers", _ELSEWHERE)


def __dir__() -> list[str]:
    return sorted(__all__)
