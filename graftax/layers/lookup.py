"""Lookup: tokens as their places in a vocabulary, and back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any, ClassVar

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.backend.host import check_plain
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError, IndexRangeError, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.layers.arguments import check_flag, check_positive
from graftax.layers.category_encoding import MODES, check_modes, encode
from graftax.layers.hashing import hash_token
from graftax.layers.host_array import UNMASK_TOKENS, host_array
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.transforms.lifting.frames import Abstract
from graftax.variables.state import storage

NOWHERE = -1
"""The place of what is masked, where places are counted or shown as vectors."""


class Lookup(Layer):
    """The base of `IntegerLookup`, `StringLookup` and `TextVectorization`, which describe the arguments."""

    kinds: ClassVar[str]
    """The kinds of NumPy dtypes that tokens have."""
    usual_oov_token: ClassVar[object]
    """What ``oov_token`` is by default."""

    def __init__(
        self,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: object,
        oov_token: object,
        vocabulary: Sequence[Any] | None,
        idf_weights: Sequence[float] | None,
        invert: bool,
        output_mode: str,
        name: str | None,
        dtype: str | DTypePolicy | None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.max_tokens = None if max_tokens is None else check_positive("max_tokens", max_tokens, 20000)
        self.num_oov_indices = 0 if _is_zero(num_oov_indices) else check_positive("num_oov_indices", num_oov_indices, 1)
        self.mask_token, self.oov_token = mask_token, oov_token
        self.output_mode = check_modes(output_mode, ("int", *MODES, "tf_idf"))
        self.invert = check_flag("invert", invert)
        if self.invert and (self.num_oov_indices > 1 or self.output_mode != "int"):
            raise ArgumentError(
                f"invert=True, num_oov_indices={num_oov_indices}, output_mode={output_mode!r}",
                "integers are turned into tokens, with one for all that are unknown",
                'num_oov_indices=1, output_mode="int"',
            )
        if not self.num_oov_indices and oov_token != self.usual_oov_token:
            raise ArgumentError(
                f"num_oov_indices=0, oov_token={oov_token!r:.40}",
                "unknown tokens are refused, and no token stands for them",
                f"num_oov_indices=1, oov_token={oov_token!r:.40}; or no oov_token",
            )
        if self.num_oov_indices and mask_token is not None and mask_token == oov_token:
            raise ArgumentError(
                f"mask_token={mask_token!r:.40}, oov_token={oov_token!r:.40}",
                "a token has one place: it is masked or unknown",
                f"oov_token={oov_token!r:.40} alone, or another mask_token",
            )
        if self.max_tokens is not None and self._specials() > self.max_tokens:
            raise ArgumentError(
                f"max_tokens={max_tokens}, num_oov_indices={num_oov_indices}, mask_token={mask_token!r:.40}",
                "the places for what is masked and unknown alone are more",
                f"max_tokens={self._specials() + 1} or more",
            )
        self.vocabulary: tuple[Any, ...] | None = None
        self.idf_weights: tuple[float, ...] | None = None
        self.given = vocabulary is not None
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)
        elif idf_weights is not None:
            raise ArgumentError("idf_weights without a vocabulary", "they belong to its tokens", "vocabulary=[...]")

    def __call__(self, inputs: Any) -> Any:
        """Look up on the host, at once."""
        return self.call(inputs)

    @door
    def call(self, inputs: Any) -> Any:
        words = self._require_vocabulary()
        if _is_example(inputs) and ("i" in self.kinds or self.invert):
            shape = tuple(inputs.shape)
            if self.invert:
                return np.full(shape, (words or (self.oov_token,))[0])
            return self.output_of([[0] * math.prod(shape)], shape)
        if self.invert:
            return self._invert(inputs, words)
        tokens = host_array(inputs, self.kinds, self._gx_title())
        return self.output_of([[self._place(token) for token in tokens.ravel().tolist()]], tokens.shape)

    def output_of(self, places: list[list[int]], shape: tuple[int, ...]) -> Array:
        """Return places of tokens in the form of ``output_mode``."""
        found = ops.asarray(np.asarray([place for row in places for place in row], "int32").reshape(shape))
        if self.output_mode == "int":
            return found
        size = self.vocabulary_size()
        mode = "count" if self.output_mode == "tf_idf" else self.output_mode
        made = encode(found + 1, size + 1, mode, self.compute_dtype)  # what is masked has the first place, and goes
        return self.weigh_counts(made[..., 1:])

    def encode_counts(self, counts: np.ndarray[Any, Any]) -> Array:
        """Return counts of the places in the form of ``output_mode``."""
        found = np.minimum(counts, 1) if self.output_mode == "multi_hot" else counts
        return self.weigh_counts(ops.asarray(found, self.compute_dtype))

    def weigh_counts(self, counts: Array) -> Array:
        """Multiply counts by what each place counts; what is unknown counts as the mean."""
        if self.output_mode != "tf_idf":
            return counts
        known = np.asarray(self.idf_weights or (), "float32")
        weights = np.zeros(counts.shape[-1], "float32")
        start = self._specials()
        weights[start : start + len(known)] = known
        weights[:start] = known.mean() if known.size else 0
        return counts * ops.asarray(weights, str(counts.dtype))

    # --- the vocabulary -----------------------------------------------------------------------------------------------

    @door
    def adapt(self, data: Any) -> None:
        """Take the tokens of a data set as the vocabulary, the most frequent first; what was there is forgotten.

        Args:
            data: An array of tokens, or an iterable of batches, which is read once. A row is a document for
                ``"tf_idf"``.

        Raises:
            StateError: the vocabulary was given to the constructor.
            ArgumentError: there are no tokens.
            ArgumentTypeError: the data is a dict, a masked array, or tokens with targets, such as (x, y).
        """
        if self.given:
            raise StateError(
                f"adapt of {self._gx_title()}",
                "its vocabulary was given",
                f"{type(self).__name__}() without vocabulary",
            )
        counts: Counter[Any] = Counter()
        documents: Counter[Any] = Counter()
        total = 0
        for document in self.documents(data):
            total += 1
            counts.update(document)
            documents.update(set(document))
        if not total:
            raise ArgumentError(
                "adapt got no tokens",
                "all that comes later would be unknown; an iterator gives its batches only once",
                "layer.adapt(data), with a list or an array",
            )
        self.take(counts, documents, total)

    def documents(self, data: Any) -> Iterable[list[Any]]:
        """Return the tokens of each document of a data set."""
        for batch in batches_of(data):
            tokens = host_array(batch, self.kinds, self._gx_title())
            rows = tokens.reshape(len(tokens), math.prod(tokens.shape[1:])) if tokens.ndim else tokens.reshape(1, 1)
            yield from rows.tolist()

    def take(self, counts: Counter[Any], documents: Counter[Any], total: int) -> None:
        """Make the most frequent tokens the vocabulary; of equals the last by order comes first, as in Keras."""
        for special in self._reserved_tokens():
            counts.pop(special, None)
        ordered = sorted(sorted(counts, reverse=True), key=lambda token: -counts[token])
        room = None if self.max_tokens is None else max(self.max_tokens - self._specials(), 0)
        self.vocabulary = tuple(ordered[:room])
        self.idf_weights = tuple(math.log(1 + total / (1 + documents[token])) for token in self.vocabulary)

    @door
    def set_vocabulary(self, vocabulary: Sequence[Any], idf_weights: Sequence[float] | None = None) -> None:
        """Make tokens the vocabulary, without those for what is masked or unknown.

        Args:
            vocabulary: The tokens, in order.
            idf_weights: What each counts in ``"tf_idf"``. Defaults to None.

        Raises:
            ArgumentError: a token is there twice or special, there are too many, or ``"tf_idf"`` has no weights.
            ArgumentTypeError: it is a text, such as a path, or a set, whose order is another in each process.
        """
        if isinstance(vocabulary, str | bytes | set | frozenset):
            raise ArgumentTypeError(
                f"a vocabulary that is {vocabulary!r:.60}",
                "it is a sequence of tokens, and a set has no order"
                if isinstance(vocabulary, set | frozenset)
                else "it is a sequence of tokens, and a text would be one of letters",
                "sorted(tokens)"
                if isinstance(vocabulary, set | frozenset)
                else 'pathlib.Path("vocabulary.txt").read_text("utf-8").splitlines()',
            )
        check_plain(vocabulary, "vocabulary", UNMASK_TOKENS)
        check_plain(idf_weights, "idf_weights")
        tokens = host_array(list(np.asarray(vocabulary).tolist()), self.kinds, "vocabulary").tolist()
        reserved = self._reserved_tokens()
        for special in reserved:
            tokens = tokens[1:] if tokens and tokens[0] == special else tokens
        twice = [token for token, count in Counter(tokens).items() if count > 1]
        bad = twice or [token for token in tokens if token in reserved]
        if bad or (self.max_tokens is not None and len(tokens) > self.max_tokens - self._specials()):
            raise ArgumentError(
                f"a vocabulary of {len(tokens)} tokens"
                + (f" with {bad[0]!r} {'twice' if twice else 'in it'}" if bad else ""),
                "each token has one place" if bad else f"max_tokens={self.max_tokens} has not so many",
                "each once, without mask_token and oov_token"
                if bad
                else f"max_tokens={len(tokens) + self._specials()}",
            )
        if idf_weights is not None and self.output_mode != "tf_idf":
            raise ArgumentError(
                f"idf_weights with output_mode={self.output_mode!r}", "nothing is weighed", 'output_mode="tf_idf"'
            )
        if self.output_mode == "tf_idf" and (
            idf_weights is None or len(idf_weights) != len(tokens) or not np.isfinite(idf_weights).all()
        ):
            raise ArgumentError(
                f"idf_weights={idf_weights!r:.40} for {len(tokens)} tokens",
                'output_mode="tf_idf" weighs each token',
                "one finite weight for each token, or adapt() in place of a vocabulary",
            )
        self.vocabulary = tuple(tokens)
        self.idf_weights = None if idf_weights is None else tuple(float(weight) for weight in idf_weights)

    @door
    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Return the tokens in the order of their places.

        Args:
            include_special_tokens: Whether those for what is masked and unknown are there, too. Defaults to True.
        """
        words = list(self._require_vocabulary())
        return [*self._special_tokens(), *words] if include_special_tokens else words

    def vocabulary_size(self) -> int:
        """Return how many places there are, those for what is masked and unknown among them."""
        return len(self._require_vocabulary()) + self._specials()

    def get_state(self) -> dict[str, Any]:
        """Return the vocabulary, and what is before it, for checkpoints."""
        words, weights = self.vocabulary, self.idf_weights
        return {
            "vocabulary": None if words is None else list(words),
            "idf_weights": None if weights is None else list(weights),
            **self._index_settings(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take back what `get_state` gave.

        Raises:
            StateError: it has more tokens than ``max_tokens`` allows, or came from a layer with other places before
                the vocabulary, where each token would get another place.
        """
        words, weights = state["vocabulary"], state["idf_weights"]
        for name, here in self._index_settings().items():
            saved = state.get(name, here)  # not in checkpoints of earlier versions
            if words is not None and saved != here:
                raise StateError(
                    f"{self._gx_title()} has {name}={here!r}, the saved one had {name}={saved!r}",
                    "each token would get another place than the one that the model was trained on",
                    f"{type(self).__name__}({name}={saved!r}, ...); or set_vocabulary(tokens), for new places",
                )
        if words is not None and self.max_tokens is not None and len(words) > self.max_tokens - self._specials():
            raise StateError(
                f"a saved vocabulary of {len(words)} tokens for {self._gx_title()}",
                f"max_tokens={self.max_tokens} has not so many",
                f"max_tokens={len(words) + self._specials()}",
            )
        self.vocabulary = None if words is None else tuple(words)
        self.idf_weights = None if weights is None else tuple(weights)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _index_settings(self) -> dict[str, Any]:
        """Return the settings that determine the indices before those of the vocabulary."""
        found: dict[str, Any] = {"num_oov_indices": self.num_oov_indices}
        if self.output_mode == "int":  # else no place is masked
            token: Any = self.mask_token
            found["mask_token"] = token.item() if isinstance(token, np.generic) else token
        return found

    def _specials(self) -> int:
        return self.num_oov_indices + (self.mask_token is not None and self.output_mode == "int")

    def _special_tokens(self) -> list[Any]:
        masked = [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        return masked + [self.oov_token] * self.num_oov_indices

    def _reserved_tokens(self) -> list[Any]:
        """Return the tokens that have a meaning of their own, and none in the vocabulary."""
        masked = [] if self.mask_token is None else [self.mask_token]
        return masked + [self.oov_token] * min(self.num_oov_indices, 1)

    def _require_vocabulary(self) -> tuple[Any, ...]:
        if self.vocabulary is None:
            raise StateError(
                f"{self._gx_title()} has no vocabulary",
                "adapt() was not called",
                "layer.adapt(data), before it is used",
            )
        return self.vocabulary

    def _place(self, token: Any) -> int:
        table = self._token_indices()
        if token in table:
            return table[token]
        masked = self.mask_token is not None and self.output_mode == "int"
        if self.mask_token is not None and token == self.mask_token:
            return 0 if masked else NOWHERE
        if not self.num_oov_indices:
            raise ArgumentError(
                f"the token {token!r:.60}", "it is not in the vocabulary, and num_oov_indices=0", "num_oov_indices=1"
            )
        return int(masked) + (hash_token(token, self.num_oov_indices) if self.num_oov_indices > 1 else 0)

    def _token_indices(self) -> dict[Any, int]:
        words = self._require_vocabulary()
        cached: Any = self.__dict__.get("_gx_table")
        start = self._specials()
        if cached is None or cached[0] is not words or cached[1] != start:
            cached = words, start, {token: start + i for i, token in enumerate(words)}
            object.__setattr__(self, "_gx_table", cached)
        return cached[2]  # type: ignore[no-any-return]

    def _invert(self, inputs: object, words: tuple[Any, ...]) -> np.ndarray[Any, Any]:
        places = host_array(inputs, "iu", self._gx_title())
        tokens = [*self._special_tokens(), *words]
        if places.size and not (places.min() >= 0 and places.max() < len(tokens)):
            raise IndexRangeError(
                f"places from {places.min()} to {places.max()}", f"there are {len(tokens)}", "what the same layer gave"
            )
        found: np.ndarray[Any, Any] = np.array(tokens)[places]
        return found


def batches_of(data: Any) -> Iterable[Any]:
    """Return the batches of what a layer adapts to: what an iterable gives, or the one array, list or text."""
    if isinstance(data, Mapping):
        names = list(data)
        raise ArgumentTypeError(
            f"adapt got a {type(data).__name__} of {', '.join(map(repr, names))!s:.80}",
            "its names would be the tokens",
            f"layer.adapt(data[{names[0]!r}])" if names else "layer.adapt(data), with a list or an array",
        )
    several = not hasattr(data, "shape") and not isinstance(data, list | tuple | str | bytes)
    for batch in data if several else (data,):
        if isinstance(batch, tuple) and _has_targets(batch):
            raise ArgumentTypeError(
                f"adapt got {'batches that are tuples' if several else 'a tuple'} of {len(batch)} parts",
                "a tuple is (x, y), as for fit, and adapt takes no targets",
                "layer.adapt(x for x, y in batches)" if several else "layer.adapt(x)",
            )
        yield batch


def _has_targets(batch: tuple[object, ...]) -> bool:
    """Tell whether it is one of arrays, or of texts and numbers, and not one of tokens."""
    if len(batch) not in (2, 3):
        return False
    leaves = [next(iter(tree.flatten(part)), None) for part in batch]
    kinds = {isinstance(leaf, str | bytes) for leaf in leaves if leaf is not None}
    return any(len(getattr(part, "shape", ())) for part in batch) or len(kinds) == 2


def _is_example(inputs: object) -> bool:
    """Tell whether an array of numbers stands for others of its shape: the zeros that a model is built with."""
    arrays = registry.current().arrays
    return isinstance(storage.frames.top, Abstract) and arrays.is_array(inputs) and arrays.is_concrete(inputs)


def _is_zero(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and index(value) == 0
    except TypeError:
        return False
