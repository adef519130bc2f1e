"""What `compile` stores: the optimizer, and the losses and metrics of each output of the model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from graftax import ops
from graftax.core import tree
from graftax.core.errors import GraftaxError, StateError
from graftax.core.typedefs import Array
from graftax.losses import registry as losses
from graftax.losses.loss import Loss
from graftax.metrics import registry as metric_registry
from graftax.metrics.beside_loss import pairs, require_labels, require_same_scores
from graftax.metrics.metric import Metric
from graftax.metrics.one_number import require_one_number
from graftax.metrics.reduction import Mean, SampleMetric
from graftax.optimizers.minimizer import Minimizer
from graftax.training.given_arguments import GivenArgument, own_factors
from graftax.training.loss_arguments import check_factor, check_losses
from graftax.training.metric_arguments import weights_and_mask_for
from graftax.training.outputs import ONLY, OutputShape, name_entries, outputs_of, per_output, targets_of
from graftax.training.probabilities_as_logits import ProbabilitiesAsLogits
from graftax.training.raw_scores import RawScores
from graftax.training.shown_names import free_name, require_apart
from graftax.training.unused_targets import refuse_unused_targets, refuse_unused_weights, require_target
from graftax.variables.floating import widen_half
from graftax.variables.graph.module import Module, walk
from graftax.variables.state.storage import concretely, frames, touch


class Objectives:
    """Losses and metrics by output. Metrics are created at the first batch, when the outputs are known.

    Args:
        optimizer: The optimizer, or None for a model that is only evaluated.
        loss: A loss, a name or a function; for several outputs a dict by name or a list.
        metrics: A list, or for several outputs a dict of lists by name; they ignore sample weights.
        weighted_metrics: Likewise; they use sample weights.
        loss_weights: A factor for the loss of each output.

    Raises:
        ArgumentError: a name of a loss or metric is unknown.
    """

    def __init__(
        self,
        optimizer: Minimizer | None,
        loss: object,
        metrics: object,
        weighted_metrics: object,
        loss_weights: Mapping[str, Any] | Sequence[Any] | None,
    ) -> None:
        self.optimizer = optimizer
        self.names: tuple[str, ...] = ()
        """The names of the outputs of a graph of layers, if they have names."""
        check_losses(loss, loss_weights)
        self.given = [
            GivenArgument("compile", name, value, f"model.compile again, with the other {name}: the optimizer goes on")
            for name, value in (("loss", loss), ("metrics", metrics), ("weighted_metrics", weighted_metrics))
        ]
        """The dicts and lists that the caller has; the model has copies, since several may be compiled with one."""
        self.given_factors = GivenArgument(
            "compile", "loss_weights", loss_weights, "model.compiled_loss_weights[{key!r}] = {value!r:.60}"
        )
        loss, metrics, weighted_metrics = (_copy_of(given) for given in (loss, metrics, weighted_metrics))
        self._loss, self.factors = loss, own_factors(loss_weights)
        self._wanted = (("", metrics, False), ("weighted_", weighted_metrics, True))
        self.looks = any(map(_checks, map(losses.get, filter(None, tree.flatten(loss)))))
        """Whether a loss or metric can check targets on the host, for example for labels out of range."""
        for _, wanted, _ in self._wanted:
            for one in tree.flatten(wanted):
                if one is not None:
                    self.looks |= metric_registry.needs_shapes(one) or _checks(metric_registry.get(one))
        given = [*tree.flatten(loss), *(one for _, wanted, _ in self._wanted for one in tree.flatten(wanted))]
        self.calls_python = any(isinstance(one, Loss | Metric) and one.calls_python for one in given)
        """Whether a loss or metric runs arbitrary Python, so that steps wait for it."""
        require_apart([one for _, wanted, _ in self._wanted for one in tree.flatten(wanted)])
        self._compared: set[Metric] = set()  # each with the loss of its output
        for _, wanted, _ in self._wanted:
            for one, beside in pairs(wanted, loss):
                self._compare(one, beside)
            for one in tree.flatten(wanted):
                require_one_number(one)
        self.loss_tracker = Mean(name="loss")
        self._losses: dict[str, Loss | None] | None = None
        self._trackers: dict[str, Mean] = {}
        self._scores: dict[str, RawScores] = {}
        self.probabilities = ProbabilitiesAsLogits()
        self.outputs: dict[str, OutputShape] = {}
        """The outputs that a loss has seen last: those of the latest eager step, or trace."""
        self.checks_masks = False
        """Whether a loss checks targets on the host with the masks of the predictions."""
        self._metrics: list[tuple[str, str, Metric, bool]] = []  # output, shown name, metric, whether it is weighted
        self._metric_objects = list(dict.fromkeys(one for one in given if isinstance(one, Metric)))
        self._made_metrics: list[Metric] = []  # each once
        self._named: set[Metric] = set()  # those given by name, which read targets like the loss
        self._made = False
        self._looked = False
        self.computed = 0
        """How often the losses were computed: in eager steps, and in traces."""
        self.has_trained = False
        """Whether a step on a single batch has trained with these."""

    @property
    def metrics(self) -> list[Metric]:
        """Return all metrics, the mean of the loss first."""
        # before the first batch, those that were given as objects, which may have counted elsewhere
        own = self._made_metrics or self._metric_objects
        _watch(own)
        return [*self.loss_means, *own]

    @property
    def loss_means(self) -> list[Mean]:
        """Return the mean of the loss, and those of the losses of several outputs."""
        return [self.loss_tracker, *self._trackers.values()]

    @property
    def metrics_by_name(self) -> dict[str, Metric]:
        """Return all metrics by the names that `fit` shows, the mean of the loss first."""
        found: dict[str, Metric] = {"loss": self.loss_tracker}
        found |= {tracker.name: tracker for tracker in self._trackers.values()}
        for _, shown, metric, _ in self._metrics:
            found[free_name("", "metric_", shown, {*found})] = metric
        return found

    def given_metrics(self) -> list[tuple[str, Metric | None]]:
        """Return the metrics that were given to `compile` with their names; None for one that is not made yet."""
        if self._made:
            return [(shown, metric) for _, shown, metric, _ in self._metrics]
        given = [one for _, wanted, _ in self._wanted for one in tree.flatten(wanted) if one is not None]
        return [
            (one.name, one)
            if isinstance(one, Metric)
            else (one if isinstance(one, str) else getattr(one, "__name__", repr(one)), None)
            for one in given
        ]

    def given_arguments(self) -> dict[str, Any]:
        """Return the losses, metrics and factors that were given to `compile`, by argument."""
        metrics = {f"{prefix}metrics": wanted for prefix, wanted, _ in self._wanted}
        return {"loss": self._loss, **metrics, "loss_weights": self.factors}

    def given_losses(self) -> dict[str, Any]:
        """Return the losses and factors that were given to `compile`."""
        return {"loss": self._loss, "weights": self.factors}

    def loss(self, y: object, y_pred: object, sample_weight: object, masks: object) -> Array | None:
        """Return the weighted sum of the losses of all outputs; None if there is no loss."""
        if self._loss is None:
            return None
        self.computed += 1
        predictions = outputs_of(name_entries(y_pred, self.names), "y_pred")
        names = list(predictions)
        targets = targets_of(name_entries(y, self.names), names)
        self.outputs = {name: OutputShape(tuple(ops.shape(part))) for name, part in predictions.items()}
        by_output = self._choose_losses(names)
        self.checks_masks = masks is not None and any(one is not None and one.checks_mask for one in by_output.values())
        if len(names) > 1 and not self._trackers:
            self._trackers = {name: Mean(name=f"{name}_loss") for name, loss in by_output.items() if loss}
        factors = per_output(self.factors, names, "loss_weights", 1.0)
        weights = per_output(sample_weight, names, "sample_weight", None)
        by_mask = outputs_of(name_entries(masks, self.names), "mask") if masks is not None else dict.fromkeys(names)
        total: Array | None = None
        for name in names:
            loss = by_output[name]
            if loss is None:
                continue
            require_target(targets, name, "loss")
            self.probabilities.warn(name, predictions[name], loss)
            with self._listener(name).listen():
                value = loss(targets[name], predictions[name], weights[name], by_mask.get(name))
            if name in self._trackers:
                self._trackers[name].update(value, sample_weight=_rows(predictions[name]))
            factor = check_factor(factors[name], name)
            term = value if factor is None else value * factor
            total = term if total is None else total + term
        return total

    def require_used(self, y: object, y_pred: object, sample_weight: object) -> None:
        """Raise if there are targets or sample weights for an output that does not use them."""
        if y is None and sample_weight is None:
            return
        names = list(outputs_of(name_entries(y_pred, self.names), "y_pred"))
        compared = {name for name, loss in self._choose_losses(names).items() if loss is not None}
        with_metrics = [self._with_metrics(wanted, names) for _, wanted, _ in self._wanted]
        if y is not None:
            refuse_unused_targets(targets_of(name_entries(y, self.names), names), compared.union(*with_metrics))
        refuse_unused_weights(sample_weight, names, compared | with_metrics[1])

    def _with_metrics(self, metrics: object, names: list[str]) -> set[str]:
        if not metrics or (isinstance(metrics, list | tuple) and names == [ONLY]):
            return set(names) if metrics else set()
        by_name = per_output(metrics, names, "metrics", None)
        return {name for name, several in by_name.items() if any(one is not None for one in tree.flatten(several))}

    def _choose_losses(self, names: list[str]) -> dict[str, Loss | None]:
        """Return the loss of each output."""
        if self._losses is None:
            chosen = per_output(self._loss, names, "loss", None)
            with (
                concretely()
            ):  # what a trace makes counts as the same at each call, whatever a loss of the user's keeps
                self._losses = {name: None if loss is None else losses.get(loss) for name, loss in chosen.items()}
        return self._losses

    def _compare(self, metric: Any, beside: Any) -> None:
        if isinstance(metric, Metric) and metric not in self._compared:
            require_same_scores(metric, None if beside is None else losses.get(beside))
            self._compared.add(metric)

    def check_targets(self, y: object, outputs: object, sample_weight: object = None, masks: object = None) -> None:
        """Raise if targets on the host do not match outputs of these shapes, which compiled code cannot check.

        Targets that are masked, or have weight 0 in losses and weighted metrics, may have any value.
        """
        predictions = outputs_of(outputs, "y_pred")
        names = list(predictions)
        targets = targets_of(name_entries(y, self.names), names)
        by_output = self._choose_losses(names)
        if not self._made and all(targets.get(name) is not None for name in names):
            self._make(predictions, targets)
        weights = per_output(sample_weight, names, "sample_weight", None)
        by_mask = outputs_of(name_entries(masks, self.names), "mask") if masks is not None else dict.fromkeys(names)
        checks: list[tuple[str, Any, bool]] = [(name, loss, True) for name, loss in by_output.items()]
        for name, _, metric, weighted in self._metrics:
            counts_all = not weighted and weights[name] is not None
            if counts_all or metric not in self._named or not _checks(by_output[name]):
                checks.append((name, metric, weighted))
        for name, checker, weighted in checks:
            if targets.get(name) is not None and _checks(checker):
                shape, visible = tuple(predictions[name].shape), targets[name]
                for hides in (by_mask.get(name), weights[name] if weighted else None):
                    if hides is not None:
                        visible = checker.formula.visible_targets(visible, shape, hides)
                try:
                    beside = {"mask": by_mask.get(name)} if getattr(checker, "checks_mask", False) else {}
                    checker.check_targets(visible, shape, **beside)
                except GraftaxError as error:
                    error.add_context(f"{checker!r}")
                    if not weighted and weights[name] is not None:
                        error.add_context("metrics= count every sample; weighted_metrics= leave out those of weight 0")
                    raise

    def warn_of_scores(self) -> None:
        """Warn, once, if a loss of probabilities got other values in the latest batch."""
        if not self._looked and self._scores:
            self._looked = True
            told = set()
            for name, scores in self._scores.items():  # losses come before metrics
                output = name.partition("/")[0]
                if output not in told and scores.warn(output, "metric" if "/" in name else "loss"):
                    told.add(output)

    def _listener(self, name: str) -> RawScores:
        if name not in self._scores:
            self._scores[name] = RawScores()
        return self._scores[name]

    def update(self, y: object, y_pred: object, sample_weight: object, masks: object) -> None:
        """Update the metrics with a batch."""
        if not any(wanted for _, wanted, _ in self._wanted):
            return
        y, y_pred = widen_half(y), widen_half(y_pred)  # as losses do; metrics of the user may add them up as they come
        predictions = outputs_of(name_entries(y_pred, self.names), "y_pred")
        names = list(predictions)
        targets = targets_of(name_entries(y, self.names), names)
        if not self._made:
            self._make(predictions, targets)
        weights = per_output(sample_weight, names, "sample_weight", None)
        by_mask = outputs_of(name_entries(masks, self.names), "mask") if masks is not None else dict.fromkeys(names)
        _watch([metric for _, _, metric, _ in self._metrics])
        for number, (name, _, metric, weighted) in enumerate(self._metrics):
            weight = weights[name] if weighted else None
            require_target(targets, name, "metric")
            self.probabilities.warn(name, predictions[name], metric)
            with self._listener(f"{name}/{number}").listen():
                metric.update(
                    targets[name], predictions[name], **weights_and_mask_for(metric, weight, by_mask.get(name))
                )

    def _make(self, predictions: dict[str, Any], targets: dict[str, Any]) -> None:
        names = list(predictions)
        by_output = self._choose_losses(names)
        for prefix, wanted, weighted in self._wanted:
            if not wanted:
                continue
            chosen = wanted if isinstance(wanted, list | tuple) and names == [ONLY] else None
            by_name = {ONLY: chosen} if chosen is not None else per_output(wanted, names, f"{prefix}metrics", None)
            for output, several in by_name.items():
                for one in several if isinstance(several, list | tuple) else [several]:
                    if one is None:
                        continue
                    require_target(targets, output, "metric")
                    shapes = (_shape(targets[output]), _shape(predictions[output]))
                    with concretely():  # as above
                        metric = metric_registry.get(one, *shapes, by_output.get(output))
                    if isinstance(one, str):
                        self._named.add(metric)
                    self._compare(metric, by_output.get(output))
                    require_labels(metric, by_output.get(output), predictions[output])
                    require_apart([*(kept for _, _, kept, _ in self._metrics), metric])
                    taken = {"loss", *(tracker.name for tracker in self._trackers.values())}
                    taken |= {other for _, other, _, _ in self._metrics}
                    shown = free_name(f"{output}_" if output else "", prefix or "also_", metric.name, taken)
                    self._metrics.append((output, shown, metric, weighted))
        self._made_metrics = list(dict.fromkeys(metric for _, _, metric, _ in self._metrics))
        self._made = True

    def results(self, without: Sequence[Mean] = ()) -> dict[str, Array]:
        """Return all present results by name, with ``loss`` first, if there is one.

        Args:
            without: Means of losses to leave out. Defaults to none.
        """
        found = {mean.name: mean.result() for mean in self.loss_means if mean not in without}
        _watch([metric for _, _, metric, _ in self._metrics])
        taken = {*(mean.name for mean in self.loss_means), *(shown for _, shown, _, _ in self._metrics)}
        for output, shown, metric, _ in self._metrics:
            result = metric.result()
            if not isinstance(result, dict):
                found[shown] = result
                continue
            for key, number in result.items():
                name = free_name(f"{output}_" if output else "", f"{metric.name}_", key, taken)
                taken.add(name)
                found[name] = number
        return found

    def reset(self) -> None:
        """Reset all metrics."""
        for metric in self.metrics:
            metric.reset()


def _copy_of(given: object) -> Any:
    return tree.rebuild(given, iter(tree.flatten(given)))


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value.shape) if hasattr(value, "shape") else tuple(ops.shape(value))


def _watch(metrics: list[Metric]) -> None:
    """Tell the function being compiled, if any, that it depends on metrics, which may have no Variables that tell."""
    if frames.top is not None:
        for metric in metrics:
            deque(walk(metric), 0)


def _checks(checker: object) -> bool:
    """Tell whether a loss or metric can check targets."""
    nothing = Loss.check_targets if isinstance(checker, Loss) else SampleMetric.check_targets
    return getattr(type(checker), "check_targets", nothing) is not nothing


def require_objectives(model: Any) -> Objectives:
    """Return the objectives of a compiled model.

    Raises:
        StateError: the model is not compiled.
    """
    found: Objectives | None = model._gx_objectives
    if found is None:
        raise StateError(
            f"{type(model).__name__} {model.name!r} is not compiled",
            "fit, evaluate and the steps need a loss, and fit an optimizer",
            'model.compile(optimizer="adam", loss="mse")',
        )
    return found


def require_optimizer(model: object) -> Minimizer:
    """Return the optimizer of a compiled model.

    Raises:
        StateError: the model is not compiled, or without an optimizer.
    """
    optimizer = require_objectives(model).optimizer
    if optimizer is None:
        raise StateError(
            f"{type(model).__name__} was compiled without an optimizer",
            "training needs one to update the weights",
            'model.compile(optimizer="adam", loss=...)',
        )
    if isinstance(optimizer, Module):
        touch(optimizer)  # a ``minimize`` of the user's may change it before anything else is asked of it
    return optimizer


def _rows(prediction: Any) -> Any:
    return ops.shape(prediction)[0]


LossLike: TypeAlias = str | Loss | Callable[..., Any] | Mapping[str, Any] | list[Any] | None
MetricsLike: TypeAlias = list[Any] | Mapping[str, Any] | None
