"""PureUpdates: the same update as `Optimizer.apply`, as a function of arrays, for loops inside of a gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.core.undefined import undefined_error
from graftax.optimizers.engine.gradients import Variables
from graftax.optimizers.engine.keeper import SlotKeeper
from graftax.optimizers.engine.pure_names import variables_of
from graftax.transforms.functional import state as state_of
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.graph.trained_model import seen_from
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


class PureUpdates(SlotKeeper):
    """The part of an optimizer that updates arrays rather than Variables: values and state in, values and state out."""

    def build(self, variables: Variables) -> None:
        """Make the slots of those that are trainable, and check the rules, now rather than in the first `apply`."""
        raise undefined_error(self, "build(variables)")

    def apply(self, gradients: Any, variables: Variables) -> None:
        """Move each variable along its gradient."""
        raise undefined_error(self, "apply(gradients, variables)")

    @door
    def pure_state(self, variables: Variables) -> dict[str, Array]:
        """Return what `pure_update` starts from: the values of all that this optimizer keeps, by path.

        The slots of the variables are made if they are missing. ``state["learning_rate"]`` is the rate, where that is
        a number, and may be replaced, also by what a gradient is taken of. It is a dict of arrays, as `graftax.state`
        gives one: any transform of JAX takes it.

        Args:
            variables: Variables in any nested structure, or a Module for its trainable ones.

        Example:
            >>> import graftax as gx
            >>> w = gx.Variable([1.0, -2.0], name="w")
            >>> {path: value.tolist() for path, value in gx.optimizers.SGD(0.5, momentum=0.5).pure_state([w]).items()}
            {'iterations': 0, 'learning_rate': 0.5, 'slots/w/momentum': [0.0, 0.0]}
        """
        self.build(variables)
        return state_of(self)

    @door
    def pure_update(
        self, gradients: Mapping[str, ArrayLike | None], state: Mapping[str, ArrayLike], values: Mapping[str, ArrayLike]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the values and the state after one update, and assign nothing.

        It is `apply`, bit for bit where neither is compiled, with its clips, decay, schedule, rules, constraints,
        accumulation and averages, but what moves are the given arrays: the Variables stay as they are. So it may be
        called in `graftax.grad`, `graftax.vectorized_map`, `graftax.scan` and `graftax.jit`, or in the transforms of
        bare JAX, as often as one likes; gradients pass through it, to the values, to the state and to
        ``state["learning_rate"]``.

        Args:
            gradients: By the path of the variable; None for one that has no gradient in this update. Paths are those
                from the Module that `pure_state` was given, or ``v.path``, which is another one where a weight hangs in
                an older model, too.
            state: As `pure_state` gives it, or the one before.
            values: By the path of the variable: ``{v.path: v.value for v in model.trainable_variables}``. Variables
                that `pure_state` was not given are refused, and so is a part of them where all take part in an update
                (``accumulation_steps``). What a rule or ``trainable`` freezes stays.

        Returns:
            ``(values, state)``, with the paths and the order of those that were given.

        Raises:
            NotBuiltError: a value is for a variable whose slots are not made.
            ArgumentError: the state has other paths, shapes or dtypes than this optimizer, or the values than the
                variables; a path stands for two variables.
            StateError: the update assigns something that is neither in the values nor in the state.

        Example:
            >>> import graftax as gx
            >>> w, sgd = gx.Variable([1.0, -2.0], name="w"), gx.optimizers.SGD(0.5)
            >>> start = sgd.pure_state([w])
            >>> def loss_after_a_step(rate):
            ...     values = {"w": w.value}
            ...     gradients = gx.grad(lambda v: gx.ops.sum(v["w"] ** 2))(values)
            ...     values, _ = sgd.pure_update(gradients, {**start, "learning_rate": rate}, values)
            ...     return gx.ops.sum(values["w"] ** 2)
            >>> float(gx.grad(loss_after_a_step)(gx.ops.asarray(0.25)))  # 5 * (1 - 2 * rate)**2
            -10.0
            >>> w.numpy().tolist(), int(sgd.iterations)
            ([1.0, -2.0], 0)
        """
        kind = type(self).__name__
        _check_mappings(kind, {"gradients": gradients, "state": state, "values": values})
        known = self._gx_find_variables(values)
        if set(gradients) != set(values):
            raise ArgumentError(
                f"{kind}.pure_update got gradients for {sorted(gradients)} and values for {sorted(values)}",
                "each value needs its gradient; None says that it has none",
                "gradients = graftax.grad(loss)(values), where values is a dict by path",
            )
        own = self.named_variables()
        if set(own) != set(state):
            odd = [path for path in state if path not in own], [path for path in own if path not in state]
            raise ArgumentError(
                f"{kind}.pure_update got a state "
                + " and ".join([f"without {odd[1]}"] * bool(odd[1]) + [f"with {odd[0]} besides"] * bool(odd[0])),
                f"{kind} keeps exactly {list(own)}",
                "state = optimizer.pure_state(variables), and from then on what pure_update returns",
            )
        given = [self._gx_check_value(kind, "state", path, own[path], value) for path, value in state.items()]
        given += [self._gx_check_value(kind, "values", path, known[path], value) for path, value in values.items()]
        backend = registry.current()
        level = backend.tracing.level() if backend.has("tracing") else None
        frame = Substitution(frames.top, ((variable._storage, value) for variable, value in given), level)
        with frames.entered(frame), seen_from(self._gx_slots.noted_model()):
            self.apply({path: gradients[path] for path in values}, known)
            after = {path: known[path].value for path in values}, {path: own[path].value for path in state}
        inside = {variable._storage for variable, _ in given}
        if others := [storage.path for storage in frame.written if storage not in inside]:
            raise StateError(
                f"{kind}.pure_update assigns {', '.join(map(repr, others[:5]))}",
                "that is neither in the values nor in the state, and the update would not be pure",
                "values of all variables that the optimizer moves; optimizer.apply, where Variables are to change",
            )
        return after

    def _gx_find_variables(self, values: Mapping[str, Any]) -> dict[str, Variable]:
        """Return the variables that these are the values of."""
        made = [variable for variable, state in self._gx_slots.items() if state.settings is not None or state.slots]
        return variables_of(type(self).__name__, values, made, self._gx_slots.noted_model())

    def _gx_check_value(
        self, kind: str, label: str, path: str, variable: Variable, value: object
    ) -> tuple[Variable, Array]:
        array = registry.current().arrays.asarray(unwrap(value))
        if (tuple(array.shape), str(array.dtype)) != (variable.shape, variable.dtype):
            raise ArgumentError(
                f"{kind}.pure_update got {array.dtype}{list(array.shape)} as {label}[{path!r}]",
                f"it is {variable.dtype}{list(variable.shape)}, which never changes",
                "what pure_state and pure_update return, in graftax.vectorized_map for several at once",
            )
        return variable, array


def _check_mappings(kind: str, arguments: Mapping[str, object]) -> None:
    """Raise unless all three arguments are dicts by path."""
    for name, value in arguments.items():
        if not isinstance(value, Mapping):
            raise ArgumentTypeError(
                f"{kind}.pure_update got {name} of type {type(value).__name__}",
                "gradients and values are dicts by the path of the variable, and state is the dict of pure_state",
                "values, state = optimizer.pure_update(gradients, state, values), with state = "
                "optimizer.pure_state(model) at first and gradients = graftax.grad(loss)(values)",
            )
