"""The kit as a class that pytest collects: subclass it, say which backend and what it promises."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from graftax.backend import registry
from graftax.backend.base import GROUPS
from graftax.backend.protocol import Backend
from graftax.backend.testing import (
    array_checks,
    backend_checks,
    compiling_checks,
    control_flow_checks,
    exporting_checks,
    gradient_checks,
    mesh_checks,
    op_checks,
    process_checks,
    random_checks,
    tracing_checks,
)
from graftax.backend.testing.check import Check, Kit

CHECKS: tuple[Check, ...] = (
    *backend_checks.CHECKS,
    *array_checks.CHECKS,
    *op_checks.CHECKS,
    *random_checks.CHECKS,
    *tracing_checks.CHECKS,
    *gradient_checks.CHECKS,
    *mesh_checks.CHECKS,
    *process_checks.CHECKS,
    *compiling_checks.CHECKS,
    *control_flow_checks.CHECKS,
    *exporting_checks.CHECKS,
)


class Conformance:
    """What a backend must do; one test of pytest for each row of each group that it promises.

    What is promised is never skipped. A difference that is known goes into `known` with its reason; as soon
    as it is gone, or names no row, its test fails.

    Example:
        >>> class TestMine(Conformance):  # in a test file; pytest collects it
        ...     backend = "numpy"
        ...     groups = ("arrays", "random", "devices")
        ...     known = {}
        >>> TestMine().differences("arrays/")
        {}
    """

    backend: ClassVar[str | Backend]
    """Its name, or the object itself."""
    groups: ClassVar[Collection[str]] = ("arrays", "random")
    """What is promised, no more and no less."""
    tolerances: ClassVar[Mapping[str, float]] = {}
    """How far numbers may be off, by name of dtype, where the kit asks for more."""
    known: ClassVar[Mapping[str, str]] = {}
    """Rows that differ, each with the reason."""

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Give pytest the rows; it calls this."""
        if "row" in metafunc.fixturenames:
            metafunc.parametrize("row", [check.name for check in self.checks()])

    def test_conformance(self, row: str) -> None:
        """Fail where the backend does not keep the contract, or keeps it although `known` says otherwise."""
        (check,) = (one for one in self.checks() if one.name == row)
        error = self.difference(check)
        if row not in self.known:
            if error is not None:
                raise error
        elif error is None:
            raise AssertionError(f"{row} is in known ({self.known[row]}) and does not differ: take it out")

    def test_known_differences_are_rows(self) -> None:
        """Fail for a name in `known` that no row of the promised groups has."""
        unknown = set(self.known) - {check.name for check in self.checks()}
        assert not unknown, f"known has what is no row: {', '.join(sorted(unknown))}"

    def test_promised_groups_are_those_it_has(self) -> None:
        """Fail where the backend has another set of groups than `groups` says."""
        backend = self.under_test()
        has = {group for group in GROUPS if backend.has(group)}
        assert set(self.groups) == has, f"groups says {sorted(self.groups)}, the backend has {sorted(has)}"

    def under_test(self) -> Backend:
        """Return the backend itself."""
        return registry.load(self.backend) if isinstance(self.backend, str) else self.backend

    def checks(self) -> list[Check]:
        """Return the rows of the promised groups."""
        return [check for check in CHECKS if check.group in self.groups or check.group == "backend"]

    def difference(self, check: Check) -> BaseException | None:
        """Return what a row raises; None if the backend does as it should. Warnings are errors."""
        backend = self.under_test()
        try:
            with registry.scope(backend), warnings.catch_warnings(action="error"):
                check.run(Kit(backend, self.tolerances))
        except Exception as error:  # noqa: BLE001 - whatever a row raises is what differs
            return error
        return None

    def differences(self, start: str = "") -> dict[str, BaseException]:
        """Return what rows raise whose name starts so, by name; without pytest.

        Args:
            start: Beginning of the names. Defaults to all.
        """
        found = {check.name: self.difference(check) for check in self.checks() if check.name.startswith(start)}
        return {name: error for name, error in found.items() if error is not None}
