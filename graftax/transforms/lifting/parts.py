"""State in the parts of a program (branches, bodies of loops): what they write becomes a part of what they hand on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from graftax.backend import registry, traced_checks
from graftax.backend.control_flow import Staged
from graftax.backend.program import Lift
from graftax.core import tree
from graftax.core.errors import ArgumentError, DTypeError, ShapeError, StateError
from graftax.core.typedefs import Array, unwrap
from graftax.transforms.compile.seen import Seen, changed
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.graph.module import walk
from graftax.variables.graph.node import Branch, Node
from graftax.variables.state.storage import Storage, frames


class PartFrame(Substitution):
    """State inside a part of a program; what it does not have itself is read where the part is called from."""

    def __init__(self, around: Around, given: Iterable[tuple[Storage, Any]] = ()) -> None:
        super().__init__(around.frame, given, registry.current().tracing.level())
        self._around = around

    def read(self, storage: Storage) -> Array:
        """The value given or assigned, else the one outside, which the part then closes over."""
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
        """The value there."""
        with registry.current().tracing.at(self.level), frames.replaced(self._frames):
            return storage.read()


class Outline:
    """Results of a part, abstractly: the structure, and an object with shape and dtype for each leaf."""

    def __init__(self, structure: Any, leaves: list[Any]) -> None:
        self.structure = structure
        self.leaves = leaves

    def paths(self, root: str) -> list[str]:
        """The name of each leaf, for messages."""
        transforms = registry.current().tracing
        count = len(self.leaves)
        found = tree.flatten_with_paths(transforms.unflatten(self.structure, list(range(count))), root)
        names = {leaf: path for path, leaf in found if isinstance(leaf, int)}
        return [names.get(i, f"{root}, leaf {i}") for i in range(count)]


def arrays_of(value: Any) -> tuple[list[Any], Any]:
    """The leaves of a structure as arrays, and the structure."""
    backend = registry.current()
    leaves, structure = backend.tracing.flatten(value)
    weakly = backend.arrays.numpy.asarray  # leaves a Python number weak
    return [
        weakly(leaf) if type(leaf) in (int, float, complex) else backend.arrays.asarray(unwrap(leaf)) for leaf in leaves
    ], structure


def like(structure: Any, count: int, value: Any) -> Any:
    """Return a value with the keys of its dicts in the order of a structure of that many leaves."""
    return tree.reorder(value, registry.current().tracing.unflatten(structure, [None] * count))


class _StagedFrame(PartFrame):
    """State inside a part that is being traced: what it reads outside becomes an input."""

    def __init__(self, around: Around, lift: Lift) -> None:
        super().__init__(around)
        self._lift = lift
        self.found: dict[Storage, Array] = {}
        self._seen = Seen()
        self._touched: dict[int, Node] = {}
        self._builds = 0  # how many are under way

    def touch(self, node: Node) -> None:
        """Note how the lists and dicts of a Module are, here and around."""
        super().touch(node)
        if id(node) not in self._touched:
            self._touched[id(node)] = node
            self._seen.met(node)

    def changing(self, node: Node, name: str) -> None:
        """Note how an attribute is before the part changes it, here and around."""
        super().changing(node, name)
        if not self._builds:  # what a build makes is there at later turns, which compute what the first one does
            self.touch(node)
            self._seen.part(node, name)

    def made(self, module: Branch) -> None:
        """Note that the part makes it, here and around."""
        super().made(module)
        self._seen.made(module)

    def build(self, module: Branch, done: bool) -> None:
        """Keep what a build does to lists and dicts apart from what the part does, here and around."""
        super().build(module, done)
        self._builds += -1 if done else 1
        if done:
            self._seen.built(walk(module))
        else:
            self._seen.grown(module)

    def changed(self) -> list[str]:
        """The plain attributes that the part has changed; not those that hold its traced values, of no use later."""
        leaks = registry.current().tracing.leaks
        return [
            f"{node._gx_path or type(node).__name__}.{name}"
            for node, name in changed(list(self._touched.values()), self._seen)
            if not leaks(getattr(node, name, None), self._around.level)
        ]

    def read(self, storage: Storage) -> Array:
        """The value assigned, else an input that stands for the one outside."""
        if storage not in self._now:
            self.found[storage] = self._around.read(storage)
            self._now[storage] = self._lift.read(storage, self.found[storage])
        return self._now[storage]


_MAY_NOT_RUN = frozenset({"cond", "switch", "while_loop"})


class Part:
    """A part of a program, traced once: a function of arrays, of what it closes over, and of the Variables it reads.

    Args:
        name: What the control flow is called in messages.
        function: Returns a structure of arrays for each of its results.
        leaves: The arguments, or what stands for them.
    """

    def __init__(self, name: str, function: Callable[[list[Any]], tuple[Any, ...]], leaves: Sequence[Any]) -> None:
        around = Around()
        frame: Any = None
        structures: list[Any] = []
        sizes: list[int] = []

        def run(lift: Lift, leaves: list[Any]) -> list[Any]:
            nonlocal frame
            frame = _StagedFrame(around, lift)
            results: list[Any] = []
            with frames.entered(frame), traced_checks.perhaps.entered(*([name] if name in _MAY_NOT_RUN else [])):
                for made in function(leaves):
                    flat, structure = arrays_of(made)
                    results += flat
                    structures.append(structure)
                    sizes.append(len(flat))
            return [*results, *frame.written.values()]

        self.program, self.constants = registry.current().control_flow.stage(run, list(leaves))
        self.found: dict[Storage, Array] = frame.found
        self.changed: list[str] = frame.changed()
        self.written = list(frame.written)
        abstract = iter(self.program.results)
        self.outlines = [
            Outline(structure, [next(abstract) for _ in range(size)])
            for structure, size in zip(structures, sizes, strict=True)
        ]
        for storage in self.written:
            if storage.user is None and not storage.passing:
                raise StateError(
                    f"a function given to {name} makes a Variable of shape {tuple(storage.buffer.shape)}, assigns it, "
                    "and does not keep it",
                    "the function is traced once for all its runs, so that the Variable would be one and the same",
                    "make the Variable outside and keep it; what lives for one run is an array",
                )


class Threaded:
    """The parts of one piece of control flow, and the Variables that any of them writes."""

    def __init__(self, *parts: Part) -> None:
        self.written = list(dict.fromkeys(storage for part in parts for storage in part.written))
        self._place = {storage: i for i, storage in enumerate(self.written)}

    def state(self) -> list[Any]:
        """The present values of what is written."""
        return [storage.read() for storage in self.written]

    def commit(self, state: Sequence[Any]) -> None:
        """Assign the values after the control flow."""
        for storage, value in zip(self.written, state, strict=True):
            storage.write(value)

    def bind(self, part: Part) -> Bound:
        """A part as a function of the state."""
        found = [(self._place.get(storage, -1), value) for storage, value in part.found.items()]
        return Bound(
            part.program,
            tuple(place for place, _ in found),
            tuple(self._place[storage] for storage in part.written),
            [*part.constants, *(value for place, value in found if place < 0)],
            len(part.constants),
        )


class Bound(NamedTuple):
    """A part as a function of state and arguments; all but ``closed`` is known before anything is computed."""

    program: Staged
    reads: tuple[int, ...]  # for each Variable that is read, its place in the state; -1 if it is not there
    writes: tuple[int, ...]
    closed: list[Any]  # constants, then the Variables that are not in the state
    constants: int

    def run(self, closed: Sequence[Any], state: Sequence[Any], leaves: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The leaves of the results, and the state after."""
        others = iter(closed[self.constants :])
        cells = [next(others) if place < 0 else state[place] for place in self.reads]
        arrays = registry.current().arrays
        results = [
            one if arrays.is_array(one) else arrays.asarray(one, str(kind.dtype))  # a number in the program
            for one, kind in zip(
                self.program.run(closed[: self.constants], cells, leaves), self.program.results, strict=True
            )
        ]
        count = len(results) - len(self.writes)
        after = list(state)
        for place, value in zip(self.writes, results[count:], strict=True):
            after[place] = value
        return results[:count], after


