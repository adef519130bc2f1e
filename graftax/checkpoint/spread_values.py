"""Restoring sharded arrays box by box: each process and device reads only the boxes that it needs.

No host holds a large array as a whole, however it was sharded when it was saved.
"""

from collections.abc import Mapping
from typing import Any

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.graph import Place
from graftax.checkpoint.index import Kind
from graftax.checkpoint.loading import box
from graftax.checkpoint.matching import Match
from graftax.checkpoint.misfit import cast_to
from graftax.checkpoint.reader import Reader
from graftax.core.typedefs import Array, Shape

_LARGE = 1 << 20  # bytes; smaller arrays are read as a whole, together with their neighbours in the file


class SpreadValues:
    """The Variables of a restore whose arrays are sharded or replicated over several devices.

    Args:
        match: The pairs to restore.
        reader: The checkpoint.
    """

    def __init__(self, match: Match, reader: Reader) -> None:
        self._reader = reader
        self._nodes, self._tensors = reader.index.nodes, reader.index.tensors
        self._buffers: dict[Place, Array] = {}
        for place in match.pairs:
            if place.kind is Kind.VARIABLE:
                backend = place.thing._storage.backend
                if backend.has("processes") and backend.processes.is_spread(buffer := place.thing._storage.buffer):
                    self._buffers[place] = buffer
        wanted = {node for place, node in match.pairs.items() if not self._is_large(place, node)}
        self.nodes = {*match.pairs.values()} - wanted
        """The places whose arrays are not read as a whole."""

    def __contains__(self, place: Place) -> bool:
        return place in self._buffers

    def _is_large(self, place: Place, node: int) -> bool:
        return place in self._buffers and self._tensors[self._nodes[node].payload[0]].nbytes >= _LARGE

    def make_value(self, place: Place, node: int, values: Mapping[int, Any]) -> Array:
        """Return the saved value of a Variable, with the sharding of its present array.

        Raises:
            CorruptCheckpoint: a block has a wrong checksum.
        """
        record = self._tensors[self._nodes[node].payload[0]]

        def read(start: Shape, extent: Shape) -> HostArray:
            if node in self.nodes:
                found = box(self._reader, record, start, extent)
            else:
                found = values[node][tuple([slice(s, s + e) for s, e in zip(start, extent, strict=True)])]
            return cast_to(place.thing, found)

        made: Array = place.thing._storage.backend.processes.fill(self._buffers[place], read)
        return made
