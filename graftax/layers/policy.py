"""DTypePolicy: in which dtype a layer stores its weights, and in which it computes."""

from __future__ import annotations

from dataclasses import dataclass

from graftax.core.errors import ArgumentError
from graftax.core.scopes import ScopeStack, register_ambient
from graftax.core.short_traceback import door

_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class DTypePolicy:
    """A pair of dtypes under one name.

    Args:
        name: ``"float32"``, ``"bfloat16"``, ``"float16"``, ``"float64"`` for one dtype throughout;
            ``"mixed_bfloat16"`` or ``"mixed_float16"`` for weights in float32 and computation in the short one.

    Raises:
        ArgumentError: there is no such policy.

    Example:
        >>> policy = DTypePolicy("mixed_bfloat16")
        >>> policy.variable_dtype, policy.compute_dtype
        ('float32', 'bfloat16')

    Source: Micikevicius et al., arXiv 1710.03740.
    """

    name: str

    def __post_init__(self) -> None:
        if (
            not isinstance(self.name, str)
            or self.name.removeprefix("mixed_") not in _FLOATS
            or self.name in ("mixed_float32", "mixed_float64")
        ):
            raise ArgumentError(
                f"dtype={self.name!r}, which names a policy",
                "there is no such policy",
                f'dtype="float32"; there are {", ".join(_FLOATS)}, "mixed_bfloat16" and "mixed_float16"',
            )

    @property
    def compute_dtype(self) -> str:
        """Return the dtype of a layer's inputs, arithmetic and outputs."""
        return self.name.removeprefix("mixed_")

    @property
    def variable_dtype(self) -> str:
        """Return the dtype of a layer's weights."""
        return "float32" if self.name.startswith("mixed_") else self.name

    @property
    def wide_dtype(self) -> str:
        """Return the dtype of what half precision would spoil, such as moving averages: float32 at least."""
        return "float64" if self.name == "float64" else "float32"


DTypePolicy.__init__ = door(DTypePolicy.__init__)  # type: ignore[method-assign]

_global = [DTypePolicy("float32")]
assumed: ScopeStack[DTypePolicy] = ScopeStack("dtype policy")
"""Entered where layers are made again as they were: the policy of those that are given none, for this thread alone."""
register_ambient(lambda: get_dtype_policy().name, name="the global dtype policy")


def get_dtype_policy() -> DTypePolicy:
    """Return the policy of layers that are given none.

    Example:
        >>> get_dtype_policy().name
        'float32'
    """
    return assumed.top or _global[0]


def set_global_policy(policy: DTypePolicy) -> None:
    """Choose the policy of layers that are given none from now on."""
    _global[0] = policy


def as_policy(policy: str | DTypePolicy | None) -> DTypePolicy:
    """Return a policy from its name; the global one for None."""
    if policy is None:
        return get_dtype_policy()
    return policy if isinstance(policy, DTypePolicy) else DTypePolicy(policy)
