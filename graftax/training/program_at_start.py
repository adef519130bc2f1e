"""What a program gives to a run where training begins: a resumed run goes on with it, unless a run has changed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graftax.checkpoint.report import RestoreReport
from graftax.training.given_adapters import GivenAdapters
from graftax.training.given_flags import GivenFlags
from graftax.training.given_numbers import GivenNumbers
from graftax.training.nodes_of_roots import nodes_of
from graftax.training.settings import Settings
from graftax.variables.graph.structure import structure


class ProgramAtStart:
    """Settings, numbers of optimizers, frozen parts and adapters in use, before callbacks or a checkpoint change them.

    Args:
        roots: Returns all that is saved, by the beginnings of their paths.
        trained: Returns those without the run itself, likewise.
        with_settings: Returns those whose settings callbacks may change, likewise.
    """

    def __init__(
        self,
        roots: Callable[[], Mapping[str, Any]],
        trained: Callable[[], Mapping[str, Any]],
        with_settings: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._trained, self._made = trained, -1
        self.settings = Settings(with_settings)
        self._numbers = GivenNumbers(roots)
        self._flags = GivenFlags(trained)
        self._adapters = GivenAdapters(trained)

    def note(self) -> None:
        """Note all as the program makes it."""
        self.settings.note()
        self._numbers.note()
        nodes = list(nodes_of(self._trained()))
        self._flags.note(nodes)
        self._adapters.note(nodes)
        self._made = structure.made

    def note_built(self) -> None:
        """Note what the first step has built."""
        self.settings.note()
        nodes = list(nodes_of(self._trained()))
        self._flags.note(nodes)
        self._adapters.note(nodes)
        self._made = structure.made

    def get_state(self) -> dict[str, Any]:
        """Return what a checkpoint remembers: what was given at the start, and the settings that have changed."""
        return {
            "settings": self.settings.changed_values(),
            "numbers": self._numbers.given or {},
            "frozen": self._flags.frozen,
            "adapters": self._adapters.in_use,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take what a checkpoint remembers; those of earlier versions do not have everything."""
        if "settings" in state:
            self.settings.take(state["settings"])
        self._numbers.remember(state.get("numbers", {}))
        self._flags.remember(state.get("frozen"))
        self._adapters.remember(state.get("adapters"))

    def choose(self, report: RestoreReport, goes_on: bool = True) -> list[str]:
        """Set, after a restore, what the program gives where nothing else had changed it.

        Args:
            report: The report of the restore.
            goes_on: Whether anything is left to train; else nothing is told. Defaults to True.

        Returns:
            Numbers, flags and adapters that differ, as text.
        """
        found = self._numbers.choose(goes_on) + self._flags.choose(report, goes_on)
        return found + self._adapters.choose(report, goes_on)
