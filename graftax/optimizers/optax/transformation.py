"""Optax: a transformation of optax as an optimizer. optax is not imported: a transformation is what has its methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import cast_to, compute_dtype
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.rule import RuleInput, RuleOutput, check_moving
from graftax.optimizers.engine.slot import Slot
from graftax.optimizers.optax.state import Leaf, StateLayout
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Optax(Optimizer):
    """Any transformation of optax, with the options of every optimizer around it.

    ``updates, state = tx.update(gradients, state, values)``, then ``value + learning_rate * updates``. All three are
    dicts by the path of the variable (with ``'`` added where two have one path), of those that move in this update: a
    function that tx takes for masks or labels gets such a dict. Values of 16 bits come as float32.

    What the state has for a variable is a slot of it: ``optimizer.slot(kernel, "0.mu")``, where optax has
    ``state[0].mu[path]``. The rest, such as counts, are Variables in ``optimizer.state``:
    ``optimizer.state["hyperparams.learning_rate"].assign(0.1)``. So checkpoints find everything by name, variables may
    be frozen, renamed and added, and compiled steps are traced once. `copy.deepcopy` copies it; pickle does not know
    the functions of optax.

    A transformation is refused that needs the loss at an update (line searches, ``reduce_on_plateau``); whose masks or
    labels are dicts, not functions; that lays variables together (``flatten``); whose state begins with what only all
    variables together tell; or that keeps a key of ``jax.random.key``.

    Args:
        tx: The transformation: anything with ``init(params)`` and ``update(gradients, state, params)``.
        learning_rate: A factor on the updates of tx, which has its own rate in it; schedules, callbacks and multipliers
            of rules act here. Defaults to 1.0.
        **options: See `Optimizer`. Decay is per unit of this rate, so it belongs into tx; accumulation, averages,
            clipping and rules are better here.

    Raises:
        ArgumentTypeError: tx is no transformation, perhaps a function that makes one.
        ArgumentError: it is one of those that are refused, found here or at the first update.

    Example:
        >>> from typing import Any, NamedTuple
        >>> import graftax as gx
        >>> class Transformation(NamedTuple):  # optax.adamw(1e-3) is one, too
        ...     init: Any
        ...     update: Any
        >>> def update(gradients, state, params):
        ...     trace = {path: 0.5 * state["trace"][path] + g for path, g in gradients.items()}
        ...     return {path: -0.25 * t for path, t in trace.items()}, {"trace": trace, "count": state["count"] + 1}
        >>> momentum = Transformation(
        ...     lambda params: {"trace": {path: 0 * v for path, v in params.items()}, "count": 0}, update
        ... )
        >>> w, optimizer = gx.Variable([1.0, -2.0]), Optax(momentum)
        >>> for _ in range(2):
        ...     optimizer.apply([[1.0, 2.0]], [w])
        >>> w.numpy().tolist(), optimizer.slot(w, "trace").numpy().tolist(), int(optimizer.state["count"])
        ([0.375, -3.25], [1.5, 3.0], 2)

    Source: DeepMind et al. 2020, "The DeepMind JAX ecosystem".
    """

    def __init__(self, tx: Any, learning_rate: LearningRate = 1.0, **options: Unpack[Options]) -> None:
        super().__init__(learning_rate, **options)
        self._layout = StateLayout(tx)
        self.state = {name: _make_slot(name, value) for name, value in self._layout.own.items()}

    @property
    def tx(self) -> Any:
        """Return the transformation, which stays."""
        return self._layout.tx

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Return what the state has for a variable."""
        wide, path = compute_dtype(variable.dtype), variable.path
        begun: dict[str, Array] = {}

        def slot(leaf: Leaf) -> Slot:
            def start(key: object, shape: object, dtype: str) -> Array:
                if not begun:  # all of this variable at once
                    begun.update(self._layout.begin(path, cast_to(variable._gx_stored, wide)))
                return begun[leaf.name]

            return Slot(leaf.shape, None if leaf.dtype == wide else leaf.dtype, start)

        like = np.broadcast_to(np.zeros((), wide), variable.shape)  # costs nothing, and has a shape and dtype
        leaves, _ = self._layout.plan({path: like})
        return {leaf.name: slot(leaf) for leaf in leaves if leaf.path is not None}

    def update_all(self, moving: Sequence[RuleInput]) -> Sequence[RuleOutput]:
        """Take one step of tx with those that move."""
        check_moving(self, moving)
        by_path: dict[str, RuleInput] = {}
        for one in moving:
            path = one.variable.path
            while path in by_path:  # two models with equal paths
                path += "'"
            by_path[path] = one
        values = {path: one.value for path, one in by_path.items()}
        leaves, _ = self._layout.plan(values)
        kept = [self._variable_of(leaf, by_path) for leaf in leaves]
        before = [cast_to(variable.value, leaf.dtype) for leaf, variable in zip(leaves, kept, strict=True)]
        updates, after = self._layout.update({path: one.gradient for path, one in by_path.items()}, before, values)
        changes: dict[str, dict[str, Array]] = {path: {} for path in by_path}
        for leaf, variable, new in zip(leaves, kept, after, strict=True):
            new = registry.current().arrays.asarray(new)
            if leaf.path is None:
                variable.assign(cast_to(new, variable.dtype))
            else:
                changes[leaf.path][leaf.name] = new
        return [
            (one.value + one.step.learning_rate * cast_to(updates[path], str(one.value.dtype)), changes[path])
            for path, one in by_path.items()
        ]

    def _variable_of(self, leaf: Leaf, by_path: Mapping[str, RuleInput]) -> Variable:
        """Return where an array of the state is kept; its value there is not cast, as it is in `SlotValues`."""
        if leaf.path is None:
            return self.state[leaf.name]
        slots = self._gx_slots.state(by_path[leaf.path].variable).slots
        if leaf.name not in slots:
            raise ArgumentError(
                f"Optax: a state with {leaf.name!r} for {leaf.path!r}, which has none if it is alone",
                "variables come one by one, and may be frozen",
                "masks and labels that look at each variable alone: its path, its shape",
            )
        return slots[leaf.name]


def _make_slot(name: str, value: Array) -> Variable:
    return Variable(value, dtype=str(value.dtype), trainable=False, role="slot", name=name)
