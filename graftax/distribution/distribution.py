"""Distribution: the base of what says where Variables lie over a mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.backend.meshes import Axes, Mesh
from graftax.backend.rendezvous import several
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import unwrap
from graftax.distribution import first_run
from graftax.distribution.axes import checked_axes, misfit, size_of
from graftax.distribution.comparison import compare_programs
from graftax.distribution.home import DistributionHome
from graftax.distribution.local_rows import spread_local
from graftax.distribution.mesh import mesh as make_mesh
from graftax.distribution.mesh import require_everyone
from graftax.distribution.moving import place
from graftax.distribution.placing import SPLIT_ROLES, Decision
from graftax.distribution.report import PlacementReport, report
from graftax.distribution.rules import Rule, RuleTallies, checked_rules
from graftax.distribution.scope import DistributionScope
from graftax.variables.creation import scopes
from graftax.variables.graph.module import Module
from graftax.variables.state.home import Described, Housed


class Distribution:
    """Where Variables lie over several devices: the base, which keeps a copy of all on each device, but for rules.

    What is made in its `scope`, or moved by `place`, has a home over the mesh for good: assignments, compiled functions
    and checkpoints leave it there. Layers and optimizers compute the same numbers as on one device, over batches that
    `shard` spreads, as ``fit`` does by itself. Subclasses say more by `axes`.

    Args:
        mesh: From `mesh`. Defaults to None, all devices on one axis ``"data"``.
        rules: Pairs ``(selector, axes)`` for weights and states, with an entry for each dimension: the name of the axis
            that splits it, a tuple of names, or None. The first that selects a weight counts; each must select
            something. Defaults to none.
        data: The axis, or axes, over which the rows of a batch are spread. Defaults to ``"data"``.
        tolerance: The share of bytes that may stay whole on each device although they were to be split. Defaults to
            0.02.

    Raises:
        ArgumentTypeError: a rule is no pair, or ``mesh`` no mesh.
        ArgumentError: the mesh has no axis of a name, or has axes of another type than Auto.

    Example:
        >>> import numpy as np, graftax as gx
        >>> everywhere = Distribution(gx.distribution.mesh(data=1))
        >>> with everywhere.scope():
        ...     layer = gx.layers.Dense(2)
        >>> layer(np.ones((1, 3), "float32")).shape, everywhere.report(layer).rows[0].axes
        ((1, 2), (None, None))
    """

    any_made = False
    """Whether there is one at all; without, nothing looks for it."""

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
        checked_axes((self.data,), self.mesh, f"{type(self).__name__}(data={data!r})")
        self.rules = checked_rules(rules, self.mesh)
        if not 0 <= tolerance <= 1:
            raise ArgumentError(f"tolerance={tolerance!r}", "it is a share of bytes, from 0 to 1", "tolerance=0.02")
        self.tolerance = tolerance
        Distribution.any_made = True
        self._homes: dict[tuple[Axes, Axes | None], DistributionHome] = {}
        self._beside: DistributionHome | None = None

    # --- what subclasses say ------------------------------------------------------------------------------------------

    def axes(self, spec: Described, ruled: Axes) -> Axes:
        """Return where a weight or state is stored; here, as the rules say.

        Args:
            spec: Its path, shape, dtype and role.
            ruled: What the rules say: None for each dimension that none speaks of.
        """
        return ruled

    def _gx_why(self, spec: Described, ruled: Axes, axes: Axes) -> str:
        """Return why `axes` gives another place than the rules; empty where it has nothing to say."""
        return "" if axes == ruled else f"{type(self).__name__}.axes"

    def _gx_unsplit(self, spec: Described, decision: Decision) -> str | None:
        """Return why a weight stays whole that was to be split; None if it was not, or is."""
        return None

    # --- homes --------------------------------------------------------------------------------------------------------

    def decide(self, spec: Described, tallies: RuleTallies | None = None) -> Decision:
        """Return where a Variable is to lie, and why.

        Args:
            spec: The Variable, or its spec.
            tallies: The rules, counting what they select. Defaults to None, not to count.
        """
        if spec.role not in SPLIT_ROLES:
            whole: Axes = (None,) * len(spec.shape)
            return Decision(whole, whole, f"a {spec.role}: a copy on each device")
        ruled, why = (RuleTallies(self.rules) if tallies is None else tallies).axes(spec, self.mesh)
        axes = self.axes(spec, ruled)
        if axes is not ruled:
            axes = checked_axes(axes, self.mesh, f"{type(self).__name__}.axes for {spec.path!r}")
            if (problem := misfit(axes, tuple(spec.shape), self.mesh)) is not None:
                raise ArgumentError(
                    f"{type(self).__name__}.axes gave {axes} for {spec.path!r} of shape {tuple(spec.shape)}", *problem
                )
        reasons = [why, self._gx_why(spec, ruled, axes)]
        return Decision(axes, ruled, "; ".join(reason for reason in reasons if reason))

    def home(self, spec: Described) -> DistributionHome:
        """Return where the Variable of a spec is to lie."""
        return self.home_for(spec, None)

    def home_for(self, spec: Described, tallies: RuleTallies | None) -> DistributionHome:
        """Return the same, with the rules counting what they select."""
        if spec.role not in SPLIT_ROLES:
            return self.home_beside
        decision = self.decide(spec, tallies)
        return self.home_of_axes(decision.axes, decision.ruled)

    def home_of_axes(self, axes: Axes, computed: Axes | None = None) -> DistributionHome:
        """Return a home by its axes; one object for equal ones."""
        key = axes, None if computed is None or computed == axes else computed
        if key not in self._homes:
            self._homes[key] = DistributionHome(self, *key)
        return self._homes[key]

    @property
    def home_beside(self) -> DistributionHome:
        """Return the home of what is in a program with others that were placed, and was not placed itself."""
        if self._beside is None:
            self._beside = DistributionHome(self, (), fixed=False)
        return self._beside

    # --- what users do ------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[Distribution]:
        """Let all Variables that are made in the block, or by layers that are constructed in it, lie over the mesh.

        Raises:
            SelectorError: at the end of the block, or once all that was constructed in it is built: a rule selects
                nothing.
            ArgumentError: at the creation of a Variable: a rule does not fit its shape.
            StateError: inside of a block of ``graftax.device``.
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
        """Move what is there already to where it would have been made, and return what lies where.

        Slots follow their variables: those of the optimizer that a model was compiled with, and of optimizers among the
        modules. Compiled functions trace anew.

        Args:
            *modules: Models, layers, optimizers.

        Raises:
            SelectorError: a rule selects nothing; then nothing has moved.
            ArgumentError: a rule does not fit a shape, or there is no Variable yet; then nothing has moved.
        """
        place(self, modules)
        return self.report(*modules)

    @door
    def shard(self, batch: Any, *, rows: str = "global") -> Any:
        """Return a batch whose rows are spread over the data axes, each device with its share.

        Where the rows cannot be shared equally, as in a last batch, each device gets all of them: the numbers are the
        same, and that step takes longer. What is on the mesh already stays as it is; so does all on one device.

        Args:
            batch: Arrays in any structure; None stays None.
            rows: With several processes: ``"global"`` where each gives all rows, the same ones, or ``"local"`` where
                each gives its own, equally many. Defaults to ``"global"``.

        Raises:
            ArgumentError: there is no such choice.
            DataError: the devices of a process cannot share its own rows equally.

        Example:
            >>> import numpy as np, graftax as gx
            >>> x, y = gx.distribution.DataParallel(gx.distribution.mesh(data=1)).shard((np.ones((4, 3)), np.ones(4)))
            >>> x.shape, y.shape
            ((4, 3), (4,))
        """
        if rows not in ("global", "local"):
            raise ArgumentError(f"rows={rows!r}", "there is no such choice", 'rows="global" or rows="local"')
        return self._gx_shard(batch, local=rows == "local")

    def _gx_shard(self, batch: Any, steps: bool = False, local: bool = False) -> Any:
        """Return a batch spread over the data axes; its first axis may count steps, its rows be those of a process."""
        if self.count == 1:
            return batch
        local = local and several() is not None
        return tree.map_structure(lambda leaf: self._spread(leaf, int(steps), local), batch)

    def _spread(self, leaf: Any, before: int, local: bool = False) -> Any:
        meshes = self.backend.meshes
        leaf = unwrap(leaf)
        if leaf is None or meshes.mesh_of(leaf) == self.mesh:
            return leaf
        if not hasattr(leaf, "shape"):
            leaf = np.asarray(leaf)
        if leaf.dtype.kind in "OSUMm":  # text and objects stay on the host
            return leaf
        if local and len(leaf.shape) > before:
            return spread_local(self, np.asarray(leaf, self.backend.arrays.canonical_dtype(leaf.dtype)), before)
        rows = len(leaf.shape) > before and leaf.shape[before] % size_of(self.mesh, self.data) == 0
        axes: Axes = (*(None,) * before, self.data) if rows else ()
        if not self.backend.arrays.is_array(leaf):
            leaf = np.asarray(leaf, self.backend.arrays.canonical_dtype(leaf.dtype))
        return meshes.place(leaf, meshes.sharding(self.mesh, axes))

    @door
    def gather(self, values: Any) -> Any:
        """Return arrays and Variables as whole NumPy arrays, on every process; all processes call it.

        Args:
            values: Arrays and Variables in any structure.
        """
        return tree.map_structure(lambda leaf: self.backend.meshes.gather(unwrap(leaf)), values)

    @door
    def report(self, *modules: Module) -> PlacementReport:
        """Return what lies where, as a table to be printed, with ``rows``.

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
