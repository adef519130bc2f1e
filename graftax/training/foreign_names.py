"""Arguments and attributes of models in other libraries, and what to write here instead."""

from __future__ import annotations

from graftax.core.errors import MissingAttributeError

_EAGER = "run_eagerly=True to run uncompiled"
COMPILE = {
    "jit_compile": f"without it: steps are always compiled; {_EAGER}",
    "auto_scale_loss": 'optimizer=graftax.optimizers.Adam(loss_scale="dynamic")',
    "lr": "optimizer=graftax.optimizers.Adam(learning_rate=...)",
    "learning_rate": "optimizer=graftax.optimizers.Adam(learning_rate=...)",
    "criterion": "loss=...",
    "sample_weight_mode": "fit(sample_weight=...), with a weight for each value where steps have their own",
    "dynamic": _EAGER,
    "eager": _EAGER,
}
_DATA = {
    "batchsize": "batch_size=...",
    "inputs": "x=...",
    "targets": "y=...",
    "labels": "y=...",
    "generator": "x=...",
    "dataset": "x=...",
    "data": "x=...",
    "workers": "without it; a loader of batches may have workers of its own, such as torch's DataLoader",
    "use_multiprocessing": "without it; a loader of batches may have workers of its own, such as torch's DataLoader",
    "max_queue_size": "without it; a loader of batches has its own settings",
}
FIT = {
    **_DATA,
    "epoch": "epochs=...",
    "num_epochs": "epochs=...",
    "n_epochs": "epochs=...",
    "nb_epoch": "epochs=...",
    "max_epochs": "epochs=...",
    "steps": "steps_per_epoch=...",
    "steps_per_execution": "compile(..., steps_per_execution=2)",
    "samples_per_epoch": "steps_per_epoch=...",
    "val_data": "validation_data=...",
    "valid_data": "validation_data=...",
    "eval_set": "validation_data=(x_val, y_val)",
    "lr": "compile(optimizer=graftax.optimizers.Adam(learning_rate=...))",
    "learning_rate": "compile(optimizer=graftax.optimizers.Adam(learning_rate=...))",
    "metrics": "compile(metrics=[...])",
    "class_weights": "class_weight=...",
    "sample_weights": "sample_weight=...",
}
EVALUATE = {**_DATA, "return_dict": "without it: what comes back is a dict", "sample_weights": "sample_weight=..."}
PREDICT = {**_DATA, "y": "without it: predictions need no targets"}
SUMMARY = {
    "line_length": "without it: columns are as wide as what is in them",
    "positions": "without it: columns are as wide as what is in them",
    "expand_nested": "expand=True for all levels, expand=1 for the first",
    "layer_range": "without it: part.summary() of a model that is a part of this one",
}
TRAIN_ON_BATCH = {"class_weights": "class_weight=...", "return_dict": EVALUATE["return_dict"]}
ON_BATCH = {"class_weight": "sample_weight=..., the weight of each row's class", "return_dict": EVALUATE["return_dict"]}

_RESETS = (
    "each layer that keeps a state starts over by itself; metrics do in reset_metrics()",
    '[part.reset_state() for part in model.submodules if getattr(part, "stateful", False)]',
)
METHODS: dict[str, tuple[str, str]] = {
    "metrics_names": ("numbers have their names where they come from", "list(model.evaluate(x, y))"),
    "fit_generator": ("fit takes whatever yields batches", "model.fit(batches)"),
    "evaluate_generator": ("evaluate takes whatever yields batches", "model.evaluate(batches)"),
    "predict_generator": ("predict takes whatever yields batches", "model.predict(batches)"),
    "predict_proba": ("predict gives what the model gives", "model.predict(x)"),
    "predict_classes": ("predict gives what the model gives", "model.predict(x).argmax(axis=-1)"),
    "score": ("what is measured is said by compile", "model.evaluate(x, y)"),
    "reset_state": _RESETS,
    "reset_states": _RESETS,
    "add_metric": (
        "a Metric that a model or a layer keeps, self.drift = drift, is found, starts over and is shown; "
        "self.drift.update(value) in call",
        'drift = graftax.metrics.Mean(name="drift")',
    ),
    "compiled_metrics": ("what compile was given is one method", "model.compute_metrics(x, y, model(x))"),
    "compiled_loss": ("what compile was given is one method", "model.compute_loss(x, y, model(x))"),
    "loss_weights": (
        "compile takes them; afterwards, the factors of the model are in model.compiled_loss_weights",
        'model.compile(model.optimizer, "mse", loss_weights=[0.5])',
    ),
    "make_train_function": ("fit compiles train_step by itself", "model.train_step(batch)"),
}
"""Attributes of models in other libraries, besides those of all layers: why there is none here, and what to write."""


def missing_attribute_error(model: object, name: str) -> MissingAttributeError | None:
    """Return the error for an attribute that models of other libraries have; None for any other name."""
    if name not in METHODS:
        return None
    why, instead = METHODS[name]
    return MissingAttributeError(f"{type(model).__name__} has no attribute {name!r}", why, instead)
