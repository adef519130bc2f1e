"""The file ``run.py`` that lies in each artefact: `run`, with `manifest` in the place where it imports that."""

from __future__ import annotations

import re
from pathlib import Path

from graftax.export import manifest, run

_IMPORT = re.compile(r"^from graftax\.export\.manifest import (\([^)]*\)|[^\n(]*)\n", re.MULTILINE)
_HEAD = re.compile(r'\A""".*?"""\n|^from __future__ import annotations\n', re.DOTALL | re.MULTILINE)


def loader_source() -> bytes:
    """Return one file that loads and runs artefacts, without graftax.

    Example:
        >>> b"graftax.export.manifest" in loader_source()
        False
    """
    first, second = (Path(str(one.__file__)).read_text(encoding="utf-8") for one in (run, manifest))
    before, _, after = _IMPORT.split(first)
    return "".join([before, _HEAD.sub("", second).strip(), "\n", after]).encode()
