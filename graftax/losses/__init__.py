"""Losses: what training makes small. ``loss(y_true, y_pred, sample_weight=None, mask=None)``.

Beside each class there is a function of the same name in snake case, which gives one number for each sample.

Example:
    >>> import graftax as gx
    >>> float(gx.losses.MeanSquaredError()([[1.0]], [[3.0]]))
    4.0
"""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.losses.classification import BinaryCrossentropy as BinaryCrossentropy
from graftax.losses.classification import CategoricalCrossentropy as CategoricalCrossentropy
from graftax.losses.classification import CategoricalGeneralizedCrossEntropy as CategoricalGeneralizedCrossEntropy
from graftax.losses.classification import CategoricalHinge as CategoricalHinge
from graftax.losses.classification import Hinge as Hinge
from graftax.losses.classification import KLDivergence as KLDivergence
from graftax.losses.classification import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from graftax.losses.classification import SquaredHinge as SquaredHinge
from graftax.losses.contrastive import Circle as Circle
from graftax.losses.contrastive import NTXent as NTXent
from graftax.losses.contrastive import TripletSemiHard as TripletSemiHard
from graftax.losses.focal import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from graftax.losses.focal import CategoricalFocalCrossentropy as CategoricalFocalCrossentropy
from graftax.losses.foreign_names import CLASSES as _CLASSES
from graftax.losses.functions import binary_crossentropy as binary_crossentropy
from graftax.losses.functions import binary_focal_crossentropy as binary_focal_crossentropy
from graftax.losses.functions import categorical_crossentropy as categorical_crossentropy
from graftax.losses.functions import categorical_focal_crossentropy as categorical_focal_crossentropy
from graftax.losses.functions import categorical_hinge as categorical_hinge
from graftax.losses.functions import cosine_similarity as cosine_similarity
from graftax.losses.functions import dice as dice
from graftax.losses.functions import hinge as hinge
from graftax.losses.functions import huber as huber
from graftax.losses.functions import kl_divergence as kl_divergence
from graftax.losses.functions import log_cosh as log_cosh
from graftax.losses.functions import mean_absolute_error as mean_absolute_error
from graftax.losses.functions import mean_absolute_percentage_error as mean_absolute_percentage_error
from graftax.losses.functions import mean_squared_error as mean_squared_error
from graftax.losses.functions import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from graftax.losses.functions import poisson as poisson
from graftax.losses.functions import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from graftax.losses.functions import squared_hinge as squared_hinge
from graftax.losses.functions import tversky as tversky
from graftax.losses.functions_of_batches import (
    categorical_generalized_cross_entropy as categorical_generalized_cross_entropy,
)
from graftax.losses.functions_of_batches import circle as circle
from graftax.losses.functions_of_batches import ctc as ctc
from graftax.losses.functions_of_batches import gaussian_nll as gaussian_nll
from graftax.losses.functions_of_batches import nt_xent as nt_xent
from graftax.losses.functions_of_batches import triplet_semi_hard as triplet_semi_hard
from graftax.losses.likelihood import CTC as CTC
from graftax.losses.likelihood import GaussianNLL as GaussianNLL
from graftax.losses.loss import FunctionLoss as FunctionLoss
from graftax.losses.loss import Loss as Loss
from graftax.losses.overlap import Dice as Dice
from graftax.losses.overlap import Tversky as Tversky
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
