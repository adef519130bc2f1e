"""Write docs/api.md, every public name with its first sentence: ``python tools/make_api_page.py``.

``--check`` compares only. What is listed is what ``dir`` shows of each public namespace.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType

import graftax

PAGE = Path(__file__).parents[1] / "docs" / "api.md"

HEAD = """\
# Public names

Every name that `import graftax as gx` leads to, with the first sentence of its docstring; `help(gx.layers.Dense)` shows
all of it. What is not listed here is not public. Written by `tools/make_api_page.py` from the `__all__` of each
namespace.
"""


def namespaces() -> dict[str, ModuleType]:
    """The public namespaces by the name that users write, ``gx`` first."""
    found = {"gx": graftax}
    for name, module in graftax._MODULES.items():
        found[f"gx.{name}"] = import_module(module)
    for name, module in list(found.items()):
        inner = {one: getattr(module, one) for one in module.__all__ if module is not graftax}
        found |= {f"{name}.{one}": value for one, value in inner.items() if inspect.ismodule(value)}
    return dict(sorted(found.items()))


def first_sentence(thing: object) -> str:
    """The first sentence of a docstring, on one line, fit for a table; of a tuple of names, its names."""
    if isinstance(thing, tuple):  # of names; what its class says tells nothing
        return f"`{'`, `'.join(thing[:9])}`" + (f" and {len(thing) - 9} more." if len(thing) > 9 else ".")
    paragraph = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0].rstrip(".") + "." if paragraph else ""
    return sentence.replace("|", "\\|")


def section(name: str, module: ModuleType) -> str:
    """The table of one namespace; namespaces within it have their own."""
    things = {one: getattr(module, one) for one in module.__all__ if one != "__version__"}
    rows = [f"| `{one}` | {first_sentence(thing)} |" for one, thing in things.items() if not inspect.ismodule(thing)]
    inside = [f"`{name}.{one}`" for one, thing in things.items() if inspect.ismodule(thing)]
    text = f"\n## `{name}`\n\n{first_sentence(module)}\n"
    if inside:
        text += "\n" + textwrap.fill(f"Namespaces: {', '.join(sorted(inside))}.", 120) + "\n"
    return text + "\n| name | what it is |\n|---|---|\n" + "\n".join(rows) + "\n"


def page() -> str:
    """The text of the page."""
    return HEAD + "".join(section(name, module) for name, module in namespaces().items())


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` return 1 if it is stale."""
    if "--check" in arguments:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
