"""Optimizers and learning-rate schedules.

The base and the declaration of slots, for rules of one's own, are `Optimizer` and `Slot`.
"""

import sys as _sys
import typing as _typing

from graftax.namespaces import answering as _answering
from graftax.optimizers import schedules as schedules
from graftax.optimizers.adabelief import AdaBelief as AdaBelief
from graftax.optimizers.adadelta import Adadelta as Adadelta
from graftax.optimizers.adafactor import Adafactor as Adafactor
from graftax.optimizers.adagrad import Adagrad as Adagrad
from graftax.optimizers.adam import Adam as Adam
from graftax.optimizers.adamax import Adamax as Adamax
from graftax.optimizers.adamw import AdamW as AdamW
from graftax.optimizers.adan import Adan as Adan
from graftax.optimizers.ademamix import AdEMAMix as AdEMAMix
from graftax.optimizers.adopt import ADOPT as ADOPT
from graftax.optimizers.foreign_names import CLASSES as _ELSEWHERE
from graftax.optimizers.ftrl import Ftrl as Ftrl
from graftax.optimizers.lamb import LAMB as LAMB
from graftax.optimizers.lars import LARS as LARS
from graftax.optimizers.lbfgs import LBFGS as LBFGS
from graftax.optimizers.lion import Lion as Lion
from graftax.optimizers.lookahead import Lookahead as Lookahead
from graftax.optimizers.loss_scale import LossScale as LossScale
from graftax.optimizers.minimizer import Minimizer as Minimizer
from graftax.optimizers.muon import Muon as Muon
from graftax.optimizers.nadam import Nadam as Nadam
from graftax.optimizers.nadamw import NAdamW as NAdamW
from graftax.optimizers.novograd import Novograd as Novograd
from graftax.optimizers.optax import Optax as Optax
from graftax.optimizers.optimizer import Optimizer as Optimizer
from graftax.optimizers.prodigy import Prodigy as Prodigy
from graftax.optimizers.radam import RAdam as RAdam
from graftax.optimizers.rmsprop import RMSprop as RMSprop
from graftax.optimizers.rprop import Rprop as Rprop
from graftax.optimizers.sam import SAM as SAM
from graftax.optimizers.schedule_free import ScheduleFreeAdamW as ScheduleFreeAdamW
from graftax.optimizers.schedule_free import ScheduleFreeSGD as ScheduleFreeSGD
from graftax.optimizers.sgd import SGD as SGD
from graftax.optimizers.shampoo import Shampoo as Shampoo
from graftax.optimizers.sign_sgd import SignSGD as SignSGD
from graftax.optimizers.slot import Slot as Slot
from graftax.optimizers.sm3 import SM3 as SM3
from graftax.optimizers.soap import SOAP as SOAP
from graftax.optimizers.sophia import Sophia as Sophia
from graftax.optimizers.yogi import Yogi as Yogi

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
