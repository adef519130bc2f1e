"""Arguments of save and restore are used or refused, also where there is nothing to restore; errors come in time."""

import time

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import ArgumentError, ArgumentTypeError, MatchError, SelectorError


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"only": 5}, SelectorError),
        ({"skip": ""}, SelectorError),
        ({"mode": "strict"}, ArgumentError),
        ({"cast": None}, ArgumentError),
        ({"trainable": False}, ArgumentError),
        ({"map": [("a", "b")]}, ArgumentTypeError),
    ],
    ids=repr,
)
def test_restoring_none_looks_at_its_arguments(toys, wrong, error):
    with pytest.raises(error) as caught:
        Checkpoint(v=toys.number(1)).restore(None, **wrong)
    assert caught.value.reason
    assert caught.value.instead
    assert Checkpoint(v=toys.number(1)).restore(None, only="v", mode="cover", map={"v": "w"}).path is None


@pytest.mark.parametrize("flag", ["no", 2, None])
def test_overwrite_is_true_or_false(tmp_path, toys, flag):
    checkpoint = Checkpoint(v=toys.number(1))
    checkpoint.save(tmp_path / "c")
    with pytest.raises(ArgumentTypeError, match="overwrite"):
        checkpoint.save(tmp_path / "c", overwrite=flag)


@pytest.mark.broad
@pytest.mark.parametrize("renamed", [True, False])
def test_many_misfits_are_told_in_time(saved, toys, renamed):
    count, zeros = 1500, np.zeros(2, "float32")
    path = saved(m=toys.Box(layers=[toys.Box(kernel=gx.Variable(zeros)) for _ in range(count)]))
    now = [toys.Box(weight=gx.Variable(zeros)) for _ in range(count if renamed else 300)]
    start = time.process_time()
    with pytest.raises(MatchError) as caught:
        Checkpoint(m=toys.Box(layers=now)).restore(path)
    assert time.process_time() - start < 1.5  # seconds of the processor; it was quadratic
    assert "m/layers/0/weight: has no value in the checkpoint; nearest of its shape: m/layers/0/kernel" in str(
        caught.value
    )
    assert "more, all in .report" in str(caught.value)
    assert len(caught.value.report.missing) == len(now)


def test_reports_of_a_restore_in_plain_values(saved, toys):
    path = saved(v=toys.number(1))
    found = Checkpoint(v=toys.number(0)).restore(path).as_dict()
    assert (found["random"], found["trainable"], found["missing"]) == (True, [], ())


def test_slots_of_two_optimizers_of_one_variable_stay_apart(saved, toys):
    w, first, second = toys.number(1), toys.Optimizer(), toys.Optimizer()
    for value, optimizer in ((2, first), (3, second)):
        optimizer._gx_ensure_slot("momentum", w).assign(np.float32(value))
    path = saved(w=w, first=first, second=second)
    v, one, two = toys.number(0), toys.Optimizer(), toys.Optimizer()
    Checkpoint(w=v, first=one, second=two).restore(path, map={"first": "second", "second": "first"}).assert_consumed()
    assert [o._gx_ensure_slot("momentum", v).numpy() for o in (one, two)] == [3, 2]


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """A deep model and where it was saved with its optimizer: 210 arrays."""
    model = gx.Sequential([gx.layers.Dense(2) for _ in range(35)])
    model.build((None, 2))
    optimizer = gx.optimizers.SGD(momentum=0.9)
    optimizer.build(model.trainable_variables)
    path = str(tmp_path_factory.mktemp("deep") / "ckpt")
    Checkpoint(model=model, optimizer=optimizer).save(path)
    return model, optimizer, path


@pytest.mark.broad
def test_a8_a_report_of_a_deep_model_is_short_and_its_details_are_whole(deep):
    model, optimizer, path = deep
    report = Checkpoint(model=model, optimizer=optimizer).restore(path)
    lines = [line.split() for line in str(report).splitlines()]
    assert [line for line in lines[1:] if line[0] == "restored"] == [
        ["restored", "optimizer/**", "72", "values"],
        ["restored", "model/**", "70", "values"],
    ]
    assert len(lines) <= 5
    assert len(report.restored) == 142
    assert all(one.path in report.details() for one in report.restored)


def test_a8_what_to_look_at_stays_in_a_short_report_up_to_a_limit(deep):
    model, _, path = deep
    other = gx.Sequential([gx.layers.Dense(2) for _ in range(36)])
    other.build((None, 2))
    report = Checkpoint(net=other).restore(path, map={"net/**": "model/**"}, mode="overlap")
    text = str(report)
    assert text.count("restored") == 22  # the count, twenty lines that say from where, and how many more
    assert "and 50 more" in text
    assert "print(report.details()) shows all" in text
    assert "layers/35/kernel" in text
    assert "net/layers/34/bias" in report.details()
    assert "--details shows all" in report.summary("--details")
    assert Checkpoint(net=model).restore(None).details() == "nothing is being restored"
