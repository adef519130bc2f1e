"""Every message in docs/errors.md is what its program prints; ``python tools/make_errors_page.py`` writes them anew."""

import re
import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "make_errors_page.py"))
PROGRAMS = list(TOOL["programs"](TOOL["PAGE"].read_text(encoding="utf-8")))

# Messages with fewer parts, and why.
SHORT = {
    "Layers in a set": "a warning",
    "A plain object with Variables": "a warning",
    "An exception of your own in a layer": "its words are the user's",
}


BEATS = re.compile(
    r"^graftax\.errors\.\w+: \S.*\n(?:.*\n)*?  at: train\.py:(\d+): (.*)\n(?:  where: .*\n(?:    .*\n)*)*"
    r"  why: \S.*\n(?:    .*\n)*  instead: \S",
    re.MULTILINE,
)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.title)
def test_the_program_says_what_the_page_shows(program):
    assert TOOL["said"](program.code) == program.message, "after a deliberate change: python tools/make_errors_page.py"


def test_the_page_is_whole():
    titles = [program.title for program in PROGRAMS]
    assert len(titles) >= 50
    assert len(set(titles)) == len(titles)
    assert len(titles) == len(re.findall("^### ", TOOL["PAGE"].read_text(encoding="utf-8"), re.MULTILINE))
    assert set(SHORT) <= set(titles)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.title)
def test_the_message_has_all_its_parts_and_the_line_of_the_user(program):
    if program.title in SHORT:
        return
    found = BEATS.search(program.message)
    assert found is not None, program.message
    line = " ".join(program.code.splitlines()[int(found[1]) - 1].split())
    assert line.startswith(found[2].removesuffix(" ..."))
