"""Model: a layer that can be compiled, fitted, evaluated and asked for predictions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from graftax import ops
from graftax.checkpoint.manager import CheckpointManager
from graftax.core.errors import MissingAttributeError, StateError
from graftax.core.fallback import Fallback
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.layers.call_context import call_context
from graftax.metrics.metric import Metric
from graftax.optimizers import registry as optimizers
from graftax.optimizers.minimizer import Minimizer, returned
from graftax.training import arguments, elsewhere, executions, loop, on_batch
from graftax.training.arguments import keywords
from graftax.training.batch import Batch, Parts, unpack
from graftax.training.callbacks.callback import Callback
from graftax.training.callbacks.callback_list import CallbackList, listed
from graftax.training.callbacks.history import History
from graftax.training.class_weights import ClassWeights
from graftax.training.dependence import level_around, require_dependent
from graftax.training.described import Described
from graftax.training.first_step import build_all, require_restored
from graftax.training.held_metrics import all_metrics, results
from graftax.training.idle_parts import STEPS
from graftax.training.objectives import LossLike, MetricsLike, Objectives, required_objectives, required_optimizer
from graftax.training.output_masks import carried_masks
from graftax.training.sources import choosing as data
from graftax.training.sources.host_batches import host_batch
from graftax.training.sources.named_columns import with_all_columns
from graftax.variables.graph.reserved import OF_MODELS, Words


class Model(Described):
    """A layer with a training loop: a graph of layers, or a subclass that defines ``call`` as in any layer.

    ``fit`` is a loop over `train_step`, which may be overridden; everything it does is done with public pieces
    (``optimizer.minimize``, `graftax.value_and_grad`, metrics), so that a loop of one's own is as good.

    Args:
        inputs: Where a graph begins: what `graftax.Input` gave, nested as calls are to be. Defaults to None, no graph.
        outputs: Where it ends: what layers, ops and operators made of that. Defaults to None.
        name: Its name.
        trainable: Whether its Variables may be trained.
        dtype: A dtype policy or its name.

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
    _gx_never_called: frozenset[int] = frozenset()
    _gx_run_eagerly = False
    _gx_steps_per_execution = 1

    def _gx_missing(self, name: str, said: str) -> MissingAttributeError:
        return elsewhere.missing(self, name) or super()._gx_missing(name, said)

    # --- compile ----------------------------------------------------------------------------------------------------

    @door
    @keywords(elsewhere.COMPILE)
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
        """Say how to train and what to measure.

        Args:
            optimizer: An optimizer or its name, or any other Module with ``minimize``; needed by fit only.
            loss: A loss, its name or a function of ``(y_true, y_pred)``; for several outputs a dict by output name, or
                a list.
            metrics: Metrics, their names or functions; for several outputs a dict by output name. Sample weights are
                ignored.
            weighted_metrics: Likewise, with sample weights.
            loss_weights: A factor on the loss of each output.
            run_eagerly: Do not compile the steps, so that breakpoints and prints see real values.
            steps_per_execution: Batches that `fit` and `evaluate` take in one run of a compiled loop: quicker for small
                steps; hooks see the last of each. One by one where few are left, shapes change, or nans are looked for.

        Raises:
            ArgumentError: a name that there is not, a number that cannot be, or weights of losses without a loss.
            ArgumentTypeError: something of a type that cannot be used.
        """
        steps = arguments.counted("steps_per_execution", steps_per_execution)
        run_eagerly = arguments.truth("run_eagerly", run_eagerly)
        chosen = optimizers.get(optimizer) if optimizer is not None else None
        self._gx_objectives = Objectives(chosen, loss, metrics, weighted_metrics, loss_weights)
        self._gx_objectives.names = self._gx_output_names()
        self._gx_functions = executions.CompiledSteps()
        object.__setattr__(self, "_gx_run_eagerly", run_eagerly)
        object.__setattr__(self, "_gx_steps_per_execution", steps)

    @property
    def steps_per_execution(self) -> int:
        """Return how many batches one run takes, as given to `compile`; 1 where it is not compiled."""
        return 1 if self._gx_run_eagerly else self._gx_steps_per_execution

    @property
    def optimizer(self) -> Any:
        """Return the optimizer given to `compile`, or another `Minimizer`; raise `StateError` without one."""
        return required_optimizer(self)

    @Fallback
    def history(self) -> History | None:
        """Return what the latest `fit` returned; None before."""
        return self._gx_history

    @Fallback
    def objectives(self) -> Objectives:
        """Return losses and metrics given to `compile`; raise `StateError` if it was not called."""
        return required_objectives(self)

    @property
    def metrics(self) -> list[Metric]:
        """Return all metrics: the mean of the loss, those given to `compile`, those that model and layers hold.

        A model may define it to list more, as in Keras; it need not.
        """
        return all_metrics(self, self._gx_objectives, ())

    def reset_metrics(self) -> None:
        """Start all metrics over, also those that a `metrics` of the model's own leaves out.

        Each epoch and evaluation begins with it. What is to go on is a Variable, or a Metric that overrides ``reset``.
        """
        listed = () if type(self).metrics is Model.metrics else self.metrics
        for metric in all_metrics(self, self._gx_objectives, listed):
            metric.reset()

    def _gx_has_own(self, step: str) -> bool:
        return getattr(type(self), step) is not getattr(Model, step)

    # --- the steps, to be overridden ---------------------------------------------------------------------------------

    def train_step(self, batch: Batch) -> dict[str, Array]:
        """Take one step of training: forward, loss, gradient, update, metrics. Compiled by fit.

        Args:
            batch: ``(x, y)`` or ``(x, y, sample_weight)``.

        Returns:
            The numbers to show, by name: means over the epoch so far. Of a step of your own they are shown as it
            gives them: a plain number is that of the last batch, the result of a `metrics.Mean` a mean.
        """
        x, y, sample_weight = unpack(batch)
        object.__setattr__(self, "_gx_never_called", build_all(self, x, self._gx_never_called))
        require_restored(self, self.optimizer)
        variables, level = self.trainable_variables, level_around()

        def forward() -> tuple[Array, tuple[Any, Any, Any]]:
            with call_context(training=True) as context:
                y_pred = self(x, training=True)
                loss = self.compute_loss(x, y, y_pred, sample_weight)
                if variables:
                    require_dependent(loss, level, self.optimizer)
                return loss, (loss, y_pred, context.mask_of(y_pred))

        if variables:
            found = self.optimizer.minimize(forward, variables, has_aux=True)
            _, (loss, y_pred, masks) = returned(self.optimizer, found)
        else:
            _, (loss, y_pred, masks) = forward()  # all is frozen: there is still a loss to report
        return self._gx_measure(loss, y, y_pred, sample_weight, masks)

    def train_steps(self, batches: Batch) -> dict[str, Array]:
        """Run `train_step` for each row of arrays that hold several batches; return the last numbers."""
        return executions.in_one_run(self, "train_step", batches)

    def test_step(self, batch: Batch) -> dict[str, Array]:
        """Evaluate one batch: forward, loss, metrics; what it gives last is the result. Compiled by evaluate."""
        x, y, sample_weight = unpack(batch)
        with call_context(training=False) as context:
            y_pred = self(x, training=False)
            loss = self.compute_loss(x, y, y_pred, sample_weight)
            masks = context.mask_of(y_pred)
        return self._gx_measure(loss, y, y_pred, sample_weight, masks)

    def _gx_test_steps(self, batches: Batch) -> dict[str, Array]:
        return executions.in_one_run(self, "test_step", batches)

    def predict_step(self, x: Any) -> Any:
        """Compute the output for one batch. Compiled by predict."""
        return self(x, training=False)

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None) -> Array:
        """Compute the loss of a batch: the compiled losses, what layers added, and the penalties of regularizers.

        Raises:
            StateError: there is nothing to add up.
        """
        loss = required_objectives(self).loss(y, y_pred, sample_weight, carried_masks(y_pred))
        terms = ([] if loss is None else [loss]) + [ops.cast(term, "float32") for term in self.losses]
        if not terms:
            raise StateError(
                f"{type(self).__name__} {self.name!r} has no loss",
                "it was compiled without one, and no layer adds one",
                'model.compile(optimizer="adam", loss="mse")',
            )
        if all(getattr(type(self), name) is getattr(Model, name) for name in STEPS):
            required_objectives(self).require_used(y, y_pred, sample_weight)
        total = terms[0]
        for term in terms[1:]:
            total = total + ops.reshape(term, ())
        return total

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Array]:
        """Show a batch to the metrics and give all numbers now."""
        required_objectives(self).update(y, y_pred, sample_weight, carried_masks(y_pred))
        return results(self, required_objectives(self))

    def _gx_measure(
        self, loss: Array, y: object, y_pred: object, sample_weight: object, masks: object
    ) -> dict[str, Array]:
        required_objectives(self).loss_tracker.update(loss, sample_weight=loop.rows_of(y_pred))
        with call_context() as context:
            context.set_mask(y_pred, masks)
            return self.compute_metrics(None, y, y_pred, sample_weight)

    # --- the loops --------------------------------------------------------------------------------------------------

    @door
    @keywords(elsewhere.FIT)
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
        """Train for some epochs; return the `History`.

        Args:
            x: Arrays (nested as the model takes them), tables, sparse matrices; an iterable of batches ``x, y`` or
                ``x, y, sample_weight``, such as torch's ``DataLoader`` yields; or a data set of samples by index.
            y: Targets, for arrays; the name of their column, where there are names.
            batch_size: Rows in a batch, 32 unless told; for arrays and samples.
            epochs: The number of the epoch to stop before; with ``initial_epoch=3``, ``epochs=5`` runs two.
            verbose: ``"auto"``, 0 or False (quiet), 1 or True (a bar), or 2 (a line each epoch).
            callbacks: Run in this order, before the history and the bar.
            validation_split: The fraction at the end of the arrays that is kept for validation.
            validation_data: ``x, y`` or ``x, y, sample_weight`` in a tuple or list, or an iterable of batches.
            shuffle: Draw a new order of rows each epoch; it follows from the global seed and the epoch's number.
            class_weight: A weight for each class number; times ``sample_weight`` if both are given.
            sample_weight: A weight for each row.
            initial_epoch: The number of the first epoch, to resume: orders go on as in an unbroken run.
            steps_per_epoch: Batches in an epoch, if not all.
            validation_steps: Batches in a validation, if not all.
            validation_batch_size: Rows in a validation batch; as ``batch_size`` unless told.
            validation_freq: Validate every so many epochs, or after the epochs listed (counted from 1).
            check_nans: Whether to stop at the first step whose loss or metrics are not finite, or which makes a
                Variable nan: the batch is run again in steps, and the error names layer, operation, line, direction
                and what went in. The Variables are as before that step. Costs the memory that steps reuse otherwise.
            resume: A directory, or a `CheckpointManager`, that `graftax.callbacks.ModelCheckpoint` saved to: go on from
                the latest state there, to the same numbers as an unbroken run; from the start where there is none.

        Raises:
            StateError: not compiled, or without an optimizer or a loss.
            ArgumentError: an argument makes no sense, or says how to do what is not done.
            DataError: the data do not fit together.
            IndexRangeError: an index or a label is out of range; nothing has been trained on its batch.
            NumericsError: with ``check_nans``, a step made bad numbers.
        """
        check_nans = arguments.nan_check(check_nans, self._gx_run_eagerly)
        verbose = arguments.verbosity(verbose)
        numbers = arguments.epochs_of(initial_epoch, epochs)
        batch_size = arguments.counted_or_none("batch_size", batch_size)
        steps = arguments.counted_or_none("steps_per_epoch", steps_per_epoch)
        shuffle = arguments.truth("shuffle", shuffle)
        is_due = arguments.check_validation(
            numbers, validation_split, validation_data, validation_steps, validation_batch_size, validation_freq
        )
        x, y, validation_data = with_all_columns(x, y, validation_data)
        if validation_split:
            (x, y, sample_weight), validation_data = data.split_validation(x, y, sample_weight, validation_split)
        by_class = None if class_weight is None else ClassWeights(class_weight)
        source = data.make_source(x, y, sample_weight, batch_size, shuffle, steps, by_class)
        against = data.validation_source(validation_data, validation_batch_size, batch_size, validation_steps)
        required = required_objectives if self._gx_has_own("train_step") else required_optimizer
        required(self)  # raises, if at all, at once
        arguments.refuse_two_starts(resume, initial_epoch)
        return loop.fit(self, source, against, numbers, verbose, listed(callbacks), is_due, check_nans, resume)

    @door
    @keywords(elsewhere.EVALUATE)
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
        size = arguments.counted_or_none("batch_size", batch_size)
        steps = arguments.counted_or_none("steps", steps)
        source = data.once(x, y, sample_weight, size, steps)
        _ = required_objectives(self)  # raises before anything has happened
        return loop.evaluate(self, source, arguments.verbosity(verbose), listed(callbacks))

    @door
    @keywords(elsewhere.PREDICT)
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> Any:
        """Return the outputs for all rows, in their order, as NumPy arrays in the structure of the model's output.

        Of batches ``(x, y)`` it takes ``x``.

        Raises:
            IndexRangeError: an index that a layer looks up is out of range.
        """
        size = arguments.counted_or_none("batch_size", batch_size)
        steps = arguments.counted_or_none("steps", steps)
        source = data.once(x, None, None, size, steps)
        return loop.predict(self, source, arguments.verbosity(verbose), listed(callbacks))

    @door
    @keywords(elsewhere.ON_BATCH)
    def train_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> dict[str, float]:
        """Take one training step on one batch; by default the metrics start over."""
        return self._gx_on_batch("train_step", (x, y, sample_weight), reset_metrics)

    @door
    @keywords(elsewhere.ON_BATCH)
    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> dict[str, float]:
        """Return loss and metrics of one batch; by default the metrics start over."""
        return self._gx_on_batch("test_step", (x, y, sample_weight), reset_metrics)

    @door
    @keywords(elsewhere.ON_BATCH)
    def predict_on_batch(self, x: Any) -> Any:
        """The output for one batch, as NumPy arrays in the structure of the model's output."""
        return on_batch.predict_on_batch(self, host_batch(x))

    def _gx_on_batch(self, step: str, parts: Parts, reset_metrics: bool) -> dict[str, float]:
        return on_batch.on_batch(self, step, host_batch(*parts), arguments.truth("reset_metrics", reset_metrics))

    def _gx_compiled_step(self, step: str, check_nans: bool = False) -> Callable[..., Any]:
        if self._gx_functions is None:
            self._gx_functions = executions.CompiledSteps()
        return executions.compiled(self, step, self._gx_functions, check_nans, self._gx_run_eagerly)

    def _gx_hooks(self, callbacks: Sequence[Callback], params: dict[str, Any]) -> CallbackList:
        return CallbackList(callbacks, self, params)
