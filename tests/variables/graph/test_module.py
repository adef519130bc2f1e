"""Modules: what is tracked, in which order, under which path; freezing; delivery of waiting values; copies."""

import copy
import pickle
import warnings
from collections import OrderedDict, defaultdict, namedtuple

import jax
import pytest

from graftax.core.errors import ArgumentError
from graftax.transforms.compile.jit import jit
from graftax.transforms.functional import state
from graftax.variables.graph.module import Module, SlotRecord, snake_case, structure, walk
from graftax.variables.state.storage import touch
from tests.variables.graph.boxes import Box, paths, var

Pair = namedtuple("Pair", "first second")


# --- what is found, and in which order ------------------------------------------------------------------------------


def test_mo1_definition_order_depth_first():
    box = Box(zz=var(), sub=Box(q=var()), aa=var(), bb=var())
    assert paths(box) == ["zz", "sub/q", "aa", "bb"]


def test_mo1_an_attribute_keeps_its_place_when_it_is_assigned_again():
    box = Box(a=var(), b=var())
    box.a = var(5.0)
    assert paths(box) == ["a", "b"]


def test_mo2_the_same_variable_counts_once():
    v = var()
    box = Box(x=v, y=v, many=[v, v])
    assert [w is v for w in box.variables] == [True]
    assert v.path == "x"


def test_mo3_circles():
    a = Box(child=Box())
    a.child.parent = a
    a.self_ = a
    a.child.v = var()
    assert [m is a.child for m in a.submodules] == [True]
    assert a.child.v.path == "child/v"
    assert a.path == ""
    a.trainable = False
    assert a.trainable_variables == []


def test_mo3_a_list_that_holds_itself():
    loop = [var()]
    loop.append(loop)
    assert len(Box(loop=loop).variables) == 1


def test_mo4_containers():
    ordered = OrderedDict(z=var(), a=var())
    default = defaultdict(list, k=[var()])
    box = Box(
        l=[var(), [var()]],
        t=(var(), {"d": var()}),
        o=ordered,
        f=default,
        n=Pair(var(), [var()]),
        m={1: Box(v=var())},
    )
    assert paths(box) == [
        *["l/0", "l/1/0", "t/0", "t/1/d", "o/z", "o/a", "f/k/0", "n/first", "n/second/0", "m/1/v"],
    ]
    assert list(box.named_variables()) == paths(box)


def test_mo4_a_key_that_makes_no_path_is_refused():
    with pytest.raises(ArgumentError, match=r"key \(1, 2\)"):
        Box(d={(1, 2): var()})
    box = Box(d={(1, 2): 3})  # nothing of ours in there
    assert box.variables == []


def test_two_variables_at_one_path_are_refused():
    box = Box(d={"a/b": var(), "a": {"b": var()}})
    with pytest.raises(ArgumentError, match="'d/a/b'"):
        box.named_variables()


def test_mo5_append_is_seen():
    box = Box(items=[])
    box.items.append(var())
    box.items.append(Box(v=var()))
    assert paths(box) == ["items/0", "items/1/v"]


def test_cl4_cl9_containers_stay_what_they_are():
    items, table, pair = [var()], {"a": var()}, (var(), var())
    box = Box(items=items, table=table, pair=pair)
    assert box.items is items
    assert box.table is table
    assert box.pair is pair
    items.append(var())
    table["b"] = var()
    assert paths(box) == ["items/0", "items/1", "table/a", "table/b", "pair/0", "pair/1"]


def test_mo6_what_is_not_walked():
    box = Box(s={1, 2}, g=(i for i in ()), f=lambda: var(), o=object())
    assert box.variables == []
    assert list(box._gx_children()) == []


def test_mo6_a_set_of_variables_warns_once_per_place():
    def assign():
        return Box(s={var()})

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        boxes = [assign() for _ in range(3)]
    assert [w.category for w in seen] == [UserWarning]
    assert "Box.s is a set" in str(seen[0].message)
    assert boxes[0].variables == []


def test_mo7_private_names_are_tracked():
    assert paths(Box(_v=var())) == ["_v"]


def test_mo8_properties_are_left_alone():
    class Touchy(Module):
        def __init__(self):
            self.v = var()

        @property
        def explosive(self):
            raise RuntimeError

    touchy = Touchy()
    assert paths(touchy) == ["v"]
    assert touchy.submodules == []


def test_mo9_deleted_and_overwritten():
    box = Box(a=var(), b=var(), c=var())
    old = box.a
    del box.a
    box.b = 3
    box.c = new = var()
    assert [v is new for v in box.variables] == [True]
    assert old.owner is None


def test_mo10_without_init():
    class Bare(Module):
        def __init__(self):
            self.v = var()

    bare = Bare()
    assert (bare.name, paths(bare), bare.trainable) == ("bare", ["v"], True)


def test_mo11_names():
    assert Module(name="ok_1.b-c").name == "ok_1.b-c"
    for bad in ("1bad", "", "a b", "a/b", "ä b"):
        with pytest.raises(ArgumentError, match="a name starts with a letter"):
            Module(name=bad)


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("CamelCaseThing", "camel_case_thing"),
        ("Dense", "dense"),
        ("LSTM", "lstm"),
        ("LSTMCell", "lstm_cell"),
        ("Conv2DTranspose", "conv2d_transpose"),
    ],
)
def test_mo12_unnamed_are_called_after_the_class(name, snake):
    assert snake_case(name) == snake


