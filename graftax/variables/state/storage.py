"""Storage: the buffer behind a Variable, and the frames that stand between reads, writes and that buffer.

A compiled function, a gradient, a functional call each put a *frame* on a stack. While a frame is there, reads and
writes of every Variable go to it and the buffers stay untouched; that is how state becomes inputs and outputs without
the layers knowing. Without a frame a read is the buffer itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from graftax.backend import registry
from graftax.backend.protocol import Backend
from graftax.core.errors import StaleReadError, TracerLeakError
from graftax.core.scopes import ScopeStack, register_ambient
from graftax.core.static_numbers import add_follower
from graftax.core.typedefs import Array, unwrap
from graftax.core.undefined import undefined_error
from graftax.variables.graph.node import Branch, Node
from graftax.variables.state.donation import Donation, Placed, at_rest, donation_at, lock, wait_for_buffer
from graftax.variables.state.home import Assigned, Home, HomesMoved
from graftax.variables.state.memo import Memo, computations

if TYPE_CHECKING:
    from graftax.backend.meshes import Mesh


class Frame:
    """Takes reads and writes in place of the buffers. ``parent`` is the frame around it, or None."""

    parent: Frame | None = None
    allows_callback = True
    """Whether `graftax.py_function` may be called."""

    def __init__(self) -> None:
        self.memo = Memo()  # values computed from Variables
        self.level: Any = None  # the trace that this frame lives in, as the backend names it

    def read(self, storage: Storage) -> Array:
        """Return the value that the Variable has now, as this frame sees it."""
        raise undefined_error(self, "read")

    def write(self, storage: Storage, value: Array) -> None:
        """Make that the value from now on, as this frame sees it."""
        raise undefined_error(self, "write")

    def has_changed(self, storage: Storage) -> bool:
        """Tell whether the value here may be another one than that of the buffer."""
        return self.parent is not None and self.parent.has_changed(storage)

    def touch(self, node: Node) -> None:
        """Note that the trace depends on more of a Module or Variable than values: its `_gx_fingerprint`."""
        if self.parent is not None:
            self.parent.touch(node)

    def changing(self, node: Node, name: str) -> None:
        """Note how an attribute is that the function being traced is about to change, or asks for."""
        if self.parent is not None:
            self.parent.changing(node, name)

    def note_structure(self, nodes: Iterable[Node]) -> None:
        """Note how Modules and Variables are, about whose structure the function being traced asks."""
        if self.parent is not None:
            self.parent.note_structure(nodes)

    def note_created(self, module: Branch) -> None:
        """Note that the function being traced makes it."""
        if self.parent is not None:
            self.parent.note_created(module)

    def build(self, module: Branch, done: bool) -> None:
        """Note that what happens to a Module from here on, or up to here, is its build."""
        if self.parent is not None:
            self.parent.build(module, done)

    def group(self, storages: Sequence[Storage]) -> None:
        """Note that these are of one dtype, small, and moved alike: they may share a buffer."""
        if self.parent is not None:
            self.parent.group(storages)

    def row(self, storages: Sequence[Storage]) -> None:
        """Note that the program reads the values of these as one array, in this order."""
        if self.parent is not None:
            self.parent.row(storages)

    def row_of(self, storage: Storage) -> Sequence[Storage]:
        """Return those as which and with which it is read as one array; none by default."""
        return self.parent.row_of(storage) if self.parent is not None else ()

    def shards(self) -> tuple[str, ...]:
        """Return the axes of a mesh over which the code runs once for each device, on its share; none by default."""
        return self.parent.shards() if self.parent is not None else ()

    def mesh(self) -> Mesh | None:
        """Return the mesh over which the program lies that is being traced, as far as that is known."""
        return self.parent.mesh() if self.parent is not None else None

    def first_value(self, tracer: object) -> Any:
        """Return what a traced argument is at the call under which it is traced; None for any other traced value."""
        return self.parent.first_value(tracer) if self.parent is not None else None

    def branch_stream(self, key: Array) -> Array:
        """Return the state of a random stream that a function gets: each row of a mapped one has its own branch."""
        return self.parent.branch_stream(key) if self.parent is not None else key

    def start_streams_over(self) -> None:
        """Note that random streams are to follow from another seed, and raise where that means nothing."""
        if self.parent is not None:
            self.parent.start_streams_over()

    def note_conversion(self, value: object, name: str) -> None:
        """Note that the value of a Variable of that name became a NumPy array, from which no gradient comes back."""
        if self.parent is not None:
            self.parent.note_conversion(value, name)

    def tracks(self, value: Array) -> bool:
        """Return True if a tape follows the array, so that a gradient of it may be asked for."""
        return self.parent is not None and self.parent.tracks(value)


frames: ScopeStack[Frame] = ScopeStack("state")
add_follower(lambda value: (frame := frames.top) is not None and frame.tracks(unwrap(value)))

autocast: ScopeStack[str | None] = ScopeStack("autocast")
"""The dtype in which weights are read, inside layers that compute in another one than they store."""
register_ambient(lambda: autocast.top, autocast.read, "the dtype in which weights are read")


stand_ins: ScopeStack[Callable[[Node], Storage | None]] = ScopeStack("values in place of expressions")
"""Functions that say where the value of an expression lies that is not to be computed; None for one that is."""


_numbers = count()


def next_number() -> int:
    """Return a number that no storage has: those made before have a smaller one, those made later a larger one."""
    return next(_numbers)


class Storage:
    """One device buffer. Everything else reads and writes it through here."""

    __slots__ = ("__weakref__", "_user", "backend", "home", "number", "place")

    passing = False
    """Whether it may go with the one run that made it, instead of being kept by somebody."""

    def __init__(self, buffer: Array, backend: Backend, user: Node) -> None:
        self.place: tuple[Any, int] = [buffer], 0
        """The list with the buffer, and its index; `gather_buffers` makes one list of several, a `Pack` one array."""
        self.backend = backend
        self.home: Home | None = None
        """Where the buffer lies on several devices; None for the default device."""
        self.number = next(_numbers)
        self._user = weakref.ref(user)

    @property
    def buffer(self) -> Array:
        """Return the array itself."""
        buffers, index = self.place
        buffer = buffers[index]
        if buffer is None or type(buffer) is Donation:  # it has just moved, or a step in another thread has it
            buffer = wait_for_buffer(self)
        return buffer  # type: ignore[no-any-return]

    @buffer.setter
    def buffer(self, value: Array) -> None:
        with at_rest((self,)):
            buffers, index = self.place
            buffers[index] = value

    @property
    def user(self) -> Node | None:
        """Return the Variable behind it, unless it is gone."""
        return self._user()

    def is_abandoned(self, since: int) -> bool:
        """Tell whether it was made since a number was asked for, and nobody keeps its Variable, nor should.

        One that was there before may go at any time, for example when garbage is collected during a trace.
        """
        return self.number > since and self._user() is None and not self.passing

    @property
    def path(self) -> str:
        """Return the path of the Variable behind it, for messages."""
        user = self._user()
        return user._gx_path if user is not None else "(a variable that is gone)"

    def read(self) -> Array:
        """Return the value now."""
        frame = frames.top
        if frame is None:
            return self.concrete()
        under_way = computations.top
        if under_way is not None:  # a value is computed that will be kept: it is forgotten when this changes
            under_way.read.add(self)
        if frame.level is not None and self.backend.has("tracing"):
            transforms = self.backend.tracing
            # plain scan or jit inside of our trace: a read would be a constant of that, or leak a value of ours into it
            deeper = transforms.level() is not frame.level and transforms.staged_within(frame.level)
            if deeper and not transforms.read_within(frame.level):
                raise self._stale_error()
        return frame.read(self)

    def write(self, value: Array) -> None:
        """Make that the value."""
        self.check(value)
        frame = frames.top
        if frame is None:
            if self.home is not None:
                value = self.backend.meshes.place(value, self.home.stored)
                Assigned.note(self)
            with lock:
                buffers, index = self.place
                if type(buffers) is list and type(buffers[index]) is not Donation:
                    buffers[index] = value
                    return
            self.buffer = value  # which waits: for a step in another thread, or for the pack that it is in
        else:
            under_way = computations.top
            if under_way is not None:
                under_way.moved.add(self)
            frame.memo.forget(self)
            frame.write(self, value)

    def revise(self, change: Callable[[Array], Array]) -> None:
        """Make the value what ``change``, which may be called more than once, makes of it.

        In eager code nothing is lost that another thread assigns meanwhile.
        """
        for _ in range(TRIES):
            before = self.read()
            after = change(before)
            if frames.top is not None:
                self.write(after)
                return
            self.check(after)
            if self.home is not None:
                after = self.backend.meshes.place(after, self.home.stored)
                Assigned.note(self)
            if exchange((self,), (before,), (after,)):
                return
        with at_rest((self,)):
            self.write(change(self.read()))

    def gather(self, value: Array) -> Array:
        """Return the value as a program computes with it: gathered, where each device keeps a part."""
        if self.home is None or frames.top is None or not tracer_of(self.backend, value) or frames.top.shards():
            return value
        return self.backend.meshes.constrain(value, self.home.computed)

    def move(self, home: Home | None) -> None:
        """Let the buffer lie there from now on; None for the default device."""
        if home is self.home:
            return
        before, self.home = self.home, home
        HomesMoved.count += 1
        try:
            self.buffer = self.backend.meshes.place(self.buffer, None if home is None else home.stored)
        except BaseException:
            self.home = before
            raise

    def check(self, value: object) -> None:
        """Raise if the value may not be assigned here: it would outlive its trace, or the line runs at another time."""
        frame = frames.top
        transforms = self.backend.tracing if self.backend.has("tracing") else None
        if frame is None:
            if transforms is not None and (transforms.is_tracer(value) or transforms.staged_within(None)):
                library = self.backend.wording.library
                raise TracerLeakError(
                    f"the variable {self.path!r} was assigned a traced value, or while plain {library} traces a "
                    "function",
                    "that value exists, and that line runs, only while the function is traced, not when it is called",
                    "graftax.jit, graftax.value_and_grad and graftax.functional_call carry assignments out",
                )
        elif transforms is not None and (transforms.leaks(value, frame.level) or transforms.staged_within(frame.level)):
            words = self.backend.wording
            raise TracerLeakError(
                f"the variable {self.path!r} was assigned inside a {words.library} transformation that graftax does "
                "not see",
                f"the value exists only inside that transformation ({words.transforms}), which may run it many times "
                "or not at all",
                "return the value from the transformed function and assign it outside, or use graftax's own transforms",
            )

    def concrete(self) -> Array:
        """Return the buffer itself, which must not become a constant of somebody's trace."""
        if self.backend.has("tracing") and self.backend.tracing.staged_within(None):
            raise self._stale_error()
        return self.buffer

    def value_now(self) -> Array:
        """Return the value for somebody who is to keep it, such as a copy: numbers without a gradient.

        In a function that is differentiated it is what was assigned there; one that is compiled has no numbers.
        """
        if frames.top is None or not self.backend.has("tracing") or self.backend.tracing.staged_within(None):
            return self.concrete()
        value = self.backend.arrays.stop_gradient(self.read())
        return value if self.backend.arrays.is_concrete(value) else self.concrete()

    def _stale_error(self) -> StaleReadError:
        words = self.backend.wording
        return StaleReadError(
            f"the variable {self.path!r} was read while a function of plain {words.library} is traced",
            "its present value would become a constant there, and later assignments would be ignored",
            f"use graftax.jit in place of {words.compile}, or pass the state: "
            "graftax.functional_call(module, graftax.state(module), ...)",
        )


