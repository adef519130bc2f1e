"""Reparametrisations: weights computed from other Variables."""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.reparam.adapted import Adapter as Adapter
from graftax.reparam.adapted import AdapterCreator as AdapterCreator
from graftax.reparam.base import Reparam as Reparam
from graftax.reparam.dora import DoRA as DoRA
from graftax.reparam.fake_quant import FakeQuant as FakeQuant
from graftax.reparam.hyper_network import HyperNetwork as HyperNetwork
from graftax.reparam.lora import LoRA as LoRA
from graftax.reparam.low_rank import LowRank as LowRank
from graftax.reparam.mask import Mask as Mask
from graftax.reparam.orthogonal import Orthogonal as Orthogonal
from graftax.reparam.positive import Positive as Positive
from graftax.reparam.prune import PruningSchedule as PruningSchedule
from graftax.reparam.prune import prune as prune
from graftax.reparam.quantized import Int4 as Int4
from graftax.reparam.quantized import Int8 as Int8
from graftax.reparam.shared import Shared as Shared
from graftax.reparam.spectral_norm import SpectralNorm as SpectralNorm
from graftax.reparam.variational_normal import VariationalNormal as VariationalNormal
from graftax.reparam.weight_norm import WeightNorm as WeightNorm

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("reparam")
__all__ = [
    "Adapter",
    "AdapterCreator",
    "DoRA",
    "FakeQuant",
    "HyperNetwork",
    "Int4",
    "Int8",
    "LoRA",
    "LowRank",
    "Mask",
    "Orthogonal",
    "Positive",
    "PruningSchedule",
    "Reparam",
    "Shared",
    "SpectralNorm",
    "VariationalNormal",
    "WeightNorm",
    "prune",
]


def __dir__() -> list[str]:
    return sorted(__all__)
