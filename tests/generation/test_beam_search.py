"""BeamSearch: against all sequences there are, and against the same search in plain Python."""

from itertools import product

import numpy as np
import pytest

from graftax import generation, ops
from graftax.core.errors import ShapeError
from tests.generation.conftest import Chain


def every_sequence(chain, prompt, count, stops, penalty, least=0):
    """All that can be written, with their scores, best first."""
    found = {}
    for tokens in product(range(chain.vocabulary), repeat=count):
        end = next((i + 1 for i, token in enumerate(tokens) if token in stops), count)
        found.setdefault(tokens[:end], None)
    scored = []
    for tokens in found:
        if len(tokens) <= least and tokens[-1] in stops:
            continue
        whole, total = [*prompt, *tokens], 0.0
        for i, token in enumerate(tokens):
            logs = chain.log_probabilities(whole[: len(prompt) + i])
            if i < least:
                logs[list(stops)] = -np.inf
                logs = logs - np.log(np.exp(logs).sum())
            total += logs[token]
        scored.append((total / len(tokens) ** penalty, list(tokens)))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize(
    ("penalty", "stops", "least"),
    [
        (0.0, (1,), 0),
        pytest.param(1.0, (1,), 0, marks=pytest.mark.slow),
        pytest.param(2.5, (1, 3), 0, marks=pytest.mark.slow),
        pytest.param(1.0, (), 0, marks=pytest.mark.slow),
        pytest.param(0.7, (2,), 2, marks=pytest.mark.slow),
    ],
)
def test_enough_beams_find_the_best_of_all_sequences(penalty, stops, least):
    chain = Chain(vocabulary=4, seed=2)
    prompt, count, beams = [[1, 2], [3, 0]], 4, 64
    search = generation.BeamSearch(beams, penalty, return_all=True)
    write = generation.Generator(chain.step, count, search, stop_tokens=stops, pad_token=2, min_new_tokens=least)
    found = write(np.array(prompt), chain.cache(2))
    for i, row in enumerate(prompt):
        expected = every_sequence(chain, row, count, stops, penalty, least)[:20]
        np.testing.assert_allclose(np.asarray(found.scores)[i, :20], [score for score, _ in expected], atol=1e-4)
        for j, (_, tokens) in enumerate(expected[:5]):
            assert found.tokens[i, j].tolist() == tokens + [2] * (count - len(tokens))
            assert int(found.lengths[i, j]) == len(tokens)


def plain_beams(chain, prompt, count, width, stop, penalty):
    """The search in Python, without a cache."""
    alive, done = [(0.0, [])], []
    for n in range(1, count + 1):
        ways = [
            (total + log, [*tokens, token])
            for total, tokens in alive
            for token, log in enumerate(chain.log_probabilities([*prompt, *tokens]))
        ]
        best = sorted(ways, reverse=True)[: 2 * width]
        done += [(total / n**penalty, tokens) for total, tokens in best if tokens[-1] == stop]
        done = sorted(done, reverse=True)[:width]
        alive = [way for way in best if way[1][-1] != stop][:width]
    done += [(total / count**penalty, tokens) for total, tokens in alive]
    return sorted(done, reverse=True)[:width]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_few_beams_take_the_way_that_the_search_takes_in_python(width, penalty):
    chain = Chain(vocabulary=7, seed=4)
    prompt = [[1, 2], [3, 6], [5, 5]]
    search = generation.BeamSearch(width, penalty, return_all=True)
    found = generation.Generator(chain.step, 8, search, stop_tokens=0)(np.array(prompt), chain.cache(3))
    for i, row in enumerate(prompt):
        expected = plain_beams(chain, row, 8, width, 0, penalty)
        np.testing.assert_allclose(np.asarray(found.scores)[i], [score for score, _ in expected], atol=1e-4)
        assert found.tokens[i, 0].tolist() == expected[0][1] + [0] * (8 - len(expected[0][1]))


@pytest.mark.slow
def test_the_best_alone_is_the_first_of_all_and_ends_earlier():
    chain = Chain(vocabulary=7, seed=4)
    prompt = np.array([[1, 2], [3, 6]])
    every = generation.Generator(chain.step, 8, generation.BeamSearch(3, return_all=True), stop_tokens=0)
    best = generation.Generator(chain.step, 8, generation.BeamSearch(3), stop_tokens=0)
    all_found, found = every(prompt, chain.cache(2)), best(prompt, chain.cache(2))
    assert found.tokens.tolist() == all_found.tokens[:, 0].tolist()
    assert found.lengths.tolist() == all_found.lengths[:, 0].tolist()


@pytest.mark.slow
def test_one_beam_is_greedy_and_more_are_no_worse(chain):
    prompt = np.array([[1, 2], [3, 0], [4, 4]])
    greedy = generation.Generator(chain.step, 5)(prompt, chain.cache(3))
    one = generation.Generator(chain.step, 5, generation.BeamSearch(1, 0.0))(prompt, chain.cache(3))
    assert one.tokens.tolist() == greedy.tokens.tolist()
    np.testing.assert_allclose(one.scores, greedy.scores, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("learned", [False, True], ids=["rotary", "learned"])
def test_beams_of_prompts_of_different_lengths(decoder, placed, learned):
    model = placed if learned else decoder
    search = generation.BeamSearch(3, return_all=True)
    write = generation.Generator(model.step, 5, search, stop_tokens=4, with_positions=learned)
    rows = [[3, 1, 4], [2, 7, 1, 8, 2], [5]]
    together = write(rows, model.caches(3, 9))
    for i, row in enumerate(rows[:1]):
        alone = write([row], model.caches(1, len(row) + 4))
        np.testing.assert_allclose(together.scores[i], alone.scores[0], atol=1e-4)
        assert together.tokens[i, 0].tolist() == alone.tokens[0, 0].tolist()


@pytest.mark.slow
def test_fewer_sequences_than_beams():
    def step(tokens, cache):
        return ops.zeros((tokens.shape[0], 2)), cache

    search = generation.BeamSearch(8, return_all=True)
    found = generation.Generator(step, 2, search, stop_tokens=1)([[0]], np.int32(0))
    assert np.isfinite(found.scores[0]).sum() == 3  # [1], [0, 0], [0, 1]
    assert found.lengths[0, 3:].tolist() == [0] * 5
    assert not found.tokens[0, 3:].any()


def test_a_cache_whose_first_axis_is_another_is_refused():
    def step(tokens, cache):
        return ops.one_hot(tokens[:, -1], 4), cache

    with pytest.raises(ShapeError, match="beams exchange their rows"):
        generation.Generator(step, 2, generation.BeamSearch(2))([[0]], np.zeros((3, 1, 4), "float32"))
