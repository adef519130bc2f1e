"""The report of a restore: what was restored, and what prevented it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from graftax.checkpoint.report_table import SHOWN, Row, lay_out, shorten
from graftax.core.errors import (
    AmbiguousSharing,
    DTypeMismatch,
    KindMismatch,
    MatchError,
    MissingInCheckpoint,
    RenameConflict,
    SettingsMismatch,
    ShapeMismatch,
    StateError,
    UnusedInCheckpoint,
)
from graftax.core.short_traceback import door
from graftax.core.typedefs import Shape
from graftax.reparam.settings import text_of


class Waiting(Protocol):
    """Values that wait for Variables that do not exist yet."""

    begun_frozen: frozenset[str] | None
    begun_uses: Mapping[str, tuple[str, ...]]

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths whose values wait."""
        ...

    @property
    def arrived(self) -> Sequence[Restored]:
        """Return the values that were assigned since."""
        ...

    @property
    def lacking(self) -> Collection[str]:
        """Return the paths of Variables that required a value and did not get one."""
        ...

    @property
    def retrained(self) -> Sequence[Trainable]:
        """Return the assigned values whose saved ``trainable`` flags differ from those of the program."""
        ...

    @property
    def differing(self) -> Sequence[Settings]:
        """Return the expressions that were made later, with other settings than the saved ones."""
        ...


class Restored(NamedTuple):
    """A value that was restored from a path of the checkpoint to a path of the program. Python state has no dtype.

    ``note`` says how an expression took the value.
    """

    path: str
    source: str
    dtype: str = ""
    shape: Shape = ()
    note: str = ""


class Conflict(NamedTuple):
    """Something that does not match. ``error`` is the class of its error."""

    error: type[MatchError]
    path: str
    reason: str


class Trainable(NamedTuple):
    """An object whose saved ``trainable`` flag differs from the program's; ``now`` is the flag after the restore."""

    path: str
    saved: bool
    now: bool


class Uses(NamedTuple):
    """A weight whose adapters in use were others when it was saved; ``now`` are those after the restore."""

    path: str
    saved: tuple[str, ...]
    now: tuple[str, ...]


class Settings(NamedTuple):
    """An expression or metric whose settings were others when it was saved; ``saved`` and ``now`` are those."""

    path: str
    saved: Mapping[str, Any]
    now: Mapping[str, Any]


class Unshared(NamedTuple):
    """One Variable of the checkpoint that corresponds to several in the program; each of them got the value."""

    source: str
    paths: tuple[str, ...]


_ORDER = (
    RenameConflict,
    KindMismatch,
    ShapeMismatch,
    DTypeMismatch,
    SettingsMismatch,
    AmbiguousSharing,
    MissingInCheckpoint,
    UnusedInCheckpoint,
)