TRIES = 4
"""How often a value is computed again because another thread has assigned, before that thread has to wait."""


def exchange(storages: Sequence[Storage], before: Sequence[Array], after: Sequence[Array]) -> bool:
    """Assign to buffers if all are still those that were read before; False, and nothing assigned, if one is not."""
    with lock:
        for storage, value in zip(storages, before, strict=True):
            buffers, index = storage.place
            # by identity: another thread may have assigned an equal value, and a random draw must not be given twice
            if (type(buffers) is not list and donation_at(storage) is not None) or buffers[index] is not value:
                return False
        for storage, value in zip(storages, after, strict=True):
            buffers, index = storage.place
            buffers[index] = value
    return True


class Moves:
    """A count of buffers put together anew; who holds such a list compares it to know whether to look closer."""

    count = 0


def gather_buffers(storages: Sequence[Placed]) -> list[Any]:
    """Return one list in which these have their buffers from now on, in this order.

    A compiled function hands it over as it is, and puts all new values in place at once.
    """
    with at_rest(storages):
        buffers = [storage.buffer for storage in storages]
        for i, storage in enumerate(storages):
            before, index = storage.place
            storage.place = buffers, i  # in one assignment, since readers take no lock
            before[index] = None  # so that it keeps nothing alive
        Moves.count += 1
    return buffers


