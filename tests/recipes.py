"""The recipes of CONTRIBUTING.md as steps: which block goes to which file, and which command is run after it."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# "In `file`, below `line`", in the paragraph above a block; what follows until the colon is for readers.
PLACE = re.compile(r"(?:New file `([^`]+)`|In `([^`]+)`, (above|below|in place of) `([^`]+)`)[^`]*(?:`[^`]*`[^`]*)*:$")
COPIED = ("graftax", "tests", "tools", "docs", "pyproject.toml", "CONTRIBUTING.md", "README.md", "CHANGELOG.md")


@dataclass(frozen=True)
class Write:
    """A block, and where it goes: into a new file, or to a line of a file."""

    file: str
    block: str
    where: str = ""
    line: str = ""

    def follow(self, root: Path) -> None:
        """Write the block below ``root``."""
        path = root / self.file
        if not self.where:
            assert not path.exists(), f"{self.file} is there already"
            path.write_text(self.block)
            return
        lines = path.read_text().splitlines(keepends=True)
        at = next((i for i, one in enumerate(lines) if self.line in one), None)
        assert at is not None, f"{self.file} has no line with {self.line!r}"
        if self.where == "in place of":
            lines[at] = lines[at].replace(self.line, self.block.rstrip("\n"))
        else:
            at += self.where == "below"
            lines[at:at] = [self.block + "\n\n" * self.block.startswith(("@", "class ", "def "))]
        path.write_text("".join(lines))


@dataclass(frozen=True)
class Run:
    """A command, and whether it must fail where it stands."""

    command: str
    fails: bool

    def follow(self, root: Path) -> None:
        """Run the command in ``root``, with the package that lies there."""
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTEST_ADDOPTS": "-q -n 0 -p no:cacheprovider"}
        python = f"'{sys.executable}'"
        command = re.sub(r"^pytest\b", f"{python} -m pytest", self.command)
        command = re.sub(r"^python\b", python, command)
        done = subprocess.run(
            command, shell=True, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        said = f"{self.command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        assert done.returncode == int(self.fails), said  # 1 is a test that fails; one that is not found gives another


Step = Write | Run


def sections() -> dict[str, str]:
    """The recipes of the page by their titles."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    part = page.partition("## Recipes\n")[2].partition("\n## ")[0]
    titles = re.split(r"^### (.*)\n", part, flags=re.MULTILINE)
    return dict(zip(titles[1::2], titles[2::2], strict=True))


def steps(section: str) -> list[Step]:
    """The steps of a recipe in their order; a block without a place, or a place without a block, raises."""
    found: list[Step] = []
    end = 0
    for block in BLOCK.finditer(section):
        above = section[end : block.start()].strip()
        end = block.end()
        paragraph = " ".join(above.rpartition("\n\n")[2].split())
        paragraph = paragraph[max(paragraph.rfind("New file `"), paragraph.rfind("In `"), 0) :]
        if block[1] == "sh":
            for line in block[2].splitlines():
                command, _, comment = line.partition("  # ")
                found.append(Run(command.strip(), comment.strip() == "fails"))
            continue
        place = PLACE.match(paragraph)
        assert place is not None, f"no file is named above the block:\n{block[2]}"
        found.append(Write(place[1] or place[2], block[2], place[3] or "", place[4] or ""))
    return found


def copy(to: Path) -> None:
    """Copy what the recipes need of the repository; bytecode is copied too, which saves compiling it again."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name)
        else:
            shutil.copy2(ROOT / name, to / name)
