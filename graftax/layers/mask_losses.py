"""Where a mask was lost: the call once more, without computing anything, to see which arrays have its steps.

Shapes alone do not tell: a vector of features may be as long as the sequence is. The program of the call does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry, traced_checks
from graftax.backend.axis_origins import AxisOrigin, AxisQuestion
from graftax.core import tree
from graftax.core.ours import is_ours
from graftax.core.scopes import ScopeStack
from graftax.core.typedefs import Array
from graftax.core.user_line import Place
from graftax.layers.signature import Signature, signature_of
from graftax.layers.undoing import undone_if_raised
from graftax.transforms.lifting.frames import Abstract
from graftax.variables import masks
from graftax.variables.state import storage


class Consumer(NamedTuple):
    """An array without a mask, and what would have used the mask."""

    layer: Any
    """The layer that it was given to; None for an output."""
    argument: str
    """The argument of that layer that takes its mask."""
    shape: tuple[int, ...]
    value: Any

    @property
    def name(self) -> str:
        """Return what the array is, for messages."""
        return "its output" if self.layer is None else f"the input of {self.layer._gx_title()}"


OUTPUT = Consumer(None, "", (), None)


class Loss(NamedTuple):
    """A mask that is lost."""

    shape: tuple[int, ...]
    source: str
    """What had it; ``""`` where that is not known."""
    consumer: Consumer
    op: str
    """The operation that came first after it; ``""`` where that is not known."""
    place: Place | None


class Screen:
    """In place of what watches a call: notes nothing, and hides from what watches the call around.

    Args:
        is_apart: Whether the call was given masks, and so answers for them itself.
    """

    def __init__(self, is_apart: bool) -> None:
        self.is_apart = is_apart

    def note_made(self, value: Array, mask: Array) -> None:
        """Note a mask that an array has got."""

    def note_call(self, layer: Any, taken: dict[str, Any], out: Any) -> None:
        """Note what a layer inside did with masks."""

    def note_unmasked(self, consumer: Consumer) -> None:
        """Note that a layer inside, which takes masks, got an array without one."""


def unmasked(
    layer: Any, signature: Signature, taken: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[Consumer]:
    """Yield the arguments of a call that came without a mask, though the layer takes one there.

    A ``mask=None`` in the call says that there is none. The mask of ``key`` is as good as that of ``value``, and that
    of ``query`` says nothing of what is computed.
    """
    for argument, parameter in signature.masks.items():
        place = signature.positions.get(parameter, -1)
        if argument == "query" or parameter in kwargs or 0 <= place < len(args):
            continue
        if argument in ("key", "value") and not {"key_mask", "value_mask"}.isdisjoint({*taken, *kwargs}):
            continue
        value = signature.argument_of(argument, args, kwargs)
        if tree.is_leaf(value) and hasattr(value, "shape") and masks.mask_of(value) is None:
            yield Consumer(layer, parameter, tuple(value.shape), value)


class _Look(Screen):
    """What a call does with masks, with the arrays themselves."""

    def __init__(self, ignored: Sequence[Any]) -> None:
        super().__init__(True)
        self._ignored = ignored
        self._frame = storage.frames.top
        self.marks: list[tuple[Any, int]] = []
        self.shapes: list[tuple[int, ...]] = []
        self.sources: dict[int, str] = {}  # by the identity of arrays, which `marks` holds
        self.ends: list[Any] = []
        self.consumers: list[Consumer] = []

    def note_made(self, value: Array, mask: Array) -> None:
        shape = tuple(np.shape(mask))
        if self._is_here(value) and len(shape) > 1:
            if any(mask is one for one in self._ignored):
                self.ends.append(value)
            else:
                self.marks.append((value, len(shape)))
                self.shapes.append(shape)

    def note_call(self, layer: Any, taken: dict[str, Any], out: Any) -> None:
        for leaf in tree.flatten(out):
            mask = masks.mask_of(leaf)
            if mask is not None:
                if not any(leaf is value for value, _ in self.marks):
                    self.note_made(leaf, mask)
                self.sources.setdefault(id(leaf), f"the output of {layer._gx_title()}")
            elif taken and self._is_here(leaf):
                self.ends.append(leaf)

    def note_unmasked(self, consumer: Consumer) -> None:
        if self._is_here(consumer.value):
            self.consumers.append(consumer)

    def note_outputs(self, out: object) -> None:
        """Note the outputs of the call that have no mask."""
        for leaf in tree.flatten(out):
            if hasattr(leaf, "shape") and masks.mask_of(leaf) is None:
                self.consumers.append(OUTPUT._replace(shape=tuple(leaf.shape), value=leaf))

    def _is_here(self, value: object) -> bool:
        return storage.frames.top is self._frame and hasattr(value, "shape")


class _Seen(Exception):
    """Ends the call, so that what it did to attributes is undone."""


_looking: ScopeStack[bool] = ScopeStack("look for lost masks")


def is_looking() -> bool:
    """Tell whether this is a call of `find`."""
    return bool(_looking.read())


def find(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ignored: Sequence[Any]) -> list[Loss] | None:
    """Return the masks that are lost in the call of a layer, the first one first; None where that cannot be told.

    Args:
        layer: The layer, which is built.
        args: What its ``call`` is given.
        kwargs: What it is given by name.
        ignored: Masks that the call answers for.
    """
    backend = registry.current()
    if not backend.has("tracing"):
        return None
    tracing = backend.tracing
    leaves = tree.flatten([list(args), kwargs])
    marked = [i for i, leaf in enumerate(leaves) if masks.mask_of(leaf) is not None]
    looks: list[_Look] = []
    origins: list[AxisOrigin | None] = []

    def run(values: list[Any]) -> AxisQuestion:
        filled = list(leaves)
        with storage.frames.entered(Abstract(storage.frames.top, tracing.level())):
            look = _Look(ignored)
            looks.append(look)
            for i, value in zip(marked, values, strict=True):
                filled[i] = value
                masks.carry_over(leaves[i], value)
                look.note_made(value, masks.mask_of(value))
                look.sources[id(value)] = "its input"
            positional, named = tree.rebuild([list(args), kwargs], iter(filled))
            with masks.watched_by(look), storage.autocast.entered(layer._gx_dtypes.compute_dtype):
                look.note_outputs(layer.call(*positional, **named))
        return AxisQuestion(look.marks, look.ends, [consumer.value for consumer in look.consumers])

    try:
        with undone_if_raised(layer), _looking.entered(True), _unheard():
            origins = tracing.axis_origins(run, [backend.arrays.asarray(leaves[i]) for i in marked])
            raise _Seen
    except _Seen:
        look = looks[-1]
    except Exception:  # noqa: BLE001  # the call looks at values, or does what can be done once only: it has been called already
        return None
    found = []
    for one, origin in zip(look.consumers, origins, strict=True):
        if origin is not None and not _is_inside_of_consumer(one.layer, layer):
            source = look.sources.get(id(look.marks[origin.mark][0]), "")
            shape = look.shapes[origin.mark]
            found.append(Loss(shape, source, one._replace(value=None), origin.op, origin.place))
    return found


def _is_inside_of_consumer(inner: Any, outermost: object) -> bool:
    """Tell whether a layer is a part of one of graftax that takes masks, and hands them to its parts."""
    node: Any = None if inner is None else inner._gx_owner
    while node is not None and node is not outermost:
        kind = type(node)
        if is_ours(kind) and hasattr(kind, "supports_masking") and signature_of(kind.call).masks:
            return True
        node = node._gx_owner
    return False


@contextmanager
def _unheard() -> Iterator[None]:
    """Let nobody hear of the limits of values: those are no values of the program."""
    with (
        traced_checks.traces.replaced((traced_checks.PLAIN,)),
        traced_checks.before_runs.replaced(([],)),
        traced_checks.listeners.replaced(()),
        traced_checks.score_listeners.replaced(()),
    ):
        yield
