"""A drawing of a model as SVG without any library: boxes in a column, with lines from producers to consumers."""

from __future__ import annotations

from html import escape

from graftax.training.display.model_boxes import Box, Path

_WIDTH, _HIGH, _GAP, _PAD = 300, 44, 18, 12
_LANE = 10
"""The distance of lines that pass boxes on their right."""


def column_drawing(model: Box) -> str:
    """Return the drawing as SVG."""
    column = _Column(model)
    body, high = column.draw_inside(model, 0, _PAD + 24)
    width = column.width(0) + 2 * _PAD
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2}" height="{high + 2}" '
        f'font-family="sans-serif" font-size="12">'
        f'<rect x="1" y="1" width="{width}" height="{high}" rx="8" fill="#fff" stroke="#888"/>'
        f'<text x="{_PAD}" y="20" font-weight="bold">{escape(model.title)}</text>{body}</svg>'
    )


class _Column:
    """The layout of a column. All boxes of a level have the same width, which fits the content of each."""

    def __init__(self, model: Box) -> None:
        self._lanes: list[int] = []
        self._look(model, 0)

    def _look(self, box: Box, level: int) -> None:
        if not box.boxes:
            return
        if level == len(self._lanes):
            self._lanes.append(0)
        self._lanes[level] = max(self._lanes[level], len(_arrows_past_boxes(box)))
        for one in box.boxes:
            self._look(one, level + 1)

    def width(self, level: int) -> int:
        """Return the width of the boxes of a level, including the lines that pass them."""
        deeper = sum(2 * _PAD + self._lane(one) for one in range(level + 1, len(self._lanes)))
        return _WIDTH + deeper + self._lane(level)

    def _lane(self, level: int) -> int:
        return _LANE * (self._lanes[level] + 1) if level < len(self._lanes) and self._lanes[level] else 0

    def draw_inside(self, parent: Box, level: int, top: int) -> tuple[str, int]:
        """Return the SVG of the boxes inside of a box, starting at ``top``, and the position of their end."""
        width = self.width(level) - self._lane(level)
        left = 1 + _PAD * (level + 1)
        parts: list[str] = []
        places: dict[Path, tuple[int, int]] = {}
        for box in parent.boxes:
            body, end = self.draw_inside(box, level + 1, top + _HIGH)
            high = max(end - top, _HIGH) if body else _HIGH
            parts.append(_draw_box(box, left, top, width, high) + body)
            places[box.path] = top, top + high
            top += high + _GAP
        middle = left + width // 2
        order = [box.path for box in parent.boxes]
        passing = _arrows_past_boxes(parent)
        for first, second in parent.arrows:
            if (first, second) in passing:
                right = left + width
                lane = right + _LANE * (passing.index((first, second)) + 1)
                begin, end = places[first][1] - 10, places[second][0] + 10
                parts.append(f'<path d="M{right} {begin} H{lane} V{end} H{right}" stroke="#c07030" fill="none"/>')
                parts.append(f'<path d="M{right} {end} l6 -3 v6 z" fill="#c07030"/>')
            elif order.index(second) == order.index(first) + 1:
                parts.append(f'<path d="M{middle} {places[first][1]} V{places[second][0]}" stroke="#888" fill="none"/>')
        return "".join(parts), (top - _GAP + _PAD) if parts else top


def _arrows_past_boxes(box: Box) -> list[tuple[Path, Path]]:
    """Return the arrows that do not lead to the next box."""
    order = {one.path: i for i, one in enumerate(box.boxes)}
    return [(first, second) for first, second in box.arrows if order[second] != order[first] + 1]


def _draw_box(box: Box, left: int, top: int, width: int, high: int) -> str:
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{high}" rx="6" fill="#eef3fb" stroke="#5878a8"/>'
        f'<text x="{left + 8}" y="{top + 17}">{escape(box.title)}</text>'
        f'<text x="{left + 8}" y="{top + 34}" fill="#555">{escape(box.detail)}</text>'
    )
