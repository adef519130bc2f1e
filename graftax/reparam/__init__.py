"""Reparametrisations: weights computed from other Variables."""

from graftax.reparam.base import Reparam as Reparam
from graftax.reparam.lora import LoRA as LoRA
from graftax.reparam.low_rank import LowRank as LowRank
from graftax.reparam.weight_norm import WeightNorm as WeightNorm
