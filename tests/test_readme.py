"""The Python blocks of README.md run, from top to bottom as one program."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = README.read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks, "README.md shows no code"
    names: dict[str, object] = {"__name__": "readme"}
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(README), "exec"), names)  # tracebacks show the line of the README
