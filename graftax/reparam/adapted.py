"""Adapted: a frozen weight, and adapters by name that change what it computes as, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError, GraftError
from graftax.core.promises import withdraw
from graftax.core.selectors import select
from graftax.core.typedefs import Array, VariableLike
from graftax.core.undefined import undefined_error
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator
from graftax.reparam.has_settings import HasSettings
from graftax.variables.graph.module import structure
from graftax.variables.spec import VariableSpec
from graftax.variables.variable import Variable


class Adapter(HasSettings):
    """One adapter of one weight: subclass it, make the parts, say what they make of the weight.

    Args:
        name: What it is called; the adapters of one name, over all weights of a model, belong together.

    Example:
        >>> import graftax as gx
        >>> class Gain(Adapter):
        ...     def __init__(self, name, part, spec):
        ...         super().__init__(name)
        ...         self.gain = part("gain", shape=spec.shape[-1:], initializer=gx.initializers.Ones())
        ...
        ...     def __call__(self, value):
        ...         return value * self.gain
        ...
        ...     def inverse(self, value):
        ...         return value / self.gain
        >>> class Gains(AdapterCreator):
        ...     def adapter(self, part, spec):
        ...         return Gain(self.name, part, spec)
        >>> layer = gx.layers.Dense(3)
        >>> layer.build((2,))
        >>> done = gx.graft(layer, Gains("louder"), where="kernel")
        >>> [v.path for v in layer.trainable_variables]
        ['kernel/adapters/louder/gain', 'bias']
    """

    additive: ClassVar[bool] = False
    """Promise that it adds something to the weight that does not depend on it.

    The promise is of one ``__call__``: a subclass with another one has it only if it says so itself.
    """

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        withdraw(cls, Adapter, "additive", "__call__")

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __call__(self, value: Array) -> Array:
        """Return the weight, changed."""
        raise undefined_error(self, "__call__(value)")

    def inverse(self, value: Array) -> Array:
        """Return the weight of which it makes this value."""
        raise undefined_error(self, "inverse(value)")

    def rest(self, resting: bool) -> None:
        """Keep it as it is while it is not in use, whatever is frozen and unfrozen meanwhile."""
        for variable in self.variables:
            variable.trainability = variable.trainability.with_resting(1 if resting else -1)
        structure.bump()


class Adapted(Reparam):
    """The weight that `LoRA` and others make: ``base``, and ``adapters`` by name, those in use applied in their order.

    Args:
        spec: The spec of the weight.
        base: The weight itself, a Variable or an expression.
        adapters: Adapters by name.
        active: Those in use. Defaults to all.
    """

    def __init__(
        self, spec: VariableSpec, base: VariableLike, adapters: dict[str, Adapter], active: Iterable[str] | None = None
    ) -> None:
        super().__init__(spec)
        self.made_trainable = spec.trainable
        self.base = base
        self.adapters = adapters
        self.active = list(adapters if active is None else active)

    def _gx_parts_with_settings(self) -> Iterable[HasSettings]:
        """Return the adapters."""
        return self.adapters.values()

    def forward(self) -> Array:
        """Return what the adapters in use make of the base."""
        return self.apply_adapters(self.active, ops.asarray(self.base))

    def apply_adapters(self, names: Iterable[str], value: Array) -> Array:
        """Return what some adapters make of a value."""
        for name in names:
            value = self.adapters[name](value)
        return value

    def inverse(self, value: Array) -> None:
        """Move the base to where the adapters give the value; the adapters stay."""
        for name in reversed(self.active):
            value = self.adapters[name].inverse(value)
        self.base.assign(value)  # type: ignore[attr-defined]

    def switch(self, names: Iterable[str]) -> None:
        """Use these, in this order; what is not in use rests."""
        wanted = [name for name in names if name in self.adapters]
        for name, adapter in self.adapters.items():
            if (name in wanted) != (name in self.active):
                adapter.rest(name not in wanted)
        self.active = wanted

    def remove_adapters(self, names: Iterable[str]) -> None:
        """Drop these."""
        gone = set(names)
        self._gx_creators = tuple(one for one in self._gx_creators if getattr(one, "name", None) not in gone)
        self.adapters = {name: adapter for name, adapter in self.adapters.items() if name not in gone}
        self.active = [name for name in self.active if name not in gone]


def _adapter_name(_: str, name: object) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w.\-]*", name):
        raise ArgumentError(
            f"name={name!r} for an adapter",
            "a name starts with a letter and has letters, digits, '_', '-' and '.'",
            'name="poet"',
        )
    return name


class AdapterCreator(CheckedCreator):
    """The base of creators that give weights of two and more axes an adapter, and freeze the rest; others pass.

    Where the weight has adapters already, this one joins them, on top.

    Args:
        name: What the adapter is called.

    Raises:
        ArgumentError: it cannot be called so.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(3)
        >>> layer.build((2,))
        >>> for creator in (gx.reparam.LoRA(rank=1, name="poet"), gx.reparam.DoRA(rank=1, name="lawyer")):
        ...     done = gx.graft(layer, creator, where="kernel")
        >>> layer.kernel
        Adapted('kernel', shape=(2, 3), dtype=float32)
        >>> list(layer.kernel.adapters)
        ['poet', 'lawyer']
    """

    checks: ClassVar[Mapping[str, Check]] = {"name": _adapter_name}

    def __init__(self, name: str) -> None:
        self.name = name

    def adapter(self, part: Callable[..., Any], spec: VariableSpec) -> Adapter:
        """Make the adapter of a weight; ``part(name, shape=..., initializer=...)`` makes a part of it."""
        raise undefined_error(self, "adapter(part, spec)")

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the adapted weight for a matrix or kernel, anything else as it would have been."""
        if len(spec.shape) < 2 or spec.adapter is not None:
            return next_creator(spec)
        base = next_creator(spec.replace(name="base", resting=spec.resting + 1))

        def part(name: str, **changes: Any) -> VariableLike:
            path = f"{spec.path}/adapters/{self.name}/{name}"
            return next_creator(spec.replace(name=name, path=path, trainable=True, adapter=self.name, **changes))

        if not isinstance(base, Adapted):
            return Adapted(spec, base, {self.name: self.adapter(part, spec)})
        if self.name in base.adapters:
            raise GraftError(
                f"{self!r} for {spec.path!r}, which has an adapter {self.name!r} already",
                "adapters are told apart by their names",
                f'name="other", or gx.adapters.remove(model, "{self.name}") first',
            )
        for variable in base.variables if _rests_as_base(base, spec.resting) else ():
            if variable.trainability.resting > spec.resting:
                variable.trainability = variable.trainability.with_resting(-1)
        more = {**base.adapters, self.name: self.adapter(part, spec)}
        spec = spec.replace(trainable=base.made_trainable)
        return Adapted(spec, base.base, more, (*base.active, self.name))


def _rests_as_base(weight: Adapted, resting: int) -> bool:
    """Tell whether a creator of an inner scope has made a weight as the base of one more expression, which it joins."""
    return any(v.trainability.resting > resting for name in weight.active for v in weight.adapters[name].variables)


def adapter_of(item: object) -> str | None:
    """Return the name of the adapter that a Variable, or a saved one, is a part of."""
    is_variable = isinstance(item, Variable)
    owner = getattr(item, "_gx_owner", None if is_variable else getattr(item, "owner", None))
    while owner is not None:
        if isinstance(owner, Adapter):
            return owner.name
        owner = owner._gx_owner
    return None if is_variable else getattr(item, "adapter", None)


@select
def is_adapter(variable: object) -> bool:
    """Select the Variables of adapters, such as those that LoRA makes."""
    return adapter_of(variable) is not None
