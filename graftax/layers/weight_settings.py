"""WeightSettings: what a layer is told about one of its weights, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Initializer
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.spec import Constraint, Regularizer


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightSettings:
    """What a layer is told about one of its weights.

    Args:
        initializer: What the weight starts as.
        regularizer: The penalty on it. Defaults to None, none.
        constraint: The projection after each update. Defaults to None, none.
    """

    initializer: Initializer
    regularizer: Regularizer | None = None
    constraint: Constraint | None = None

    @classmethod
    def of(
        cls,
        *,
        initializer: InitializerLike,
        regularizer: RegularizerLike = None,
        constraint: ConstraintLike = None,
    ) -> WeightSettings:
        """Return the settings, with what names stand for.

        Raises:
            ArgumentError: A name is unknown.
        """
        return cls(
            initializer=initializers.get(initializer),
            regularizer=regularizers.get(regularizer),
            constraint=constraints.get(constraint),
        )

    def check_unused(self, switch: str, weight: str, usual: type[object]) -> None:
        """Raise if something is said about a weight that the layer is told to do without.

        Args:
            switch: The argument that is False.
            weight: What the arguments are called after: ``bias`` for ``bias_initializer`` and the others.
            usual: The kind of initializer that the weight has by default.

        Raises:
            ArgumentError: Names the first argument that would be ignored.
        """
        start = None if type(self.initializer) is usual else self.initializer
        told = {"initializer": start, "regularizer": self.regularizer, "constraint": self.constraint}
        for setting, given in told.items():
            if given is not None:
                raise ArgumentError(
                    f"{switch}=False and {weight}_{setting}={given!r:.60}",
                    f"without a {weight} nothing would use it",
                    f"{switch}=True, or no {weight}_{setting}",
                )