class RestoreReport:
    """What a restore did.

    These attributes are tuples: ``restored``, ``missing`` (paths without a saved value), ``unused`` (saved values
    without a place), ``conflicts``, ``unshared``, ``reset`` (slots that the saved optimizer had not made, and that have
    their initial values again), ``fresh`` (other slots that the checkpoint does not have, which keep their values, as
    in mode ``"overlap"``), ``followed`` (state of expressions, computed again since their bases took values),
    ``trainable`` (saved ``trainable`` flags that differ from those of the program),
    ``adapters`` (weights whose adapters in use were others when they were saved), and ``other_settings`` (expressions
    and metrics with other settings than when they were saved). ``deferred`` lists the paths whose values wait for
    Variables that are created later; once assigned, they are in ``restored`` and ``trainable`` instead. ``random`` is
    True if the global seed and its stream were restored, False if they keep their state, None if the checkpoint has
    none.
    """

    def __init__(self, path: str | None, mode: str = "exact") -> None:
        self.path = path
        self.mode = mode
        self.step: int | None = None
        self.meta: dict[str, Any] = {}
        self.missing: tuple[str, ...] = ()
        self.unused: tuple[str, ...] = ()
        self.conflicts: tuple[Conflict, ...] = ()
        self.unshared: tuple[Unshared, ...] = ()
        self.reset: tuple[str, ...] = ()
        self.fresh: tuple[str, ...] = ()
        self.followed: tuple[str, ...] = ()
        self.adapters: tuple[Uses, ...] = ()
        self.random: bool | None = None
        self._waiting: Waiting | None = None
        self._restored_later: Callable[[], tuple[Restored, ...]] = tuple
        self._restored: tuple[Restored, ...] | None = None
        self._trainable: tuple[Trainable, ...] = ()
        self._settings: tuple[Settings, ...] = ()

    @property
    def restored(self) -> tuple[Restored, ...]:
        """Return the restored values, including those that were assigned later."""
        if self._restored is None:
            self._restored, self._restored_later = self._restored_later(), tuple
        return (*self._restored, *(self._waiting.arrived if self._waiting is not None else ()))

    @property
    def trainable(self) -> tuple[Trainable, ...]:
        """Return the objects whose saved ``trainable`` flags differ from those of the program."""
        return (*self._trainable, *(self._waiting.retrained if self._waiting is not None else ()))

    @property
    def other_settings(self) -> tuple[Settings, ...]:
        """Return the expressions and metrics with other settings than when they were saved."""
        return (*self._settings, *(self._waiting.differing if self._waiting is not None else ()))

    def tell_settings(self, differing: Sequence[Settings]) -> None:
        """Record the expressions and metrics with other settings than when they were saved."""
        self._settings = tuple(differing)

    def tell(self, restored: Callable[[], tuple[Restored, ...]], trainable: Sequence[Trainable]) -> None:
        """Record what was restored: a function that returns it when needed, and the differing ``trainable`` flags."""
        self._restored_later, self._trainable = restored, tuple(trainable)

    def tell_followed(self, paths: Sequence[str]) -> None:
        """Record the state of expressions that was computed again, since their bases took values."""
        self.followed = tuple(paths)
        self.fresh = tuple([path for path in self.fresh if path not in self.followed])

    @property
    def deferred(self) -> tuple[str, ...]:
        """Return the program paths whose values still wait for their Variables."""
        return self._waiting.paths if self._waiting is not None else ()

    def wait_for(self, waiting: Waiting) -> None:
        """Let ``deferred`` list the values that still wait there."""
        self._waiting = waiting

    def _gx_leave_flags(self, begun_frozen: frozenset[str]) -> None:
        """Let what is created later be trained as the program says, where the saved run had not changed that.

        Args:
            begun_frozen: The paths of what was frozen where the saved run began.
        """
        if self._waiting is not None:
            self._waiting.begun_frozen = begun_frozen

    def _gx_leave_uses(self, begun_uses: Mapping[str, tuple[str, ...]]) -> None:
        """Let what is created later use the adapters that the program says, where the saved run had not changed that.

        Args:
            begun_uses: The adapters in use where the saved run began, by the path of their weight.
        """
        if self._waiting is not None:
            self._waiting.begun_uses = begun_uses

    @door
    def assert_consumed(self) -> RestoreReport:
        """Return the report if every value of the selected parts was assigned; raise otherwise.

        Raises:
            UnusedInCheckpoint: values are unused, or still wait for Variables that were not created.
            MissingInCheckpoint: a layer could not be built, since one of its weights has no saved value.
            AmbiguousSharing: in mode ``"exact"``, one Variable of the checkpoint corresponds to several in the program.
            StateError: nothing was restored, because the path was None.
        """
        if self.path is None:
            raise StateError("restore(None)", "nothing is being restored", "give the path of a checkpoint")
        conflicts = [
            Conflict(UnusedInCheckpoint, path, "is in the checkpoint and has no place") for path in self.unused
        ]
        conflicts += [
            Conflict(
                UnusedInCheckpoint, path, "waits for a Variable that was not made; build the layers: call the model"
            )
            for path in self.deferred
        ]
        lacking = self._waiting.lacking if self._waiting is not None else ()
        conflicts += [Conflict(MissingInCheckpoint, path, "has no value in the checkpoint") for path in lacking]
        if self.mode == "exact":
            conflicts += [
                Conflict(AmbiguousSharing, s.source, f"was one object, is now {len(s.paths)}: {', '.join(s.paths)}")
                for s in self.unshared
            ]
        if conflicts:
            instead = "build the layers first: call the model on an example" if self.deferred and not lacking else ""
            raise self.failure(conflicts, "not everything was consumed", "", instead)
        return self

    def failure(
        self,
        conflicts: Sequence[Conflict],
        subject: str = "the restore does not fit",
        effect: str = "; nothing was changed",
        instead: str = "",
    ) -> MatchError:
        """Return the error that lists all conflicts and has this report."""
        kinds = {conflict.error for conflict in conflicts}
        chosen = next(kind for kind in _ORDER if kind in kinds)
        lines = [f"{c.path}: {c.reason}" for c in sorted(conflicts, key=lambda c: _ORDER.index(c.error))]
        more = [f"and {len(lines) - SHOWN} more, all in .report"] if len(lines) > SHOWN else []
        error = chosen(
            f"{subject}: {self.path}" + "".join(f"\n    {line}" for line in (*lines[:SHOWN], *more)),
            _WHY[chosen] + effect,
            instead or _INSTEAD[chosen],
        )
        error.report = self
        return error

    @door
    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return {
            "path": self.path,
            "mode": self.mode,
            "step": self.step,
            "restored": [r._asdict() for r in self.restored],
            "missing": self.missing,
            "unused": self.unused,
            "conflicts": [{"error": c.error.__name__, "path": c.path, "reason": c.reason} for c in self.conflicts],
            "unshared": [u._asdict() for u in self.unshared],
            "reset": self.reset,
            "fresh": self.fresh,
            "followed": self.followed,
            "trainable": [t._asdict() for t in self.trainable],
            "adapters": [u._asdict() for u in self.adapters],
            "other_settings": [s._asdict() for s in self.other_settings],
            "random": self.random,
            "deferred": self.deferred,
        }

    @door
    def details(self) -> str:
        """Return the report as a text with a line for each value."""
        return self._text(self._rows())

    @door
    def summary(self, instead: str = "print(report.details())") -> str:
        """Return the report as a short text, which is also its `str`: what went well is counted if it is much.

        Args:
            instead: What to write to see all. Defaults to the line in Python.
        """
        return self._text(shorten(self._rows(), instead))

    def __str__(self) -> str:
        return self.summary()

    def _text(self, rows: Sequence[Row]) -> str:
        if self.path is None:
            return "nothing is being restored"
        counts = [f"{len(self.restored)} restored"]
        names = ("missing", "unused", "conflicts", "unshared", "reset", "fresh", "followed", "deferred")
        counts += [f"{len(found)} {name}" for name in names if (found := getattr(self, name))]
        return "\n  ".join([f"{self.path}: {', '.join(counts)} (mode {self.mode})", *lay_out(rows)])

    def _rows(self) -> list[Row]:
        """Return a row for each thing that was restored, and for each that was not or not as it was saved."""
        return [
            *(Row("restored", r.path, _source(r), r.source == r.path and not r.note) for r in self.restored),
            *(Row("missing", path) for path in self.missing),
            *(Row("unused", path) for path in self.unused),
            *(Row("conflict", c.path, c.reason) for c in self.conflicts),
            *(Row("unshared", u.source, f"now {', '.join(u.paths)}") for u in self.unshared),
            *(Row("reset", path, "not in the checkpoint, given its initial value") for path in self.reset),
            *(Row("fresh", path, "not in the checkpoint, left as it was") for path in self.fresh),
            *(Row("followed", path, "computed again for the values of its base") for path in self.followed),
            *(Row("trainable", t.path, _flag_text(t)) for t in self.trainable),
            *(Row("adapters", u.path, _use_text(u)) for u in self.adapters),
            *(Row("settings", s.path, _settings_text(s)) for s in self.other_settings),
            *([Row("kept", "gx.random", "the global seed and its stream stay")] if self.random is False else []),
            *(Row("deferred", path, "waits for its Variable") for path in self.deferred),
        ]

    __repr__ = __str__


