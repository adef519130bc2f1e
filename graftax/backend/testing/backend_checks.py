"""Checks of a backend as a whole: its name, its groups, what it says of its libraries."""

from __future__ import annotations

from graftax.backend.base import GROUPS
from graftax.backend.testing.check import Kit, raises, rows
from graftax.core.errors import BackendCapabilityError

_STAND_ON_TRACING = ("gradients", "vectorizing", "compiling", "control_flow", "callbacks", "exporting")


def _check_name(kit: Kit) -> None:
    assert isinstance(kit.backend.name, str)
    assert kit.backend.name.isidentifier(), f"the name {kit.backend.name!r} is no word"


def _check_groups(kit: Kit) -> None:
    has = [group for group in GROUPS if kit.backend.has(group)]
    for group in has:
        assert getattr(kit.backend, group) is getattr(kit.backend, group), f"{group} is another object each time"
    assert "arrays" in has, "a backend has arrays at least"
    assert "random" in has, "a backend has random numbers at least"
    if standing := [group for group in has if group in _STAND_ON_TRACING]:
        assert "tracing" in has, f"{', '.join(standing)} without tracing"
    assert not kit.backend.has("a group that there is not")


def _check_lacking(kit: Kit) -> None:
    for group in GROUPS:
        if not kit.backend.has(group):
            with raises(BackendCapabilityError):
                getattr(kit.backend, group)


def _check_libraries(kit: Kit) -> None:
    made = [type(kit.array(1.0)), type(kit.backend.arrays)]
    for kind in made:
        root = kind.__module__.partition(".")[0]
        assert root == "graftax" or root in kit.backend.libraries, f"{root}, where {kind} is from, is not in libraries"


def _check_foreign_errors(kit: Kit) -> None:
    assert kit.backend.translate_error(ValueError("an error of nobody's library")) is None


CHECKS = rows(
    "backend",
    name=_check_name,
    groups=_check_groups,
    groups_that_it_lacks=_check_lacking,
    libraries=_check_libraries,
    errors_of_others=_check_foreign_errors,
)
