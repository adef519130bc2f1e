"""Learning-rate schedules: functions of the number of updates so far, which is 0 at the first update."""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.optimizers.arguments.foreign_names import CLASSES as _FOREIGN
from graftax.optimizers.schedules.cosine import CosineDecay as CosineDecay
from graftax.optimizers.schedules.cosine import CosineDecayRestarts as CosineDecayRestarts
from graftax.optimizers.schedules.cyclic import Cyclic as Cyclic
from graftax.optimizers.schedules.decays import ExponentialDecay as ExponentialDecay
from graftax.optimizers.schedules.decays import InverseTimeDecay as InverseTimeDecay
from graftax.optimizers.schedules.decays import PiecewiseConstant as PiecewiseConstant
from graftax.optimizers.schedules.decays import PolynomialDecay as PolynomialDecay
from graftax.optimizers.schedules.inverse_square_root import InverseSquareRoot as InverseSquareRoot
from graftax.optimizers.schedules.join import Join as Join
from graftax.optimizers.schedules.join import LinearWarmup as LinearWarmup
from graftax.optimizers.schedules.one_cycle import OneCycle as OneCycle
from graftax.optimizers.schedules.schedule import Constant as Constant
from graftax.optimizers.schedules.schedule import Schedule as Schedule
from graftax.optimizers.schedules.warmup_stable_decay import WarmupStableDecay as WarmupStableDecay
from graftax.optimizers.schedules.warmups import ConstantWarmup as ConstantWarmup
from graftax.optimizers.schedules.warmups import ExponentialWarmup as ExponentialWarmup

__all__ = [
    "Constant",
    "ConstantWarmup",
    "CosineDecay",
    "CosineDecayRestarts",
    "Cyclic",
    "ExponentialDecay",
    "ExponentialWarmup",
    "InverseSquareRoot",
    "InverseTimeDecay",
    "Join",
    "LinearWarmup",
    "OneCycle",
    "PiecewiseConstant",
    "PolynomialDecay",
    "Schedule",
    "WarmupStableDecay",
]

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("optimizers.schedules", _FOREIGN)


def __dir__() -> list[str]:
    return sorted(__all__)