def _flag_text(flag: Trainable) -> str:
    was, now = ("trained" if flag.saved else "frozen"), ("trained" if flag.now else "frozen")
    return f"was {was} when it was saved; is {now} now"


def _use_text(uses: Uses) -> str:
    was, now = (", ".join(map(repr, names)) or "none" for names in (uses.saved, uses.now))
    return f"{was} in use when it was saved; {now} now"


def _settings_text(settings: Settings) -> str:
    was, now = map(text_of, settings[1:])
    return f"{was} when it was saved; {now} now"


def _source(restored: Restored) -> str:
    text = f"{restored.dtype} {restored.shape}" if restored.dtype else "Python state"
    text = text if restored.source == restored.path else f"{text} from {restored.source}"
    return f"{text}, {restored.note}" if restored.note else text


_WHY: dict[type[MatchError], str] = {
    RenameConflict: "an object takes its value from one place",
    KindMismatch: "a value on one side is an object with parts on the other, as when a weight is factorised",
    ShapeMismatch: "a saved array goes only into a Variable of its shape",
    DTypeMismatch: "dtypes are not converted by default",
    SettingsMismatch: "with these settings an expression makes another weight of its parts, and a metric counts others",
    AmbiguousSharing: "one object on one side is several on the other",
    MissingInCheckpoint: "every Variable asked for must get a value",
    UnusedInCheckpoint: "every saved value of the parts asked for must be used",
}
_INSTEAD: dict[type[MatchError], str] = {
    RenameConflict: "leave one of the two out of map=",
    KindMismatch: "build the program as it was saved, or leave the part out: skip=[...]",
    ShapeMismatch: "build the program as it was saved, or leave the part out: skip=[...]",
    DTypeMismatch: 'cast="safe" to widen, cast="any" to lose precision knowingly',
    SettingsMismatch: (
        "the creator or metric with its settings as they were when it was saved, such as LoRA(rank, alpha); or "
        'settings="saved", which assigns those; or settings="program", which keeps those of the program'
    ),
    AmbiguousSharing: 'tie or untie as it was saved; mode="cover" accepts what was untied',
    MissingInCheckpoint: (
        'skip="path/**" for what is new, map={"program path": "checkpoint path"} for what has another path, or '
        'mode="overlap", which restores only what is on both sides'
    ),
    UnusedInCheckpoint: 'skip="path/**" for what is gone, or mode="cover", which lets the checkpoint have more',
}
