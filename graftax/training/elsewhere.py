"""What other libraries call things of a model, and what to write here."""

from __future__ import annotations

from typing import Any

from graftax.errors import MissingAttributeError

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
ON_BATCH = {"class_weight": "sample_weight=..., the weight of each row's class", "return_dict": EVALUATE["return_dict"]}

_FILES = "a model is a part of a program; its values go to files and come back with a Checkpoint"
_SAVE = "graftax.Checkpoint(model=model).save('weights')"
_RESTORE = "graftax.Checkpoint(model=model).restore('weights')"
_VALUES = "values belong to Variables, which have names by their place in the model"
_TAKE = "{name: variable.numpy() for name, variable in model.named_variables().items()}"
_GIVE = "for name, value in values.items(): model.named_variables()[name].assign(value)"
_MODES = "a model has no mode: each call says whether it is one of training, and fit, evaluate and predict do"
_PLACES = "Variables live where they are made, and batches are put there by themselves"
_PLACE = "with graftax.device('cpu'): model = ..., around the making of the model"
_CODE = "how a model is made is said by the program that makes it"
_MADE = "the lines that make the model, in a function: model = make()"
_PARTS = "layers are attributes of the model, or in its list"

METHODS: dict[str, tuple[str, str]] = {
    "save": (_FILES, _SAVE),
    "save_weights": (_FILES, _SAVE),
    "save_pretrained": (_FILES, _SAVE),
    "load": (_FILES, _RESTORE),
    "load_weights": (_FILES, _RESTORE),
    "from_pretrained": (_FILES, _RESTORE),
    "state_dict": (_VALUES, _TAKE),
    "get_weights": (_VALUES, _TAKE),
    "load_state_dict": (_VALUES, _GIVE),
    "set_weights": (_VALUES, _GIVE),
    "train": (_MODES, "model(x, training=True)"),
    "eval": (_MODES, "model(x, training=False)"),
    "get_config": (_CODE, _MADE),
    "from_config": (_CODE, _MADE),
    "to_json": (_CODE, _MADE),
    "to": (_PLACES, _PLACE),
    "cuda": (_PLACES, _PLACE),
    "cpu": (_PLACES, _PLACE),
    "half": ("dtypes are said where a model is made", 'graftax.set_dtype_policy("mixed_bfloat16"), before it'),
    "parameters": (_VALUES, "model.trainable_variables"),
    "named_parameters": (_VALUES, "model.named_variables()"),
    "weights": (_VALUES, "model.variables"),
    "trainable_weights": (_VALUES, "model.trainable_variables"),
    "non_trainable_weights": (_VALUES, "model.non_trainable_variables"),
    "requires_grad_": ("what trains is said by trainable", "model.trainable = False"),
    "zero_grad": ("gradients are returned, not kept", "graftax.value_and_grad(loss_fn, wrt=model)()"),
    "forward": ("a model is called", "model(x)"),
    "get_layer": (_PARTS, "model.layers[0]"),
    "modules": (_PARTS, "model.submodules"),
    "metrics_names": ("numbers have their names where they come from", "list(model.evaluate(x, y))"),
    "fit_generator": ("fit takes whatever yields batches", "model.fit(batches)"),
    "evaluate_generator": ("evaluate takes whatever yields batches", "model.evaluate(batches)"),
    "predict_generator": ("predict takes whatever yields batches", "model.predict(batches)"),
    "predict_on_batch": ("a call computes one batch", "model(x)"),
    "predict_proba": ("predict gives what the model gives", "model.predict(x)"),
    "predict_classes": ("predict gives what the model gives", "model.predict(x).argmax(axis=-1)"),
    "score": ("what is measured is said by compile", "model.evaluate(x, y)"),
    "make_train_function": ("fit compiles train_step by itself", "model.train_step(batch)"),
}
"""Attributes of models elsewhere: why there is none here, and the line to write, for a model called ``model``."""


def refuse(model: Any, name: str) -> None:
    """Raise for an attribute that models have elsewhere.

    Raises:
        MissingAttributeError: it says what to write; as an `AttributeError`, it makes ``hasattr`` false.
    """
    if name in METHODS:
        why, instead = METHODS[name]
        raise MissingAttributeError(f"{type(model).__name__} has no attribute {name!r}", why, instead)
