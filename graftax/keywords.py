"""Keywords that a constructor does not take: the one that was meant, by its spelling or as other libraries call it.

`Constructed` is the base of layers, losses, metrics, optimizers, schedules, initializers, creators and the like: what
their ``__init__`` says is what they take, and a keyword beyond that is told in three beats.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from graftax.argument_kinds import misfit, plain_kinds
from graftax.binding import misbound
from graftax.errors import ArgumentTypeError, GraftaxError
from graftax.known_names import closest
from graftax.wrapping import wraps

_AT_FIRST_CALL = "leave it out: sizes of inputs are known at the first call, or from build"
_AFFINE = "center=True, scale=True; False for either leaves it out"

ELSEWHERE: dict[str, tuple[str, ...]] = {
    # what torch, Keras 1 and 2, Flax, optax and PEFT call it: here, with what the constructor has of these
    "units": ("filters", "output_dim"),
    "out_features": ("units",),
    "features": ("units", "filters"),
    "hidden_size": ("units",),
    "output_dim": ("units",),
    "dim_out": ("units",),
    "out_channels": ("filters",),
    "channels": ("filters",),
    "nb_filter": ("filters",),
    "kernel": ("kernel_size",),
    "size": ("kernel_size", "pool_size"),
    "window": ("kernel_size", "pool_size"),
    "kernel_size": ("pool_size",),
    "window_shape": ("pool_size",),
    "stride": ("strides",),
    "subsample": ("strides",),
    "border_mode": ("padding",),
    "dilation": ("dilation_rate",),
    "kernel_dilation": ("dilation_rate",),
    "feature_group_count": ("groups",),
    "bias": ("use_bias",),
    "activation_fn": ("activation",),
    "activation_function": ("activation",),
    "act": ("activation",),
    "nonlinearity": ("activation",),
    "p": ("rate",),
    "prob": ("rate",),
    "drop_rate": ("rate",),
    "dropout_rate": ("rate", "dropout"),
    "init": ("kernel_initializer",),
    "kernel_init": ("kernel_initializer",),
    "weight_init": ("kernel_initializer",),
    "bias_init": ("bias_initializer",),
    "w_regularizer": ("kernel_regularizer",),
    "b_regularizer": ("bias_regularizer",),
    "vocab_size": ("input_dim",),
    "num_embeddings": ("input_dim",),
    "embedding_dim": ("output_dim",),
    "embed_dim": ("output_dim", "key_dim"),
    "head_dim": ("key_dim",),
    "qkv_features": ("key_dim",),
    "heads": ("num_heads",),
    "n_heads": ("num_heads",),
    "eps": ("epsilon", "epsilon_1"),
    "dim": ("axis",),
    "axes": ("axis",),
    "target_shape": ("shape",),
    "std": ("stddev",),
    "sigma": ("stddev",),
    "scale": ("stddev",),
    "mu": ("mean",),
    "loc": ("mean",),
    "low": ("minval", "lower"),
    "high": ("maxval", "upper"),
    "a": ("minval",),
    "b": ("maxval",),
    "val": ("value",),
    "max_norm": ("max_value", "global_clipnorm"),
    "lam": ("l2", "l1"),
    "lambda_": ("l2", "l1"),
    "from_logit": ("from_logits",),
    "logits": ("from_logits",),
    "smoothing": ("label_smoothing",),
    "ignore_index": ("ignore_class",),
    "top_k": ("k",),
    "r": ("rank",),
    "lora_alpha": ("alpha",),
    "adapter_name": ("name",),
    "use_rslora": ("stabilized",),
    "n_power_iterations": ("iterations",),
    "power_iterations": ("iterations",),
    "num_bits": ("bits",),
    "total_steps": ("decay_steps", "steps"),
    "t_max": ("decay_steps",),
    "gamma": ("decay_rate",),
    "step_size": ("decay_steps",),
    "init_value": ("initial_learning_rate", "start", "low", "value"),
    "transition_steps": ("decay_steps",),
    "warmup": ("warmup_steps",),
    "lr": ("learning_rate", "initial_learning_rate", "peak"),
    "b1": ("beta_1",),
    "b2": ("beta_2",),
    "momentum": ("beta_1",),
    "gradient_accumulation_steps": ("accumulation_steps",),
    "loss_scale_factor": ("loss_scale",),
    "base_lr": ("low", "initial_learning_rate"),
    "max_lr": ("peak", "high"),
    "eps_root": ("epsilon_root",),
    "b3": ("beta_3",),
    "beta1": ("beta_1",),
    "beta2": ("beta_2",),
    "beta": ("momentum",),
    "beta_1": ("momentum",),
    "alpha": ("rho", "beta_2"),
    "rho": ("beta_2",),
    "discounting_factor": ("rho",),
    "wd": ("weight_decay",),
    "decoupled_weight_decay": ("weight_decay",),
    "l2_regularization": ("l2",),
    "clip_norm": ("clipnorm",),
    "clip_value": ("clipvalue",),
    "clip_by_global_norm": ("global_clipnorm",),
    "initial_accumulator_value": ("initial_accumulator",),
    "l1_regularization_strength": ("l1_strength",),
    "l2_regularization_strength": ("l2_strength",),
    "l2_shrinkage_regularization_strength": ("l2_shrinkage",),
    "clip_threshold": ("clip",),
    "clipping_threshold": ("clip",),
    "adam_beta_1": ("beta_1",),
    "adam_beta_2": ("beta_2",),
    "ns_steps": ("steps",),
    "trust_coefficient": ("trust",),
    "etas": ("limits",),
    "max_iter": ("max_iterations",),
    "max_eval": ("max_evaluations",),
    "tolerance_grad": ("tolerance_gradient",),
    "sync_period": ("every",),
    "slow_step_size": ("rate",),
    "init_scale": ("initial",),
    "peak_value": ("warmup_target", "peak", "high"),
    "end_value": ("end_learning_rate", "end"),
    "end_lr": ("end_learning_rate", "end"),
    "t_0": ("first_decay_steps",),
    "t_mult": ("t_mul",),
    "milestones": ("boundaries",),
    "step_size_up": ("steps_up",),
    "step_size_down": ("steps_down",),
    "pct_start": ("rising",),
    "div_factor": ("start_factor",),
    "final_div_factor": ("end_factor",),
    "anneal_strategy": ("shape",),
    "num_warmup_steps": ("warmup_steps",),
}

WORDS: dict[str, tuple[str, str]] = {
    # where no keyword does it: what a constructor has that this is said to, and what to write
    "input_shape": ("dtype", _AT_FIRST_CALL),
    "batch_input_shape": ("dtype", _AT_FIRST_CALL),
    "input_dim": ("units", _AT_FIRST_CALL),
    "in_features": ("units", _AT_FIRST_CALL),
    "input_size": ("units", _AT_FIRST_CALL),
    "in_channels": ("filters", _AT_FIRST_CALL),
    "num_features": ("momentum", _AT_FIRST_CALL),
    "normalized_shape": ("epsilon", "axis=-1; sizes are known at the first call"),
    "input_length": ("output_dim", _AT_FIRST_CALL),
    "padding_idx": ("mask_zero", "mask_zero=True, and 0 for the padding"),
    "weights": ("dtype", "leave it out: an initializer may be an array, as kernel_initializer=array"),
    "data_format": ("strides", "channels come last: ops.moveaxis(x, 1, -1) before the first layer"),
    "batch_first": ("return_sequences", "leave it out: the batch is the first axis"),
    "time_major": ("return_sequences", "leave it out: the batch is the first axis"),
    "num_layers": ("return_sequences", "a layer for each, all but the last with return_sequences=True"),
    "inplace": ("dtype", "leave it out: arrays are never changed in place"),
    "device": ("dtype", 'with graftax.device("cpu:0"): around the construction and the first call'),
    "weight": ("reduction", "class_weight= of Model.fit, or sample_weight= of the loss when it is called"),
    "pos_weight": ("from_logits", "sample_weight= of the loss when it is called"),
    "size_average": ("reduction", 'reduction="sum_over_batch_size"'),
    "reduce": ("reduction", 'reduction="none"'),
    "target_modules": ("rank", 'graftax.graft(model, creator, where="**/kernel")'),
    "lora_dropout": ("rank", "without it; layers.Dropout before the layer"),
    "use_dora": ("rank", "graftax.reparam.DoRA(rank)"),
    "affine": ("center", _AFFINE),
    "elementwise_affine": ("center", _AFFINE),
    "eta_min": ("alpha", "alpha=eta_min / initial_learning_rate"),
    "use_ema": ("ema_momentum", "ema_momentum=0.99"),
    "betas": ("beta_1", "beta_1=..., beta_2=..."),
    "decay": ("learning_rate", "learning_rate=graftax.optimizers.schedules.InverseTimeDecay(rate, 1, decay)"),
    "maximize": ("learning_rate", "minimize(lambda: -value, variables)"),
    "params": ("learning_rate", "leave it out: apply and minimize get the variables"),
    "weight_decouple": ("weight_decay", "weight_decay=0.01; l2=0.01 for a decay in the gradient"),
    "jit_compile": ("learning_rate", "leave it out; graftax.jit(step)"),
    "amsgrad": ("beta_2", "graftax.optimizers.Adam(amsgrad=True)"),
}


class Constructed:
    """The base of what refuses keywords that its ``__init__`` does not take, and says which one was meant.

    Example:
        >>> class Scale(Constructed):
        ...     def __init__(self, factor=1.0): ...
        >>> try:
        ...     Scale(facter=2.0)
        ... except ArgumentTypeError as error:
        ...     print(error.instead)
        factor=2.0
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            ours = cls.__module__.startswith("graftax.")
            cls.__init__ = _checked(cls.__init__, cls.__name__, ours)  # type: ignore[method-assign]


