"""Caches of one's own: padding that a step looks at, and room that there is not, are told."""

import numpy as np
import pytest

import graftax as gx
from graftax import generation, layers, ops
from graftax.core.errors import IndexRangeError, StateError

RAGGED = [[1, 2, 3, 4, 5], [7]]


class Attention(gx.Layer):
    """Causal attention with a cache of keys; ``uses`` says where it hides what the mask hides."""

    def __init__(self, uses):
        super().__init__()
        self.uses = uses

    def build(self, shape):
        self.query, self.key = layers.Dense(4), layers.Dense(4)

    def call(self, x, cache, mask=None):
        n, steps = cache["n"], x.shape[1]
        keys = ops.slice_update(cache["k"], ops.stack([0, n, 0]), self.key(x))
        real = ops.ones(x.shape[:2], "bool") if mask is None or self.uses == "nothing" else mask
        shown = ops.slice_update(cache["shown"], ops.stack([0, n]), ops.cast(real, "float32"))
        ahead = (ops.arange(steps)[:, None] + n) >= ops.arange(keys.shape[1])[None]
        visible = ops.logical_and(ahead[None], shown[:, None] > 0)
        scores = ops.where(visible, ops.matmul(self.query(x), ops.swapaxes(keys, 1, 2)), -1e9)
        if self.uses == "prompt":  # and forgets the mask for later tokens
            shown = ops.ones_like(shown)
        return x + ops.matmul(ops.softmax(scores), keys), {"k": keys, "shown": shown, "n": n + steps}


def made(uses, **options):
    gx.set_random_seed(0)
    table, attention, head = layers.Embedding(9, 4), Attention(uses), layers.Dense(9)
    count = gx.Variable(0, dtype="int32", trainable=False)

    def step(tokens, cache):
        count.assign_add(1)
        x, cache = attention(table(tokens), cache)
        return head(x[:, -1]), cache

    step(np.ones((1, 1), "int32"), cache(1))
    count.assign(0)
    return generation.Generator(step, 4, **options), count


def cache(rows, room=12):
    return {"k": np.zeros((rows, room, 4), "float32"), "shown": np.zeros((rows, room), "float32"), "n": np.int32(0)}


@pytest.mark.broad
@pytest.mark.parametrize("uses", ["nothing", "prompt"])
def test_padding_that_is_looked_at_is_told(uses):
    write, count = made(uses)
    with pytest.raises(StateError, match="logits change with their padding"):
        write(RAGGED, cache(2))
    assert write([[7], [3]], cache(2)).tokens.shape == (2, 4)
    assert int(count) > 0


def test_a_mask_that_is_used_gives_what_a_row_gives_alone():
    write, count = made("mask")
    together = write(RAGGED, cache(2)).tokens[1].tolist()
    assert int(count) == 4  # what trials assign is dropped
    assert together == write([[7]], cache(1)).tokens[0].tolist()


@pytest.mark.broad
def test_beams_and_a_backend_that_does_not_compile_tell_it_too():
    write, _ = made("nothing", sampler=generation.BeamSearch(2))
    with pytest.raises(StateError, match="padding"):
        write(RAGGED, cache(2))
    with gx.backend.use("numpy"):
        write, _ = made("nothing")
        with pytest.raises(StateError, match="padding"):
            write(RAGGED, cache(2))


@pytest.mark.broad
@pytest.mark.parametrize("sampler", [None, generation.BeamSearch(2)], ids=["greedy", "beams"])
def test_a_cache_that_is_too_short_is_told(sampler):
    write, count = made("mask", sampler=sampler)
    with pytest.raises(IndexRangeError, match=r"slice_update: begin\[1\] = 5 is not in \[0, 5\)") as caught:
        write([[1, 2, 3], [4, 5, 6]], cache(2, 5))
    assert "room for 6 positions" in str(caught.value)
    assert int(count) == 0
    assert write([[1, 2, 3], [4, 5, 6]], cache(2, 6)).tokens.shape == (2, 4)


def test_one_new_token_needs_no_room_for_another():
    gx.set_random_seed(0)
    table, attention, head = layers.Embedding(9, 4), Attention("mask"), layers.Dense(9)

    def step(tokens, state):
        x, state = attention(table(tokens), state)
        return head(x[:, -1]), state

    assert generation.Generator(step, 1)(RAGGED, cache(2, 5)).tokens.shape == (2, 1)
