"""Slots that a part of a program or checkpoint selects: with their Variables, without the rest of the optimizer."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.extract import extract
from graftax.checkpoint.subset import Subset
from graftax.errors import ArgumentError

SLOT = "optimizer/slots(momentum)/net/first"


def _program():
    net = {"first": gx.Variable([1.0, 2.0]), "second": gx.Variable([3.0])}
    optimizer = gx.optimizers.SGD(0.1, momentum=0.9)
    optimizer.apply([np.float32([1, 2]), np.float32([3])], list(net.values()))
    return net, optimizer, gx.Checkpoint(net=net, optimizer=optimizer)


def _paths(path):
    with gx.checkpoint.read(path) as archive:
        return sorted(archive)


PARTS = {
    "with a path": (["net/first", "role:slot"], ["net/first", SLOT]),
    "all": (
        gx.select("role:slot") | "role:weight",
        ["net/first", "net/second", SLOT, SLOT.replace("first", "second")],
    ),
    "by their names": (["net/first", "**/slots(momentum)/**"], ["net/first", SLOT]),
}


@pytest.mark.parametrize("part", PARTS)
def test_saved_and_extracted_alike(part, tmp_path):
    net, optimizer, checkpoint = _program()
    only, wanted = PARTS[part]
    checkpoint.save(tmp_path / "saved", only=only)
    checkpoint.save(tmp_path / "whole")
    extract(tmp_path / "whole", tmp_path / "extracted", Subset(only))
    assert _paths(tmp_path / "saved") == _paths(tmp_path / "extracted") == wanted
    kept = optimizer.slot(net["first"], "momentum").numpy()
    for name in ("saved", "extracted"):
        other, its, there = _program()
        its.slot(other["first"], "momentum").assign([7.0, 7.0])
        there.restore(tmp_path / name, only=only).assert_consumed()
        np.testing.assert_array_equal(its.slot(other["first"], "momentum").numpy(), kept)
        assert int(its.iterations) == 1


def test_slots_alone_are_refused(tmp_path):
    checkpoint = _program()[2]
    checkpoint.save(tmp_path / "whole")
    said = "2 slots are selected, such as .* and none of their Variables"
    with pytest.raises(ArgumentError, match=said):
        checkpoint.save(tmp_path / "saved", only="role:slot")
    with pytest.raises(ArgumentError, match=said):
        extract(tmp_path / "whole", tmp_path / "extracted", Subset("role:slot"))


def test_those_left_out_are_named(tmp_path):
    checkpoint = _program()[2]
    checkpoint.save(tmp_path / "whole")
    report = extract(tmp_path / "whole", tmp_path / "part", Subset(["net/second", "optimizer"]))
    assert report.left_out == (SLOT,)
    assert checkpoint.save(tmp_path / "saved", only=["net/second", "optimizer"]).left_out == (SLOT,)