def tracer_of(backend: Backend, value: object) -> bool:
    """Return True if the value is traced."""
    return backend.has("tracing") and backend.tracing.is_tracer(value)


@contextmanager
def concretely() -> Iterator[None]:
    """Let Variables be their buffers and operations run now in the block, whatever is being traced around it."""
    with frames.replaced(()), autocast.replaced(()), registry.current().arrays.eager():
        yield


def memo() -> Memo | None:
    """Return where values computed from Variables may be kept; None in eager code, and in foreign transformations."""
    frame, backend = frames.top, registry.current()
    if frame is None or (backend.has("tracing") and backend.tracing.level() is not frame.level):
        return None
    return frame.memo


def touch(node: Node) -> None:
    """Tell the function being compiled, if any, that it depends on the plain attributes of this Module or Variable."""
    frame = frames.top
    if frame is not None:
        frame.touch(node)


def changing(node: Node, name: str) -> None:
    """Tell the function being compiled, if any, that its own code is about to change an attribute, or asks for it."""
    frame = frames.top
    if frame is not None:
        frame.changing(node, name)


def first_value(tracer: object) -> Any:
    """Return what a traced argument of a compiled function is at its first call; None for any other traced value."""
    frame = frames.top
    return frame.first_value(tracer) if frame is not None else None
