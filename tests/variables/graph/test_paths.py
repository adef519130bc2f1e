"""Paths: who owns what, and what happens to them when things move."""

import gc
import weakref

from tests.variables.graph.boxes import Box, paths, var

# --- paths ----------------------------------------------------------------------------------------------------------


def test_first_owner_wins():
    v = var()
    first, second = Box(x=v), Box(y=v)
    outer = Box(second=second, first=first)
    assert v.path == "first/x"
    assert v.owner is first
    assert outer.named_variables() == {"second/y": v}  # by the first way from here


def test_moved_list_elements():
    box = Box(items=[Box(v=var()), Box(v=var())])
    a, b = box.items
    assert [a.v.path, b.v.path] == ["items/0/v", "items/1/v"]
    box.items.reverse()
    assert [a.v.path, b.v.path] == ["items/1/v", "items/0/v"]
    box.items.insert(0, Box())
    assert a.v.path == "items/2/v"


def test_moved_to_another_owner():
    box = Box(a=[var()], b=[])
    v = box.a.pop()
    box.b.append(v)
    assert v.path == "b/0"
    other = Box(items=[])
    other.items.append(box.b.pop())
    assert paths(other) == ["items/0"]
    assert v.owner is other


def test_a_deleted_owner_leaves_its_place_to_the_next():
    v = var()
    first = Box(x=v)
    second = Box(y=[v])
    del first
    gc.collect()
    assert [w.path for w in second.variables] == ["y/0"]
    assert v.owner is second


def test_an_owner_that_lets_go_leaves_its_place_to_the_next():
    v = var()
    first, second = Box(x=v), Box(y=v)
    del first.x
    assert v.owner is None
    assert v.path == "variable"
    assert paths(second) == ["y"]


def test_reassigned_under_another_name():
    box = Box(a=var())
    box.b = box.a
    del box.a
    assert box.b.path == "b"


def test_nobody_is_kept_alive_by_what_it_holds():
    box = Box(v=var())
    v, dead = box.v, weakref.ref(box)
    del box
    assert dead() is None
    assert v.owner is None


def test_names_never_decide():
    box = Box(a=var(name="same"), b=var(name="same"))
    assert paths(box) == ["a", "b"]
    assert [v.name for v in box.variables] == ["same", "same"]


def test_children_yield_containers_as_themselves():
    items = [var()]
    box = Box(n=3, items=items, t=(1, 2), d={"k": Box()}, v=var())
    assert [(edge, child is getattr(box, edge)) for edge, child in box._gx_children()] == [
        ("items", True),
        ("d", True),
        ("v", True),
    ]
