"""``graftax ckpt restore CKPT TARGET`` and ``graftax ckpt restore CKPT OUT.npz``."""

from argparse import Namespace

from graftax.checkpoint.export import SUFFIXES, export
from graftax.checkpoint.subset import Subset
from graftax.cli.output import print_json
from graftax.cli.selection import pairs
from graftax.cli.target import build
from graftax.core.errors import ArgumentError


def run(options: Namespace) -> int:
    """Restore into the objects of a target and show the report; or write arrays to a file of another tool."""
    if options.overwrite and not options.out:
        is_file = options.target.endswith(SUFFIXES)
        why = "a file that is there is not replaced" if is_file else "nothing is saved"
        raise ArgumentError(
            "--overwrite without --save", why, "remove it first" if is_file else "--save OUT --overwrite"
        )
    if options.target.endswith(SUFFIXES):
        return _to_file(options)
    checkpoint = build(options.target)
    report = checkpoint.restore(
        options.checkpoint,
        only=options.only,
        skip=options.skip,
        map=pairs(options.map, "PROGRAM=CKPT"),
        mode=options.mode or "exact",
        cast=options.cast or "exact",
        settings=options.settings or "same",
        trainable=options.trainable,
    )
    saved = None
    if options.out:
        if report.deferred:
            report.assert_consumed()  # what waits for Variables would not be saved
        saved = checkpoint.save(options.out, overwrite=options.overwrite, step=report.step, meta=report.meta)
    if options.json:
        print_json({**report.as_dict(), "saved": None if saved is None else saved._asdict()})
    else:
        print(report.details() if options.details else report.summary("--details"))
        if saved is not None:
            print(saved)
    return 0


def _to_file(options: Namespace) -> int:
    refused = ("map", "mode", "cast", "settings", "trainable", "out", "details")
    given = [name for name in refused if getattr(options, name)]
    if given:
        names = ", ".join("--save" if name == "out" else f"--{name}" for name in given)
        raise ArgumentError(
            f"{names} with {options.target}",
            "a file holds the arrays as they were saved",
            f"graftax ckpt restore {options.checkpoint} {options.target}",
        )
    report = export(options.checkpoint, options.target, Subset(options.only, options.skip))
    if options.json:
        print_json(report._asdict())
        return 0
    print(f"wrote {report.arrays:,} arrays to {report.path}")
    for path in report.left_out:
        print(f"  left out {path}: it is no array")
    for dtype in report.not_of_numpy:
        print(f"  {dtype} is no dtype of NumPy's own: whoever reads the file with NumPy imports ml_dtypes first")
    return 0
