"""State in, state out: the bridge to bare JAX around modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, NotBuiltError, StaleReadError
from graftax.core.known_names import closest
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.transforms.lifting.frames import Substitution
from graftax.variables import given_states
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


@door
def state(module: Module) -> dict[str, Array]:
    """Return the values of all Variables of a module, by path from it; shared Variables once.

    Modules are no pytrees, so that nothing is ever copied or duplicated in passing; this dict is one.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(2)
        >>> y = layer(gx.ops.ones((1, 3)))
        >>> {path: array.shape for path, array in state(layer).items()}
        {'kernel': (3, 2), 'bias': (2,)}
    """
    _check_module("state", module)
    return {path: variable._gx_stored for path, variable in module.named_variables().items()}


@door
def assign_state(module: Module, state: Mapping[str, ArrayLike]) -> None:
    """Assign values to all Variables of a module: the inverse of `state`, and of ``optimizer.pure_state(variables)``.

    All are checked before the first is assigned. In compiled code and under a tape these are assignments like others.

    Args:
        module: A built module: a layer, a model, an optimizer whose slots are made.
        state: A value for each of its Variables, by path from it, as `state` gives them.

    Raises:
        ArgumentTypeError: the module is none; the state is no mapping.
        ArgumentError: the state has other paths, shapes or dtypes than the module.
        NotBuiltError: the module has no Variables yet.

    Example:
        >>> import graftax as gx
        >>> layer, other = gx.layers.Dense(2), gx.layers.Dense(2)
        >>> x = gx.ops.ones((1, 3))
        >>> y, _ = layer(x), other(x)
        >>> assign_state(other, state(layer))
        >>> bool(gx.ops.all(other(x) == y))
        True
        >>> w, sgd = gx.Variable([1.0], name="w"), gx.optimizers.SGD(0.1)
        >>> assign_state(sgd, {**sgd.pure_state([w]), "learning_rate": 0.5})
        >>> float(sgd.learning_rate)
        0.5
    """
    variables = _variables("assign_state", module, state)
    values = _values("assign_state", module, variables, state)
    for path, variable in variables.items():
        variable.assign(values[path])
    if given_states.calls:
        given_states.forget(module)


@door
def functional_call(
    module: Module, state: Mapping[str, ArrayLike], *args: Any, **kwargs: Any
) -> tuple[Any, dict[str, Array]]:
    """Call a module with given values for its Variables, and give back the values after the call; nothing is assigned.

    Pure, so any transform of bare JAX may be put around it. Inside `vectorized_map`, a random stream whose state is the
    same for all rows branches: each row draws its own numbers, and gives back a state of its own.

    Terms that layers add to the loss are in ``module.losses`` after the call. Penalties of weights are not: read them
    inside, where ``module`` is a layer whose ``call`` returns ``(self.model(x), sum(self.model.losses))``. After the
    call, ``losses`` of a module with penalties raises `StateError` until the module is called with its own weights, or
    gets other ones from `assign_state`.

    Args:
        module: A module that is callable and built.
        state: A value for each of its Variables, as from `state`.
        *args: Passed to the module.
        **kwargs: Passed to the module.

    Raises:
        ArgumentTypeError: the module is none, or cannot be called; the state is no mapping.
        ArgumentError: the state has other paths, shapes or dtypes than the module.
        NotBuiltError: the module, or a part of it, has no Variables yet.

    Example:
        >>> import jax, graftax as gx
        >>> layer = gx.layers.Dense(2)
        >>> y = layer(gx.ops.ones((1, 3)))
        >>> out, after = jax.jit(lambda s, x: functional_call(layer, s, x))(state(layer), gx.ops.ones((4, 3)))
        >>> out.shape, sorted(after)
        ((4, 2), ['bias', 'kernel'])
    """
    _check_module("functional_call", module)
    if not callable(module):
        raise ArgumentTypeError(
            f"functional_call of {type(module).__name__}, which has no __call__",
            "a Module is called with the state; a plain one is a container of Variables",
            "a graftax.Layer with call(), or def __call__(self, x): ...",
        )
    variables = _variables("functional_call", module, state)
    values = _values("functional_call", module, variables, state)
    backend = registry.current()
    level = backend.tracing.level() if backend.has("tracing") else None
    around = frames.top
    given = [
        (
            one._storage,
            around.branch_stream(values[path]) if around is not None and one.role == "seed" else values[path],
        )
        for path, one in variables.items()
    ]
    frame = Substitution(around, given, level)
    try:
        with frames.entered(frame):
            out = module(*args, **kwargs)
            written = {path: one._gx_stored for path, one in variables.items() if one._storage in frame.written}
    except StaleReadError:
        _refuse_made(module, variables)  # which is why there was nothing to read but what is there now
        raise
    _refuse_made(module, variables)
    inside = {variable._storage for variable in variables.values()}
    frame.commit(but=inside)  # what is left is another module's state, such as the global random stream
    given_states.note(module, values, around)
    return out, {path: written.get(path, values[path]) for path in variables}


def _variables(name: str, module: Module, state: object) -> dict[str, Variable]:
    """Return the Variables by path, for a state that is a mapping."""
    _check_module(name, module)
    rest = ", x" if name == "functional_call" else ""
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(
            f"{name} got a state of type {type(state).__name__}",
            "it has a value for each Variable, by path"
            + "; the arguments of the module come after it" * (name == "functional_call"),
            f"graftax.{name}(module, graftax.state({'module' if rest else 'other'}){rest})",
        )
    variables = module.named_variables()
    if not variables and state:
        raise NotBuiltError(
            f"{name} of {type(module).__name__}, which has no Variables yet",
            "its weights are made at the first call",
            "call it once on an example first",
        )
    return variables


def _values(
    name: str, module: Module, variables: Mapping[str, Variable], state: Mapping[str, ArrayLike]
) -> dict[str, Array]:
    """Return the state as arrays; raise if it is not one of these Variables."""
    unknown, missing = [p for p in state if p not in variables], [p for p in variables if p not in state]
    if unknown or missing:
        parts = [f"without {missing}"] * bool(missing) + [f"with {unknown}, which do not exist"] * bool(unknown)
        raise ArgumentError(
            f"{name} got a state {' and '.join(parts)}",
            f"{type(module).__name__} has exactly the Variables {list(variables)}",
            _right_paths(module, variables, unknown, missing),
        )
    arrays = registry.current().arrays
    values = {path: arrays.asarray(unwrap(value)) for path, value in state.items()}
    for path, variable in variables.items():
        value = values[path]
        if (tuple(value.shape), str(value.dtype)) != (variable.shape, variable.dtype):
            raise ArgumentError(
                f"{name} got {value.dtype}{list(value.shape)} for {path!r}",
                f"the variable is {variable.dtype}{list(variable.shape)}, which never changes",
                "values like those of graftax.state(module)",
            )
    return values


def _right_paths(module: Module, variables: Mapping[str, Variable], unknown: list[str], missing: list[str]) -> str:
    """Return the line to write where paths are others than those of the module."""
    prefix = f"{module._gx_path}/" if module._gx_path else ""
    if prefix and unknown and {path.removeprefix(prefix) for path in unknown} == set(missing):
        return (
            f"{{path: v.value for path, v in module.named_variables().items()}}: paths from this module; v.path begins "
            f"with {prefix!r}, where a larger one holds it"
        )
    meant = {path: closest(path, missing or variables) for path in unknown}
    lines = "; ".join(f"{near!r} in place of {path!r}" for path, near in meant.items() if near is not None)
    if not lines and hasattr(module, "pure_state"):
        return "optimizer.build(variables) before, which makes the slots; then the state of pure_state(variables)"
    if missing and not unknown and len(missing) < len(variables):
        return "{**graftax.state(module), **state}, which leaves the others as they are"
    return lines or "graftax.state(module)"


def _check_module(name: str, module: object) -> None:
    if isinstance(module, Module):
        return
    rest = {"functional_call": ", graftax.state(module), x", "assign_state": ", state"}.get(name, "")
    call = f"graftax.{name}(module{rest})"
    kind = type(module).__name__
    parts = list(module.values()) if isinstance(module, Mapping) else module
    if isinstance(parts, list | tuple) and parts and all(isinstance(part, Module) for part in parts):
        each = f"[{call} for module in modules]"
        if isinstance(module, Mapping):
            each = f"{{name: {call} for name, module in modules.items()}}"
        raise ArgumentTypeError(
            f"{name} got a {kind} of {len(parts)} modules",
            "it takes one Module, since paths begin at that",
            f"{each}, or keep them as attributes of one Module",
        )
    raise ArgumentTypeError(
        f"{name} got {module!r:.60} of type {kind}", "it takes a layer, model or other Module", call
    )


def _refuse_made(module: Module, variables: Mapping[str, Variable]) -> None:
    made = [path for path in module.named_variables() if path not in variables]
    if made:
        raise NotBuiltError(
            f"functional_call of {type(module).__name__} made {made}",
            "the state that was given has no values for them, and the state that comes back would lack them",
            "module(...) once before, with the very same arguments; then graftax.state(module)",
        )
