"""Which checkpoints of a folder are kept: the newest, the best, one every so many steps, and those in use."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from graftax.core import user_line
from graftax.core.errors import ArgumentError
from graftax.core.foreign_keywords import KEYWORDS
from graftax.core.known_names import closest
from graftax.core.unknown_keywords import unknown_keyword

GOALS = ("min", "max")


class Record(NamedTuple):
    """A checkpoint of a manager: its step, its path, and its metrics."""

    step: int
    path: str
    metrics: Mapping[str, float]

    def __fspath__(self) -> str:
        return self.path


class Retention(NamedTuple):
    """The rules: keep so many of the newest, ``keep_best`` of the best, and all multiples of ``keep_every`` steps."""

    keep: int | None = None
    keep_best: int | None = None
    monitor: str | None = None
    goal: str = "min"
    keep_every: int | None = None

    def check(self) -> None:
        """Raise unless all numbers are valid and have an effect.

        Raises:
            ArgumentError: a number is invalid or has no effect.
        """
        for name in ("keep", "keep_best", "keep_every"):
            given = getattr(self, name)
            if given is not None and (type(given) is not int or given < 1):
                raise ArgumentError(f"{name}={given!r}", "it counts checkpoints or steps, one at least", f"{name}=5")
        if self.goal not in GOALS:
            raise ArgumentError(
                f"goal={self.goal!r}", "it says whether a low or a high value is best", 'goal="min" or "max"'
            )
        if self.keep_best is not None and self.monitor is None:
            raise ArgumentError(
                f"keep_best={self.keep_best} without monitor=",
                "no metric says which checkpoint is best",
                'monitor="val_loss"',
            )
        if self.keep is None and (self.keep_best is not None or self.keep_every is not None):
            raise ArgumentError(
                "keep_best= or keep_every= without keep=", "without keep= all checkpoints stay", "keep=3 as well"
            )

    def convert_metrics(self, metrics: Mapping[str, float] | None, competes: bool, directory: str) -> dict[str, float]:
        """Return the metrics of a save as numbers; warn if the monitored one is NaN.

        Args:
            metrics: Numbers by name.
            competes: Whether the checkpoint may be one of the best.
            directory: The folder, for messages.

        Raises:
            ArgumentError: the monitored one is missing, or one is no number.
        """
        rated: dict[str, float] = {}
        for name, value in (metrics or {}).items():
            try:
                rated[name] = float(value)
            except (TypeError, ValueError) as error:
                raise ArgumentError(
                    f"metrics[{name!r}] = {value!r:.80}", "a metric is a number", f"{name}=float(...)"
                ) from error
        monitor = self.monitor
        if competes and monitor is not None and monitor not in rated:
            raise ArgumentError(
                f"metrics with {', '.join(rated) or 'nothing'}",
                f"the manager was made with monitor={monitor!r}",
                f'metrics={{"{monitor}": ...}}, or competes=False for a save between two validations',
            )
        if competes and monitor is not None and math.isnan(rated[monitor]):
            user_line.warn(
                f"metrics[{monitor!r}] of the manager of {directory} is NaN: the checkpoint is saved, and never "
                "one of the best. Instead: give a number; competes=False says that it is not to be one of the best"
            )
        return rated

    def best(self, records: Iterable[Record]) -> list[Record]:
        """Return the records with a value of the monitored metric, the best first; of equal ones the later."""
        if self.monitor is None:
            return []
        sign = 1 if self.goal == "min" else -1
        rated = [r for r in records if not math.isnan(r.metrics.get(self.monitor, math.nan))]
        return sorted(rated, key=lambda r: (sign * r.metrics[self.monitor or ""], -r.step))

    def to_delete(self, records: Sequence[Record], targets: Mapping[str, Sequence[str]]) -> list[Record]:
        """Return the checkpoints to delete, in an order in which none is deleted before those that refer to it.

        Args:
            records: All records, in any order.
            targets: The names that each checkpoint in the folder refers to, by its name.
        """
        if self.keep is None:
            return []
        ordered = sorted(records)
        stay = {r.step for r in ordered[-self.keep :]}
        if self.keep_best is not None:
            stay |= {r.step for r in self.best(ordered)[: self.keep_best]}
        if self.keep_every is not None:
            stay |= {r.step for r in ordered if r.step % self.keep_every == 0}
        going = {os.path.basename(r.path): r for r in ordered if r.step not in stay}
        while True:  # a kept checkpoint also keeps those that it refers to
            needed = {name for other, held in targets.items() if other not in going for name in held} & set(going)
            if not needed:
                return _order_for_removal(going, targets)
            for name in needed:
                del going[name]


def _order_for_removal(going: dict[str, Record], targets: Mapping[str, Sequence[str]]) -> list[Record]:
    order: list[Record] = []
    left = dict(going)
    while left:
        needed = {name for other in left for name in targets.get(other, ())}
        # references in a circle exist only in forged files: then the order does not matter
        free = [name for name in left if name not in needed] or list(left)
        order += sorted(left.pop(name) for name in free)
    return order


def check_roots(manager: type[Any], roots: Mapping[str, object]) -> None:
    """Raise for a number or text under the name that another library has for a rule, or almost that of one here.

    Raises:
        ArgumentTypeError: it is no object to save.
    """
    for name, value in roots.items():
        if isinstance(value, int | float | str):
            names = (near for near in KEYWORDS.get(name.lower(), ()) if near in Retention._fields)
            if next(names, None) or closest(name, Retention._fields):
                raise unknown_keyword(manager, name, value, [])
