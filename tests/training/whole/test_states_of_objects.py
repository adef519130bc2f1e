"""Plain objects of a model in a file: what they hold beside arguments of constructors comes back, or is refused."""

import logging
import threading
from functools import cached_property

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, CorruptCheckpoint
from graftax.training.whole.model_file import KEY, describe_model, rebuilt

X = np.ones((2, 3), "float32")


class Words:
    """Learns words after its construction."""

    untracked = frozenset({"seen"})

    def __init__(self, size=3):
        self.size, self.places, self.seen = size, {}, 0
        self.counts = np.zeros(2)

    def learn(self, *words):
        self.places |= {word: i for i, word in enumerate(words)}
        self.counts += len(words)
        self.seen += 1

    @cached_property
    def backwards(self):
        return {i: word for word, i in self.places.items()}


class Several:
    """Takes any number of arguments."""

    def __init__(self, *parts, **named):
        self.parts, self.named = parts, named


class Scale:
    """An initializer with another object inside."""

    def __init__(self, words):
        self.words = words

    def __call__(self, key, shape, dtype):
        return ops.full(shape, float(len(self.words.places)), dtype)


class Net(gx.Model):
    """Keeps what it is given, and words of its own."""

    def __init__(self, given=None):
        super().__init__()
        self.given, self.own, self.labels = given, Words(), np.array(["none"])
        self.head = layers.Dense(1)

    def call(self, x):
        return self.head(x)


def again(model, path, custom=()):
    model(X)
    model.save(path / "whole")
    return gx.load_model(path / "whole", custom=custom)


def test_an_object_that_was_given_has_learned(tmp_path):
    words = Words(5)
    model = Net([words, {"same": words}])
    words.learn("a", "b")
    assert words.backwards == {0: "a", 1: "b"}
    found = again(model, tmp_path, [Net, Words])
    one, two = found.given[0], found.given[1]["same"]
    assert one is two
    assert (one.size, one.places, one.counts.tolist(), one.seen) == (5, {"a": 0, "b": 1}, [2, 2], 0)
    assert "backwards" not in vars(one)


def test_an_object_that_the_model_has_made_has_learned(tmp_path):
    model = Net()
    model.own.learn("a")
    model.labels = np.array([["cat", "a dog"]])
    found = again(model, tmp_path, [Net, Words])
    assert found.own.places == {"a": 0}
    assert found.labels.tolist() == [["cat", "a dog"]]
    assert again(Net(), tmp_path / "other", [Net]).own.places == {}  # nothing has been learned: it needs no class


def test_arguments_without_names_come_back(tmp_path):
    found = again(Net(Several(1, 2, a=3)), tmp_path, [Net, Several])
    assert (found.given.parts, found.given.named) == ((1, 2), {"a": 3})


def test_objects_inside_of_objects_and_of_settings_of_layers(tmp_path):
    words = Words()
    layer = layers.Dense(1, kernel_initializer=Scale(words))
    model = gx.Sequential([layers.Input((3,)), layer])
    words.learn("a", "b")
    words.next = Several(Words())
    words.next.parts[0].learn("c")
    found = again(model, tmp_path, [Words, Scale, Several])
    copied = found.layers[0].kernel_initializer.words
    assert copied.places == words.places
    assert copied.next.parts[0].places == {"c": 0}


def test_what_belongs_to_a_process_is_left_to_it(tmp_path):
    class Waits(Net):
        def __init__(self):
            super().__init__()
            self.done, self.log = threading.Event(), logging.getLogger("of the test")

    model = Waits()
    model.done.set()
    assert not again(model, tmp_path, [Waits]).done.is_set()


def test_what_no_file_can_hold_is_refused_by_its_name(tmp_path):
    words = Words()
    model = Net(words)
    words.function = lambda text: text
    with pytest.raises(ArgumentError, match=r"(?s)Words\.function.*untracked") as caught:
        again(model, tmp_path)
    assert "assigned after the construction" in str(caught.value)
    assert not (tmp_path / "whole").exists()


@pytest.mark.parametrize("name", ["__class__", "_gx_frozen", 3])
def test_a_file_sets_only_attributes(name):
    words = Words()
    model = Net(words)
    words.learn("a")
    model(X)
    said = describe_model(model)
    assert said["format"] == 4
    said["states"][0][1] = name
    with pytest.raises(CorruptCheckpoint):
        rebuilt(said, {"custom.Net": Net, "custom.Words": Words}.get)
    assert KEY == "graftax.model"


def test_arrays_in_another_byte_order_and_of_text_can_be_given(tmp_path):
    found = again(Net([np.array([1.5, 2], ">f4"), np.array(["a", "bc"])]), tmp_path, [Net])
    assert found.given[0].tolist() == [1.5, 2]
    assert found.given[1].tolist() == ["a", "bc"]
