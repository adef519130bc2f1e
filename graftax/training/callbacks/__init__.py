"""Callbacks: code that runs at given moments of fit, evaluate and predict."""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.training.callbacks.csv_logger import CSVLogger as CSVLogger
from graftax.training.callbacks.early_stopping import EarlyStopping as EarlyStopping
from graftax.training.callbacks.lambda_callback import LambdaCallback as LambdaCallback
from graftax.training.callbacks.learning_rate_scheduler import LearningRateScheduler as LearningRateScheduler
from graftax.training.callbacks.mlflow import MLflow as MLflow
from graftax.training.callbacks.model_checkpoint import ModelCheckpoint as ModelCheckpoint
from graftax.training.callbacks.profiler import Profiler as Profiler
from graftax.training.callbacks.progress import Progress as Progress
from graftax.training.callbacks.reduce_lr_on_plateau import ReduceLROnPlateau as ReduceLROnPlateau
from graftax.training.callbacks.stop_at_step import StopAtStep as StopAtStep
from graftax.training.callbacks.swap_averages import SwapAverages as SwapAverages
from graftax.training.callbacks.tensorboard import TensorBoard as TensorBoard
from graftax.training.callbacks.terminate_on_nan import TerminateOnNaN as TerminateOnNaN
from graftax.training.callbacks.timing import Timing as Timing
from graftax.training.callbacks.wandb import WandB as WandB
from graftax.training.hooks.callback import Callback as Callback
from graftax.training.hooks.callback import Logs as Logs
from graftax.training.hooks.history import History as History

if not _typing.TYPE_CHECKING:  # so that type checkers see the names
    __getattr__ = _answering("callbacks")
__all__ = _names_in(globals())  # pyright: ignore[reportUnsupportedDunderAll]  # of what is imported above


def __dir__() -> list[str]:
    return sorted(__all__)
