"""The package keeps to its floor plan, which is in `architecture/plan.py`; and the guard that sees to it can fail."""

import pytest

from tests.architecture.plan import BELOW, CIRCLES, LATER, LAZY, PACKAGE
from tests.architecture.rules import Rule, files_below, imported_later, of_text, read_package, read_tests, violations
from tests.architecture.samples import BAD, GOOD

# --- the package --------------------------------------------------------------------------------------------------


def test_the_package_keeps_to_the_plan():
    found = violations(read_package())
    assert not found, "\n".join(f"{rule}: {where}: {text}" for rule, where, text in found)


def test_every_listed_exception_is_needed():
    without = violations(read_package(), lazy={})
    used = {(v.where.partition(":")[0], v.text.partition(":")[0]) for v in without if v.rule == Rule.HIDDEN}
    assert set(LAZY) - used == set()


def test_every_module_that_is_listed_as_imported_later_is():
    assert imported_later(read_package()) == set(LATER)


def test_what_is_imported_later_is_not_below_a_layer():
    # an import at the top of any file would bring it along
    assert not files_below("graftax.layers.dense", read_package()) & set(LATER)


def test_every_listed_circle_is_needed():
    # the list only becomes shorter: what is on no circle any more is taken from it
    without = violations(read_package(), circles={})
    used = {(v.where.partition(":")[0], v.text.partition(":")[0]) for v in without if v.rule == Rule.CIRCLE}
    assert set(CIRCLES) - used == set()
    assert len(CIRCLES) <= 2


@pytest.mark.parametrize(("module", "most"), BELOW.items())
def test_a_layer_and_an_optimizer_stand_on_no_more_files_than_before(module, most):
    # a new idea below every layer shows here; whoever needs fewer files writes the new number
    below = files_below(module, read_package())
    assert len(below) == most, f"{module} needs {len(below)} files, {most} before"


def test_files_below_are_those_that_an_import_runs():
    assert files_below("graftax.layers.dense", GOOD) == {
        "graftax.layers.layer",
        *files_below("graftax.layers.layer", GOOD),
    }
    assert "graftax.layers.dense" not in files_below("graftax.layers.layer", GOOD)


def test_files_of_tests_are_short_and_have_names():
    found = [violation for name, text in read_tests().items() for violation in of_text(name, text)]
    assert not found, "\n".join(f"{rule}: {where}: {text}" for rule, where, text in found)


# --- the guard itself ---


def test_a_good_package_passes():
    assert violations(GOOD) == []


@pytest.mark.parametrize(("rule", "module", "source"), BAD)
def test_the_guard_catches(rule, module, source):
    extra = {"graftax.core.scopes": "from graftax.core.tree import flatten\n"} if rule == Rule.CYCLE else {}
    found = violations({**GOOD, **extra, module: source + "\n"})
    assert rule in {violation.rule for violation in found}
    assert any(violation.where.startswith(module) for violation in found) or rule in (Rule.CYCLE, Rule.HEAVY)


def test_a_cycle_is_told_with_its_members():
    cycle = {**GOOD, "graftax.layers.layer": "from graftax.layers.dense import Dense\n"}
    (found,) = violations(cycle)
    assert "graftax.layers.dense <- graftax.layers.layer" in found.text or "layer <- graftax.layers.dense" in found.text


def test_a_cycle_through_a_package_is_told():
    """An import of a module runs the package that it lies in."""
    package = {"graftax.layers.parts.__init__": "from graftax.layers.parts.one import A\n"}
    modules = {
        "graftax.layers.parts.one": "from graftax.layers.base import C\nclass A: ...\n",
        "graftax.layers.parts.two": "class B: ...\n",
        "graftax.layers.base": "from graftax.layers.parts.two import B\nclass C: ...\n",
    }
    assert violations({**GOOD, **modules}) == []
    assert [v.rule for v in violations({**GOOD, **package, **modules})] == [Rule.CYCLE]


def test_a_circle_through_types_is_told_with_what_closes_it():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from graftax.layers.dense import Dense\n"
    sources = {**GOOD, "graftax.layers.layer": source}
    (found,) = violations(sources)
    assert found.where == "graftax.layers.layer:3"
    assert found.text.startswith("graftax.layers.dense: it needs graftax.layers.layer in turn")
    assert violations(sources, circles={("graftax.layers.layer", "graftax.layers.dense"): "to see"}) == []


def test_a_circle_that_is_listed_still_obeys_the_floors():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from graftax.training.model import Model\n"
    listed = {("graftax.layers.layer", "graftax.training.model"): "to see"}
    found = violations({**GOOD, "graftax.layers.layer": source}, circles=listed)
    assert [v.rule for v in found] == [Rule.UPWARD]


def test_a_heavy_import_is_told_with_its_way():
    (found,) = violations({**GOOD, "graftax.cli.main": "from graftax.ops import add\n"})
    assert found == (Rule.HEAVY, "graftax.cli.main", "graftax.cli.main -> graftax.ops -> numpy")


def test_a_package_on_the_way_counts_as_imported():
    sources = {
        **GOOD,
        "graftax.checkpoint.__init__": "from graftax.ops import add\n",
        "graftax.checkpoint.format": "import json\n",
        "graftax.cli.main": "from graftax.checkpoint.format import read\n",
    }
    assert [v.rule for v in violations(sources)] == [Rule.HEAVY]


def test_a_listed_exception_still_obeys_the_floors():
    sources = {**GOOD, "graftax.layers.dense": "def f():\n    from graftax.training.model import Model\n"}
    listed = {**LAZY, ("graftax.layers.dense", "graftax.training.model.Model"): "to see"}
    assert [v.rule for v in violations(sources, lazy=listed)] == [Rule.UPWARD]


def test_every_rule_has_a_source_that_breaks_it():
    assert {rule for rule, _, _ in BAD} == set(Rule)


def test_warnings_about_the_users_code_name_the_users_line():
    # the way from a public function to a warning changes: a number of frames to skip would not change with it
    for path in sorted(PACKAGE.rglob("*.py")):
        assert "warnings.warn(" not in path.read_text(), f"{path}: user_line.warn(text) finds the line"
