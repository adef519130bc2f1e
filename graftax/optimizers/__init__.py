"""Optimizers and learning-rate schedules.

The base and the declaration of slots, for rules of one's own, are `Optimizer` and `Slot`.
"""

import sys as _sys
import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.optimizers import schedules as schedules
from graftax.optimizers.arguments.foreign_names import CLASSES as _FOREIGN
from graftax.optimizers.engine.loss_scale import LossScale as LossScale
from graftax.optimizers.engine.slot import Slot as Slot
from graftax.optimizers.lbfgs.lbfgs import LBFGS as LBFGS
from graftax.optimizers.minimizer import Minimizer as Minimizer
from graftax.optimizers.named import *
from graftax.optimizers.optax.transformation import Optax as Optax
from graftax.optimizers.optimizer import Optimizer as Optimizer
from graftax.optimizers.update_rules.cross_shard import CrossShard as CrossShard
from graftax.optimizers.update_rules.lookahead import Lookahead as Lookahead
from graftax.optimizers.update_rules.sam import SAM as SAM

__all__ = _names_in(globals(), "schedules")  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above

for _name in [name for name, found in globals().items() if type(found) is type(_sys) and name not in __all__]:
    if not _name.startswith("_"):
        del globals()[_name]  # modules are found where they lie; as attributes they would hide that `adam` is `Adam`

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("optimizers", _FOREIGN)


def __dir__() -> list[str]:
    return sorted(__all__)
