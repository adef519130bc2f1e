"""The few names of Modules that no attribute may take, and the error where one does.

All other names are free: what the object graph keeps on a Module begins with ``_gx_``, and what users only read, such
as `path` or `owner`, gives way to an attribute of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from graftax.core.errors import AssignmentError


class Word(NamedTuple):
    """A name that is taken.

    ``why`` says what needs it. ``in_class`` and ``in_object`` test what may stand under it in the body of a class, and
    what may be assigned; ``instead`` is the line to write for what may.
    """

    why: str
    in_class: Callable[[Any], bool]
    in_object: Callable[[Any], bool]
    instead: str


def _is_method(value: object) -> bool:
    return isinstance(value, staticmethod | classmethod) or (callable(value) and not isinstance(value, type))


def _is_made_of_a_method(value: object) -> bool:
    """Return True for a bound method, and for what wraps one, as ``self.call = graftax.jit(self.call)``."""
    return isinstance(value, MethodType) or isinstance(getattr(value, "__wrapped__", None), MethodType | FunctionType)


def _is_property(value: object) -> bool:
    return hasattr(value, "__get__") and not _is_method(value)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool) or _is_settable(value)


def _is_settable(value: object) -> bool:
    return hasattr(type(value), "__set__") and (not isinstance(value, property) or value.fset is not None)


def _is_never(value: object) -> bool:
    return False


def _always(value: object) -> bool:
    return True


def _is_plain(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds)


def _are_names(value: object) -> bool:
    return isinstance(value, set | frozenset | list | tuple) and all(isinstance(name, str) for name in value)


METHOD = Word("it is a method that is called", _is_method, _is_made_of_a_method, "def {name}(self, ...)")
PROPERTY = Word("it is a property that is read", _is_property, _is_never, "@property, and def {name}(self)")
NAME = Word(
    "it is what the object is called",
    lambda value: isinstance(value, str) or _is_property(value),
    _is_never,
    'super().__init__(name="encoder")',
)
SWITCH = Word("it says whether weights are trained", _is_property, _always, "self.trainable = False in __init__")
FLAG = Word("it is a flag that is read: True or False", _is_flag, partial(_is_plain, kinds=(bool,)), "{name} = True")
NAMES = Word(
    "it lists attributes that hold no weights, by name", _are_names, _always, '{name} = frozenset({{"attribute"}})'
)
BUILT = FLAG._replace(
    why="it says whether the weights are there: True or False",
    instead="def build(self, input_shape), which makes weights; self.built = True where they are made elsewhere",
)
KINDS = Word(
    "it says what the arguments may be",
    partial(_is_plain, kinds=(Mapping,)),
    _always,
    "{name} = {{}}",
)
OWN = Word("the base class keeps it itself", _is_settable, _is_never, "")
FACTORS = OWN._replace(instead='model.{name}["output"] = 0.5, one factor of the dict or list')

Words = Mapping[str, Word]

LOSS = "compiled_loss"
"""The attribute of a model that holds a loss, or losses by output, with Variables. No call of the model uses these."""


def _make_words(word: Word, names: str) -> dict[str, Word]:
    return dict.fromkeys(names.split(), word)


OF_MODULES: Words = {
    **_make_words(PROPERTY, "variables trainable_variables non_trainable_variables submodules"),
    **_make_words(METHOD, "named_variables freeze unfreeze get_state set_state"),
    "name": NAME,
    "trainable": SWITCH,
    "untracked": NAMES,
}
OF_LAYERS: Words = {
    **_make_words(
        METHOD, "call build build_for compute_mask compute_output_shape add_weight add_loss get_weights set_weights"
    ),
    **_make_words(PROPERTY, "losses dtype compute_dtype"),
    **_make_words(FLAG, "supports_masking compiles_call"),
    "built": BUILT,
}
OF_MODELS: Words = {
    **_make_words(METHOD, "compile fit evaluate predict train_on_batch test_on_batch predict_on_batch reset_metrics"),
    **_make_words(METHOD, "summary count_params get_layer"),
    **_make_words(METHOD, "train_step train_steps test_step predict_step compute_loss compute_metrics"),
    **_make_words(PROPERTY, "metrics optimizer steps_per_execution"),
    **_make_words(FLAG, "stop_training"),
    **_make_words(OWN, LOSS),
    **_make_words(FACTORS, "compiled_loss_weights"),
}
OF_SEQUENTIAL: Words = _make_words(METHOD, "add pop")
OF_OPTIMIZERS: Words = {
    **_make_words(METHOD, "apply apply_gradients minimize build create_slots update update_all slot slots averaged"),
    **_make_words(METHOD, "assign_averages explain scale_loss value_and_scaled_grad pure_state pure_update"),
    **_make_words(PROPERTY, "rules"),
    **_make_words(FLAG, "elementwise decays_inside averages_itself"),
    **_make_words(OWN, "iterations averaged_updates gathered others"),
    "arguments": KINDS,
}
OF_METRICS: Words = {
    **_make_words(METHOD, "update update_state result reset reset_state add_variable add_weight"),
    "dtype": OWN,
}
OF_LOSSES: Words = {**_make_words(METHOD, "call keeps ranges check_targets"), **_make_words(PROPERTY, "formula")}


class Names:
    """What a class says of the names of attributes.

    Args:
        ignored: Those that are no part of the object graph.
        words: Those that are taken.
    """

    __slots__ = ("ignored", "words")

    def __init__(self, ignored: frozenset[str], words: Words) -> None:
        self.ignored, self.words = ignored, words


class Own(NamedTuple):
    """What a base class assigns under a name that is taken, which is its own: ``self.iterations = Own(variable)``."""

    value: Any


def check_class(kind: type[Any], words: Words) -> None:
    """Raise if a class has something under a name that is taken which cannot stand there, or slots for attributes.

    Raises:
        AssignmentError: it says which, and what to write.
    """
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        hidden = [
            name for name in ([slots] if isinstance(slots, str) else slots) if not name.startswith(("__", "_gx_"))
        ]
        if hidden:
            raise AssignmentError(
                f"the class {base.__name__} has __slots__ for {', '.join(map(repr, hidden))}"
                + ("" if base is kind else f", and {kind.__name__} is made of it"),
                "the attributes of a Module are found where an object keeps them by name: a weight in a slot would be "
                "neither trained nor saved, and a compiled function would not see that one is changed",
                "no __slots__ in that class",
            )
    for name, word in words.items():
        value = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        if value is not None and not word.in_class(value):
            found = "a method" if _is_method(value) else f"{value!r:.60}, a {type(value).__name__}"
            if _is_property(value):
                found = "a property"
            raise AssignmentError(
                f"the class {kind.__name__} has {found}, under the name {name!r}",
                f"{word.why}, so the name cannot be used for anything else",
                f"another name, such as own_{name}" + _meant(name, word),
            )


def _meant(name: str, word: Word) -> str:
    return f"; or, for what is meant, {word.instead.format(name=name)}" if word.instead else ""


def check_reserved(target: object, name: str, value: object, word: Word) -> Any:
    """Return what is to be kept under a name that is taken.

    Raises:
        AssignmentError: it cannot stand there; what to write.
    """
    if isinstance(value, Own):
        return value.value
    if word.in_object(value):
        return value
    kind = type(target).__name__
    raise AssignmentError(
        f"{kind}.{name} got an object of type {type(value).__name__}",
        f"{name!r} is taken: {word.why}",
        f"self.own_{name} = ..." + _meant(name, word),
    )
