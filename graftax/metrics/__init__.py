"""Metrics: what is measured over many batches. ``update`` with each, ``result`` at any time, ``reset`` to start over.

Example:
    >>> import graftax as gx
    >>> mean = gx.metrics.Mean()
    >>> mean.update([1.0, 2.0])
    >>> float(mean.result())
    1.5
"""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.metrics.accuracy import Accuracy as Accuracy
from graftax.metrics.accuracy import BinaryAccuracy as BinaryAccuracy
from graftax.metrics.accuracy import CategoricalAccuracy as CategoricalAccuracy
from graftax.metrics.accuracy import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from graftax.metrics.accuracy import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from graftax.metrics.accuracy import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from graftax.metrics.at_constraint import PrecisionAtRecall as PrecisionAtRecall
from graftax.metrics.at_constraint import RecallAtPrecision as RecallAtPrecision
from graftax.metrics.at_constraint import SensitivityAtSpecificity as SensitivityAtSpecificity
from graftax.metrics.at_constraint import SpecificityAtSensitivity as SpecificityAtSensitivity
from graftax.metrics.auc import AUC as AUC
from graftax.metrics.classification import BinaryCrossentropy as BinaryCrossentropy
from graftax.metrics.classification import CategoricalCrossentropy as CategoricalCrossentropy
from graftax.metrics.classification import Perplexity as Perplexity
from graftax.metrics.classification import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from graftax.metrics.confusion import FalseNegatives as FalseNegatives
from graftax.metrics.confusion import FalsePositives as FalsePositives
from graftax.metrics.confusion import TrueNegatives as TrueNegatives
from graftax.metrics.confusion import TruePositives as TruePositives
from graftax.metrics.correlation import ConcordanceCorrelation as ConcordanceCorrelation
from graftax.metrics.correlation import CosineSimilarity as CosineSimilarity
from graftax.metrics.correlation import PearsonCorrelation as PearsonCorrelation
from graftax.metrics.correlation import R2Score as R2Score
from graftax.metrics.errors import CategoricalHinge as CategoricalHinge
from graftax.metrics.errors import Hinge as Hinge
from graftax.metrics.errors import KLDivergence as KLDivergence
from graftax.metrics.errors import LogCoshError as LogCoshError
from graftax.metrics.errors import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from graftax.metrics.errors import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from graftax.metrics.errors import Poisson as Poisson
from graftax.metrics.errors import SquaredHinge as SquaredHinge
from graftax.metrics.f_score import F1Score as F1Score
from graftax.metrics.f_score import FBetaScore as FBetaScore
from graftax.metrics.foreign_names import CLASSES as _CLASSES
from graftax.metrics.iou import IoU as IoU
from graftax.metrics.iou import MeanIoU as MeanIoU
from graftax.metrics.metric import Metric as Metric
from graftax.metrics.precision_recall import Precision as Precision
from graftax.metrics.precision_recall import Recall as Recall
from graftax.metrics.reduction import Mean as Mean
from graftax.metrics.reduction import MeanMetricWrapper as MeanMetricWrapper
from graftax.metrics.reduction import SampleMetric as SampleMetric
from graftax.metrics.reduction import Sum as Sum
from graftax.metrics.registry import get as get
from graftax.metrics.regression import MeanAbsoluteError as MeanAbsoluteError
from graftax.metrics.regression import MeanSquaredError as MeanSquaredError
from graftax.metrics.regression import RootMeanSquaredError as RootMeanSquaredError

__all__ = _names_in(globals())  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("metrics", _CLASSES)


def __dir__() -> list[str]:
    return sorted(__all__)
