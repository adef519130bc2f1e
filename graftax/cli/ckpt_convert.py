"""``graftax ckpt convert SOURCE --to DEST``: checkpoints into files of others, files of others into checkpoints."""

from argparse import Namespace

from graftax.checkpoint.derived.opening import sheet_of_file
from graftax.checkpoint.export import SUFFIXES, export
from graftax.checkpoint.foreign.opening import READERS, open_weights
from graftax.cli.output import escape_control, print_json
from graftax.cli.selection import chosen
from graftax.cli.written import write
from graftax.core.errors import ArgumentError


def run(options: Namespace) -> int:
    """Write what the source holds, in the format that the name of the destination asks for."""
    if options.to.endswith(SUFFIXES):
        return _to_file(options)
    if options.to.endswith(tuple(READERS)):
        raise ArgumentError(
            f"--to {options.to}",
            f"a checkpoint is written, or one of {', '.join(SUFFIXES)}",
            "--to out.safetensors",
        )
    with open_weights(options.source) as file:
        return write(sheet_of_file(file, chosen(options)), options)


def _to_file(options: Namespace) -> int:
    if options.source.endswith(tuple(READERS)):
        raise ArgumentError(
            f"{options.source} into {options.to}",
            "a file of others becomes a checkpoint first, whose names are paths",
            f"graftax ckpt convert {options.source} --to DIR, then DIR --to {options.to}",
        )
    if options.overwrite:
        raise ArgumentError("--overwrite", "a file that is there is not replaced", "remove it first")
    report = export(options.source, options.to, chosen(options))
    if options.json:
        print_json(report._asdict())
        return 0
    print(f"wrote {report.arrays:,} arrays to {escape_control(report.path)}")
    for path in report.left_out:
        print(f"  left out {escape_control(path)}: it is no array")
    for dtype in report.not_of_numpy:
        print(f"  {dtype} is no dtype of NumPy's own: whoever reads the file with NumPy imports ml_dtypes first")
    return 0
