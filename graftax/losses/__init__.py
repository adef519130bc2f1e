"""Losses: what training makes small. ``loss(y_true, y_pred, sample_weight=None, mask=None)``.

Example:
    >>> import graftax as gx
    >>> float(gx.losses.MeanSquaredError()([[1.0]], [[3.0]]))
    4.0
"""

import typing as _typing

from graftax.core.namespaces import answering as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.losses.classification import BinaryCrossentropy as BinaryCrossentropy
from graftax.losses.classification import CategoricalCrossentropy as CategoricalCrossentropy
from graftax.losses.classification import Hinge as Hinge
from graftax.losses.classification import KLDivergence as KLDivergence
from graftax.losses.classification import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from graftax.losses.classification import SquaredHinge as SquaredHinge
from graftax.losses.elsewhere import CLASSES as _CLASSES
from graftax.losses.loss import FunctionLoss as FunctionLoss
from graftax.losses.loss import Loss as Loss
from graftax.losses.registry import get as get
from graftax.losses.regression import CosineSimilarity as CosineSimilarity
from graftax.losses.regression import Huber as Huber
from graftax.losses.regression import LogCosh as LogCosh
from graftax.losses.regression import MeanAbsoluteError as MeanAbsoluteError
from graftax.losses.regression import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from graftax.losses.regression import MeanSquaredError as MeanSquaredError
from graftax.losses.regression import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from graftax.losses.regression import Poisson as Poisson

__all__ = _names_in(globals())  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("losses", _CLASSES)


def __dir__() -> list[str]:
    return sorted(__all__)
