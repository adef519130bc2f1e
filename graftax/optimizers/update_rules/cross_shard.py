"""CrossShard: an optimizer of devices that each have gradients of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graftax.backend import registry
from graftax.core import tree
from graftax.core.short_traceback import door
from graftax.core.typedefs import unwrap
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.engine.gradients import Variables
from graftax.optimizers.engine.pure_updates import PureUpdates
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


class CrossShard(AroundOptimizer, PureUpdates):
    """Updates of another optimizer by the mean of the gradients of all devices.

    Under a distribution there is nothing to do: gradients are those of the whole batch already, and this is the
    optimizer inside. In a function that ``gx.shard_map`` runs on each device, where each has gradients of its own
    share, `pure_update` takes their mean first, over the axes that the function is spread over.

    Args:
        optimizer: The one that takes the steps, in all its options.
        name: Its name. Defaults to None.

    Raises:
        ArgumentTypeError: the optimizer is none.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0])
        >>> optimizer = CrossShard(gx.optimizers.SGD(0.5))
        >>> optimizer.apply([[1.0]], [w])
        >>> w.numpy().tolist()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, name: str | None = None) -> None:
        super().__init__(None, name)
        self.optimizer = self._gx_taken(optimizer)

    @door
    def named_variables(self) -> dict[str, Variable]:
        """Return the Variables of the optimizer inside by path."""
        return {f"optimizer/{path}": variable for path, variable in self.optimizer.named_variables().items()}

    def build(self, variables: Variables) -> None:
        """Make the slots of those that are trainable."""
        self._gx_slots.note_model(variables)
        self.optimizer.build(variables)
        self._gx_leave_scopes()

    def apply(self, gradients: Any, variables: Variables) -> None:
        """Apply the mean of the gradients of all devices with the optimizer inside."""
        axes = frames.top.shards() if frames.top is not None else ()
        if axes:
            mean = registry.current().meshes.mean_of_shards
            gradients = tree.map_structure(lambda g: None if g is None else mean(unwrap(g), axes), gradients)
        self.optimizer.apply(gradients, variables)

    def minimize(self, loss_fn: Callable[[], Any], variables: Variables, has_aux: bool = False) -> Any:
        """Take one step with the optimizer inside."""
        return self.optimizer.minimize(loss_fn, variables, has_aux)

    def _gx_find_variables(self, values: Mapping[str, Any]) -> dict[str, Variable]:
        return self.optimizer._gx_find_variables(values)

    def __repr__(self) -> str:
        return f"CrossShard({self.optimizer!r})"
