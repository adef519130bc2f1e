"""Charts with two logarithmic axes, as an SVG picture."""

import math

Points = list[tuple[int, float]]

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 380, 260, 58, 34, 52
COLOURS = ("#c0392b", "#2471a3", "#239b56", "#7d3c98")


def charts(given: list[tuple[str, dict[str, Points]]], columns: int = 2) -> str:
    """Draw charts, each a title and curves by name, in rows."""
    down = math.ceil(len(given) / columns)
    parts = [
        chart(title, curves, i % columns * WIDTH, i // columns * HEIGHT) for i, (title, curves) in enumerate(given)
    ]
    size = f'width="{columns * WIDTH}" height="{down * HEIGHT}"'
    style = "text { font: 11px sans-serif; fill: #333 } .title { font-weight: bold }"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])


def chart(title: str, curves: dict[str, Points], left: int, top: int) -> str:
    sizes = sorted({size for points in curves.values() for size, _ in points})
    costs = [cost for points in curves.values() for _, cost in points]
    low, high = math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs)))
    high = max(high, low + 1)
    across, up = WIDTH - LEFT - 24, HEIGHT - TOP - BOTTOM

    def x(size: float) -> float:
        first, last = math.log10(sizes[0]), math.log10(sizes[-1])
        return left + LEFT + across * (math.log10(size) - first) / ((last - first) or 1)

    def y(cost: float) -> float:
        return top + TOP + up * (high - math.log10(cost)) / (high - low)

    lines = [f'<text class="title" x="{left + 12}" y="{top + 18}">{title.replace("`", "")}</text>']
    for power in range(low, high + 1):
        at = y(10.0**power)
        lines.append(f'<path d="M{left + LEFT} {at:.1f}h{across}" stroke="#ddd"/>')
        lines.append(f'<text x="{left + LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    below = f'y="{top + TOP + up + 16}" text-anchor="middle"'
    lines += [f'<text x="{x(size):.1f}" {below}>{size:,}</text>' for size in sizes]
    for i, (name, points) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{x(size):.1f},{y(cost):.1f}" for size, cost in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{x(size):.1f}" cy="{y(cost):.1f}" r="3" fill="{colour}"/>' for size, cost in points]
        key = left + LEFT + i * 105
        lines.append(f'<rect x="{key}" y="{top + HEIGHT - 24}" width="10" height="10" fill="{colour}"/>')
        lines.append(f'<text x="{key + 14}" y="{top + HEIGHT - 15}">{name.replace("`", "")}</text>')
    return "\n".join(lines)
