"""Errors: three beats, builtin bases, copies across processes."""

import inspect
import pickle

import pytest

from graftax.core import errors

CLASSES = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.GraftaxError)]


def test_the_three_beats_and_where():
    error = errors.ShapeError("got (2,)", "only (3,) fits", "reshape")
    error.add_context("layer 'a'")
    error.add_context("layer 'b'")
    error.add_context("layer 'a'")  # told once
    assert str(error).splitlines() == [
        "got (2,)",
        "  where: layer 'a'",
        "  where: layer 'b'",
        "  why: only (3,) fits",
        "  instead: reshape",
    ]


def test_beats_may_be_left_out():
    assert str(errors.StateError("only this")) == "only this"


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_every_class_survives_pickle_and_shows_the_same(kind):
    error = kind("what came", "why not", "write this")
    error.add_context("here")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert (copy.received, copy.reason, copy.instead, copy.context) == ("what came", "why not", "write this", ["here"])


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.ShapeError, ValueError),
        (errors.DTypeError, TypeError),
        (errors.IndexRangeError, IndexError),
        (errors.NumericsError, ArithmeticError),
        (errors.BackendCapabilityError, NotImplementedError),
        (errors.CreatorError, TypeError),
        (errors.CreatorRecursionError, RecursionError),
        (errors.SelectorError, LookupError),
        (errors.NotACheckpoint, FileNotFoundError),
        (errors.DestinationExists, FileExistsError),
        (errors.StorageFull, OSError),
    ],
)
def test_builtin_bases(kind, builtin):
    with pytest.raises(builtin, match="what came"):
        raise kind("what came", "why")


def test_an_os_error_takes_its_text_for_no_errno():
    error = errors.StorageFull("no space left in /x", "the disk is full", "free some")
    assert error.errno is None
    assert error.filename is None
