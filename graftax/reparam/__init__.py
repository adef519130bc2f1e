"""Reparametrisations: weights computed from other Variables."""

from graftax.reparam.base import Reparam as Reparam
from graftax.reparam.low_rank import LowRank as LowRank
