"""Distribution: the base class of all placements of Variables over a mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.backend.host import check_plain
from graftax.backend.meshes import Axes, Mesh
from graftax.backend.rendezvous import process_group
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import unwrap
from graftax.distribution import first_run
from graftax.distribution.axes import check_axes, misfit, size_of
from graftax.distribution.comparison import compare_programs
from graftax.distribution.home import DistributionHome
from graftax.distribution.local_rows import join_local_rows
from graftax.distribution.mesh import mesh as make_mesh
from graftax.distribution.mesh import require_everyone
from graftax.distribution.moving import place
from graftax.distribution.placing import SPLIT_ROLES, Decision
from graftax.distribution.report import PlacementReport, report
from graftax.distribution.rules import Rule, RuleTallies, check_rules
from graftax.distribution.scope import DistributionScope
from graftax.variables.creation import scopes
from graftax.variables.graph.module import Module
from graftax.variables.state.home import Described, Housed


class Distribution:
    """The placement of Variables over several devices. The base class replicates all that no rule selects.

    Variables created in its `scope`, or moved by `place`, keep their placement over the mesh in assignments, compiled
    functions and checkpoints. Layers and optimizers compute the same numbers as on one device, on batches that `shard`
    has sharded; ``fit`` does this automatically. Subclasses override `axes`.

    Args:
        mesh: A result of `mesh`. Defaults to None: all devices on one axis ``"data"``.
        rules: Pairs ``(selector, axes)`` for weights and states, with an entry for each dimension: the name of the axis
            that splits it, a tuple of names, or None. The first rule that selects a weight is used; each rule must
            select something. Defaults to none.
        data: The axis, or axes, over which the rows of a batch are sharded. Defaults to ``"data"``.
        tolerance: The fraction of bytes, from 0 to 1, that may stay replicated although they should be sharded.
            Defaults to 0.02.

    Raises:
        ArgumentTypeError: a rule is not a pair, or ``mesh`` is not a mesh.
        ArgumentError: the mesh has no axis of a name, or has axes of a type other than Auto.

    Example:
        >>> import numpy as np, graftax as gx
        >>> everywhere = Distribution(gx.distribution.mesh(data=1))
        >>> with everywhere.scope():
        ...     layer = gx.layers.Dense(2)
        >>> layer(np.ones((1, 3), "float32")).shape, everywhere.report(layer).rows[0].axes
        ((1, 2), (None, None))
    """

    any_made = False
    """Whether any distribution exists; otherwise no code searches for one."""

    @door
    def __init__(
        self,
        mesh: Mesh | None = None,
        rules: Sequence[Rule] = (),
        *,
        data: str | tuple[str, ...] = "data",
        tolerance: float = 0.02,
    ) -> None:
        self.backend = registry.current()
        self.mesh: Mesh = make_mesh() if mesh is None else mesh
        if not self.backend.meshes.is_automatic(self.mesh):
            raise ArgumentTypeError(
                f"{type(self).__name__} got a mesh {self.mesh!r:.80}",
                "layers are written for arrays of which the compiler alone knows where they lie: all axes are of the "
                "type Auto",
                "graftax.distribution.mesh(data=4, model=2)",
            )
        require_everyone(self.mesh)
        self.data: tuple[str, ...] = (data,) if isinstance(data, str) else tuple(data)
        check_axes((self.data,), self.mesh, f"{type(self).__name__}(data={data!r})")
        self.rules = check_rules(rules, self.mesh)
        if not 0 <= tolerance <= 1:
            raise ArgumentError(f"tolerance={tolerance!r}", "it is a share of bytes, from 0 to 1", "tolerance=0.02")
        self.tolerance = tolerance
        Distribution.any_made = True
        self._homes: dict[tuple[Axes, Axes | None], DistributionHome] = {}
        self._beside: DistributionHome | None = None

    # --- for subclasses -----------------------------------------------------------------------------------------------

    def axes(self, spec: Described, ruled: Axes) -> Axes:
        """Return the axes of a stored weight or state; in the base class, those of the rules.

        Args:
            spec: The path, shape, dtype and role of the Variable.
            ruled: The axes by the rules, with None for each dimension without one.
        """
        return ruled

    def _gx_why(self, spec: Described, ruled: Axes, axes: Axes) -> str:
        """Return the reason why `axes` differs from the rules; empty if it does not."""
        return "" if axes == ruled else f"{type(self).__name__}.axes"

    def _gx_unsplit(self, spec: Described, decision: Decision) -> str | None:
        """Return why a weight that should be sharded stays whole; None for other weights."""
        return None

    # --- homes --------------------------------------------------------------------------------------------------------

    def decide(self, spec: Described, tallies: RuleTallies | None = None) -> Decision:
        """Return the placement of a Variable, with its reason.

        Args:
            spec: The Variable, or its spec.
            tallies: Counts what the rules select. Defaults to None: not counted.
        """
        if spec.role not in SPLIT_ROLES:
            whole: Axes = (None,) * len(spec.shape)
            return Decision(whole, whole, f"a {spec.role}: a copy on each device")
        ruled, why = (RuleTallies(self.rules) if tallies is None else tallies).axes(spec, self.mesh)
        axes = self.axes(spec, ruled)
        if axes is not ruled:
            axes = check_axes(axes, self.mesh, f"{type(self).__name__}.axes for {spec.path!r}")
            if (problem := misfit(axes, tuple(spec.shape), self.mesh)) is not None:
                raise ArgumentError(
                    f"{type(self).__name__}.axes gave {axes} for {spec.path!r} of shape {tuple(spec.shape)}", *problem
                )
        reasons = [why, self._gx_why(spec, ruled, axes)]
        return Decision(axes, ruled, "; ".join(reason for reason in reasons if reason))

    def home(self, spec: Described) -> DistributionHome:
        """Return the home of the Variable of a spec."""
        return self.home_for(spec, None)

    def home_for(self, spec: Described, tallies: RuleTallies | None) -> DistributionHome:
        """Return the home of the Variable of a spec, and count what the rules select."""
        if spec.role not in SPLIT_ROLES:
            return self.home_beside
        decision = self.decide(spec, tallies)
        return self.home_of_axes(decision.axes, decision.ruled)

    def home_of_axes(self, axes: Axes, computed: Axes | None = None) -> DistributionHome:
        """Return the home with these axes: the same object for equal axes."""
        key = axes, None if computed is None or computed == axes else computed
        if key not in self._homes:
            self._homes[key] = DistributionHome(self, *key)
        return self._homes[key]

    @property
    def home_beside(self) -> DistributionHome:
        """Return the home of Variables that were not placed but are used in a program with placed ones."""
        if self._beside is None:
            self._beside = DistributionHome(self, (), fixed=False)
        return self._beside

    # --- for users ----------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[Distribution]:
        """Place all Variables that are created in the block, or by layers constructed in it, over the mesh.

        Raises:
            SelectorError: at the end of the block, or when all layers constructed in it are built, if a rule has
                selected nothing.
            ArgumentError: at the creation of a Variable, if a rule does not fit its shape.
            StateError: the call is inside of a block of ``graftax.device``.
        """
        scope = DistributionScope(self)
        try:
            with scopes.entered(scope):
                yield self
        finally:
            scope.closed = True
        scope.check()

    @door
    def place(self, *modules: Module) -> PlacementReport:
        """Move existing Variables to the placement that they would have got in `scope`, and return a report.

        Slots are moved with their Variables: those of the optimizer of a compiled model, and of optimizers among the
        modules. Compiled functions are traced again.

        Args:
            *modules: Models, layers, optimizers.

        Raises:
            SelectorError: a rule selects nothing; nothing has been moved.
            ArgumentError: a rule does not fit a shape, or there are no Variables yet; nothing has been moved.
        """
        place(self, modules)
        return self.report(*modules)

    @door
    def shard(self, batch: Any, *, rows: str = "global") -> Any:
        """Return a batch whose rows are sharded over the data axes.

        If the number of rows is not divisible, as in a last batch, each device gets all rows: the numbers are the same,
        but the step takes longer. Arrays that are on the mesh already, or for a mesh of one device, are unchanged.

        Args:
            batch: Arrays in any structure; None stays None.
            rows: With several processes: ``"global"`` if each passes the same rows, all of them; ``"local"`` if each
                passes its own rows, equally many. Defaults to ``"global"``.

        Raises:
            ArgumentError: ``rows`` is neither.
            ArgumentTypeError: an array of NumPy is masked, or structured.
            DataError: the number of local rows is not divisible by the devices of the process.

        Example:
            >>> import numpy as np, graftax as gx
            >>> x, y = gx.distribution.DataParallel(gx.distribution.mesh(data=1)).shard((np.ones((4, 3)), np.ones(4)))
            >>> x.shape, y.shape
            ((4, 3), (4,))
        """
        if rows not in ("global", "local"):
            raise ArgumentError(f"rows={rows!r}", "there is no such choice", 'rows="global" or rows="local"')
        for leaf in tree.flatten(batch):  # also where there is one device, and nothing to do
            check_plain(leaf, "the batch")
        return self._gx_shard(batch, local=rows == "local")

    def _gx_shard(self, batch: Any, steps: bool = False, local: bool = False) -> Any:
        """Return a sharded batch; its first axis may be that of steps, and its rows may be local ones."""
        if self.count == 1:
            return batch
        local = local and process_group() is not None
        return tree.map_structure(lambda leaf: self._spread(leaf, int(steps), local), batch)

    def _spread(self, leaf: Any, before: int, local: bool = False) -> Any:
        meshes = self.backend.meshes
        leaf = unwrap(leaf)
        if leaf is None or meshes.mesh_of(leaf) == self.mesh:
            return leaf
        check_plain(leaf, "the batch")
        if not hasattr(leaf, "shape"):
            leaf = np.asarray(leaf)
        if leaf.dtype.kind in "OSUMm":  # text and objects stay on the host
            return leaf
        if local and len(leaf.shape) > before:
            return join_local_rows(self, np.asarray(leaf, self.backend.arrays.canonical_dtype(leaf.dtype)), before)
        rows = len(leaf.shape) > before and leaf.shape[before] % size_of(self.mesh, self.data) == 0
        axes: Axes = (*(None,) * before, self.data) if rows else ()
        if not self.backend.arrays.is_array(leaf):
            leaf = np.asarray(leaf, self.backend.arrays.canonical_dtype(leaf.dtype))
        return meshes.place(leaf, meshes.sharding(self.mesh, axes))

    @door
    def gather(self, values: Any) -> Any:
        """Return arrays and Variables as whole NumPy arrays in every process. All processes must call it.

        Args:
            values: Arrays and Variables in any structure.
        """
        return tree.map_structure(lambda leaf: self.backend.meshes.gather(unwrap(leaf)), values)

    @door
    def report(self, *modules: Module) -> PlacementReport:
        """Return the placement of all Variables, as a table to print, with ``rows``.

        Args:
            *modules: Models, layers, optimizers.

        Example:
            >>> import graftax as gx
            >>> d = gx.distribution.DataParallel(gx.distribution.mesh(data=1))
            >>> with d.scope():
            ...     layer = gx.layers.Dense(2)
            >>> layer.build((None, 3))
            >>> [(row.path, row.bytes, row.bytes_per_device) for row in d.report(layer).rows]
            [('kernel', 24, 24), ('bias', 8, 8)]
        """
        return report(self, modules)

    def _gx_before_first_run(
        self, cells: Sequence[Housed], arguments: Sequence[Any], writes: bool, text: Callable[[], str]
    ) -> None:
        compare_programs(self, cells, arguments, text)
        first_run.require_split(self, cells)
        if writes:
            first_run.warn_of_whole_batches(self, cells, arguments)

    @property
    def count(self) -> int:
        """Return the number of devices."""
        return math.prod(self.mesh.shape.values())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.mesh.shape.items())
        return f"{type(self).__name__}(mesh({sizes}){f', {len(self.rules)} rules' if self.rules else ''})"
