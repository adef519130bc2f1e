"""Learning-rate schedules: functions of the number of updates so far, which is 0 at the first update."""

from graftax.optimizers.cosine import CosineDecay as CosineDecay
from graftax.optimizers.cosine import CosineDecayRestarts as CosineDecayRestarts
from graftax.optimizers.decays import ExponentialDecay as ExponentialDecay
from graftax.optimizers.decays import InverseTimeDecay as InverseTimeDecay
from graftax.optimizers.decays import PiecewiseConstant as PiecewiseConstant
from graftax.optimizers.decays import PolynomialDecay as PolynomialDecay
from graftax.optimizers.joined import Join as Join
from graftax.optimizers.joined import LinearWarmup as LinearWarmup
from graftax.optimizers.schedule import Constant as Constant
from graftax.optimizers.schedule import Schedule as Schedule

__all__ = [
    "Constant",
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "Join",
    "LinearWarmup",
    "PiecewiseConstant",
    "PolynomialDecay",
    "Schedule",
]
