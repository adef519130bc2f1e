"""Selectors: globs, roles, regexes, predicates, unions; nothing unused."""

import pickle
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graftax.core.errors import SelectorError
from graftax.core.roles import ROLES
from graftax.core.selectors import compile_selector, select
from graftax.core.tally import nearest, no_match_error, pick


def item(path, role="weight", shape=()):
    return SimpleNamespace(path=path, role=role, shape=shape)


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("kernel", ["kernel"], ["a/kernel", "kernels", ""]),
        ("*/kernel", ["a/kernel"], ["kernel", "a/b/kernel"]),
        ("**/kernel", ["kernel", "a/kernel", "a/b/kernel"], ["a/kernel2", "a/mykernel"]),
        ("a/**", ["a/x", "a/x/y"], ["a", "b/x", "ab/x"]),
        ("**", ["x", "x/y"], [""]),
        (
            "**/attention/*/kernel",
            ["attention/q/kernel", "b/attention/k/kernel"],
            ["attention/kernel", "attention/q/k/kernel"],
        ),
        ("layers/*/k*l", ["layers/0/kernel", "layers/12/kl"], ["layers/0/1/kernel"]),
        ("a.b/c", ["a.b/c"], ["axb/c"]),
        ("x/**/y", ["x/y", "x/1/y", "x/1/2/y"], ["x/1/2", "xy"]),
    ],
)
def test_globs(glob, yes, no):
    selector = compile_selector(glob)
    assert [p for p in yes if not selector.matches_path(p)] == []
    assert [p for p in no if selector.matches_path(p)] == []


@given(st.lists(st.text("ab0_.", min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_path_selects_itself_and_double_star_everything(parts):
    path = "/".join(parts)
    assert compile_selector(path).matches_path(path)
    assert compile_selector("**").matches_path(path)
    assert compile_selector(f"**/{parts[-1]}").matches_path(path)


def test_a_role_selects_by_role_and_never_a_bare_path():
    for role in ROLES:
        selector = compile_selector(f"role:{role}")
        assert selector.matches(item("x", role))
        assert not selector.matches_path(role)
        assert not selector.matches_path(f"role:{role}")
    assert not compile_selector("role:slot").matches(item("slot"))


def test_regex_is_searched():
    selector = compile_selector(re.compile(r"k.rnel$"))
    assert selector.matches_path("a/kernel")
    assert not selector.matches_path("a/kernel/left")


def test_predicate_sees_the_item():
    selector = compile_selector(lambda v: len(v.shape) == 2)
    assert selector.matches(item("k", shape=(2, 3)))
    assert not selector.matches(item("b", shape=(3,)))
    assert not selector.matches_path("k")


def test_union_nested():
    selector = compile_selector(["**/bias", ("role:slot", lambda v: v.path == "x")])
    assert all(selector.matches(i) for i in (item("a/bias"), item("q", "slot"), item("x")))
    assert not selector.matches(item("a/kernel"))
    assert selector.text.startswith("'**/bias' | 'role:slot'")
    assert compile_selector(selector) is selector


@pytest.mark.parametrize("bad", ["", [], (), 3, None, {"a"}, b"x"])
def test_what_selects_nothing_is_refused(bad):
    with pytest.raises(SelectorError, match="selector"):
        compile_selector(bad)


def test_wildcards_of_other_globs_are_named():
    error = no_match_error(select("layers/?/kernel"), ["layers/0/kernel"], "where")
    assert "only * and ** stand for other characters" in str(error)
    assert "layers/*/kernel" in str(error)


def test_nothing_matched_offers_the_nearest():
    error = no_match_error(compile_selector("**/kernl"), ["a/kernel", "a/bias"], "where=")
    assert "matches none of 2 variables" in str(error)
    assert "bias, kernel" in str(error)
    assert "a/kernel" in error.instead
    assert "build the model first" in no_match_error(compile_selector("x"), [], "where=").instead


def test_combinations():
    kernels, head = select("**/kernel"), select("head/**")
    chosen = kernels & ~head
    assert [chosen.matches_path(p) for p in ("a/kernel", "head/kernel", "a/bias")] == [True, False, False]
    assert chosen.text == "'**/kernel' & ~'head/**'"
    assert (~(kernels | head)).matches_path("a/bias")
    assert ("**/bias" | chosen).text == "'**/bias' | ('**/kernel' & ~'head/**')"
    assert ("a/**" & kernels).text == "'a/**' & '**/kernel'"
    assert pickle.loads(pickle.dumps(chosen)).matches_path("a/kernel")
    assert select("**/kernel", "**/bias").matches_path("bias")
    with pytest.raises(SelectorError, match="without a selector"):
        select()


def test_a_predicate_becomes_a_selector_by_decoration():
    @select
    def large(variable):
        """Selects what is large."""
        return variable.size > 3

    assert large(SimpleNamespace(path="x", role="weight", size=4))
    assert (large.__doc__, large.text, large.__module__) == ("Selects what is large.", "large", __name__)
    assert not (~large).matches(SimpleNamespace(path="x", role="weight", size=4))


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        (select("**/kernel") & ~select("haed/**"), r"'haed/\*\*', a part of .* matches none of 3"),
        (select("**/kernel") | "**/gama", "gama"),
        (["**/kernel", ("role:slot", "**/bias")], "'role:slot'"),
        (select("a/**") & "head/**", "matched by all"),
        (~select("**"), "nothing is left"),
        (select(re.compile("^x")), "'\\^x'"),
    ],
)
def test_every_part_must_be_of_use(selector, told):
    items = [((path,), item(path)) for path in ("a/kernel", "a/bias", "head/kernel")]
    with pytest.raises(SelectorError, match=told):
        pick(compile_selector(selector), items, "where=")


def test_roles_and_predicates_may_deny_what_is_not_there():
    items = [((path,), item(path)) for path in ("a/kernel", "a/bias")]
    chosen = select("**/kernel") & ~select("role:slot") & ~select(lambda v: len(v.shape) > 0)
    assert [one.path for one in pick(chosen, items, "where=")] == ["a/kernel"]


def test_parts_go_with_the_whole_by_path_and_denial_wins():
    whole = SimpleNamespace(owner=None)
    assert compile_selector("**/kernel").sees(("a/kernel/left", "a/kernel"), "weight", whole)
    assert not (select("**/kernel") & ~select("**/left")).sees(("a/kernel/left", "a/kernel"), "weight", whole)


def test_the_nearest_glob_has_its_names_put_right():
    known = ["encoder/0/attention/kernel", "encoder/0/bias"]
    assert nearest(compile_selector("encodr/**/kernl"), known)[0] == "encoder/**/kernel"
