"""Programs of several layers, which hand masks to one another: one row each."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax

import graftax as gx
from graftax import layers, ops

L = layers
FEATURES = 4


class Program(NamedTuple):
    make: Callable[[], gx.Layer]
    whole: bool = False
    """Whether the output has no steps."""
    backwards: bool = False
    """Whether its steps come in the opposite order."""


class Gaps(gx.Layer):
    """A step with a nan or an infinity is hidden."""

    def call(self, x):
        return x

    def compute_mask(self, inputs, mask):
        return ops.all(ops.isfinite(inputs), axis=-1)


class Around(gx.Layer):
    """A layer of the user's around others."""

    def __init__(self, body, **inner):
        super().__init__()
        self.body = body
        for name, layer in inner.items():
            setattr(self, name, layer)

    def call(self, x):
        return self.body(self, x)


class Pool(gx.Layer):
    """A pooling of the user's."""

    def call(self, x, mask=None):
        return ops.sum(x if mask is None else ops.where(mask[..., None], x, 0.0), axis=1)

    def compute_mask(self, inputs, mask):
        return None


def graph(build):
    x = gx.Input((None, FEATURES))
    return gx.Model(x, build(x))


def chain(*inner):
    return gx.Sequential(list(inner))


def first(layer):
    """The first of several outputs, with its mask."""
    return Around(lambda m, x: m.layer(x)[0], layer=layer)


def states(layer):
    """The states that a layer gives beside its output, in one."""
    return Around(lambda m, x: ops.concatenate(jax.tree.leaves(m.layer(x)[1:]), -1), layer=layer)


RECURRENT = {
    "lstm": lambda **o: L.LSTM(3, **o),
    "gru": lambda **o: L.GRU(3, **o),
    "simple_rnn": lambda **o: L.SimpleRNN(3, **o),
    "cells": lambda **o: L.RNN([L.GRUCell(3), L.LSTMCell(2)], **o),
    "both ways": lambda **o: L.Bidirectional(L.GRU(3, **o)),
    "both ways, summed": lambda **o: L.Bidirectional(L.RNN(L.LSTMCell(3), **o), merge_mode="sum"),
}
WORDS = ("sequence", "backwards", "states")
PROGRAMS: dict[str, Program] = {
    "graph in a chain in a class": Program(
        lambda: Around(
            lambda m, x: m.inner(x), inner=chain(graph(lambda x: L.LSTM(3, return_sequences=True)(x)), L.Dense(2))
        )
    ),
    "class in a graph in a chain": Program(
        lambda: chain(graph(lambda x: Around(lambda m, x: m.inner(x), inner=L.GRU(3))(x)), L.Dense(2)), whole=True
    ),
    "chain in a chain, pooled": Program(
        lambda: chain(chain(chain(L.Dense(3)), L.LayerNormalization()), L.GlobalAveragePooling1D()), whole=True
    ),
    "pooling of the user's in a graph": Program(lambda: graph(lambda x: Pool()(L.Dense(3, "tanh")(x))), whole=True),
    "steps of a chain": Program(lambda: L.TimeDistributed(chain(L.Dense(3, "tanh"), L.Dense(2)))),
    "several layers in a loop": Program(lambda: L.Stack(L.TransformerEncoder(6, 2), 2)),
    "both ways around steps": Program(
        lambda: chain(L.TimeDistributed(L.Dense(3)), L.Bidirectional(L.LSTM(2, return_sequences=True)), L.Dense(2))
    ),
    "two after another": Program(lambda: chain(L.GRU(3, return_sequences=True), L.LSTM(2)), whole=True),
    "backwards, then forwards": Program(
        lambda: chain(L.GRU(3, return_sequences=True, go_backwards=True), L.LSTM(2)), whole=True
    ),
    "attention to itself, pooled": Program(
        lambda: graph(lambda x: L.GlobalAveragePooling1D()(L.MultiHeadAttention(2, 4)(x, x))), whole=True
    ),
    "attention in a list": Program(lambda: graph(lambda x: L.Attention()([x, x]))),
    "residual": Program(lambda: graph(lambda x: L.Add()([x, L.Dense(FEATURES, "gelu")(x)]))),
    "joined with what is its own": Program(
        lambda: graph(lambda x: L.LSTM(2)(L.Concatenate()([x, L.LSTM(3, return_sequences=True)(x)]))), whole=True
    ),
    "pooled and recurrent": Program(
        lambda: graph(lambda x: L.Concatenate()([L.GlobalAveragePooling1D()(x), L.GRU(2)(x)])), whole=True
    ),
    "one layer twice": Program(
        lambda: Around(
            lambda m, x: m.dense(m.lstm(m.first(x))) + m.dense(m.lstm(x)),
            first=L.Dense(FEATURES),
            lstm=L.LSTM(3),
            dense=L.Dense(2),
        ),
        whole=True,
    ),
    "first of two outputs": Program(
        lambda: chain(first(L.LSTM(3, return_sequences=True, return_state=True)), L.GRU(2)), whole=True
    ),
    "computed again": Program(lambda: Around(lambda m, x: gx.remat(m.lstm)(x), lstm=L.LSTM(3, return_sequences=True))),
    "computed again, pooled": Program(
        lambda: Around(
            lambda m, x: gx.remat(lambda x: m.pool(m.dense(x)))(x), dense=L.Dense(3), pool=L.GlobalAveragePooling1D()
        ),
        whole=True,
    ),
    "compiled inside": Program(
        lambda: Around(lambda m, x: gx.jit(lambda x: m.lstm(m.dense(x)))(x), dense=L.Dense(3), lstm=L.LSTM(3)),
        whole=True,
    ),
    "row by row": Program(
        lambda: Around(lambda m, x: gx.vectorized_map(lambda row: m.dense(row), x), dense=L.Dense(3)),
    ),
    "statistics that are kept": Program(lambda: chain(L.BatchNormalization(), L.GRU(2)), whole=True),
    "positions": Program(
        lambda: chain(L.SinePositionEncoding(), L.TransformerEncoder(6, 1), L.GlobalAveragePooling1D()), whole=True
    ),
    "cropped": Program(lambda: chain(L.ZeroPadding1D((1, 0)), L.Cropping1D((1, 0)), L.LSTM(2)), whole=True),
    "windows": Program(lambda: chain(L.MaxPooling1D(1), L.GRU(2)), whole=True),
}


def recurrent(name: str, steps: bool, back: bool, state: bool) -> Program:
    """Return a recurrent layer with these settings."""

    def make() -> gx.Layer:
        options = {"return_state": True} if state else {}
        layer = RECURRENT[name](return_sequences=steps, go_backwards=back, **options)
        return states(layer) if state else layer

    return Program(make, whole=not steps or state, backwards=back and "both" not in name)


PROGRAMS.update(
    (", ".join([name, *[word for word, said in zip(WORDS, settings, strict=True) if said]]), recurrent(name, *settings))
    for name in RECURRENT
    for settings in itertools.product((False, True), repeat=3)
)

SIBLINGS = frozenset(
    name for name in PROGRAMS if name.startswith(("gru", "simple_rnn", "both ways, ")) or name.endswith("states")
)
"""Rows for the slow lane: most of the code that they run is that of another row."""
