"""The reader of graftax checkpoints: arrays by their paths."""

from __future__ import annotations

from functools import partial

from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.header_facts import Head, facts_of
from graftax.checkpoint.other_paths import other_node_paths
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.saved_arrays import read


def read_checkpoint(path: str) -> ForeignFile:
    """Return the arrays of a checkpoint, slots of optimizers included.

    Args:
        path: Its directory, or a URL of one.

    Raises:
        NotACheckpoint, IncompleteCheckpoint: there is no complete checkpoint.
        CorruptCheckpoint, UnsafeCheckpoint: it is damaged, or must not be read.
    """
    saved = read(path)
    arrays = {}
    for name in saved:
        record = saved.get_slice(name)
        arrays[name] = ForeignArray(name, record.shape, record.dtype.name, partial(saved.__getitem__, name))
    index = saved.index
    paths = node_paths(index)
    return ForeignFile(
        path,
        arrays,
        "graftax",
        keeps_order=True,
        close=saved.close,
        facts=facts_of(index),
        head=Head(index.step, index.meta, index.random),
        others={paths[node]: ways for node, ways in other_node_paths(index, paths).items()},
    )
