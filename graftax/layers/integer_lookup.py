"""IntegerLookup: integers as their places in a vocabulary, and back."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.layers.lookup import Lookup
from graftax.layers.policy import DTypePolicy


class IntegerLookup(Lookup):
    """Integers as their places in a vocabulary, or back.

    It computes on the host, at once: apply it to data before they go to a model. The vocabulary is part of checkpoints.

    Args:
        max_tokens: How many places there are at most, those for what is unknown among them. Defaults to None, any
            number.
        num_oov_indices: How many places there are for unknown integers, shared out by hash; 0 refuses them. Defaults
            to 1.
        mask_token: An integer whose place is 0, where ``output_mode`` is ``"int"``; in the others it counts nowhere.
            Defaults to None, none.
        oov_token: The integer that stands for unknown ones when ``invert`` is True; where ``num_oov_indices`` is 0, it
            is an integer like others. Defaults to -1.
        vocabulary: The integers, in order. Defaults to None, for `adapt`.
        idf_weights: What each counts in ``"tf_idf"``. Defaults to None, for `adapt`.
        invert: Whether places are turned into integers. Defaults to False.
        output_mode: ``"int"``, ``"tf_idf"``, or one of those of `CategoryEncoding`. Defaults to ``"int"``.
        name: As for `Layer`.
        dtype: As for `Layer`, for vectors and counts; places are int32.

    Shape:
        ``(...) -> (...)``; for other modes than ``"int"`` as for `CategoryEncoding`

    Raises:
        ArgumentError: a setting is out of range, or an integer unknown where ``num_oov_indices`` is 0.
        ArgumentTypeError: the input holds no integers.
        StateError: it is called before `adapt`, and was given no vocabulary.

    Example:
        >>> layer = IntegerLookup(vocabulary=[12, 36, 1138])
        >>> layer([[12, 1138, 7]]).tolist()
        [[1, 3, 0]]
    """

    kinds = "iu"
    usual_oov_token = -1

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Sequence[int] | None = None,
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