# --- agreement --------------------------------------------------------------------------------------------------------

_KINDS = ("bool", "uint", "int", "float", "bfloat", "complex")


def kind(dtype: Any) -> int:
    """The place of a dtype among truth values, integers, real and complex numbers."""
    name = str(dtype)
    return min(3, i) if (i := next(i for i, k in enumerate(_KINDS) if name.startswith(k))) == 4 else i


def agreed(name: str, what: Sequence[str], outlines: Sequence[Outline], root: str) -> list[str]:
    """The dtypes that all of several outlines can have: Python numbers give way, everything else must agree.

    Args:
        name: What asks, for messages.
        what: What each outline is that of, for messages.
        outlines: The outlines.
        root: What their leaves are called, for messages.

    Raises:
        ArgumentError: the structures differ.
        ShapeError: shapes differ.
        DTypeError: dtypes differ.
    """
    first = outlines[0]
    for label, other in zip(what[1:], outlines[1:], strict=True):
        if other.structure != first.structure:
            ours, theirs = first.paths(root), other.paths(root)
            alone = [path for path in ours if path not in theirs], [path for path in theirs if path not in ours]
            raise ArgumentError(
                f"{name}: {what[0]} has the leaves {ours}, {label} has {theirs}",
                f"the structures must be the same; only the one has {alone[0]}, only the other {alone[1]}"
                if any(alone)
                else "the structures must be the same, down to lists, tuples and dicts",
                "the same nesting, keys and number of leaves",
            )
    return [
        _dtype_of(name, path, what, leaves)
        for path, *leaves in zip(first.paths(root), *(o.leaves for o in outlines), strict=True)
    ]


