"""TextVectorization: texts as numbers of their words."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.core.user_functions import check_takes
from graftax.layers.arguments import check_flag, check_positive
from graftax.layers.host_array import host_array
from graftax.layers.lookup import NOWHERE, Lookup, batches_of
from graftax.layers.policy import DTypePolicy

_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
_STANDARD: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "strip_punctuation": lambda text: _PUNCTUATION.sub("", text),
    "lower_and_strip_punctuation": lambda text: _PUNCTUATION.sub("", text.lower()),
}
_SPLIT: dict[str, Callable[[str], list[str]]] = {"whitespace": str.split, "character": list}


class TextVectorization(Lookup):
    """Texts as the places of their words in a vocabulary, or as counts of them.

    It computes on the host, at once: apply it to data before they go to a model. The vocabulary is part of checkpoints.

    Args:
        max_tokens: How many places there are at most, those for padding and unknown words among them. Defaults to None,
            any number.
        standardize: What is done to a text first: ``"lower_and_strip_punctuation"``, ``"lower"``,
            ``"strip_punctuation"``, a function of a text, or None for nothing. Defaults to the first one.
        split: What it is cut at: ``"whitespace"``, ``"character"`` (everywhere), a function that gives a list of words,
            or None for nowhere. Defaults to ``"whitespace"``.
        ngrams: Words that follow each other count as one, too, up to so many; or a sequence of how many. Defaults to
            None, one word each.
        output_mode: ``"int"``, ``"multi_hot"``, ``"count"`` or ``"tf_idf"``. Defaults to ``"int"``.
        output_sequence_length: The length to which rows of ``"int"`` are cut or filled up with 0. Defaults to None:
            that of the longest.
        pad_to_max_tokens: Whether the other modes have ``max_tokens`` numbers, however few words there are. Defaults to
            False.
        vocabulary: The words, in order. Defaults to None, for `adapt`.
        idf_weights: What each counts in ``"tf_idf"``. Defaults to None, for `adapt`.
        name: As for `Layer`.
        dtype: As for `Layer`, for vectors and counts; places are int32.

    Place 0 is padding, and 1 stands for unknown words; other modes than ``"int"`` have no padding, so 0 for these, and
    a word without a letter counts nowhere.

    Shape:
        ``(batch,)`` or ``(batch, 1)`` texts ``-> (batch, words)``, or ``(batch, places)``

    Raises:
        ArgumentError: a setting is out of range, or has no effect.
        ArgumentTypeError: the input is no text.
        StateError: it is called before `adapt`, and was given no vocabulary.

    Example:
        >>> layer = TextVectorization(output_sequence_length=4)
        >>> layer.adapt(["The cat sat.", "The dog!"])
        >>> layer(["the cat barks"]).tolist(), layer.get_vocabulary()
        ([[2, 5, 1, 0]], ['', '[UNK]', 'the', 'sat', 'dog', 'cat'])
    """

    kinds = "U"
    usual_oov_token = "[UNK]"

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: str | Callable[[str], str] | None = "lower_and_strip_punctuation",
        split: str | Callable[[str], list[str]] | None = "whitespace",
        ngrams: int | Sequence[int] | None = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Sequence[str] | None = None,
        idf_weights: Sequence[float] | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        self.standardize = _chosen("standardize", standardize, _STANDARD)
        self.split = _chosen("split", split, _SPLIT)
        self.ngrams = _sizes(ngrams)
        if split is None and self.ngrams not in (None, (1,)):
            raise ArgumentError(
                f"split=None, ngrams={ngrams!r}", "a text that is not cut is one word", 'split="whitespace"'
            )
        if output_mode == "one_hot":
            raise ArgumentError('output_mode="one_hot"', "a text has many words", 'output_mode="multi_hot"')
        super().__init__(max_tokens, 1, "", "[UNK]", vocabulary, idf_weights, False, output_mode, name, dtype)
        length = output_sequence_length
        self.output_sequence_length = None if length is None else check_positive("output_sequence_length", length, 64)
        self.pad_to_max_tokens = check_flag("pad_to_max_tokens", pad_to_max_tokens)
        if self.output_mode != "int" and length is not None:
            raise ArgumentError(
                f"output_sequence_length={length}, output_mode={output_mode!r}", "there are no sequences", '"int"'
            )
        if self.pad_to_max_tokens and (self.output_mode == "int" or self.max_tokens is None):
            raise ArgumentError(
                f"pad_to_max_tokens=True, max_tokens={max_tokens}, output_mode={output_mode!r}",
                "there is nothing to fill up, or no number to fill up to",
                'max_tokens=20000, output_mode="multi_hot"',
            )

    @door
    def call(self, inputs: Any) -> Array:
        self._require_vocabulary()
        rows = [[self._place(word) for word in self.words(text)] for text in self._texts(inputs)]
        if self.output_mode == "int":
            longest = self.output_sequence_length or max(map(len, rows), default=0)
            filled = [(row + [0] * longest)[:longest] for row in rows]
            return self.output_of(filled, (len(rows), longest))
        size = self.vocabulary_size()
        counts = np.zeros((len(rows), size), "float32")
        for count, row in zip(counts, rows, strict=True):
            np.add.at(count, [place for place in row if place != NOWHERE], 1)
        return self.encode_counts(counts)

    def words(self, text: str) -> list[str]:
        """Return the words of a text, and those that follow each other as one."""
        standardize = _STANDARD[self.standardize] if isinstance(self.standardize, str) else self.standardize
        split = _SPLIT[self.split] if isinstance(self.split, str) else self.split
        text = text if standardize is None else standardize(text)
        words = [text] if split is None else list(split(text))
        if self.ngrams is None:
            return words
        return [" ".join(words[i : i + n]) for n in self.ngrams for i in range(len(words) - n + 1)]

    def documents(self, data: Any) -> Iterable[list[str]]:
        for batch in batches_of(data):
            for text in self._texts(batch):
                yield self.words(text)

    def vocabulary_size(self) -> int:
        found = super().vocabulary_size()
        return max(found, self.max_tokens or 0) if self.pad_to_max_tokens else found

    def _texts(self, inputs: object) -> list[str]:
        texts = host_array([inputs] if isinstance(inputs, str) else inputs, self.kinds, self._gx_title())
        if texts.ndim > 2 or (texts.ndim == 2 and texts.shape[1] != 1):
            raise ArgumentTypeError(
                f"texts of shape {texts.shape}", "each row is one text", "StringLookup for words that are cut already"
            )
        found: list[str] = texts.ravel().tolist()
        return found


def _chosen(name: str, value: object, allowed: dict[str, Any]) -> Any:
    if callable(value):
        check_takes("TextVectorization", name, value, ["text"])
    if value is None or callable(value):
        return value
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(
            f"{name}={value!r:.60}", f"there is no such {name}", " or ".join(f'"{word}"' for word in allowed)
        )
    return value


def _sizes(ngrams: Any) -> tuple[int, ...] | None:
    if ngrams is None:
        return None
    if isinstance(ngrams, list | tuple):
        sizes = tuple(check_positive("ngrams", n, 2) for n in ngrams)
        if not sizes or len(set(sizes)) < len(sizes):
            raise ArgumentError(
                f"ngrams={ngrams!r}",
                "each number of words stands in it once" if sizes else "a text would have no words",
                f"ngrams={tuple(sorted(set(sizes)))}" if sizes else "ngrams=(1, 2)",
            )
        return sizes
    return tuple(range(1, check_positive("ngrams", ngrams, 2) + 1))
