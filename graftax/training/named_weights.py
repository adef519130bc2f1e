"""Sample weights that are given as the name of a column: refused, with the line that takes the column itself."""

from __future__ import annotations

from collections.abc import Mapping

from graftax.core.errors import DataError
from graftax.core.known_names import closest


def refuse_name_of_weights(sample_weight: object, x: object, y: object) -> None:
    """Raise if sample weights are a text: only targets are named, since the column must leave the inputs, too.

    Args:
        sample_weight: The weights.
        x: The inputs as they were given.
        y: The targets as they were given.

    Raises:
        DataError: the weights are a text.

    Example:
        >>> refuse_name_of_weights([1.0, 2.0], [[1.0], [2.0]], "y")
    """
    if not isinstance(sample_weight, str):
        return
    name, targets = sample_weight, f"{y!r}" if isinstance(y, str) else "y"
    raise DataError(
        f"sample_weight={name!r}",
        "weights are numbers, one for each row; only targets can be the name of a column",
        _line(name, x, targets),
    )


def _line(name: str, x: object, targets: str) -> str:
    is_table = hasattr(x, "columns") and hasattr(x, "drop")
    names = [str(one) for one in x] if isinstance(x, Mapping) else []
    if is_table:
        names = [str(one) for one in getattr(x, "columns")]  # noqa: B009 - of an object
    if names and name not in names:
        near = closest(name, names)
        if near is None:
            return f"sample_weight=weights, an array; the columns are {', '.join(map(repr, names)):.100}"
        name = near
    rest = f"{{name: part for name, part in x.items() if name != {name!r}}}"
    if is_table:
        rest = f"x.drop(columns={name!r})" if hasattr(x, "iloc") else f"x.drop({name!r})"
    elif not names:
        return f'gx.data.columns(x, y="...", sample_weight={name!r}) for batches or rows that are dicts; else an array'
    return f"model.fit({rest}, {targets}, sample_weight=x[{name!r}]), which takes the column out of x"
