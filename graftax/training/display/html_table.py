"""The summary of a model in a notebook."""

from __future__ import annotations

from html import escape

from graftax.training.display.summary_table import Summary


def html_of(summary: Summary) -> str:
    """Return the table as HTML, with the colors of the notebook."""
    head = "<tr><th>layer</th><th>output shape</th><th style='text-align:right'>parameters</th><th></th></tr>"
    body = "".join(
        f"<tr><td style='text-align:left;padding-left:{len(row.path) - 1}em'><code>{escape('/'.join(row.path))}</code> "
        f"{escape(row.kind)}{escape(f' {row.name!r}') if row.name else ''}</td><td>{escape(row.shape)}</td>"
        f"<td style='text-align:right'>{'?' if row.parameters is None else f'{row.parameters:,}'}</td>"
        f"<td>{escape(row.note)}</td></tr>"
        for row in summary.rows
    )
    totals = "<br>".join(escape(line) for line in summary.totals)
    return f"<div><b>{escape(summary.title)}</b><table><thead>{head}</thead><tbody>{body}</tbody></table>{totals}</div>"
