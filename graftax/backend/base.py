"""The base class of backends: what is said of a group that one lacks, and by whom it is offered."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graftax.backend import registry
from graftax.backend.wording import Wording
from graftax.core.errors import BackendCapabilityError, GraftaxError

GROUPS = (
    "arrays", "random", "devices", "meshes", "processes",
    "tracing", "gradients", "vectorizing", "compiling", "control_flow", "callbacks", "exporting",
)  # fmt: skip
"""The names of all groups."""


class BackendBase:
    """A backend that lacks every group; subclass it and give those you have, as attributes of their names.

    Example:
        >>> class Mine(BackendBase):
        ...     name, groups, libraries = "mine", ("arrays",), ("my_package",)
        >>> Mine().has("arrays"), Mine().has("gradients")
        (True, False)
    """

    name: str = ""
    groups: tuple[str, ...] = ()
    libraries: Collection[str] = ()
    notices: Collection[str] = ()
    wording: Wording = Wording()

    def has(self, group: str) -> bool:
        """Return True if the backend has the group of that name."""
        return group in self.groups

    def translate_error(self, error: Exception) -> GraftaxError | None:
        """Return the error of graftax that says what an error of the libraries means; None where that is not known."""
        return None

    def options(self) -> dict[str, bool]:
        """Return how it compiles: nothing to choose."""
        return {}

    def set_option(self, name: str, value: bool) -> None:
        """Raise: there is no option."""
        raise BackendCapabilityError(
            f"the backend {self.name!r} has no option {name!r}",
            "its options are: " + (", ".join(self.options()) or "none"),
            "the program without it: an option changes how fast it runs, never what it computes",
        )

    def missing(self, group: str) -> BackendCapabilityError:
        """Return the error for a group that this backend lacks."""
        owners = registry.backends_with(group)
        by = ", ".join(owners) or "none that is installed"
        return BackendCapabilityError(
            f"the backend {self.name!r} has no {group}",
            f"it offers {', '.join(self.groups)}; {group} is offered by: {by}",
            f'graftax.backend.use("{owners[0]}")' if owners else "a backend that has it, or code that does without",
        )

    def __getattr__(self, name: str) -> Any:
        if name in GROUPS and not self.has(name):
            raise self.missing(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
