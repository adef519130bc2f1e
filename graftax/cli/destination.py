"""Where a command writes: ``--to DEST``, or ``DEST`` as the last word, for every command that writes a checkpoint."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from graftax.core.errors import ArgumentError

_LAST_WORDS = (["ckpt", "save"], ["ckpt", "restore"])
"""Commands whose last word says where they write, in any case."""


def parse(parser: ArgumentParser, argv: Sequence[str]) -> Namespace:
    """Return the options of a command line, with ``to`` where the command has a destination.

    Raises:
        ArgumentError: there is no destination, or there are two.
    """
    words = list(argv)
    if words[:2] in _LAST_WORDS:
        words = _with_last_word(words)
    options, rest = parser.parse_known_args(words)
    if "dest" in options and options.dest is None and rest and not rest[0].startswith("-"):
        options.dest = rest.pop(0)  # behind options, where argparse looks for no word that may be missing
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if "dest" in options:
        options.to = _destination(options)
    return options


def _with_last_word(words: list[str]) -> list[str]:
    """Return the words with the value of ``--to`` as the last one."""
    for i, word in enumerate(words):
        if word == "--to" and i + 1 < len(words):
            return [*words[:i], *words[i + 2 :], words[i + 1]]
        if word.startswith("--to="):
            return [*words[:i], *words[i + 1 :], word[len("--to=") :]]
    return words


def _destination(options: Namespace) -> str:
    command = options.module.replace("_", " ")
    sources: list[str] | None = getattr(options, "checkpoints", None)
    if options.dest is not None and options.to is not None:
        raise ArgumentError(f"{command} with {options.dest!r} and --to {options.to!r}", "one of them is written", "one")
    found: str | None = options.dest if options.to is None else options.to
    if found is None and sources is not None and len(sources) > 1:
        if options.overwrite:
            raise ArgumentError(
                f"{command} {' '.join(sources)} --overwrite, without --to",
                f"{sources[-1]} would be replaced, which may be meant as one of the sources",
                f"--to {sources[-1]}",
            )
        found = sources.pop()
    if found is None:
        raise ArgumentError(f"{command} without a destination", "nothing says what is to be written", "--to DEST")
    return found
