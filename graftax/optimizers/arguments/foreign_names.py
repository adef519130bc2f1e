"""What optimizers and schedules answer to names that Keras, torch and optax have for their attributes and classes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from graftax.core import attributes
from graftax.core.attributes import OF_OPTIMIZERS, Answer
from graftax.core.errors import MissingAttributeError
from graftax.core.foreign_keywords import KEYWORDS
from graftax.core.known_names import ForeignNames, squash
from graftax.core.ours import is_ours

_SAVED = 'graftax.Checkpoint(model=model, optimizer=optimizer).save("here")'
_RESTORED = 'graftax.Checkpoint(model=model, optimizer=optimizer).restore("here")'
_GRADIENTS = "graftax.value_and_grad(loss_fn, wrt=model.trainable_variables)()"
_CLASSES = "graftax.optimizers."
_SCHEDULES = "graftax.optimizers.schedules."

ATTRIBUTES: dict[str, Answer] = {
    "backward": Answer("gradients are values", _GRADIENTS),
    "compute_gradients": Answer("gradients are values", _GRADIENTS),
    "add_param_group": Answer("a variable that is new gets slots by itself", "optimizer.build(model)"),
    "save_own_variables": Answer("state is saved by path", _SAVED),
    "load_own_variables": Answer("state is restored by path", _RESTORED),
    "get_weights": Answer("what it keeps are Variables", "[v.numpy() for v in optimizer.variables]"),
    "set_weights": Answer("what it keeps are Variables", "optimizer.variables[0].assign(0)"),
    "trainable_variables_list": Answer("what it moves is passed to it", "model.trainable_variables"),
    "init": Answer("slots are made by themselves", "optimizer.build(model)"),
    "get_slot": Answer("slots have names", "[record.name for record in optimizer.slots()]; optimizer.variables"),
    "add_slot": Answer("slots are declared", "optimizer.create_slots(model.trainable_variables[0])"),
    "stateless_apply": Answer("a pure step is pure_update", "state = optimizer.pure_state(model)"),
    "exclude_from_weight_decay": Answer(
        "settings that differ are rules", 'graftax.optimizers.AdamW(1e-3, rules=[("**/bias", {{"weight_decay": 0.0}})])'
    ),
    "finalize_variable_values": Answer(
        "averages are assigned for good, where there are some",
        "graftax.optimizers.SGD(0.1, ema_momentum=0.99).assign_averages",
    ),
    "get_last_lr": Answer("the rate now is an attribute", "optimizer.learning_rate"),
    "get_lr": Answer("the rate now is an attribute", "optimizer.learning_rate"),
}
"""What elsewhere is an attribute of an optimizer: why it is none here, and a line that runs."""

NEEDS_THE_LOSS = ("apply", "apply_gradients", "pure_update", "pure_state")

_LINES = {
    "get": f"{_CLASSES}Adam(1e-3); model.compile('adam')",
    "serialize": "copy.deepcopy(optimizer); repr(optimizer)",
    "deserialize": "copy.deepcopy(optimizer)",
    "LossScaleOptimizer": f'{_CLASSES}Adam(1e-3, loss_scale="dynamic")',
    "MultiOptimizer": f'{_CLASSES}Adam(rules=[("head/**", {{"optimizer": {_CLASSES}SGD(0.1)}})])',
    "multi_transform": f'{_CLASSES}Adam(rules=[("head/**", {{"optimizer": {_CLASSES}SGD(0.1)}})])',
    "masked": f'{_CLASSES}Adam(rules=[("head/**", {{"frozen": True}})])',
    "SparseAdam": f"{_CLASSES}Adam(1e-3, epsilon=1e-8, lazy=True)",
    "ASGD": f"{_CLASSES}SGD(0.1, ema_momentum=0.999)",
    "SWA": f"{_CLASSES}SGD(0.1, ema_momentum=0.999)",
    "ema": f"{_CLASSES}SGD(0.1, ema_momentum=0.999)",
    "chain": f"{_CLASSES}Adam(1e-3, global_clipnorm=1.0)",
    "clip_by_global_norm": f"{_CLASSES}Adam(1e-3, global_clipnorm=1.0)",
    "clip": f"{_CLASSES}Adam(1e-3, clipvalue=1.0)",
    "adaptive_grad_clip": f"{_CLASSES}Adam(1e-3, adaptive_clip=0.01)",
    "add_decayed_weights": f"{_CLASSES}SGD(0.1, weight_decay=0.01)",
    "MultiSteps": f"{_CLASSES}Adam(1e-3, accumulation_steps=4)",
    "apply_if_finite": f"{_CLASSES}Adam(1e-3, loss_scale=1.0)",
    "inject_hyperparams": f"{_CLASSES}Adam(graftax.Variable(1e-3, trainable=False))",
    "apply_updates": "optimizer.pure_update",
    "lr_scheduler": f"{_SCHEDULES}CosineDecay(1e-3, 1000)",
    "LearningRateSchedule": f"{_SCHEDULES}Schedule",
    "PiecewiseConstantDecay": f"{_SCHEDULES}PiecewiseConstant([100], [1e-2, 1e-3])",
    "piecewise_constant_schedule": f"{_SCHEDULES}PiecewiseConstant([100], [1e-2, 1e-3])",
    "MultiStepLR": f"{_SCHEDULES}PiecewiseConstant([100], [1e-2, 1e-3])",
    "StepLR": f"{_SCHEDULES}ExponentialDecay(1e-2, 100, 0.1, staircase=True)",
    "ExponentialLR": f"{_SCHEDULES}ExponentialDecay(1e-2, 1, 0.99)",
    "CosineAnnealingLR": f"{_SCHEDULES}CosineDecay(1e-2, 1000)",
    "cosine_decay_schedule": f"{_SCHEDULES}CosineDecay(1e-2, 1000)",
    "warmup_cosine_decay_schedule": f"{_SCHEDULES}CosineDecay(0.0, 900, warmup_target=1e-2, warmup_steps=100)",
    "CosineAnnealingWarmRestarts": f"{_SCHEDULES}CosineDecayRestarts(1e-2, 1000)",
    "sgdr_schedule": f"{_SCHEDULES}CosineDecayRestarts(1e-2, 1000)",
    "OneCycleLR": f"{_SCHEDULES}OneCycle(1e-2, 1000)",
    "cosine_onecycle_schedule": f"{_SCHEDULES}OneCycle(1e-2, 1000)",
    "CyclicLR": f"{_SCHEDULES}Cyclic(1e-3, 1e-2)",
    "LinearLR": f"{_SCHEDULES}LinearWarmup(100, 1e-2)",
    "linear_schedule": f"{_SCHEDULES}PolynomialDecay(1e-2, 1000, 1e-3)",
    "PolynomialLR": f"{_SCHEDULES}PolynomialDecay(1e-2, 1000, 0.0)",
    "polynomial_schedule": f"{_SCHEDULES}PolynomialDecay(1e-2, 1000, 1e-3, 2.0)",
    "ConstantLR": f"{_SCHEDULES}ConstantWarmup(100, 1e-2, 1e-3)",
    "constant_schedule": f"{_SCHEDULES}Constant(1e-2)",
    "SequentialLR": f"{_SCHEDULES}Join([1e-2, 1e-3], [100])",
    "join_schedules": f"{_SCHEDULES}Join([1e-2, 1e-3], [100])",
    "ChainedScheduler": f"{_SCHEDULES}Join([1e-2, 1e-3], [100])",
    "LambdaLR": f"{_CLASSES}SGD(lambda step: 0.1 / (1 + step))",
    "LearningRateScheduler": f"{_CLASSES}SGD(lambda step: 0.1 / (1 + step))",
    "ReduceLROnPlateau": "optimizer.learning_rate = float(optimizer.learning_rate) / 2",
}
CLASSES: ForeignNames = {squash(name): ("it is done in another way here", line) for name, line in _LINES.items()}
"""What elsewhere is a class or a function, and what does it here: a line that runs."""

_RATE = f"{_CLASSES}SGD({_SCHEDULES}InverseTimeDecay(0.1, 1000, 0.5))"
_MEAN = f"{_CLASSES}SGD(0.1, ema_momentum=0.99)"
_COMPILED = "graftax.jit(step)"
_NEGATED = "optimizer.minimize(lambda: -loss_fn(), model)"

SETTINGS: dict[str, str] = {
    "alpha": f"{_CLASSES}AdEMAMix(1e-3, alpha=5.0)",
    "amsgrad": f"{_CLASSES}Adam(1e-3, amsgrad=True)",
    "beta": f"{_CLASSES}Ftrl(1e-3, beta=0.1)",
    "beta_1": f"{_CLASSES}Adam(1e-3, beta_1=0.9)",
    "beta_2": f"{_CLASSES}Adam(1e-3, beta_2=0.999)",
    "beta_3": f"{_CLASSES}AdEMAMix(1e-3, beta_3=0.9999)",
    "betas": f"{_CLASSES}Adam(1e-3, beta_1=0.9, beta_2=0.999)",
    "centered": f"{_CLASSES}RMSprop(1e-3, centered=True)",
    "clip": f"{_CLASSES}Adafactor(1e-3, clip=1.0)",
    "dampening": f"{_CLASSES}SGD(0.1, momentum=0.9)",
    "decay": _RATE,
    "decay_rate": _RATE,
    "decay_steps": _RATE,
    "ema_overwrite_frequency": f"{_MEAN}.assign_averages",
    "epsilon": f"{_CLASSES}Adam(1e-3, epsilon=1e-7)",
    "epsilon_root": f"{_CLASSES}AdaBelief(1e-3, epsilon_root=1e-16)",
    "foreach": _COMPILED,
    "fused": _COMPILED,
    "jit_compile": _COMPILED,
    "initial_accumulator": f"{_CLASSES}Adagrad(1e-3, initial_accumulator=0.1)",
    "initial_rms": f"{_CLASSES}RMSprop(1e-3, initial_rms=1.0)",
    "l1_strength": f"{_CLASSES}Ftrl(1e-3, l1_strength=0.1)",
    "l2_strength": f"{_CLASSES}Ftrl(1e-3, l2_strength=0.1)",
    "learning_rate_power": f"{_CLASSES}Ftrl(1e-3, learning_rate_power=-0.5)",
    "lr_decay": _RATE,
    "maximize": _NEGATED,
    "momentum": f"{_CLASSES}SGD(0.1, momentum=0.9)",
    "momentum_decay": f"{_CLASSES}Nadam(1e-3, momentum_decay=0.004)",
    "nesterov": f"{_CLASSES}SGD(0.1, momentum=0.9, nesterov=True)",
    "relative_step": f"{_CLASSES}Adafactor(relative_step=True)",
    "rho": f"{_CLASSES}RMSprop(1e-3, rho=0.9)",
    "trust": f"{_CLASSES}LARS(0.1, trust=0.001)",
    "update_every": f"{_CLASSES}Shampoo(1e-3, update_every=10)",
    "use_ema": _MEAN,
    "warmup_steps": f"{_CLASSES}SGD({_SCHEDULES}LinearWarmup(100, 0.1))",
}
"""What is a setting somewhere: a line with it, for an optimizer that lacks it."""

APART: dict[str, tuple[str, ...]] = {"betas": ("beta_1", "beta_2"), "etas": ("shrink", "grow")}
"""What is one tuple elsewhere, and several settings here."""


def missing_attribute(it: object, name: str) -> MissingAttributeError:
    """Return the error for an attribute that an optimizer or a schedule has not."""
    kind = type(it)
    if not hasattr(kind, "minimize"):
        return attributes.missing_attribute_error(it, name, "schedule", attributes.OF_MODULES)
    if name in NEEDS_THE_LOSS:
        return MissingAttributeError(
            f"{kind.__name__} has no {name!r}",
            "it looks at the loss more than once, so that gradients alone are too little",
            "optimizer.minimize(loss_fn, model.trainable_variables)",
        )
    return attributes.missing_attribute_error(it, name, "optimizer", _OF_OPTIMIZERS)


_OF_OPTIMIZERS = ATTRIBUTES | OF_OPTIMIZERS


def refuse_assignment(owner: object, name: str, value: object) -> None:
    """Raise where an attribute is assigned that one of our classes does not have, but nearly, or another one has.

    Raises:
        MissingAttributeError: it would be kept, and nothing would look at it.
    """
    kind = type(owner)
    if name.startswith("_") or hasattr(kind, name) or not is_ours(kind):
        return
    names = names_of(kind)
    instead = None if name in names else _suggest_assignment(owner, name, value, names)
    if instead is not None:
        raise MissingAttributeError(
            f"{kind.__name__}.{name} = {value!r:.60}",
            f"it has no such attribute, and nothing would look at it; it has {', '.join(names)}",
            instead,
        )


def _suggest_assignment(owner: object, name: str, value: object, names: Sequence[str]) -> str | None:
    """Return the line for an assignment to what is no argument of a class; None for an attribute of one's own."""
    around = vars(owner).get("optimizer")
    if around is not None and name in names_of(type(around)):
        return f"optimizer.optimizer.{name} = {value!r:.60}"
    called = "learning_rate" if name == "lr" else None
    near = get_close_matches(name, names, n=1, cutoff=0.86)
    meant = next((one for one in (called, *near, *KEYWORDS.get(name, ())) if one in names), None)
    if meant is not None:
        return f"optimizer.{meant} = {value!r:.60}"
    if not hasattr(owner, "minimize"):
        return None
    apart = APART.get(name, ())
    if apart and set(apart) <= set(names):
        given = value if isinstance(value, tuple | list) and len(value) == len(apart) else (0.9, 0.999)
        return "; ".join(f"optimizer.{one} = {number!r:.60}" for one, number in zip(apart, given, strict=True))
    return next((SETTINGS[one] for one in (name, *KEYWORDS.get(name, ())) if one in SETTINGS), None)


def _names_of(kind: Any) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for base in kind.__mro__:
        if "__init__" in vars(base):
            parameters = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
            kinds = {p.kind for p in parameters}
            found |= dict.fromkeys(p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL))
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                break
    return tuple(found)


names_of: Callable[[Any], tuple[str, ...]] = cache(_names_of)
"""The arguments of a class, with those of its bases as far as it passes them on."""
