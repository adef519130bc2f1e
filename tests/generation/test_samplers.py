"""Samplers: what may come and how often, against plain NumPy."""

import numpy as np
import pytest

import graftax as gx
from graftax import generation, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError

LOGITS = np.random.default_rng(0).normal(size=(4, 50)).astype("float32") * 2
LOGITS[1, 10:] = -np.inf
LOGITS[2, :25] = LOGITS[2, 25:]  # each twice
LOGITS[3] = 0


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def numpy_filtered(logits, temperature=1.0, top_k=None, top_p=None):
    """The same by sorting each row."""
    out = logits.astype("float64") / temperature
    for row in out:
        if top_k is not None:
            row[row < np.sort(row)[::-1][min(top_k, len(row)) - 1]] = -np.inf
        if top_p is not None:
            shares, order = softmax(row), np.argsort(-row, kind="stable")
            last = order[np.searchsorted(np.cumsum(shares[order]), top_p - 1e-6)]
            row[row < row[last]] = -np.inf
    return out


SETTINGS = [
    {"temperature": 0.3},
    {"top_k": 1},
    {"top_k": 7},
    {"top_k": 80},
    {"top_p": 0.1},
    {"top_p": 0.9},
    {"top_p": 1.0},
    {"temperature": 2.0, "top_k": 12, "top_p": 0.75},
]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(f"{k}_{v}" for k, v in s.items()))
def test_probabilities_equal_those_of_numpy(settings):
    found = np.asarray(generation.RandomSampler(**settings).filtered(gx.ops.asarray(LOGITS)))
    np.testing.assert_allclose(softmax(found), softmax(numpy_filtered(LOGITS, **settings)), atol=1e-5)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("hidden", [-1e4, -1e9, -1e30, float(np.finfo("float32").min), -np.inf])
def test_tokens_that_somebody_hides_leave_the_share_of_the_others(hidden):
    logits = LOGITS.copy()
    logits[:, 40:] = hidden
    for share in (0.3, 0.9):
        found = np.isfinite(np.asarray(generation.RandomSampler(top_p=share).filtered(gx.ops.asarray(logits))))
        np.testing.assert_array_equal(found, np.isfinite(numpy_filtered(logits, top_p=share)))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 0.999])
def test_the_fewest_tokens_that_hold_a_share_of_a_large_vocabulary(share):
    logits = np.random.default_rng(1).normal(size=(3, 20000)).astype("float32") * 3
    found = np.isfinite(np.asarray(generation.RandomSampler(top_p=share).filtered(gx.ops.asarray(logits))))
    shares = softmax(logits.astype("float64"))
    for row, kept in zip(shares, found, strict=True):
        held = np.sort(row[kept])
        assert held.sum() >= share - 1e-5 > held.sum() - held[0] - 2e-5
        assert row[~kept].max() < held[0]


@pytest.mark.slow
def test_draws_come_as_often_as_their_probability_says():
    sampler = generation.RandomSampler(0.7, top_k=5, top_p=0.9)
    logits = np.float32([[0, 1, 2, 3, 4, 5]])
    many = np.repeat(logits, 20000, axis=0)
    counts = np.bincount(np.asarray(sampler.sample(gx.ops.asarray(many), 0)), minlength=6)
    np.testing.assert_allclose(counts / 20000, softmax(numpy_filtered(logits, 0.7, 5, 0.9))[0], atol=0.01)


@pytest.mark.parametrize(
    ("make", "instead"),
    [
        (lambda: generation.RandomSampler(0), "GreedySampler()"),
        (lambda: generation.RandomSampler(-1.0), "temperature=1.0"),
        (lambda: generation.RandomSampler(top_k=0), "top_k=50"),
        (lambda: generation.RandomSampler(top_p=0.0), "top_p=0.9"),
        (lambda: generation.RandomSampler(top_p=1.1), "top_p=0.9"),
        (lambda: generation.BeamSearch(0), "num_beams=4"),
        (lambda: generation.BeamSearch(2, -1.0), "length_penalty=1.0"),
        (lambda: generation.BeamSearch(2, return_all=1), "return_all=True"),
        (lambda: generation.RepetitionPenalty(0.0), "penalty=1.0"),
    ],
)
def test_numbers_out_of_range_are_refused(make, instead):
    with pytest.raises(ArgumentError) as found:
        make()
    assert found.value.instead == instead


@pytest.mark.broad
def test_a_sampler_of_ones_own(chain):
    class Last(generation.Sampler):
        draws = False

        def sample(self, logits, seed):
            return gx.ops.argsort(logits)[:, 0]

    found = generation.Generator(chain.step, 1, Last())(np.array([[1, 2]]), chain.cache(1))
    assert int(found.tokens[0, 0]) == chain.log_probabilities([1, 2]).argmin()


class Place(generation.Sampler):
    draws = False

    def __init__(self):
        self.place = 0

    def sample(self, logits, seed):
        return ops.argsort(logits, descending=True)[:, self.place]


class Never:
    token = 0

    def __call__(self, logits, tokens, present):
        return ops.where(ops.equal(ops.arange(8), self.token)[None], -1e9, logits)


@pytest.mark.broad
@pytest.mark.parametrize(("name", "make"), [("sampler", Place), ("adjust", Never)])
def test_attributes_of_ones_own_are_those_at_the_call(name, make):
    def step(tokens, count):
        return ops.sin(ops.arange(8) * (tokens + 2.0)), count + 1

    own = make()
    write = generation.Generator(step, 3, **{name: own})
    before = write([[1]], np.int32(0)).tokens.tolist()
    assert write([[1]], np.int32(0)).tokens.tolist() == before
    assert write.trace_count == 1
    if name == "sampler":
        own.place = 2
    else:
        own.token = before[0][0]
    after = write([[1]], np.int32(0)).tokens.tolist()
    assert after != before
    assert after == generation.Generator(step, 3, **{name: own})([[1]], np.int32(0)).tokens.tolist()
    assert write.trace_count == 2


@pytest.mark.parametrize(
    "sample",
    [
        lambda logits: ops.zeros((1,), "int32"),  # would be that of all rows
        lambda logits: ops.full((2,), 1.5),
        lambda logits: logits,
        lambda logits: None,
    ],
)
def test_a_sampler_gives_a_token_for_each_row(sample):
    class Mine(generation.Sampler):
        def sample(self, logits, seed):
            return sample(logits)

    def step(tokens, count):
        return ops.one_hot(tokens % 8, 8), count + 1

    write = generation.Generator(step, 2, Mine())
    with pytest.raises(ArgumentTypeError, match=r"Mine\.sample gave .* for logits of 2 rows"):
        write([[3], [4]], np.int32(0))