def test_mo12_names_are_not_made_unique():
    class CamelCaseThing(Module):
        pass

    assert CamelCaseThing().name == CamelCaseThing().name == "camel_case_thing"


def test_mo14_untracked_names_of_base_classes_count():
    class Base(Module):
        untracked = frozenset({"cache"})

    class Derived(Base):
        untracked = frozenset({"other"})

    derived = Derived()
    derived.cache, derived.other, derived.kept = var(), [var()], var()
    assert paths(derived) == ["kept"]
    assert derived.cache.owner is None
    assert set(derived._gx_fingerprint()) == {"_gx_name", "kept", "__class__"}


def test_mo15_deepcopy_is_independent_and_keeps_sharing():
    shared = var(1.0)
    box = Box(a=shared, items=[var(2.0)])
    box.sub = Box(b=shared)
    twin = copy.deepcopy(box)
    assert twin.a is twin.sub.b
    assert paths(twin) == ["a", "items/0"]
    assert twin.items[0].owner is twin
    twin.a.assign(9.0)
    jit(lambda: box.a.assign_add(5.0).value)()  # donation must not reach the copy
    assert [float(v) for v in (*box.variables, *twin.variables)] == [6.0, 2.0, 9.0, 2.0]


def test_mo15_deepcopy_before_a_step_keeps_its_values():
    box = Box(a=var([1.0, 2.0]))
    twin = copy.deepcopy(box)
    step = jit(lambda: box.a.assign(box.a * 2).value)
    step()
    step()
    assert box.a.numpy().tolist() == [4.0, 8.0]
    assert twin.a.numpy().tolist() == [1.0, 2.0]


def test_mo15_copies_keep_what_was_thawed_one_by_one():
    box = Box(a=var(), b=var())
    box.trainable = False
    box.b.trainable = True
    twin = copy.deepcopy(box)
    assert [v.path for v in twin.trainable_variables] == ["b"]


def test_mo15_a_copy_of_a_part_brings_its_parent_along():
    root = Box(child=Box(w=var()))
    root.child.parent = root
    twin = copy.deepcopy(root.child)
    assert twin.parent is not root
    assert twin.w.path == "child/w"


def test_mo15_pickle():
    shared = var([1.0, 2.0], name="w", trainable=False)
    box = Holder()
    box.a, box.items, box.rate = shared, [shared, var(3.0)], 0.5
    box.trainable = False
    again = pickle.loads(pickle.dumps(box))
    assert again.items[0] is again.a
    assert (paths(again), again.rate, again.trainable) == (["a", "items/1"], 0.5, False)
    assert again.a.numpy().tolist() == [1.0, 2.0]
    assert again.a.name == "w"


class Holder(Module):
    pass


def test_mo16_trainable_and_the_rest():
    box = Box(a=var(), b=var(trainable=False))
    assert ([v.path for v in box.trainable_variables], [v.path for v in box.non_trainable_variables]) == (["a"], ["b"])


def test_mo17_lazily_built():
    class Lazy(Module):
        v = None

        def __call__(self):
            if self.v is None:
                self.v = var()

    box = Box(lazy=Lazy())
    assert len(box.variables) == 0
    box.lazy()
    assert paths(box) == ["lazy/v"]


def test_mo18_hash_by_identity_equality_by_element():
    a, b = var([1.0, 2.0]), var([1.0, 3.0])
    assert (a == b).tolist() == [True, False]
    assert (a != b).tolist() == [False, True]
    assert {a: 1, b: 2}[b] == 2
    assert len({a, b, a}) == 2


def test_mo19_shared_submodules_once_in_the_state_too():
    shared = Box(w=var(1.0))
    box = Box(one=shared, two=shared)
    box.deep = Box(three=shared)
    assert [m.path for m in box.submodules] == ["one", "deep"]
    assert list(state(box)) == ["one/w"]
    assert len(jax.tree.leaves(state(box))) == 1
    assert jax.tree.leaves(box) == [box]  # a Module is no pytree


# --- hooks and structure --------------------------------------------------------------------------------------------


def test_hooks_of_a_plain_module():
    box = Box(v=var())
    assert list(box._gx_slot_records()) == []
    assert box._gx_ensure_slot("m", box.v) is None
    assert box.get_state() is None
    record = SlotRecord("m", box.v, box.v)
    assert (record.name, record.variable is record.slot) == ("m", True)


def test_only_what_a_trace_saw_counts_as_a_change():
    box = Box(rate=1.0)
    before = structure.version
    box.rate = 2.0
    assert structure.version == before
    jit(lambda: touch(box) or 1.0)()
    box.rate = 3.0
    box.new = 1
    del box.new
    assert structure.version == before + 3


def test_walk_starts_at_the_root():
    box = Box(a=Box(v=var()))
    assert list(map(id, walk(box))) == list(map(id, (box, box.a, box.a.v)))
    assert len(list(walk(box.a.v))) == 1


def test_an_argument_may_be_called_cls():
    class Token(Module):
        def __init__(self, cls):
            super().__init__()
            self.kind = cls

    assert Token(cls="a").kind == "a"
