"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the repository.

A backend is a package of its own: tests/backend/test_recipe.py follows that recipe.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import recipes
from tests.recipes import ROOT, Run, Write

RECIPES = {title: section for title, section in recipes.sections().items() if title != "A backend"}
CHEAP = ("An optimizer", "A reparametrization", "A transform", "A callback")  # about ten seconds each; others, a minute


@pytest.mark.parametrize("title", RECIPES)
def test_each_block_has_a_place_in_a_file_that_is_there(title: str) -> None:
    steps = recipes.steps(RECIPES[title])
    assert isinstance(steps[-1], Run)
    for step in steps:
        if isinstance(step, Run):
            named = [Path(ROOT / word) for word in step.command.split() if word.startswith(("tests/", "tools/"))]
            new = [ROOT / one.file for one in steps if isinstance(one, Write) and not one.where]
            assert all(path.exists() or path in new for path in named), step.command
        elif step.where:
            assert step.line in (ROOT / step.file).read_text(), f"{step.file} has no line with {step.line!r}"
        else:
            assert (ROOT / step.file).parent.is_dir()
            assert not (ROOT / step.file).exists()


def test_there_is_a_recipe_for_each_kind_of_thing() -> None:
    kinds = "layer op optimizer loss metric reparametrization transform callback backend"
    assert {title.split()[-1] for title in recipes.sections()} == set(kinds.split())


@pytest.mark.broad
@pytest.mark.parametrize(
    "title", [title if title in CHEAP else pytest.param(title, marks=pytest.mark.slow) for title in RECIPES]
)
def test_a10_the_recipe_works_as_written(title: str, tmp_path: Path) -> None:
    recipes.copy(tmp_path)
    steps = recipes.steps(RECIPES[title])
    for step in steps:
        step.follow(tmp_path)
    files = sorted({step.file for step in steps if isinstance(step, Write) and step.file.endswith(".py")})
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *files], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


# --- the steps themselves ---

SAMPLE = """
Why. New file `new.py`:

```python
a = 1
```

In `old.py`, below `two`, since it follows `b`:

```py
three
```

```sh
python -c "raise SystemExit(1)"  # fails
python -c ""
```
"""


def test_a_recipe_is_read_as_steps() -> None:
    assert recipes.steps(SAMPLE) == [
        Write("new.py", "a = 1\n"),
        Write("old.py", "three\n", "below", "two"),
        Run('python -c "raise SystemExit(1)"', fails=True),
        Run('python -c ""', fails=False),
    ]
    with pytest.raises(AssertionError, match="no file is named above the block"):
        recipes.steps(SAMPLE.replace("New file", "A file"))


@pytest.mark.broad
def test_steps_do_what_they_say_or_fail(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("one\ntwo\nfour\n")
    for step in recipes.steps(SAMPLE):
        step.follow(tmp_path)
    assert (tmp_path / "old.py").read_text() == "one\ntwo\nthree\nfour\n"
    Write("old.py", "2\n", "in place of", "two").follow(tmp_path)
    Write("old.py", "0\n", "above", "one").follow(tmp_path)
    assert (tmp_path / "old.py").read_text() == "0\none\n2\nthree\nfour\n"
    for wrong in (
        Write("new.py", "a = 2\n"),
        Write("old.py", "five\n", "below", "six"),
        Run('python -c ""', fails=True),
        Run('python -c "raise SystemExit(4)"', fails=True),
    ):
        with pytest.raises(AssertionError):
            wrong.follow(tmp_path)
