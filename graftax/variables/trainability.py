"""Trainability: whether a Variable is trained, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Trainability:
    """Whether a Variable is trained: made for that, not frozen by the user, and kept as it is by no expression.

    ======  ======  =======  =======
    made    frozen  resting  trained
    ======  ======  =======  =======
    True    False   0        True
    True    True    any      False
    True    any     1, 2, …  False
    False   any     any      False
    ======  ======  =======  =======

    A value, which is replaced by another one and never changed: who keeps it can put it back.

    Args:
        made: Whether it was made to be trained.
        frozen: Whether the user has frozen it, or a Module above it. Defaults to False.
        resting: How many expressions keep it as it is, such as LoRA over a weight. Defaults to 0.

    Example:
        >>> weight = Trainability(made=True)
        >>> weight.trained, weight.with_frozen(True).trained, weight.with_resting().trained
        (True, False, False)
        >>> weight.with_resting().with_frozen(True).with_resting(-1)
        Trainability(made=True, frozen=True, resting=0)
    """

    made: bool
    frozen: bool = False
    resting: int = 0

    @property
    def trained(self) -> bool:
        """Return whether optimizers move the Variable now."""
        return self.made and not self.frozen and not self.resting

    def with_frozen(self, frozen: bool) -> Trainability:
        """Return the same, frozen by the user or not."""
        return replace(self, frozen=frozen)

    def with_resting(self, expressions: int = 1) -> Trainability:
        """Return the same with so many more expressions that keep the Variable as it is; fewer for a negative number.

        Args:
            expressions: How many. Defaults to 1.
        """
        return replace(self, resting=max(0, self.resting + expressions))

    def __deepcopy__(self, memo: object) -> Trainability:
        return self  # as it never changes
