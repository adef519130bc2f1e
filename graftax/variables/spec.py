"""VariableSpec: the frozen description from which a Variable is made; what creators see and change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

from graftax.core.errors import ArgumentError, ArgumentTypeError, CreatorError
from graftax.core.free_sizes import is_free
from graftax.core.short_traceback import door
from graftax.core.static_numbers import check_known
from graftax.core.typedefs import Array, Initializer, Shape
from graftax.variables.graph.node import Branch

if TYPE_CHECKING:
    from graftax.variables.state.home import Placement

Regularizer: TypeAlias = Callable[[Array], Array]
Constraint: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True, kw_only=True)
class VariableSpec:
    """The description of a Variable that is about to be made.

    Args:
        shape: Its shape.
        dtype: Its dtype by name.
        initializer: ``initializer(key, shape, dtype) -> array``.
        trainable: Whether optimizers may move it. Defaults to True.
        role: ``"weight"``, ``"state"``, ``"slot"``, ``"metric"``, ``"seed"``, ``"counter"`` or ``"hyper"``. Defaults to
            ``"weight"``.
        name: The name it was given. Defaults to None: it is called after the attribute that holds it.
        path: Where it will hang in the object graph, as far as that is known now. Defaults to ``"variable"``.
        owner: The Module that asked for it. Defaults to None.
        regularizer: Penalty on its value, collected in ``layer.losses``. Defaults to None, no penalty.
        constraint: Projection applied after each update. Defaults to None, no constraint.
        autocast: Whether layers of mixed precision read it in their compute dtype, if it is a weight. Defaults to True.
        resting: How many expressions keep it as it is until they are gone, such as LoRA over it; it is made to be
            trained all the same. Defaults to 0.
        adapter: The name of the adapter that this is a part of, and all that stands in its place. Defaults to None, no
            adapter.
        placement: What says where it lies on several devices, asked in the end; parts of a weight have that of the
            weight. Defaults to None, the default device.

    Example:
        >>> from graftax.variables.initializers import Zeros
        >>> spec = VariableSpec(shape=(4, 3), dtype="float32", initializer=Zeros(), name="kernel", path="dense/kernel")
        >>> half = spec.replace(name="left", shape=(4, 2))
        >>> half.path, half.shape
        ('dense/kernel/left', (4, 2))
    """

    shape: Shape
    dtype: str
    initializer: Initializer
    trainable: bool = True
    role: str = "weight"
    name: str | None = None
    path: str = "variable"
    owner: Branch | None = None
    regularizer: Regularizer | None = None
    constraint: Constraint | None = None
    autocast: bool = True
    resting: int = 0
    adapter: str | None = None
    placement: Placement | None = None

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)

    def replace(self, **changes: Any) -> VariableSpec:
        """Return a spec with some fields changed.

        Another ``name`` makes it the spec of a part: its path lies under this one, and the regularizer and the
        constraint, which speak of the whole, are left behind unless they are given again.

        Raises:
            CreatorError: a field does not exist.
        """
        known = [field.name for field in fields(self)]
        unknown = [name for name in changes if name not in known]
        if unknown:
            raise CreatorError(
                f"unknown field {', '.join(unknown)} for the variable {self.path!r}",
                f"a VariableSpec has {', '.join(known)}",
                "spec.replace(shape=...)",
            )
        if changes.get("name", self.name) != self.name:
            changes = {
                "path": f"{self.path}/{changes['name']}",
                "regularizer": None,
                "constraint": None,
                **changes,
            }
        return replace(self, **changes)


VariableSpec.__init__ = door(VariableSpec.__init__)  # type: ignore[method-assign]


def sizes(shape: Any) -> Shape:
    """Return the shape as a tuple of integers, among which sizes that are free stay as they are.

    Raises:
        ArgumentTypeError: it is something else.
        ArgumentError: a size is below 0.
    """
    try:
        found = tuple(size if is_free(size) else index(size) for size in shape)
    except TypeError:
        check_known("shape", shape)
        found = None
    if found is None or any(isinstance(size, bool) for size in shape):
        raise ArgumentTypeError(
            f"shape={shape!r}",
            "a shape is a tuple of integers",
            f"shape=({shape},)" if isinstance(shape, int) else "shape=(2, 3)",
        )
    if any(size < 0 for size in found if not is_free(size)):
        raise ArgumentError(f"shape={shape!r}", "sizes are not below 0", "shape=(2, 3); sizes of inputs come to build")
    return found
