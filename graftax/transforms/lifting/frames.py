"""The frames through which transforms see state: `CompileFrame` while compiling, `Substitution` for given values."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from graftax.backend import registry
from graftax.core.typedefs import Array
from graftax.transforms.compile.seen import Seen
from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import Branch, Node
from graftax.variables.state.pack import in_groups, place_of, shares_row
from graftax.variables.state.storage import Frame, Storage, frames
from graftax.variables.state.unallocated import is_allocated
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.backend.meshes import Mesh
    from graftax.backend.program import Lift

_PACKED = ("weight", "state", "slot")  # others, such as a counter, are looked at after each call
_WORTH_IT = 4  # arrays; to pass fewer of them as one gains nothing


class CompileFrame(Frame):
    """The bottom frame of a function being compiled: first reads become inputs, writes become outputs."""

    def __init__(self, lift: Lift, arguments: Sequence[tuple[Any, Any]] = (), allows_callback: bool = False) -> None:
        super().__init__()
        self.allows_callback = allows_callback  # whether Python may be called when the program runs
        self.level = lift.level
        self._arguments = arguments  # traced, and as they are at this call
        self._lift = lift
        self._now: dict[Storage, Array] = {}
        self._written: dict[Storage, None] = {}
        self._rows: dict[Storage, tuple[Storage, ...]] = {}
        self.touched: dict[int, Node] = {}
        self.seen = Seen()

    def read(self, storage: Storage) -> Array:
        """Return the value in the program so far."""
        if storage not in self._now:
            self._now[storage] = self._lift.read(storage)
            self._touch_owners(storage)
        return self._now[storage]

    def write(self, storage: Storage, value: Array) -> None:
        """Set the value from here on."""
        self._now[storage] = value
        self._written[storage] = None
        self._touch_owners(storage)

    def has_changed(self, storage: Storage) -> bool:
        """Tell whether the function has assigned it."""
        return storage in self._written

    def touch(self, node: Node) -> None:
        """Note that the program depends on the fingerprint of a Module or Variable."""
        if id(node) not in self.touched:
            self.touched[id(node)] = node
            self.seen.note_containers(node)
            object.__setattr__(node, "_gx_watched", True)

    def changing(self, node: Node, name: str) -> None:
        """Note how an attribute is before the function changes it, and that the program depends on it."""
        self.touch(node)
        self.seen.note_attribute(node, name)

    def note_structure(self, nodes: Iterable[Node]) -> None:
        """Note how these are when the function asks what there is, and that the program depends on it."""
        for node in nodes:
            self.touch(node)
            self.seen.note_all_attributes(node)

    def watch(self, module: Module) -> None:
        """Note that the program may depend on a Module and all Modules below it."""
        for node in walk(module):
            if isinstance(node, Module):
                self.touch(node)

    def note_created(self, module: Branch) -> None:
        """Note that the function makes it."""
        self.seen.note_created(module)

    def build(self, module: Branch, done: bool) -> None:
        """Keep what a build does to lists and dicts apart from what the function does."""
        if done:
            self.seen.accept_build(walk(module))
        else:
            self.seen.compare_containers(module)

    def group(self, storages: Sequence[Storage]) -> None:
        """Note that these may share a buffer."""
        self._lift.groups.append(storages)

    def row(self, storages: Sequence[Storage]) -> None:
        """Note that the values of these are read as one array: where they share a buffer, it is that."""
        row = tuple(storages)
        if not any(storage in self._rows for storage in row):
            self._rows.update(dict.fromkeys(row, row))

    def row_of(self, storage: Storage) -> Sequence[Storage]:
        """Return those with which it is read as one array, in their order."""
        return self._rows.get(storage, ())

    def group_alike(self) -> None:
        """Let what is read and written, small and alike share buffers, unless it does already."""
        grouped = {storage for group in self._lift.groups for storage in group}
        rest = [s for s in self._lift.cells if s in self._written and s not in grouped and _role(s) in _PACKED]
        moving = set(rest)
        for row in dict.fromkeys(self._rows[storage] for storage in rest if storage in self._rows):
            if moving.issuperset(row) and shares_row(row):
                self.group(row)
                moving.difference_update(row)
        rest = [storage for storage in rest if storage in moving]
        for group in in_groups((s, _kind(s)) for s in rest):
            if len(group) >= _WORTH_IT:
                self.group(group)

    def first_value(self, tracer: object) -> Any:
        """Return the argument that this traced value stands for, as it is at the first call."""
        # by identity: == of traced arrays is another traced array
        found = (value for traced, value in self._arguments if traced is tracer)
        return next(found, None)

    def mesh(self) -> Mesh | None:
        """Return the mesh of a Variable that was read, or that the function is known to reach; else of an argument."""
        nodes = [node for node in self.touched.values() if isinstance(node, Module)]  # a look at one may touch others
        storages = chain(self._lift.cells, self._now, (v._storage for node in nodes for v in node.variables))
        homes = (storage.home for storage in storages)
        found = next((home.mesh for home in homes if home is not None and home.fixed), None)
        if found is None and (backend := registry.current()).has("meshes"):
            meshes = (backend.meshes.mesh_of(value) for _, value in self._arguments)
            found = next((mesh for mesh in meshes if mesh is not None), None)
        return found

    def _touch_owners(self, storage: Storage) -> None:
        # a Variable may go with its owner, and another one come: whatever leads to it counts
        node: Node | None = storage.user
        while node is not None and (node := node._gx_owner) is not None:
            if id(node) in self.touched:
                return
            self.touch(node)

    def last_values(self) -> list[tuple[Storage, Array]]:
        """Return what the program assigns, with the last values."""
        return [(storage, self._now[storage]) for storage in self._written]


def _role(storage: Storage) -> str | None:
    user = storage.user
    return user.role if isinstance(user, Variable) else None


def _kind(storage: Storage) -> Hashable | None:
    place = place_of(storage)
    return None if place is None else (_role(storage), place)


class Substitution(Frame):
    """Given values in place of some Variables; assignments stay inside until whoever made it takes them out."""

    def __init__(self, parent: Frame | None, values: Iterable[tuple[Storage, Any]], level: object) -> None:
        super().__init__()
        self.parent = parent
        self.level = level
        self._now: dict[Storage, Array] = dict(values)
        self._given = frozenset(self._now)
        self.written: dict[Storage, Array] = {}

    def read(self, storage: Storage) -> Array:
        """Return the value given or assigned, else what the frame around sees."""
        if storage in self._now:
            return self._now[storage]
        return storage.concrete() if self.parent is None else self.parent.read(storage)

    def write(self, storage: Storage, value: Array) -> None:
        """Set the value from here on, inside."""
        self._now[storage] = value
        self.written[storage] = value

    def has_changed(self, storage: Storage) -> bool:
        """Tell whether a value was given or assigned here or further out."""
        return storage in self._given or storage in self.written or super().has_changed(storage)

    def commit(self, but: Container[Storage] = ()) -> None:
        """Assign, in the frame that is on top, what was assigned inside, but for some."""
        for storage, value in self.written.items():
            if storage not in but:
                storage.write(value)


class Abstract(Substitution):
    """For a look at shapes: Variables have their present values, assignments lead nowhere."""

    def __init__(self, parent: Frame | None, level: object) -> None:
        super().__init__(parent, (), level)

    def read(self, storage: Storage) -> Array:
        """Return the buffer itself, from which nothing is computed; zeros that are never made, where there is none."""
        if storage not in self._now and not is_allocated(storage):
            with storage.backend.tracing.at(self.level):
                self._now[storage] = storage.backend.arrays.numpy.zeros(storage.buffer.shape, storage.buffer.dtype)
        return self._now.get(storage, storage.buffer)


class PartFrame(Substitution):
    """State inside a part of a program; what it does not have itself is read where the part is called from."""

    def __init__(self, around: Around, values: Iterable[tuple[Storage, Any]] = ()) -> None:
        super().__init__(around.frame, values, registry.current().tracing.level())
        self._around = around

    def read(self, storage: Storage) -> Array:
        """Return the value given or assigned, else the one outside, which the part then closes over."""
        if storage not in self._now:
            self._now[storage] = self._around.read(storage)
        return self._now[storage]


class Around:
    """Where a part of a program is called from."""

    def __init__(self) -> None:
        self._frames = frames.items
        self.level = registry.current().tracing.level()
        self.frame = frames.top

    def read(self, storage: Storage) -> Array:
        """Return the value there."""
        # computed there, so that a weight that is an expression is computed once, not in each run of the part
        with registry.current().tracing.at(self.level), frames.replaced(self._frames):
            return storage.read()

    def read_whole(self, storage: Storage) -> Array:
        """Return the value there, whole where devices keep parts of it."""
        with registry.current().tracing.at(self.level), frames.replaced(self._frames):
            return storage.gather(storage.read())
