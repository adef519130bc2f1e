"""A module that is imported when it is first used."""

import inspect
import sys

from graftax.core.later import import_later


def test_a_module_is_imported_when_something_of_it_is_asked_for(tmp_path, monkeypatch):
    (tmp_path / "explained_later.py").write_text("ANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = import_later("explained_later")
    assert inspect.unwrap(module) is module  # as doctest asks of all that a namespace has
    assert "explained_later" not in sys.modules
    assert module.ANSWER == 42
    assert sys.modules.pop("explained_later").ANSWER == 42
