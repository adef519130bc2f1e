"""Modules frozen as a whole: what is below them follows, also when it is made later."""

from tests.variables.graph.boxes import Box, var

# --- freezing -------------------------------------------------------------------------------------------------------


def test_kl7_freezing_and_unfreezing_leaves_statistics_as_they_were():
    box = Box(w=var(), moving=var(trainable=False), sub=Box(w=var()))
    box.trainable = False
    assert box.trainable_variables == []
    assert not box.sub.trainable
    box.trainable = True
    assert [v.path for v in box.trainable_variables] == ["w", "sub/w"]


def test_kl7_what_is_made_later_below_a_frozen_module_is_frozen():
    box = Box(sub=Box())
    box.trainable = False
    box.sub.late = var()
    box.other = Box(w=var())
    box.items = [Box(w=var())]
    box.items.append(Box(w=var()))
    assert box.trainable_variables == []
    box.trainable = True
    assert len(box.trainable_variables) == 4


def test_kl7_freezing_one_part():
    box = Box(a=Box(w=var()), b=Box(w=var()))
    box.a.trainable = False
    assert [v.path for v in box.trainable_variables] == ["b/w"]
    box.a.w.trainable = True  # one by one
    assert [v.path for v in box.trainable_variables] == ["a/w", "b/w"]


def test_a_frozen_child_does_not_freeze_its_parent():
    child = Box(w=var())
    root = Box(child=child, w=var())
    child.trainable = False
    child.parent = root
    assert [v.path for v in root.trainable_variables] == ["w"]
