"""A restore by several processes: either all assign the values of the checkpoint, or none does."""

from __future__ import annotations

from graftax.backend.rendezvous import Rendezvous, process_group
from graftax.checkpoint.checksums import digest
from graftax.checkpoint.matching import Match
from graftax.checkpoint.reader import Reader


class JointRestore:
    """The two points at which the processes wait for each other: before and after values are assigned."""

    def __init__(self) -> None:
        processes = process_group()
        self._meetings = [] if processes is None else [Rendezvous(processes, f"restore, {part}") for part in _PARTS]

    def wait_until_read(self, reader: Reader, match: Match) -> None:
        """Wait until all processes have read their values; nothing is changed yet.

        Raises:
            ProcessError: another process failed, or would restore something else.
        """
        if self._meetings:
            pairs = sorted((place.path, match.paths[node]) for place, node in match.pairs.items())
            things = [
                ("the checkpoint", f"{reader.path} (save {reader.index.save_id.hex()})"),
                ("what is restored", f"{len(pairs)} values, {digest(repr(pairs).encode()):016x}"),
            ]
            self._meetings.pop(0).agree(things, "the same checkpoint and arguments in every process")

    def wait_until_assigned(self) -> None:
        """Wait until all processes have assigned their values.

        Raises:
            ProcessError: another process failed.
        """
        if self._meetings:
            meeting = self._meetings.pop(0)
            meeting.agree([], "")
            meeting.forget()

    def report_failure(self, error: BaseException) -> None:
        """Tell the other processes that this one has failed."""
        if self._meetings:
            self._meetings[0].give_up(error)


_PARTS = ("reading", "assigning")
