"""Model: a layer with compile, fit, evaluate and predict."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from graftax import ops
from graftax.checkpoint.manager import CheckpointManager
from graftax.core.descriptors import Fallback
from graftax.core.errors import MissingAttributeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.layers.call_context import call_context
from graftax.metrics.metric import Metric
from graftax.optimizers import registry as optimizers
from graftax.optimizers.minimizer import Minimizer
from graftax.training import arguments, executions, foreign_names, loop, on_batch
from graftax.training.active_loops import refuse_compile_between_steps
from graftax.training.arguments import keywords
from graftax.training.batch import Batch, unpack
from graftax.training.class_weights import ClassWeights
from graftax.training.column_order import order_inputs, remember, sort_columns
from graftax.training.compiled_loss import hold
from graftax.training.descent import descend
from graftax.training.held_metrics import all_metrics, results
from graftax.training.hooks.callback import Callback
from graftax.training.hooks.callback_list import CallbackList, as_list
from graftax.training.hooks.history import History
from graftax.training.loss_arguments import one_number
from graftax.training.objectives import LossLike, MetricsLike, Objectives, require_objectives, require_optimizer
from graftax.training.output_masks import read_carried_masks
from graftax.training.predicted_rows import rows_of
from graftax.training.sources import choosing as data
from graftax.training.summary_mixin import SummaryMixin
from graftax.training.unused_targets import STEPS, no_loss
from graftax.training.wide_data import in_width_of_model
from graftax.variables.graph.reserved import OF_MODELS, Words


class Model(SummaryMixin):
    """A layer with a training loop: a graph of layers, or a subclass that defines ``call`` as in any layer.

    ``fit`` is a loop over `train_step`, which may be overridden. It uses only public functions (``optimizer.minimize``,
    `graftax.value_and_grad`, metrics), so your own training loop can do the same.

    Args:
        inputs: The inputs of a graph: results of `graftax.Input`, nested as in calls. Defaults to None: no graph.
        outputs: The outputs of the graph: results of layers, ops and operators. Defaults to None.
        name: Its name. Defaults to None: derived from the class.
        trainable: Whether its Variables may be trained. Defaults to True.
        dtype: A dtype policy or its name. Defaults to None: the global policy.

    Example:
        >>> import numpy as np, graftax as gx
        >>> class Line(Model):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.dense = gx.layers.Dense(1)
        ...
        ...     def call(self, x):
        ...         return self.dense(x)
        >>> model = Line()
        >>> model.compile(gx.optimizers.SGD(0.1), "mse")
        >>> x = np.linspace(-1, 1, 32, dtype="float32")[:, None]
        >>> history = model.fit(x, 3 * x, epochs=40, verbose=0)
        >>> history.history["loss"][-1] < 0.01
        True
    """

    untracked: ClassVar[frozenset[str]] = frozenset(
        "_gx_objectives _gx_functions stop_training _gx_history _gx_limits _gx_never_called _gx_parts".split()
    )

    _gx_words: ClassVar[Words] = OF_MODELS
    _gx_run_eagerly = False
    _gx_steps_per_execution = 1

    def _gx_explain_missing(self, name: str, message: str) -> MissingAttributeError:
        return foreign_names.missing_attribute_error(self, name) or super()._gx_explain_missing(name, message)

    # --- compile ------------------------------------------------------------------------------------------------------

    @door
    @keywords(foreign_names.COMPILE)
    def compile(
        self,
        optimizer: str | Minimizer | None = None,
        loss: LossLike = None,
        metrics: MetricsLike = None,
        weighted_metrics: MetricsLike = None,
        loss_weights: Mapping[str, float] | Sequence[float] | None = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
    ) -> None:
        """Set the optimizer, losses and metrics for training and evaluation.

        Args:
            optimizer: An optimizer or its name, or any other Module with ``minimize``, for fit. Defaults to None.
            loss: A loss, its name or a function of ``(y_true, y_pred)``; for several outputs a dict by name, or a list.
            metrics: Metrics, names or functions; for several outputs a dict by name. They ignore sample weights.
            weighted_metrics: Likewise, but sample weights are used.
            loss_weights: A factor on the loss of each output, copied to the attribute ``compiled_loss_weights``, where
                it may be changed: ``model.compiled_loss_weights["output"] = 0.5``. Defaults to None: 1.
            run_eagerly: Do not compile the steps, so that breakpoints and prints see values. Defaults to False.
            steps_per_execution: Batches that `fit` and `evaluate` take in one run of a compiled loop; hooks see the
                last. They run one by one if too few are left, or with ``check_nans``. Defaults to 1.

        Raises:
            ArgumentError: a name is unknown, a number is invalid, or there are loss weights without a loss.
            ArgumentTypeError: an argument has a wrong type.
        """
        steps = arguments.check_count("steps_per_execution", steps_per_execution)
        run_eagerly = arguments.check_truth("run_eagerly", run_eagerly)
        chosen = optimizers.get(optimizer) if optimizer is not None else None
        refuse_compile_between_steps(self)
        self._gx_objectives = Objectives(chosen, loss, metrics, weighted_metrics, loss_weights)
        self._gx_objectives.names = self._gx_output_names()
        hold(self, loss, self._gx_objectives.factors)
        self._gx_functions = executions.CompiledSteps()
        self._gx_compiled_with = None  # those of a `compile` of the user's, which calls this one, come after it
        object.__setattr__(self, "_gx_run_eagerly", run_eagerly)
        object.__setattr__(self, "_gx_steps_per_execution", steps)

    @property
    def steps_per_execution(self) -> int:
        """Return the ``steps_per_execution`` given to `compile`; 1 if the model runs eagerly."""
        return 1 if self._gx_run_eagerly else self._gx_steps_per_execution

    @property
    def optimizer(self) -> Any:
        """Return the optimizer (or another `Minimizer`) given to `compile`; raise `StateError` if there is none."""
        return require_optimizer(self)

    @Fallback
    def history(self) -> History | None:
        """Return the result of the latest `fit`; None before."""
        return self._gx_history

    @Fallback
    def objectives(self) -> Objectives:
        """Return the losses and metrics given to `compile`; raise `StateError` before `compile`."""
        return require_objectives(self)

    @property
    def metrics(self) -> list[Metric]:
        """Return all metrics: the mean of the loss, those given to `compile`, those that model and layers hold.

        A model may override it to list more metrics, as in Keras, but need not.
        """
        return all_metrics(self, self._gx_objectives, ())

    def reset_metrics(self) -> None:
        """Reset all metrics, also those that an overridden `metrics` leaves out, before each epoch and evaluation.

        Values that must not be reset are kept in a Variable, or in a Metric that overrides ``reset``.
        """
        listed = () if type(self).metrics is Model.metrics else self.metrics
        for metric in all_metrics(self, self._gx_objectives, listed):
            metric.reset()

    def _gx_has_own(self, step: str) -> bool:
        return getattr(type(self), step) is not getattr(Model, step)

    # --- the steps, to be overridden ----------------------------------------------------------------------------------

    def train_step(self, batch: Batch) -> dict[str, Array]:
        """Take one step of training: forward, loss, gradient, update, metrics. Compiled by fit.

        Args:
            batch: ``(x, y)`` or ``(x, y, sample_weight)``.

        Returns:
            The numbers to show, by name: means over the epoch so far. Those of your own step are shown as they are.
        """
        x, y, sample_weight = unpack(batch)

        def forward() -> tuple[Array, Any, Any]:
            with call_context(training=False) as context:  # a teacher that the loss calls is no part of what trains
                y_pred = self(x, training=True)
                loss = one_number(self, self.compute_loss(x, y, y_pred, sample_weight))
                return loss, y_pred, context.mask_of(y_pred)

        loss, y_pred, masks = descend(self, forward, x)
        return self._gx_measure(loss, x, y, y_pred, sample_weight, masks)

    def train_steps(self, batches: Batch) -> dict[str, Array]:
        """Run `train_step` for each row of arrays that hold several batches; return the last numbers."""
        return executions.in_one_run(self, "train_step", batches)

    def test_step(self, batch: Batch) -> dict[str, Array]:
        """Evaluate one batch: forward, loss, metrics. The last result is that of evaluate, which compiles it."""
        x, y, sample_weight = unpack(batch)
        with call_context(training=False) as context:
            y_pred = self(x, training=False)
            loss = one_number(self, self.compute_loss(x, y, y_pred, sample_weight))
            masks = context.mask_of(y_pred)
        return self._gx_measure(loss, x, y, y_pred, sample_weight, masks)

    def _gx_test_steps(self, batches: Batch) -> dict[str, Array]:
        return executions.in_one_run(self, "test_step", batches)

    _gx_test_steps.__qualname__ = "Model.test_step"  # the log of traces names what users know

    def predict_step(self, x: Any) -> Any:
        """Compute the output for one batch; ``x`` is the input itself, no tuple. Compiled by predict, and exported."""
        return self(x, training=False)

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None) -> Array:
        """Compute the loss of a batch: the compiled losses, added losses of layers, and penalties of regularizers.

        Raises:
            StateError: there is no loss at all.
        """
        loss = require_objectives(self).loss(y, y_pred, sample_weight, read_carried_masks(y_pred))
        terms = ([] if loss is None else [loss]) + [ops.cast(term, "float32") for term in self.losses]
        if not terms:
            raise no_loss(self)
        if all(getattr(type(self), name) is getattr(Model, name) for name in STEPS):
            require_objectives(self).require_used(y, y_pred, sample_weight)
        total = terms[0]
        for term in terms[1:]:
            total = total + ops.reshape(term, ())
        return total

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Array]:
        """Update the metrics with a batch; return their results, with the mean of the loss if this step updated it."""
        require_objectives(self).update(y, y_pred, sample_weight, read_carried_masks(y_pred))
        return results(self, require_objectives(self))

    def _gx_measure(
        self, loss: Array, x: object, y: object, y_pred: object, sample_weight: object, masks: object
    ) -> dict[str, Array]:
        require_objectives(self).loss_tracker.update(loss, sample_weight=rows_of(y_pred))
        with call_context() as context:
            context.set_mask(y_pred, masks)
            return self.compute_metrics(x, y, y_pred, sample_weight)

    # --- the loops ----------------------------------------------------------------------------------------------------

    @door
    @keywords(foreign_names.FIT)
    @in_width_of_model
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: Sequence[Callback] | None = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Mapping[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int | Sequence[int] = 1,
        check_nans: bool = False,
        resume: str | os.PathLike[str] | CheckpointManager | None = None,
    ) -> History:
        """Train for some epochs, and return the `History`.

        Args:
            x: Arrays (nested as the model takes them), tables, sparse matrices; an iterable of batches ``x, y`` or
                ``x, y, sample_weight``, such as torch's ``DataLoader`` yields; or a data set of samples by index.
            y: Targets, for arrays; or the name of their column, or a list of such names. Defaults to None.
            batch_size: The number of rows in a batch, for arrays and samples. Defaults to None: 32.
            epochs: The epoch to stop before: with ``initial_epoch=3``, ``epochs=5`` runs two. Defaults to 1.
            verbose: 0 or False (quiet), 1 or True (a bar), 2 (a line for each epoch). Defaults to ``"auto"``.
            callbacks: Callbacks, which run in this order, before the history and the bar. Defaults to None.
            validation_split: The fraction of rows, at the end of the arrays, for validation. Defaults to 0.
            validation_data: ``(x, y)``, ``(x, y, sample_weight)``, or an iterable of batches. Defaults to None.
            shuffle: Whether to shuffle rows in each epoch, by the global seed and the epoch's number. Defaults to True.
            class_weight: A dict of weights by class number, which multiply ``sample_weight``. Defaults to None.
            sample_weight: A weight for each row. Defaults to None.
            initial_epoch: The first epoch; rows are shuffled as in an uninterrupted run. Defaults to 0.
            steps_per_epoch: The number of batches in an epoch; the next goes on in the data. Defaults to None: all.
            validation_steps: The number of batches in a validation. Defaults to None: all.
            validation_batch_size: The number of rows in a validation batch. Defaults to ``batch_size``.
            validation_freq: Validate once in so many epochs, or after these (counted from 1). Defaults to 1.
            check_nans: Whether to stop at the first step whose loss or metrics are not finite, or which makes a
                Variable nan: the batch is run again op by op, and the error names layer, operation, line, direction
                and inputs. The Variables are as before that step. Steps cannot reuse memory. Defaults to False.
            resume: A directory, or a `CheckpointManager`, that `graftax.callbacks.ModelCheckpoint` saved to: continue
                from the latest state there, if any, with the numbers of an uninterrupted run. Defaults to None.

        Raises:
            StateError: the model is not compiled, or without an optimizer or a loss.
            ArgumentError: an argument is invalid, or would have no effect.
            DataError: the parts of the data do not match.
            IndexRangeError: an index or a label is out of range; the model was not trained on its batch.
            NumericsError: with ``check_nans``, a step produced values that are not finite.
        """
        check_nans = arguments.check_nan_option(check_nans, self._gx_run_eagerly)
        verbose = arguments.check_verbosity(verbose)
        numbers = arguments.epochs_of(initial_epoch, epochs)
        batch_size = arguments.check_count_or_none("batch_size", batch_size)
        steps = arguments.check_count_or_none("steps_per_epoch", steps_per_epoch)
        shuffle = arguments.check_truth("shuffle", shuffle)
        is_due = arguments.check_validation(
            numbers, validation_split, validation_data, validation_steps, validation_batch_size, validation_freq
        )
        x, y, sample_weight, validation_data, columns = sort_columns(self, x, y, sample_weight, validation_data, resume)
        parts, copied = (x, y, sample_weight), None
        if validation_split:
            parts, validation_data, copied = data.split_validation(*parts, validation_split)
        by_class = None if class_weight is None else ClassWeights(class_weight)
        source = data.make_source(*parts, batch_size, shuffle, steps, by_class, copied=copied)
        needs_y = y is not None and not (self._gx_has_own("test_step") or self._gx_has_own("compute_loss"))
        against = data.validation_source(validation_data, validation_batch_size, batch_size, validation_steps, needs_y)
        (require_objectives if self._gx_has_own("train_step") else require_optimizer)(self)  # raises before the loop
        arguments.refuse_two_starts(resume, initial_epoch)
        remember(self, columns)
        return loop.fit(self, source, against, numbers, verbose, as_list(callbacks), is_due, check_nans, resume)

    @door
    @keywords(foreign_names.EVALUATE)
    @in_width_of_model
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> dict[str, float]:
        """Return the loss and the metrics over a data set, by name; arguments as for `fit`."""
        size = arguments.check_count_or_none("batch_size", batch_size)
        steps = arguments.check_count_or_none("steps", steps)
        source = data.single_pass_source(*sort_columns(self, x, y, sample_weight)[:3], size, steps)
        _ = require_objectives(self)  # raises before anything is changed
        return loop.evaluate(self, source, arguments.check_verbosity(verbose), as_list(callbacks))

    @door
    @keywords(foreign_names.PREDICT)
    @in_width_of_model
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> Any:
        """Return the outputs for all rows, in their order, as NumPy arrays in the structure of the model's output.

        From batches ``(x, y)``, only ``x`` is used. A loader that shuffles has another order each time: it warns.

        Raises:
            IndexRangeError: an index that a layer looks up is out of range.
        """
        size = arguments.check_count_or_none("batch_size", batch_size)
        steps = arguments.check_count_or_none("steps", steps)
        x = order_inputs(self, x)
        return loop.predict(self, data.in_order(x, size, steps), arguments.check_verbosity(verbose), as_list(callbacks))

    @door
    @keywords(foreign_names.TRAIN_ON_BATCH)
    @in_width_of_model
    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        reset_metrics: bool = True,
        class_weight: Mapping[int, float] | None = None,
    ) -> dict[str, float]:
        """Run one training step on one batch; weights as for `fit`. By default the metrics are reset before."""
        return on_batch.on_batch(self, "train_step", (x, y, sample_weight), reset_metrics, class_weight)

    @door
    @keywords(foreign_names.ON_BATCH)
    @in_width_of_model
    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> dict[str, float]:
        """Return the loss and metrics of one batch; by default the metrics are reset before."""
        return on_batch.on_batch(self, "test_step", (x, y, sample_weight), reset_metrics)

    @door
    @keywords(foreign_names.ON_BATCH)
    @in_width_of_model
    def predict_on_batch(self, x: Any) -> Any:
        """Return the output for one batch, as NumPy arrays in the structure of the model's output."""
        return on_batch.predict_on_batch(self, x)

    def _gx_compiled_step(self, step: str, check_nans: bool = False) -> Callable[..., Any]:
        if self._gx_functions is None:
            self._gx_functions = executions.CompiledSteps()
        return executions.compile_step(self, step, self._gx_functions, check_nans, self._gx_run_eagerly)

    def _gx_hooks(self, callbacks: Sequence[Callback], params: dict[str, Any]) -> CallbackList:
        return CallbackList(callbacks, lambda callback: callback.set_model(self), params)
