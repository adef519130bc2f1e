"""The progress of training, evaluation or prediction as one line of a given width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_WIDEST_BAR = 24
_NARROWEST_BAR = 6
_GAP = "  "


@dataclass(frozen=True)
class Progressed:
    """The progress, as data.

    Args:
        title: What is running, such as ``"epoch 3/10"``.
        done: The number of finished steps.
        total: The number of all steps; None if it is not known.
        seconds: The seconds since the start.
        per_step: The seconds per step; None if it is not known.
        numbers: The numbers to show, by name.
        is_over: Whether it is finished; then the line has no bar.

    Example:
        >>> running = Progressed("epoch 1/2", 3, 12, 0.9, 0.1, {"loss": 0.25})
        >>> print(running.line(80, plain=True))
        epoch 1/2  3/12  ######------------------  100ms/step  0:01 left  loss 0.25
        >>> print(running.line(60, plain=True))
        epoch 1/2  3/12  ##------  100ms/step  0:01 left  loss 0.25
    """

    title: str
    done: int
    total: int | None
    seconds: float
    per_step: float | None
    numbers: Mapping[str, float]
    is_over: bool = False

    def line(self, width: int | None, plain: bool = False) -> str:
        """Return the line, in at most ``width`` columns; its end says how many numbers had no room.

        Args:
            width: The number of columns; None for no limit.
            plain: Whether the bar is made of ASCII characters.
        """
        head = [self.title, self._count()]
        timing = [text for text in (self._speed(), self._time()) if text]
        numbers = [f"{name} {value:.4g}" for name, value in self.numbers.items()]
        whole = _GAP.join([*head, *timing, *numbers])
        if width is None or len(whole) <= width:
            room = _WIDEST_BAR if width is None else width - len(whole) - len(_GAP)
            if self.is_over or self.total is None or room < _NARROWEST_BAR:
                return whole
            bar = _bar(self.done / max(self.total, 1), min(_WIDEST_BAR, room), plain)
            return _GAP.join([*head, bar, *timing, *numbers])
        return _fit_to_width(head, timing[:1], self._pairs(), width)

    def _pairs(self) -> list[str]:
        """Return the numbers in short form: validation beside training, the learning rate last."""
        found = []
        for name, value in self.numbers.items():
            plain = name.removeprefix("val_")
            if name.split("/")[0] == "learning_rate" or (plain != name and plain in self.numbers):
                continue
            validated = self.numbers.get(f"val_{name}")
            found.append(f"{name} {value:.3g}" + ("" if validated is None else f" (val {validated:.3g})"))
        rates = [f"{rate:.3g}" for name, rate in self.numbers.items() if name.split("/")[0] == "learning_rate"]
        return [*found, f"lr {', '.join(rates)}"] if rates else found

    def _count(self) -> str:
        return f"{self.done} steps" if self.total is None else f"{self.done:{len(str(self.total))}}/{self.total}"

    def _speed(self) -> str:
        return "" if self.per_step is None else f"{_format_seconds(self.per_step)}/step"

    def _time(self) -> str:
        if self.is_over:
            return _clock(self.seconds) if self.seconds >= 60 else f"{self.seconds:.1f}s"
        if self.total is None or self.per_step is None:
            return ""
        return f"{_clock((self.total - self.done) * self.per_step)} left"


def _fit_to_width(head: list[str], timing: list[str], numbers: list[str], width: int) -> str:
    """Return the parts as a line. If it is too long, drop the count, the learning rate, the last numbers, the time."""
    few = [[*numbers[:shown], f"+{len(numbers) - shown}"] for shown in range(len(numbers) - 1, -1, -1)]
    unrated = [number for number in numbers if not number.startswith("lr ")]  # the history has the rate, too
    ways = [[*head, *timing, *numbers], [head[0], *timing, *numbers], [head[0], *timing, *unrated]]
    ways += [[head[0], *kept] for kept in (numbers, unrated, *few)]
    return next((one for one in map(_GAP.join, ways) if len(one) <= width), head[0][: max(width, 0)])


def _bar(part: float, size: int, plain: bool) -> str:
    full = min(max(round(part * size), 0), size)
    return "#" * full + "-" * (size - full) if plain else "━" * full + "─" * (size - full)


def _format_seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f}s"
    return f"{seconds * 1e3:.3g}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
