"""StringLookup: words as their places in a vocabulary, and back."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.layers.lookup import Lookup
from graftax.layers.policy import DTypePolicy


class StringLookup(Lookup):
    """Text tokens as their places in a vocabulary, or back.

    It computes on the host, at once: apply it to data before they go to a model. The vocabulary is part of checkpoints.

    Args:
        max_tokens: How many places there are at most, those for what is unknown among them. Defaults to None, any
            number.
        num_oov_indices: How many places there are for unknown tokens, shared out by hash; 0 refuses them. Defaults
            to 1.
        mask_token: A token whose place is 0, where ``output_mode`` is ``"int"``; in the others it counts nowhere.
            Defaults to None, none.
        oov_token: The token that stands for unknown ones when ``invert`` is True; where ``num_oov_indices`` is 0, it is
            a token like others. Defaults to ``"[UNK]"``.
        vocabulary: The tokens, in order. Defaults to None, for `adapt`.
        idf_weights: What each counts in ``"tf_idf"``. Defaults to None, for `adapt`.
        invert: Whether places are turned into tokens. Defaults to False.
        output_mode: ``"int"``, ``"tf_idf"``, or one of those of `CategoryEncoding`. Defaults to ``"int"``.
        name: As for `Layer`.
        dtype: As for `Layer`, for vectors and counts; places are int32.

    Shape:
        ``(...) -> (...)``; for other modes than ``"int"`` as for `CategoryEncoding`

    Raises:
        ArgumentError: a setting is out of range, or a token unknown where ``num_oov_indices`` is 0.
        ArgumentTypeError: the input is no text.
        StateError: it is called before `adapt`, and was given no vocabulary.

    Example:
        >>> layer = StringLookup()
        >>> layer.adapt([["a", "b"], ["b", "c"]])
        >>> layer([["b", "z"]]).tolist(), layer.get_vocabulary()
        ([[1, 0]], ['[UNK]', 'b', 'c', 'a'])
    """

    kinds = "U"
    usual_oov_token = "[UNK]"

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Sequence[str] | None = None,
        idf_weights: Sequence[float] | None = None,
        invert: bool = False,
        output_mode: str = "int",
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
            vocabulary,
            idf_weights,
            invert,
            output_mode,
            name,
            dtype,
        )
