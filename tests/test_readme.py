"""The Python blocks of README.md, CONTRIBUTING.md and some pages of docs/ run, each page as one program."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/debugging.md",
    "docs/masks.md",
    "docs/optimizers.md",
    "docs/state_is_yours.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_the_page_runs(page, tmp_path, monkeypatch, capsys):
    """What a block prints is what the page shows right below it, if it shows anything."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"{page} shows no code"
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(ROOT / page), "exec"), names)  # tracebacks show the line of the page
        printed = capsys.readouterr().out
        if block[2] is not None and printed:
            assert printed == block[2]