def _checked(init: Callable[..., None], owner: str, ours: bool) -> Callable[..., None]:
    """A constructor that tells what it does not take, or misses; of our own ones, values of a wrong kind, too."""
    parameters = dict(list(inspect.signature(init).parameters.items())[1:])
    kinds = {p.name: p.kind for p in inspect.signature(init).parameters.values()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds.values()  # then a base says what it takes
    known = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)][1:]
    plain = plain_kinds(init) if ours else {}

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        if not takes_any and (name := next((name for name in kwargs if name not in known), None)) is not None:
            raise unknown_keyword(type(self), name, kwargs[name], known)
        title = type(self).__name__ if type(self).__init__ is checked else owner
        if (error := misbound(title, parameters, args, kwargs)) is not None:
            raise error
        try:
            init(self, *args, **kwargs)
        except GraftaxError:  # which knows better
            raise
        except Exception:
            _check_kinds(self, checked, plain, known, args, kwargs)
            raise
        _check_kinds(self, checked, plain, known, args, kwargs)

    if ours:
        _OURS[checked] = frozenset(plain)
    return checked


_OURS: dict[Callable[..., None], frozenset[str]] = {}
"""Constructors of graftax itself, and of what they speak: of several on the way up, the outermost one does."""


def _without_arguments(self: Any) -> None:
    """What makes an object of a class that has no constructor of its own."""


