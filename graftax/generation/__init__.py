"""Generation: what follows a prompt, token by token, with any step function that has a cache."""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.core.namespaces import names_in as _names_in
from graftax.generation.beam_search import BeamSearch as BeamSearch
from graftax.generation.generated import Generated as Generated
from graftax.generation.generator import Generator as Generator
from graftax.generation.greedy_sampler import GreedySampler as GreedySampler
from graftax.generation.random_sampler import RandomSampler as RandomSampler
from graftax.generation.repetition_penalty import RepetitionPenalty as RepetitionPenalty
from graftax.generation.sampler import Sampler as Sampler

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("generation")
__all__ = _names_in(globals(), "graftax.generation")  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return sorted(__all__)
