"""State as functions with gradients of their own see it: what is read is found, random streams branch off."""

from __future__ import annotations

from graftax.backend import registry
from graftax.core.typedefs import Array
from graftax.transforms.lifting.frames import Around, PartFrame, Substitution
from graftax.transforms.lifting.streams import is_stream
from graftax.variables.state.storage import Storage, frames


class Reading(PartFrame):
    """Notes what is read."""

    def __init__(self, around: Around) -> None:
        super().__init__(around)
        self.found: dict[Storage, Array] = {}

    def read(self, storage: Storage) -> Array:
        """Return the value outside, or the one assigned."""
        if storage not in self._now:
            self.found[storage] = super().read(storage)
        return super().read(storage)


class Stopped(Reading):
    """The same, of constants."""

    def read(self, storage: Storage) -> Array:
        """Return the value outside, not differentiated, or the one assigned."""
        first = storage not in self._now
        value = super().read(storage)
        if first:
            value = self._now[storage] = registry.current().arrays.stop_gradient(value)
        return value


class GradientFrame(Substitution):
    """State as a gradient sees it: as the function left it; random streams branch off."""

    def __init__(self, values: dict[Storage, Array]) -> None:
        super().__init__(frames.top, values.items(), registry.current().gradients.level())
        self._branched: set[Storage] = set()

    def read(self, storage: Storage) -> Array:
        """Return the value given, or outside; of a random stream a branch of it."""
        # a rule that draws must not draw what the function drew, and draws the same however often it runs
        if is_stream(storage) and storage not in self._branched:
            random = registry.current().random
            self._now[storage] = random.fold_in(random.split(super().read(storage), 2)[1], _BRANCH)
            self._branched.add(storage)
        return super().read(storage)


_BRANCH = 0x67726164


def move_on(storage: Storage) -> None:
    """Let a random stream continue elsewhere than where a gradient branched off."""
    storage.write(registry.current().random.split(storage.read(), 2)[0])
