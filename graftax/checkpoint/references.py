"""References: arrays that another checkpoint in the same folder already has are referred to and not written again."""

import os
from collections.abc import Sequence

from graftax.checkpoint.checksums import BLOCK, DEFAULT, block_sums
from graftax.checkpoint.decode import is_target
from graftax.checkpoint.folder_index import referrers
from graftax.checkpoint.index import Chunk, FileRecord
from graftax.checkpoint.layout import Item
from graftax.checkpoint.places import place_of
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.storage import Storage
from graftax.core.errors import ArgumentError, CheckpointInUse


class References:
    """The arrays that a save may refer to, and the checkpoints that refer to the one that it replaces.

    Args:
        storage: The storage of the save.
        final: The absolute path of the save.
        base: The checkpoint that arrays may refer to, or None.
        overwrite: Whether an existing checkpoint may be replaced.

    Raises:
        ArgumentError: ``base`` is not in the same folder, or is the checkpoint to be replaced.
        CheckpointInUse: other checkpoints refer to the one to be replaced.
    """

    def __init__(self, storage: Storage, final: str, base: str | os.PathLike[str] | None, overwrite: bool) -> None:
        self.files: list[FileRecord] = []
        self._base = base
        self._folder, self._name = storage.split(final)
        self._storage = storage
        self._overwrites = overwrite and storage.is_checkpoint(final)
        self.check()
        if base is None:
            return
        other, path = place_of(base)
        folder, name = other.split(path)
        if folder != self._folder or name == self._name or not is_target(name):
            raise ArgumentError(
                f"base={os.fspath(base)!r} for a checkpoint at {final}",
                "references lead to checkpoints that lie beside it, so that both can be moved together",
                f"save into {folder}, or copy the base to {self._folder}",
            )
        self._target = name

    def check(self) -> None:
        """Raise if other checkpoints refer to the one that is about to be replaced."""
        if self._overwrites and (users := referrers(self._storage, self._folder, self._name)):
            raise in_use(self._storage.join(self._folder, self._name), users)

    def divide(self, items: Sequence[Item], by_name: bool = False) -> tuple[dict[int, Chunk], list[Item]]:
        """Return the chunks of items that the base has, by position, and the other items, which have to be written.

        Arrays are equal if they have the same dtype, shape and checksums of all blocks. With ``by_name``, only the same
        box of the same array counts, so that two processes never refer to the same bytes.
        """
        if self._base is None:
            return {}, list(items)
        with Reader(self._base) as reader:
            reader.check_files()
            index = reader.index
        known: dict[tuple[object, ...], Chunk] = {}
        if (index.sum, index.block) == (DEFAULT, BLOCK):
            for tensor in index.tensors:
                for chunk in tensor.chunks:
                    name = (tensor.name, chunk.start) if by_name else None
                    known.setdefault((tensor.dtype, chunk.extent, chunk.sums, name), chunk)
        kept: dict[int, Chunk] = {}
        numbers: dict[int, int] = {}
        taken: set[tuple[int, int]] = set()
        written = []
        for i, item in enumerate(items):
            name = (item.name, item.box[0]) if by_name else None
            held = known.get((item.dtype, item.shape, block_sums(item.data), name)) if item.nbytes else None
            if held is None or (held.file, held.offset) in taken:  # bytes of the base may be used for one array only
                written.append(item)
                continue
            taken.add((held.file, held.offset))
            if held.file not in numbers:
                numbers[held.file] = len(self.files)
                record = index.files[held.file]
                self.files.append(record if record.target is not None else record._replace(target=self._target))
            kept[i] = held._replace(file=numbers[held.file], start=item.box[0])
        return kept, written


def in_use(path: str, users: Sequence[str]) -> CheckpointInUse:
    """Return the error for a checkpoint that must not be replaced or deleted."""
    shown = ", ".join(users[:5]) + (", ..." if len(users) > 5 else "")
    return CheckpointInUse(
        f"{path} is referred to by {shown}",
        "their arrays are in its files, and would be lost with them",
        f"make them self-contained first: graftax ckpt extract {users[0]} OUT",
    )
