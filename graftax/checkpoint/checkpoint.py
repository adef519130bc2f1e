"""The class Checkpoint: saves the objects of a program, or a part of them, and restores their values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from graftax.checkpoint.awaited import Awaited
from graftax.checkpoint.background import Background
from graftax.checkpoint.choices import Choices, check_renames
from graftax.checkpoint.folder_names import check_folder_name
from graftax.checkpoint.graph import Graph, Root
from graftax.checkpoint.places import place_of
from graftax.checkpoint.report import RestoreReport
from graftax.checkpoint.restore import restore
from graftax.checkpoint.save import Preparation, SaveReport, write
from graftax.checkpoint.subset import Subset
from graftax.core.argument_kinds import checked_flag
from graftax.core.errors import ArgumentError
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door


class Checkpoint(Awaited):
    """Objects of a program under names: models, optimizers, counters, anything that holds Variables.

    The graph of the objects is saved, not a list of names: a restore follows the attributes, indices and keys that
    lead to a Variable, never its name. A Variable that several objects share is saved once. The slots of an optimizer
    are saved with a reference to their Variable, so they are found again even if the Variable has another path.

    A ``with`` block waits at its end for an asynchronous save, and raises if it failed.

    Args:
        roots: Names and objects: Modules, Variables, or lists, tuples and dicts of them.

    Raises:
        ArgumentTypeError: a root is none of these.

    Example:
        >>> import os, tempfile
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, 2.0])
        >>> path = os.path.join(tempfile.mkdtemp(), "first")
        >>> report = Checkpoint(w=w).save(path)
        >>> _ = w.assign([0.0, 0.0])
        >>> _ = Checkpoint(w=w).restore(path).assert_consumed()
        >>> w.numpy().tolist()
        [1.0, 2.0]
    """

    @door
    def __init__(self, **roots: Root) -> None:
        if not roots:
            raise ArgumentError("Checkpoint()", "there is nothing to save or restore", "Checkpoint(model=model)")
        self.roots = dict(roots)
        self._preparation = Preparation(self.roots)
        self._background: Background[SaveReport] = Background()
        Graph(self.roots, settles=False)  # an invalid root raises here rather than at the first save

    @door
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        only: SelectorLike | None = None,
        skip: SelectorLike | None = None,
        step: int | None = None,
        meta: Mapping[str, Any] | None = None,
        base: str | os.PathLike[str] | None = None,
        async_: bool = False,
    ) -> SaveReport:
        """Save to exactly this path. The directory appears as a whole or not at all.

        Values of an earlier restore that still wait for layers to be built are saved again, slots included; see
        `SaveReport.waiting`. With several processes, all of them call `save`, and each writes its share.

        Args:
            path: The directory to create, or a URL.
            overwrite: Replace an existing checkpoint, in one step. Defaults to False.
            only: Save only what this selects, see `graftax.select`: for example globs of paths that begin with the
                name of a root, ``"model/encoder/**"``, or ``gx.is_adapter``. Defaults to everything.
            skip: Do not save what this selects. Defaults to nothing.
            step: The training step, as metadata for listings. Defaults to None.
            meta: Values of your own: numbers, text, lists, dicts. Defaults to none.
            base: Another checkpoint in the same folder. Arrays that it also has (same dtype, shape and checksums) are
                not written again but referred to, so a frozen base model is written once. While other checkpoints
                refer to it, it is neither replaced nor pruned. Defaults to None.
            async_: Return as soon as all values are captured, and write in a background thread. The values are those of
                the time of the call, whatever is assigned or trained meanwhile. One save runs at a time: the next
                one waits for it. See `wait`. Defaults to False.

        Raises:
            DestinationExists: something exists at the path already.
            CheckpointInUse: other checkpoints refer to the one that would be replaced.
            StorageFull, StorageFailure: the checkpoint could not be written; nothing was published.
            SaveError: another process failed, timed out, died, or would save something else; nothing was published.
            UnsupportedValue: some Python state or dtype cannot be saved.
            AsyncSaveFailed: the asynchronous save before this one failed.
            SelectorError: a selector matches nothing.
            StateError: the call is inside a function that is being compiled, where Variables have no values.
            ArgumentError: the path has the ending of another format, such as ``.h5``.
        """
        place_of(path)
        check_folder_name(path)
        overwrite, async_ = checked_flag("overwrite", overwrite), checked_flag("async_", async_)
        self._background.wait()
        prepared = self._preparation.prepare(path, Subset(only, skip), step, meta)
        if not async_:
            return write(path, prepared, overwrite=overwrite, base=base)
        self._background.submit(
            f"the save of {os.fspath(path)}", lambda: write(path, prepared, overwrite=overwrite, base=base)
        )
        return prepared.report(os.fspath(path))

    @door
    def wait(self) -> SaveReport | None:
        """Wait for the asynchronous save, and return its report; None if there was none.

        Raises:
            AsyncSaveFailed: the save failed. A failure that is never waited for is raised by the next save, or printed
                when Python exits.

        Example:
            >>> import os, tempfile
            >>> import graftax as gx
            >>> checkpoint = Checkpoint(w=gx.Variable([1.0, 2.0]))
            >>> path = os.path.join(tempfile.mkdtemp(), "first")
            >>> checkpoint.save(path, async_=True).arrays
            1
            >>> checkpoint.wait().path == path
            True
        """
        return self._background.wait()

    @door
    def restore(
        self,
        path: str | os.PathLike[str] | None,
        *,
        only: SelectorLike | None = None,
        skip: SelectorLike | None = None,
        map: Mapping[str, str] | None = None,
        mode: str = "exact",
        cast: str = "exact",
        trainable: str | None = None,
        settings: str = "same",
    ) -> RestoreReport:
        """Restore the saved values of the objects, all or none: if anything fails, nothing is changed.

        This holds for Variables, Python state and slots, and also after Ctrl-C. Values for layers that are not
        built yet wait for their Variables; `RestoreReport.assert_consumed` checks that all have arrived. In modes
        ``"exact"`` and ``"cover"``, the build of such a layer raises `MissingInCheckpoint` if one of its weights has no
        saved value. With several processes, all of them call `restore`, and all assign or none.

        Slots are restored with their Variable, and only into an optimizer of the class that they were saved from. The
        global seed and its stream are restored in mode ``"exact"`` without ``only``, or if ``only`` selects
        ``"gx.random"``.

        Args:
            path: A checkpoint. None restores nothing, so that ``restore(latest)`` works before the first save.
            only: Restore only what this selects, by paths of the program that begin with the name of a root, such as
                ``"model/head/**"`` for a whole layer. Defaults to everything.
            skip: Do not restore what this selects, nor the slots that belong to it. Defaults to nothing.
            map: Paths of the program and the paths of the checkpoint that they take their values from, layers with all
                that they hold among them (``{"model/head": "model/classifier"}``, built or not): any that
                ``graftax ckpt show`` prints, those of slots included, or globs on both sides, whose stars stand for the
                same text. What is given away is gone from its old place; to take a value twice, name both places.
            mode: ``"exact"``: nothing unmatched on either side of the parts asked for; ``"cover"``: every Variable gets
                a value; ``"overlap"``: whatever matches, at least one value for each root.
            cast: ``"exact"``: dtypes must agree; ``"safe"``: widening is allowed; ``"any"``: everything is.
            trainable: ``"saved"``: what is restored is trained or frozen as it was saved; ``"program"``: as it is in
                the program. Defaults to ``"saved"`` in mode ``"exact"`` without ``only``, else to ``"program"``; the
                report lists what differs, and a warning tells what is unfrozen without being asked for. Weights that
                are restored as a whole also use the adapters that were in use, in their order, unless the mode is
                ``"overlap"`` or this is ``"program"``.
            settings: ``"same"``: an expression must have the settings with which it was saved, such as the ``scale`` of
                LoRA or the ``bits`` of FakeQuant, since the same parts would give another weight, and a metric those
                with which it has counted, such as the ``threshold`` of Precision; ``"saved"``: the saved ones are
                assigned to its attributes, except functions, which no file has; ``"program"``: those of the program
                stay. The report lists what differed. Defaults to ``"same"``.

        Raises:
            MatchError: checkpoint and program do not match; a subclass says how. It lists all conflicts, and has the
                report.
            NotACheckpoint, IncompleteCheckpoint: there is no complete checkpoint at the path.
            CorruptCheckpoint, UnsafeCheckpoint: the checkpoint is damaged, or must not be read.
            ProcessError: another process failed, timed out, died, or would restore something else.
            SelectorError: a selector matches nothing.
            ArgumentError: ``map`` names a path that the program does not have, or one that is left out; or a mode does
                not exist.

        Example:
            >>> import os, tempfile
            >>> import graftax as gx
            >>> path = os.path.join(tempfile.mkdtemp(), "old")
            >>> old = {"first": gx.Variable(1.0), "second": gx.Variable(2.0)}
            >>> _ = Checkpoint(layers=old).save(path)
            >>> new = {"first": gx.Variable(0.0), "middle": gx.Variable(0.5), "last": gx.Variable(0.0)}
            >>> report = Checkpoint(layers=new).restore(
            ...     path, map={"layers/last": "layers/second"}, skip="layers/middle"
            ... )
            >>> {name: float(v) for name, v in new.items()}
            {'first': 1.0, 'middle': 0.5, 'last': 2.0}
        """
        choices = Choices(mode, cast, trainable, settings)
        choices.check()
        check_renames(map)
        subset = Subset(only, skip)
        if path is None:
            return RestoreReport(None)
        place_of(path)
        return restore(path, self.roots, subset, dict(map or {}), choices)

    def __repr__(self) -> str:
        return f"Checkpoint({', '.join(f'{name}={type(root).__name__}' for name, root in self.roots.items())})"