Constructed.__init__ = _checked(_without_arguments, "Constructed", ours=True)  # type: ignore[method-assign]


def _check_kinds(
    made: Any,
    init: Callable[..., None],
    plain: Mapping[str, inspect.Parameter],
    known: list[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    outermost: Any = type(made).__init__
    spoken = _OURS.get(outermost, ()) if outermost is not init else ()
    for name, value in (*zip(known, args, strict=False), *kwargs.items()):
        if name in plain and name not in spoken and (error := misfit(type(made), plain[name], value)) is not None:
            raise error from None


def unknown_keyword(kind: type[Any], name: str, value: Any, known: list[str]) -> ArgumentTypeError:
    """The error for a keyword of a constructor, where ``known`` are those that some base takes."""
    own = inspect.signature(kind.__init__).parameters.values()
    names = list(dict.fromkeys([*(p.name for p in own if p.kind not in _COLLECTING and p.name != "self"), *known]))
    meant = next((near for near in ELSEWHERE.get(name.lower(), ()) if near in names), None) or closest(name, names)
    needs, text = WORDS.get(name.lower(), ("", ""))
    shown = f"{value!r:.40}"
    if name == "betas" and isinstance(value, tuple | list):
        text = ", ".join(f"beta_{i}={beta!r:.40}" for i, beta in enumerate(value, 1))
    if meant is None or needs in names:
        instead = text if needs in names else "leave it out"
    else:
        instead = f"{meant}={shown}"
    taken = f"it takes {', '.join(names)}" if names else "it takes no arguments"
    return ArgumentTypeError(f"{kind.__name__} got {name}={shown}", taken, instead)


_COLLECTING = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
