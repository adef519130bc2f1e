"""What a layer, a model, an optimizer or another Module answers to an attribute that it has not.

Misspelt names get the one that was meant; methods of Keras and torch get the line that does it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from graftax.core.errors import MissingAttributeError
from graftax.core.known_names import closest


class Answer(NamedTuple):
    """Why there is no such attribute, and the line to write, in which ``{it}`` stands for the object.

    ``of_weights`` is true of a line that needs weights: those of a layer are made at its first call.
    """

    why: str
    line: str
    of_weights: bool = False


_FILES = "checkpoints hold any objects, by name"
_SAVE = Answer(_FILES, 'graftax.Checkpoint({it}={it}).save("checkpoint")', of_weights=True)
_RESTORE = Answer(_FILES, 'graftax.Checkpoint({it}={it}).restore("checkpoint")')
_TRAIN = Answer("training or not is said at the call, and in fit and predict by itself", "{it}(x, training=True)")
_EVAL = Answer("training or not is said at the call, and in fit and predict by itself", "{it}(x, training=False)")
_DEVICE = Answer("Variables stay where they are made", 'with graftax.device("cpu:0"): y = {it}(x)')


def _dtype(name: str) -> Answer:
    """Return the answer to a conversion to a dtype."""
    why = "the dtype of weights and of computing is said when a layer is made"
    return Answer(why, f'graftax.layers.Dense(4, dtype="{name}")')


_HOOK = Answer(
    "what runs in a call is what the call says: a layer around it sees what goes in and comes out, and graftax.Model "
    "with outputs inside of a graph of layers, a part of a graph, gives these",
    "graftax.Sequential([{it}, lambda y: y])  # the function gets each output",
)
_KEPT = "copies and model.save keep what __init__ was given by themselves: nobody writes or calls one"
_CONFIG = Answer("a copy has settings and weights", "copy.deepcopy({it})")
_NO_GRADIENTS = Answer(
    "gradients are values that a function returns: there is nothing to clear", "graftax.value_and_grad(fn)"
)
_STEP = Answer("an optimizer gets gradients and variables", "{it}.minimize(loss_fn, variables)")
_STATE = Answer(
    "what is no weight is a Variable with a role", '{it}.extra = graftax.Variable(0.0, trainable=False, role="state")'
)
_BOUNDED = Answer("layers are made of sizes, inputs come at the call", "{it}.compute_output_shape((None, 3))")
_PARTS = Answer("parts are found by walking attributes, lists and dicts", "{it}.submodules")

OF_MODULES: dict[str, Answer] = {
    "save": _SAVE,
    "save_weights": _SAVE,
    "save_pretrained": _SAVE,
    "load": _RESTORE,
    "load_weights": _RESTORE,
    "load_state_dict": _RESTORE,
    "from_pretrained": _RESTORE,
    "state_dict": Answer("Variables have paths", "{it}.named_variables()"),
    "parameters": Answer("they are called Variables", "{it}.trainable_variables"),
    "params": Answer("they are called Variables", "{it}.trainable_variables"),
    "named_parameters": Answer("they are called Variables, and have paths", "{it}.named_variables()"),
    "buffers": Answer("they are Variables, too", "{it}.non_trainable_variables"),
    "named_buffers": Answer("they are Variables, too", "{it}.non_trainable_variables"),
    "modules": _PARTS,
    "named_modules": _PARTS,
    "named_children": _PARTS,
    "flatten_layers": _PARTS,
    "requires_grad": Answer("it is called trainable", "{it}.trainable"),
    "requires_grad_": Answer("freezing goes by selectors", "{it}.trainable = False"),
    "get_config": Answer(_KEPT, "copy.deepcopy({it})"),
    "from_config": _CONFIG,
    "to_json": _CONFIG,
    "clone": _CONFIG,
    "copy": _CONFIG,
    "register_buffer": _STATE,
    "register_parameter": Answer("an attribute that is a Variable is a weight", "{it}.extra = graftax.Variable(0.0)"),
    "add_variable": Answer("an attribute that is a Variable is a weight", "{it}.extra = graftax.Variable(0.0)"),
    "zero_grad": _NO_GRADIENTS,
}

OF_LAYERS: dict[str, Answer] = OF_MODULES | {
    "init": Answer("weights are made at the first call", "{it}(x)"),
    "train": _TRAIN,
    "eval": _EVAL,
    "training": _TRAIN,
    "forward": Answer("a layer is called; subclasses define call", "{it}(x)"),
    "apply": Answer("a function goes over the parts in a loop", "for part in {it}.submodules: print(part)"),
    "to": _DEVICE,
    "cuda": _DEVICE,
    "cpu": _DEVICE,
    "tpu": _DEVICE,
    "half": _dtype("float16"),
    "bfloat16": _dtype("bfloat16"),
    "float": _dtype("float32"),
    "double": _dtype("float64"),
    **dict.fromkeys(("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"), _HOOK),
    "output_shape": _BOUNDED,
    "inputs": _BOUNDED,
    "outputs": _BOUNDED,
    "input_spec": _BOUNDED,
    "updates": Answer("layers assign their Variables in call", "{it}.non_trainable_variables"),
    "num_parameters": Answer("sizes add up", "sum(v.size for v in {it}.variables)"),
    "numel": Answer("sizes add up", "sum(v.size for v in {it}.variables)"),
    "count_params": Answer("sizes add up", "sum(v.size for v in {it}.variables)"),
}

OF_OPTIMIZERS: dict[str, Answer] = OF_MODULES | {
    "lr": Answer("it is called learning_rate", "{it}.learning_rate"),
    "step": _STEP,
    "update_step": _STEP,
    "param_groups": Answer("settings by variable are rules", "{it}.rules"),
    "weights": Answer("they are called Variables", "{it}.variables"),
}


_SETTINGS = {
    "compute_dtype": 'graftax.set_dtype_policy("mixed_bfloat16", {it})',
    "dtype": 'a new layer with dtype="float16", or graftax.set_dtype_policy before layers are made',
    "losses": "{it}.add_loss(term) inside of call",
    "metrics": "model.compile(optimizer, loss, metrics=[...])",
    "name": "the constructor's name=",
    "optimizer": "model.compile(optimizer, loss)",
    "policy": 'graftax.set_dtype_policy("mixed_bfloat16", {it})',
    "rules": "a new optimizer, made with rules=[...]",
    "trainable_variables": "{it}.trainable = False, or variable.trainable = False for single ones",
    "weights": "{it}.set_weights(values)",
}
"""What to write in place of an assignment to a property."""


def is_set_elsewhere(name: str) -> bool:
    """Return True for what people set as an attribute, and there is a line that does it."""
    return name in _SETTINGS


def not_to_set(it: object, name: str) -> MissingAttributeError:
    """Return the error for the assignment to a property that follows from other things."""
    title = type(it).__name__
    return MissingAttributeError(
        f"{title}.{name} = ...",
        f"{name} is a property: it is computed from other things, and cannot be set",
        _SETTINGS.get(name, "set what it follows from; an attribute of your own needs another name").format(it="layer"),
    )


def public_names(it: object) -> list[str]:
    """Return the names that an object has, but for those that only say that they are absent."""
    kind = type(it)
    return [
        *(name for name in vars(it) if not name.startswith("_")),
        *(n for n in dir(kind) if not n.startswith("_") and n not in ABSENT),
    ]


ABSENT = {
    "from_config": Answer("a class is called with its settings, and no dict of them is kept", "{it}(**config)"),
    "get_config": Answer(_KEPT, "copy.deepcopy(x) of an object x of {it}"),
}
"""What classes of other libraries have, and none of ours."""


def absent_error(owner: type[Any], name: str) -> MissingAttributeError:
    """Return the error for one of these, also looked up by ``super()``."""
    answer = ABSENT[name]
    return MissingAttributeError(f"{owner.__name__} has no {name!r}", answer.why, answer.line.format(it=owner.__name__))


def missing_attribute_error(
    it: object, name: str, noun: str, answers: Mapping[str, Answer], title: str = "", more: Iterable[str] = ()
) -> MissingAttributeError:
    """Return the error for an attribute that is not there.

    Args:
        it: The object.
        name: The attribute.
        noun: What the object is called in the line to write: ``"model"``, ``"layer"``.
        answers: Those to names of other libraries.
        title: How the object is called in messages. Defaults to ``""``, the name of its class.
        more: Names that the object will have later. Defaults to none.
    """
    title = title or type(it).__name__
    if name in answers:
        answer = answers[name]
        first = "{it}(x); " if answer.of_weights and getattr(it, "built", True) is False else ""
        return MissingAttributeError(f"{title} has no {name!r}", answer.why, (first + answer.line).format(it=noun))
    public = [*public_names(it), *more]
    near = closest(name, dict.fromkeys(public))
    why = "there is no attribute of that name" if near is None else f"it has {near!r}"
    return MissingAttributeError(f"{title} has no {name!r}", why, f"dir({noun})" if near is None else f"{noun}.{near}")