def _dtype_of(name: str, path: str, what: Sequence[str], leaves: Sequence[Any]) -> str:
    is_weak = registry.current().arrays.is_weak
    strong = [str(leaf.dtype) for leaf in leaves if not is_weak(leaf)] or [
        str(max(leaves, key=lambda leaf: kind(leaf.dtype)).dtype)
    ]
    for label, leaf in zip(what, leaves, strict=True):
        if tuple(leaf.shape) != tuple(leaves[0].shape):
            raise ShapeError(
                f"{name}: {path!r} has shape {tuple(leaves[0].shape)} in {what[0]}, {tuple(leaf.shape)} in {label}",
                "a compiled program has one shape for each value",
                "ops.reshape, ops.broadcast_to, or a start of the shape that comes out",
            )
        fits = kind(leaf.dtype) <= kind(strong[0]) if is_weak(leaf) else str(leaf.dtype) == strong[0]
        if not fits:
            kinds = " and ".join(f"{one.dtype} in {where}" for one, where in zip(leaves, what, strict=True))
            raise DTypeError(
                f"{name}: {path!r} is {kinds}",
                "a compiled program has one dtype for each value, and none is converted silently",
                f'ops.cast(x, "{strong[0]}")',
            )
    return strong[0]


def as_dtypes(leaves: Sequence[Any], dtypes: Sequence[str]) -> list[Any]:
    """The arrays in these dtypes, none of them weak."""
    return [leaf.astype(dtype) for leaf, dtype in zip(leaves, dtypes, strict=True)]


def common_length(name: str, paths: Sequence[str], leaves: Sequence[Any]) -> int:
    """The size of the first axes of all arrays.

    Args:
        name: What asks, for messages.
        paths: What the arrays are called.
        leaves: The arrays.

    Raises:
        ShapeError: an array has no axis, or the sizes differ.
    """
    known: tuple[str, int] | None = None
    for path, leaf in zip(paths, leaves, strict=True):
        if not leaf.shape:
            raise ShapeError(
                f"{name}: {path!r} is a scalar",
                "it runs over the first axis, and a scalar has none",
                "an array of rows",
            )
        size = leaf.shape[0]
        if known is None:
            known = path, size
        elif size != known[1]:
            raise ShapeError(
                f"{name}: {known[0]!r} has {known[1]} rows, {path!r} has {size}",
                "all run along the same first axis",
                "arrays with as many rows as each other; a constant in a closure",
            )
    if known is None:
        raise ArgumentError(f"{name} got no array", "there is nothing to run over", "an array of rows")
    return known[1]
