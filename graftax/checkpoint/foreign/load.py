"""The function load_foreign: weights that another library saved are loaded into a module."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from graftax.checkpoint.arrays import HostArray, can_cast
from graftax.checkpoint.choices import CASTS, MODES
from graftax.checkpoint.foreign.doubts import warn_of_doubts
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.name_map import (
    Scope,
    divide_by_scope,
    is_within,
    named_groups,
    named_units,
    scopes_of,
    split_groups,
    split_units,
    with_rests,
)
from graftax.checkpoint.foreign.numbering import Counting
from graftax.checkpoint.foreign.opening import open_weights
from graftax.checkpoint.foreign.order import Pair
from graftax.checkpoint.foreign.order_alone import paired_by_order
from graftax.checkpoint.foreign.pairing import Pairing
from graftax.checkpoint.foreign.pairs import Pairs
from graftax.checkpoint.foreign.report import ForeignReport, LeftOut
from graftax.checkpoint.foreign.settings import differing_settings
from graftax.checkpoint.foreign.sources import SOURCES, source_of
from graftax.checkpoint.foreign.ties import find_twins, mark_tied, without_twins
from graftax.checkpoint.foreign.unit import Group, Made, Unit, fit_unit, take_apart
from graftax.checkpoint.foreign.units import Units
from graftax.checkpoint.graph import Graph
from graftax.checkpoint.misfit import cast_to
from graftax.checkpoint.report import Conflict, Restored
from graftax.checkpoint.subset import Subset
from graftax.checkpoint.transaction import Transaction, uninterrupted
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeMismatch,
    MissingInCheckpoint,
    StateError,
    UnusedInCheckpoint,
)
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door
from graftax.variables.graph.module import Module
from graftax.variables.state import storage


@door
def load_foreign(
    path: str | os.PathLike[str],
    module: Module,
    source: str | None = None,
    names: Mapping[str, str] | None = None,
    *,
    only: SelectorLike | None = None,
    skip: SelectorLike | None = None,
    mode: str = "exact",
    cast: str = "exact",
) -> ForeignReport:
    """Load the weights that another library saved, all or none: if anything does not match, nothing changes.

    Layers and arrays of the file are paired by name if both sides have the same names. Otherwise they are paired in
    the order of their definition if the shapes match, or because there is only one possible pairing. If several
    pairings are possible, the load is refused, and ``names`` decides. A warning names layers that fit each other's
    arrays, and that nothing but the order tells apart. Differences of layout (kernels, gates, packed
    projections, rows after a Flatten) are converted, and the report lists these conversions. No code of a file is
    ever run: pickles are read by an interpreter that knows tensors only.

    Args:
        path: A ``.safetensors`` file or the index of several, a ``.pt``, ``.pth`` or ``.bin`` of torch, a
            ``.weights.h5`` or ``.keras`` of Keras 3 (needs h5py), a ``.msgpack`` of Flax, an ``.npz``, a directory of
            Hugging Face or Orbax (needs orbax-checkpoint), or a checkpoint of graftax.
        module: The module that gets the weights; its layers must be built.
        source: The library whose names and layouts the file has: ``"torch"``, ``"keras"``, ``"flax"`` or ``"graftax"``.
            Defaults to None: it is recognized by the format or the names.
        names: Paths of the module, each with the name in the file that it takes its values from: of a layer, of a part
            with several layers, or of a single array. ``*`` stands for one component of a path, and for the same text
            in the name. ``""`` is the whole. Defaults to none.
        only: Load only what this selects, see `graftax.select`, in paths from the module. Defaults to all.
        skip: Do not load what this selects. Defaults to nothing.
        mode: ``"exact"``: every Variable gets a value, every array is used; ``"cover"``: every Variable gets a value;
            ``"overlap"``: whatever matches, at least one array. Defaults to ``"exact"``.
        cast: ``"exact"``: dtypes must agree; ``"safe"``: widening is allowed; ``"any"``: everything is. Defaults to
            ``"exact"``.

    Returns:
        A report: which array went into which Variable, with which conversion; what was left out and why; and settings
        that files do not contain, such as the epsilon of a batch normalization, if they differ from the defaults of
        that library.

    Raises:
        NotACheckpoint: there is nothing at the path, or its format is unknown.
        CorruptCheckpoint, UnsafeCheckpoint: the file is damaged, or has content that must not be read.
        MatchError: file and module do not match; a subclass says how.
        NotBuiltError: some layers are not built.
        ArgumentError: an argument has an unknown value, or a library is not installed.

    Example:
        >>> import os, tempfile
        >>> import numpy as np
        >>> import graftax as gx
        >>> path = os.path.join(tempfile.mkdtemp(), "torch.npz")
        >>> np.savez(path, **{"fc.weight": np.ones((3, 2), "float32"), "fc.bias": np.zeros(3, "float32")})
        >>> model = gx.Sequential([gx.layers.Dense(3)])
        >>> model.build((None, 2))
        >>> report = load_foreign(path, model)
        >>> report.source, [r.source for r in report.restored]
        ('torch', ['fc.weight', 'fc.bias'])
    """
    _check(module, mode, cast)
    with open_weights(path) as file:
        report = ForeignReport(file.path, source_of(file, source), mode)
        loading = _Loading(file, module, report, Subset(only, skip))
        loading.pair(names or {})
        loading.judge(cast)
        loading.warn()
        with Transaction(Graph({"module": module})) as changes:
            ready = loading.values()
            with uninterrupted():
                for made, value in ready:
                    changes.write(made.part.variable._storage, value)
    return report


def _check(module: object, mode: str, cast: str) -> None:
    for what, given, known in (("mode", mode, MODES), ("cast", cast, CASTS)):
        if given not in known:
            choices = ", ".join(map(repr, known))
            raise ArgumentError(f"{what}={given!r:.60}", f"{what} is one of {choices}", f"{what}={known[0]!r}")
    if not isinstance(module, Module):
        raise ArgumentTypeError(
            f"load_foreign() got a {type(module).__name__} as its second argument, module",
            "weights are loaded into a layer or a model",
            "load_foreign(path, model)",
        )
    if storage.frames.top is not None:
        raise StateError(
            "load_foreign() inside a function that is being compiled or differentiated",
            "the values would become constants of that function",
            "load before you call that function",
        )


class _Loading:
    """A single load: the groups of the file, the units of the module, and their pairing."""

    def __init__(self, file: ForeignFile, module: Module, report: ForeignReport, subset: Subset) -> None:
        self._file = file
        self._report = report
        self._source = SOURCES[report.source]
        sides = Units(module, self._source)
        self._modules = sides.modules
        self._units = sides.units
        self._wanted_parts = sides.wanted_parts(subset)
        report.kept = tuple(sides.kept)
        report.notes = file.notes
        takes_apart = any(type(node).__name__ == "MultiHeadAttention" for _, node in sides.modules)
        groups, ignored = self._source.groups(file, takes_apart)
        self._groups = take_apart(groups, [unit for unit in self._units if not unit.kind])
        self._left_out = [LeftOut(name, reason) for name, reason in ignored.items()]
        self._parts = [one for one in self._left_out if file.facts.holder_of(one.name) is not None]
        self._names: Mapping[str, str] = {}
        self._pairs = Pairs()
        self._part_of: dict[int, str] = {}  # of names=, by unit

    # --- pairing ------------------------------------------------------------------------------------------------------

    def pair(self, names: Mapping[str, str]) -> None:
        """Find the group of each unit."""
        self._names = names
        scopes = scopes_of(names, self._units, self._groups, self._file.path)
        units, groups = split_units(self._units, scopes), split_groups(self._groups, scopes)
        scopes = with_rests(scopes, self._units, self._groups)
        if not any(scope.path == "" for scope in scopes):
            scopes = [*scopes, Scope("", self._common_root(units, groups))]
        mark_tied(groups)
        first, twins = without_twins(groups)
        mapped = [scope for scope in scopes if scope.path and scope.name]
        away = frozenset(id(g) for g in groups if any(is_within(g.name, scope.name) for scope in mapped))
        for scoped in divide_by_scope(scopes, units, first):
            given_away = frozenset() if scoped.scope.path else away
            self._part_of |= {id(unit): scoped.scope.path for unit in scoped.units}
            named = [(unit, group) for unit, group, _ in self._pairs.made.values()]
            pairing = self._pairing(units, groups, given_away, named)
            self._pairs.made |= pairing.pair(
                named_units(scoped.units, scoped.scope.path), named_groups(scoped.groups, scoped.scope.name)
            ).made
        taken = self._pairs.taken()
        self._pairs.units = [unit for unit in units if id(unit) not in self._pairs.made]
        self._pairs.groups = [group for group in first if id(group) not in taken]
        self._take_shared(units, groups, twins)

    def _pairing(self, units: list[Unit], groups: list[Group], away: frozenset[int], named: list[Pair]) -> Pairing:
        here, there = named_units(units), named_groups(groups)
        return Pairing(here, there, self._file.keeps_order, self._source.by_name, away, named)

    def _common_root(self, units: list[Unit], groups: list[Group]) -> str:
        """Return the root that the module was in a checkpoint of a whole program."""
        if not self._source.by_name:
            return ""
        names = {group.name for group in groups}
        if any(unit.path in names for unit in units):
            return ""
        roots = dict.fromkeys(name.partition("/")[0] for name in names)
        return next((root for root in roots if all(f"{root}/{unit.path}" in names for unit in units)), "")

    def _take_shared(self, units: list[Unit], groups: list[Group], twins: list[Group]) -> None:
        """Let units share a group: a unit with its name, although ``names`` maps it to another one; untied weights."""
        pairing = self._pairing(units, groups, frozenset(), [])
        found = pairing.pair(named_units(self._pairs.units), named_groups(twins))
        self._pairs.made |= found.made
        self._pairs.units, self._pairs.groups = found.units, [*self._pairs.groups, *found.groups]
        ours = {id(unit): unit.components() for unit in units}
        theirs = {tuple(group.name.replace(".", "/").split("/")): group for group in groups}
        counts = Counting(ours.values(), theirs)
        taken, was = self._pairs.taken(), len(self._pairs.units)
        for unit in list(self._pairs.units):
            group = theirs.get(ours[id(unit)])
            is_same = self._source.by_name or counts.is_same(ours[id(unit)])
            if group is not None and id(group) in taken and is_same and self._pairs.add(unit, group):
                self._pairs.units.remove(unit)
        if len(self._pairs.units) < was:  # once more, since fewer candidates can make a pairing unique
            found = pairing.pair(named_units(self._pairs.units), named_groups(self._pairs.groups))
            self._pairs.made |= found.made
            self._pairs.units, self._pairs.groups = found.units, found.groups

    # --- checking -----------------------------------------------------------------------------------------------------

    def judge(self, cast: str) -> None:
        """Fill the report; raise if the mode does not allow what is in it."""
        report, pairs = self._report, self._pairs
        missing = [unit for unit in pairs.units if unit.is_wanted]
        unused = self._unused_groups([unit for unit in pairs.units if not unit.is_wanted])
        report.missing = tuple(part.path for unit in missing for part in unit.parts)
        taken = {array.name for _, _, all_made in pairs.made.values() for m in all_made for array in m.arrays}
        spare = [array for unit, group, _ in pairs.made.values() if unit.leaves_some for array in group.arrays.values()]
        spare = [array for array in spare if array.name not in taken]
        report.unused = tuple(array.name for group in unused for array in group.arrays.values())
        report.unused += tuple(array.name for array in spare)
        report.left_out = tuple(self._left_out)
        wanted = [made for unit, _, all_made in pairs.made.values() for made in all_made if self._is_made(made)]
        self._wanted = wanted
        conflicts = [
            Conflict(
                DTypeMismatch,
                m.part.path,
                f"{m.arrays[0].name} has dtype {m.arrays[0].dtype}, and the Variable {m.part.variable.dtype}",
            )
            for m in wanted
            if not all(can_cast(array.dtype, m.part.variable.dtype, cast) for array in m.arrays)
        ]
        report.conflicts = tuple(conflicts)
        if report.mode != "overlap" or not wanted:
            conflicts += [
                Conflict(MissingInCheckpoint, unit.path or "the module", self._advice(unit, unused)) for unit in missing
            ]
        if report.mode == "exact":
            conflicts += [
                Conflict(
                    UnusedInCheckpoint,
                    group.name or "the file",
                    f"has {group.shapes()}, and no layer of the program takes it",
                )
                for group in unused
            ]
            conflicts += [Conflict(UnusedInCheckpoint, array.name, "is not used by any Variable") for array in spare]
            conflicts += [Conflict(UnusedInCheckpoint, one.name, f"is {one.reason}") for one in self._parts]
        if conflicts:
            is_dtype = any(conflict.error is DTypeMismatch for conflict in conflicts)
            instead = "" if is_dtype else _PLAIN if self._parts else self._line_to_write(missing, unused)
            raise report.failure(conflicts, "the weights do not fit the program", instead=instead)
        if not wanted:
            raise ArgumentError(
                f"nothing to load from {report.path}",
                "only= and skip= together select no Variable of the program",
                f"load_foreign({report.path!r}, model), which loads all",
            )
        report.tell(partial(tuple, [_make_record(made) for made in wanted]), ())
        report.settings = tuple(
            setting
            for path, node in self._modules
            for setting in differing_settings(node, path or "the module", report.source)
        )

    def _is_made(self, assignment: Made) -> bool:
        return assignment.part.path in self._wanted_parts

    def _unused_groups(self, skipped: list[Unit]) -> list[Group]:
        """Return the groups that no unit uses, except tied ones and those of skipped units."""
        used = [array for _, _, all_made in self._pairs.made.values() for made in all_made for array in made.arrays]
        free: list[Group] = []
        for group in self._pairs.groups:
            twins = find_twins(group, used)
            if twins is None:
                free.append(group)
            else:
                self._left_out += [
                    LeftOut(name, f"equal to {twin}, with which it is tied") for name, twin in twins.items()
                ]
        if len(free) > len(skipped):
            return free
        self._left_out += [
            LeftOut(array.name, "belongs to a part that is skipped")
            for group in free
            for array in group.arrays.values()
        ]
        return []

    def _advice(self, unit: Unit, unused: list[Group]) -> str:
        able = [group.name for group in unused if fit_unit(unit, group)]
        if len(able) > 1:
            return f"needs {unit.shapes()}; several fit, and neither names nor order decide: {', '.join(able[:6])}"
        if able and self._source.by_name:
            return f"needs {unit.shapes()}; {able[0]} has that shape, and another name"
        if able:
            return f"needs {unit.shapes()}; {able[0]} fits, and also fits other layers, and names do not decide"
        same = [group for group in unused if group.name.replace(".", "/") == unit.path]
        there = f"{same[0].name} has {same[0].shapes()}" if same else "no layer of the file fits"
        return f"needs {unit.shapes()}; {there}"

    def _line_to_write(self, missing: list[Unit], unused: list[Group]) -> str:
        """Return what to write where layers have no arrays, or arrays no layer: names= if something could fit."""
        for unit in missing:
            able = [group.name for group in unused if fit_unit(unit, group)]
            below = {name.partition(".")[0]: tuple(name.split(".")[1:]) for name in able}
            if len(below) > 1 and set(below.values()) == {unit.components()}:  # such as an average
                return f'names={{"": {able[0].partition(".")[0]!r}}}, mode="cover", for that part of the file'
            if not unit.kind and not able:
                shape = tuple(unit.parts[0].variable.shape)
                able = [one.name for group in unused for one in group.arrays.values() if one.shape == shape]
            if able:
                names = {**self._names, unit.path: able[0]}
                return f"names={names!r}, if the two belong together; graftax ckpt show lists both"
        if missing:
            path = f"{missing[0].path}/**" if missing[0].kind and missing[0].path else missing[0].path or "**"
            change = "" if not unused else "a program with the shapes of the file; or "
            return (
                f'{change}skip={path!r} for layers that the file does not have, mode="overlap" to load only what fits'
            )
        return 'mode="cover", which lets the file have more than the program needs'

    def warn(self) -> None:
        """Warn of what may be meant otherwise."""
        made = [(unit, group) for unit, group, _ in self._pairs.made.values()]
        is_graph = any(node._gx_parts_by_depth() for _, node in self._modules)
        if not self._source.by_name and not (is_graph and self._report.source == "keras"):
            by_order = [unit.path for unit in paired_by_order(made, self._part_of) if unit.is_wanted]
            self._report.by_order = tuple(by_order)
        warn_of_doubts(self._report, self._file, made, bool(self._names) or is_graph)

    # --- values -------------------------------------------------------------------------------------------------------

    def values(self) -> list[tuple[Made, object]]:
        """Return the values to assign, as arrays of the backend. Nothing after this can fail."""
        read: dict[int, HostArray] = {}
        ready: list[tuple[Made, object]] = []
        for made in self._wanted:
            variable = made.part.variable
            value = made.choice.convert(*(_read_once(read, array) for array in made.arrays))
            arrays = variable._storage.backend.arrays
            ready.append((made, arrays.asarray(cast_to(variable, value).copy(), variable.dtype)))
        return ready


_PLAIN = (
    "plain weights: gx.ungraft(model), and save again; or the same creators in the program, and "
    "gx.Checkpoint(model=model).restore(path)"
)


def _read_once(read: dict[int, HostArray], array: ForeignArray) -> HostArray:
    if id(array) not in read:
        read[id(array)] = array.read()
    return read[id(array)]


def _make_record(assignment: Made) -> Restored:
    names = " + ".join(array.name for array in assignment.arrays)
    array = assignment.arrays[0]
    return Restored(assignment.part.path, names, array.dtype, array.shape, assignment.choice.note)
