"""The Python blocks of README.md, CONTRIBUTING.md and of every page of docs/ run, each page as one program."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)

# Pages that are not run here, and why.
NOT_RUN = {
    "docs/errors.md": "each block is a program that fails; tests/test_errors_page.py runs them",
    "docs/api.md": "a list without programs",
    "docs/benchmarks.md": "a table without programs",
    "docs/cases.md": "tables without programs",
    "docs/differences.md": "a table without programs",
}
SLOW = {"docs/export.md", "docs/generation.md", "docs/optimizers.md", "docs/recipes.md"}  # compile a dozen programs
WITH_PEERS = {"docs/export_onnx.md"}  # run what the quick tests do without
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))]


@pytest.mark.in_turn(18)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=pytest.mark.slow if page in SLOW else pytest.mark.references if page in WITH_PEERS else ()
        )
        for page in PAGES
        if page not in NOT_RUN
    ],
)
def test_the_code_of_the_page_runs(page, tmp_path, monkeypatch, capsys):
    """What a block prints is what the page shows right below it, if it shows anything."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"{page} shows no code: run what it has, or list it in NOT_RUN"
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(ROOT / page), "exec"), names)  # tracebacks show the line of the page
        printed = capsys.readouterr().out
        if block[2] is not None and printed:
            assert printed == block[2]


@pytest.mark.in_turn(5, 1)
@pytest.mark.parametrize(("page", "reason"), NOT_RUN.items())
def test_a11_pages_that_are_not_run_are_there_and_have_that_reason(page, reason):
    assert page in PAGES
    assert ("without programs" in reason) == ("```python" not in (ROOT / page).read_text())


def test_the_front_page_leads_to_every_page_and_example():
    front = (ROOT / "README.md").read_text()
    assert [page for page in PAGES if page != "README.md" and f"]({page})" not in front] == []
    assert [path.name for path in ROOT.glob("examples/*.py") if f"`{path.name}`" not in front] == []


# What people looked for and did not find: a word of the front page, and the heading that it leads to.
LED_TO = {
    "meta-gradients": ("docs/gradients.md", "## Meta-gradients: training that is differentiated"),
    "derivatives in equations": ("docs/gradients.md", "## Equations with derivatives: jvp of jvp"),
    "ensembles": ("docs/gradients.md", "## Ensembles: many models at once"),
    "unrolled optimization": ("docs/recipes.md", "## A learned learning rate"),
    "compiled decisions": ("docs/recipes.md", "## Reinforcement learning: one action at a time"),
    "masks": ("docs/masks.md", "## In fit"),
}


@pytest.mark.parametrize(("word", "place"), LED_TO.items())
def test_x11_the_front_page_leads_to_what_people_look_for(word, place):
    page, heading = place
    sentences = re.split(r"\n- |\n\n", (ROOT / "README.md").read_text())
    assert any(f"]({page})" in sentence and word in " ".join(sentence.split()) for sentence in sentences)
    assert heading in (ROOT / page).read_text().splitlines()


def test_the_front_page_fits_80_columns():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith("| ")] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_within_a_page_and_between_pages_lead_somewhere(page):
    """A heading's anchor is its text in lower case, without punctuation, with hyphens for spaces."""
    wrong = []
    prose = re.sub(r"^```.*?^```$|(`+)[^`]*\1", "`", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]*)\)", prose):
        file, _, anchor = target.partition("#")
        path = (ROOT / page).parent / file if file else ROOT / page
        headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE) if path.suffix == ".md" else []
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        if not path.exists() or (anchor and anchor not in anchors):
            wrong.append(target)
    assert wrong == []
