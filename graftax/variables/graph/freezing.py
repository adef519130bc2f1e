"""Freezing: what of a Module is trained, and what stays as it is for a while."""

from __future__ import annotations

from collections.abc import Iterator

from graftax.core.argument_kinds import checked_flag
from graftax.core.errors import SelectorError
from graftax.core.selectors import SelectorLike, compile_selector
from graftax.core.short_traceback import door
from graftax.core.tally import pick
from graftax.core.undefined import undefined_error
from graftax.variables.graph.candidates import candidates
from graftax.variables.graph.node import Branch, Edge, Leaf, Node
from graftax.variables.graph.structure import structure
from graftax.variables.state import storage


class Freezing(Branch):
    """The part of a Module that says what of it is trained.

    What is frozen has no gradient among those of ``trainable_variables``, no optimizer moves or decays it, and what one
    keeps for it stays as it is. A compiled function notices, and is traced once more.
    """

    _gx_frozen = False

    def _gx_walk(self) -> Iterator[tuple[tuple[Edge, ...], Node]]:
        """Yield this and every Node below it, with its edges."""
        raise undefined_error(self, "_gx_walk()")

    @property
    def trainable(self) -> bool:
        """Return False if it was frozen as a whole; assigning False freezes every Variable below, True undoes that.

        Those that are still to be made count, too. A `BatchNormalization` that is frozen in this way computes in
        training as in inference, as in Keras; after `freeze`, which is about weights alone, it goes on with batches.
        """
        storage.touch(self)
        return not self._gx_frozen

    @trainable.setter
    def trainable(self, value: bool) -> None:
        value = checked_flag("trainable", value)
        try:
            for _, node in self._gx_walk():
                if isinstance(node, Leaf):
                    storage.changing(node, "trainable")
                    node.trainability = node.trainability.with_frozen(not value)
                elif isinstance(node, Freezing):
                    storage.changing(node, "_gx_frozen")
                    object.__setattr__(node, "_gx_frozen", not value)
        finally:
            structure.bump()  # after the change: another thread looks again as soon as it counts

    @door
    def freeze(self, where: SelectorLike = "**") -> list[str]:
        """Keep Variables as they are until they are unfrozen.

        A layer computes as before: a `BatchNormalization` goes on normalizing by batches and moving its averages, which
        ``layer.trainable = False`` ends.

        Args:
            where: Which of those that were made to be trained, by any of their paths from here; the parts of a weight
                that is an expression with it. Defaults to ``"**"``, all.

        Returns:
            Their paths.

        Raises:
            SelectorError: ``where``, or a part of it, matches none of them.

        Example:
            >>> import numpy as np, graftax as gx
            >>> model = gx.Sequential([gx.layers.Dense(4), gx.layers.Dense(2)])
            >>> y = model(np.ones((1, 3), "float32"))
            >>> model.freeze(~gx.select("layers/1/**"))
            ['layers/0/kernel', 'layers/0/bias']
            >>> [v.path for v in model.trainable_variables]
            ['layers/1/kernel', 'layers/1/bias']
            >>> model.unfreeze("**/bias")
            ['layers/0/bias', 'layers/1/bias']
        """
        return self._gx_set_frozen(where, True)

    @door
    def unfreeze(self, where: SelectorLike = "**") -> list[str]:
        """Let Variables be trained again that are frozen; what was made not to be trained stays so.

        What an expression keeps as it is, such as the base beneath LoRA, is no longer frozen, but rests until the
        expression is gone: it is not among the paths.

        Args:
            where: Which of those that were made to be trained, by any of their paths from here. Defaults to ``"**"``,
                all.

        Returns:
            The paths of those that are trained now.

        Raises:
            SelectorError: ``where``, or a part of it, matches none of them, or only some that rest.
        """
        return self._gx_set_frozen(where, False)

    def _gx_set_frozen(self, where: SelectorLike, frozen: bool) -> list[str]:
        known = [one for one in candidates(self._gx_walk()) if one.variable.trainability.made]
        what = "freeze: where" if frozen else "unfreeze: where"
        chosen = pick(compile_selector(where), [(one.paths, one.variable) for one in known], what)
        picked = {id(variable) for variable in chosen}
        if not frozen and all(variable.trainability.resting for variable in chosen):
            paths = [one.path for one in known if id(one.variable) in picked]
            raise SelectorError(
                f"{what}={where!r:.60} matches {', '.join(paths[:3])}{', …' if len(paths) > 3 else ''}",
                "an expression keeps each of these as it is: a base beneath adapters, or an adapter that is not in use",
                "gx.adapters.use(model, name), or gx.adapters.merge(model, name), for one that is to be trained",
            )
        for variable in chosen:
            storage.changing(variable, "trainable")
            variable.trainability = variable.trainability.with_frozen(frozen)
        structure.bump()
        now = [one for one in known if id(one.variable) in picked]
        return [one.path for one in now if frozen or not one.variable.trainability.resting]
