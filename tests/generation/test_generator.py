"""Generator: equal to looking at everything anew, one program a run, prompts of different lengths."""

import numpy as np
import pytest

import graftax as gx
from graftax import generation, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, NumericsError, ShapeError, StateError

RAGGED = [[3, 1, 4], [2, 7, 1, 8, 2], [5]]


def padded(rows, length, value=0):
    return [list(row) + [value] * (length - len(row)) for row in rows]


@pytest.mark.broad
def test_greedy_equals_a_plain_loop(chain, greedily):
    prompt = np.array([[1, 2], [3, 0], [4, 4]])
    found = generation.Generator(chain.step, 7)(prompt, chain.cache(3))
    assert found.tokens.tolist() == [greedily(chain.log_probabilities, row, 7) for row in prompt.tolist()]
    assert found.lengths.tolist() == [7, 7, 7]


@pytest.mark.slow
def test_scores_are_the_logarithms_of_the_probabilities(chain):
    prompt = np.array([[1, 2], [3, 0]])
    found = generation.Generator(chain.step, 5, generation.RandomSampler())(prompt, chain.cache(2), seed=3)
    for row, tokens, score in zip(prompt.tolist(), found.tokens.tolist(), found.scores.tolist(), strict=True):
        whole = row + tokens
        parts = [chain.log_probabilities(whole[:i])[whole[i]] for i in range(2, 7)]
        assert np.isclose(score, sum(parts), atol=1e-4)


@pytest.mark.broad
def test_rows_end_at_a_stop_token_and_are_padded(chain, greedily):
    prompt = np.arange(5)[:, None]
    plain = [greedily(chain.log_probabilities, row, 9) for row in prompt.tolist()]
    stop = next(token for token in range(5) if 0 < sum(token in row for row in plain) < 5)
    found = generation.Generator(chain.step, 9, stop_tokens=stop, pad_token=4)(prompt, chain.cache(5))
    expected = [greedily(chain.log_probabilities, row, 9, stop) for row in prompt.tolist()]
    assert found.tokens.tolist() == padded(expected, 9, 4)
    assert found.lengths.tolist() == list(map(len, expected))
    assert len(set(map(len, expected))) > 1


@pytest.mark.slow
def test_several_stop_tokens():
    write = generation.Generator(counting, 6, stop_tokens=[7, 4])
    assert write([[2], [5]], np.int32(0)).tokens.tolist() == [[3, 4, 0, 0, 0, 0], [6, 7, 0, 0, 0, 0]]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("sampler", [None, generation.BeamSearch(2)], ids=["greedy", "beams"])
def test_rows_whose_logits_are_nan_are_named(sampler):
    table = gx.layers.Embedding(4, 4)
    write = generation.Generator(lambda tokens, count: (table(tokens), count + 1), 3, sampler)
    assert np.isfinite(write([[1], [3]], np.int32(0)).scores).all()
    with pytest.raises(NumericsError, match=r"for rows 1, 2\n"):
        write([[1], [9], [4], [0]], np.int32(0))
    table.embeddings.assign(np.full((4, 4), np.nan, "float32"))
    with pytest.raises(NumericsError, match="rows 0, 1"):
        write([[1], [3]], np.int32(0))


def counting(tokens, steps):
    return ops.one_hot((tokens[:, -1] + 1) % 8, 8) * 5.0, steps + 1


@pytest.mark.broad
def test_a_run_ends_as_soon_as_all_rows_have_stopped():
    turns = gx.Variable(0, dtype="int32", trainable=False)

    def step(tokens, cache):
        turns.assign_add(1)
        return counting(tokens, cache)

    generation.Generator(step, 50, stop_tokens=5)([[2], [4]], np.int32(0))
    assert int(turns) == 3  # for the prompt, and behind 3 and 4


@pytest.mark.slow
def test_one_trace_for_each_shape_and_values_are_never_stale(chain):
    bias = gx.Variable(np.zeros(5, "float32"))

    def step(tokens, cache):
        logits, cache = chain.step(tokens, cache)
        return logits + bias, cache

    write = generation.Generator(step, 4)
    for prompt in ([[1, 2]], [[3, 4]], [[0, 0]]):
        write(np.array(prompt), chain.cache(1))
    assert write.trace_count == 1
    bias.assign(np.float32([0, 0, 99, 0, 0]))
    assert write(np.array([[1, 2]]), chain.cache(1)).tokens.tolist() == [[2, 2, 2, 2]]
    assert write.trace_count == 1
    write(np.array([[1, 2, 3]]), chain.cache(1))
    assert write.trace_count == 2


@pytest.mark.slow
def test_within_a_compiled_function_and_on_numpy(chain):
    write = generation.Generator(chain.step, 4, generation.RandomSampler(top_k=3), stop_tokens=2)
    prompt = np.array([[1, 2], [3, 0]])
    plain = write(prompt, chain.cache(2), seed=1)
    inside = gx.jit(lambda tokens, cache: write(tokens, cache, seed=1).tokens)
    assert inside(prompt, chain.cache(2)).tolist() == plain.tokens.tolist()
    with gx.run_eagerly():
        assert write(prompt, chain.cache(2), seed=1).tokens.tolist() == plain.tokens.tolist()
    with gx.backend.use("numpy"):
        alone = generation.Generator(chain.step, 4, generation.RandomSampler(top_k=3), stop_tokens=2)
        assert alone(prompt, chain.cache(2), seed=1).tokens.tolist() == plain.tokens.tolist()


@pytest.mark.slow
def test_draws_follow_the_seed(chain):
    write = generation.Generator(chain.step, 6, generation.RandomSampler())
    prompt = np.array([[1, 2], [3, 0]])

    def drawn(seed=None):
        return write(prompt, chain.cache(2), seed=seed).tokens.tolist()

    assert drawn(1) == drawn(1) != drawn(2)
    gx.set_random_seed(5)
    first, second = drawn(), drawn()
    assert first != second
    gx.set_random_seed(5)
    assert drawn() == first
    stream = gx.SeedGenerator(9)
    assert drawn(stream) != drawn(stream)


@pytest.mark.slow
def test_greedy_moves_no_random_stream(chain):
    gx.set_random_seed(5)
    expected = gx.random.uniform((2,)).tolist()
    gx.set_random_seed(5)
    generation.Generator(chain.step, 3)(np.array([[1, 2]]), chain.cache(1))
    assert gx.random.uniform((2,)).tolist() == expected


@pytest.mark.slow
def test_stop_tokens_wait_for_the_least_number():
    write = generation.Generator(counting, 6, stop_tokens=3, min_new_tokens=3)
    found = write([[2]], np.int32(0))
    assert 3 not in found.tokens[0, :2].tolist()
    assert int(found.lengths[0]) >= 3


@pytest.mark.slow
def test_adjust_sees_what_counts():
    seen = []

    def adjust(logits, tokens, present):
        seen.append((tokens.shape, present.shape))
        counts = ops.sum(ops.cast(present, "float32"), axis=1)
        return ops.one_hot(ops.cast(counts, "int32"), 8)

    found = generation.Generator(counting, 4, adjust=adjust)([[1, 1, 1], [1]], np.int32(0))
    assert found.tokens.tolist() == [[3, 4, 5, 6], [1, 2, 3, 4]]
    assert seen[0] == ((2, 7), (2, 7))


@pytest.mark.slow
def test_a_repetition_penalty_looks_at_prompt_and_result():
    def level(tokens, cache):
        return ops.broadcast_to(ops.asarray([5.0, 4.0, 3.0, 2.0]), (tokens.shape[0], 4)), cache

    write = generation.Generator(level, 4, adjust=generation.RepetitionPenalty(100.0))
    assert write([[0], [1]], np.int32(0)).tokens.tolist() == [[1, 2, 3, 0], [0, 2, 3, 0]]


@pytest.mark.slow
def test_a_transformer_writes_as_if_it_looked_at_everything_anew(decoder, greedily):
    prompt = np.array([[3, 1, 4], [1, 5, 9]])
    found = generation.Generator(decoder.step, 6)(prompt, decoder.caches(2, 8))
    score = gx.jit(lambda tokens: decoder(tokens)[0])  # of one length: what follows is not looked at

    def at_the_end(tokens):
        return score(np.array(padded([tokens], 12)))[len(tokens) - 1]

    assert found.tokens.tolist() == [greedily(at_the_end, row, 6) for row in prompt.tolist()]


@pytest.mark.slow
@pytest.mark.parametrize(("side", "learned"), [("list", False), ("left", True), ("right", False), ("holes", True)])
def test_each_prompt_is_continued_as_if_it_were_alone(decoder, placed, learned, side):
    model = placed if learned else decoder
    write = generation.Generator(model.step, 6, stop_tokens=4, with_positions=learned)
    if side == "list":
        found = write(RAGGED, model.caches(3, 10))
    else:
        tokens, mask = np.full((3, 6), 9), np.zeros((3, 6), bool)
        for i, row in enumerate(RAGGED):
            places = {"left": range(6 - len(row), 6), "right": range(len(row)), "holes": range(0, 6, 2)}[side]
            places = list(places) if len(places) == len(row) else list(range(1, 1 + len(row)))
            tokens[i, places], mask[i, places] = row, True
        found = write(tokens, model.caches(3, 11), prompt_mask=mask)
    for i, row in enumerate(RAGGED):
        if i == 1:
            continue  # it has no padding
        alone = write([row], model.caches(1, len(row) + 5))
        assert found.tokens[i].tolist() == alone.tokens[0].tolist()
        assert np.isclose(found.scores[i], alone.scores[0], atol=1e-4)


@pytest.mark.slow
def test_recurrent_layers_leave_padding_out():
    table, cell, head = gx.layers.Embedding(7, 6), gx.layers.LSTM(6, return_state=True), gx.layers.Dense(7)

    def step(tokens, state):
        out, *state = cell(table(tokens), initial_state=state)
        return head(out) * 20.0, state

    def zeros(batch):
        return [np.zeros((batch, 6), "float32")] * 2

    write = generation.Generator(step, 5)
    together = write([[1, 2, 3], [4]], zeros(2))
    assert together.tokens[1].tolist() == write([[4]], zeros(1)).tokens[0].tolist()
    assert together.tokens[0].tolist() == write([[1, 2, 3]], zeros(1)).tokens[0].tolist()


@pytest.mark.broad
def test_a_mask_that_gets_lost_is_told(decoder):
    def step(tokens, caches):
        x, after = decoder.table(tokens) + 0.0, []
        for block, cache in zip(decoder.blocks, caches, strict=True):
            x, cache = block(x, cache=cache)
            after.append(cache)
        return decoder.head(x), after

    with pytest.raises(StateError, match="looked at their padding"):
        generation.Generator(step, 2)([[1, 2], [3]], decoder.caches(2, 8))


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        (lambda g, c: g(3, 4), ArgumentTypeError, "takes a function"),
        (lambda g, c: g(c.step, 0), ArgumentError, "max_new_tokens=0"),
        (lambda g, c: g(c.step, 4, "greedy"), ArgumentTypeError, "sampler='greedy'"),
        (lambda g, c: g(c.step, 4, stop_tokens=-1), ArgumentError, "stop_tokens=-1"),
        (lambda g, c: g(c.step, 4, min_new_tokens=2), ArgumentError, "min_new_tokens=2"),
        (lambda g, c: g(c.step, 4, stop_tokens=2, min_new_tokens=5), ArgumentError, "min_new_tokens=5"),
        (lambda g, c: g(c.step, 4, adjust=3), ArgumentTypeError, "takes a function"),
        (lambda g, c: g(c.step, 4)([[1], []], c.cache(2)), ArgumentError, "row 1 is empty"),
        (lambda g, c: g(c.step, 4)([1, 2], c.cache(1)), ArgumentTypeError, "row 0 is 1"),
        (lambda g, c: g(c.step, 4)(np.ones((2, 2)), c.cache(2)), DTypeError, "tokens are integers"),
        (lambda g, c: g(c.step, 4)(np.ones(3, int), c.cache(2)), ShapeError, "(batch, steps)"),
        (lambda g, c: g(c.step, 4)(np.ones((1, 3), int), c.cache(1), [[False] * 3]), ArgumentError, "hides all"),
        (lambda g, c: g(c.step, 4)(np.ones((1, 3), int), c.cache(1), np.ones((1, 2), int)), ShapeError, "prompt_mask"),
        (lambda g, c: g(c.step, 4)(np.ones((1, 3), int), c.cache(1), np.ones((1, 3))), DTypeError, "prompt_mask of"),
        (lambda g, c: g(c.step, 4)(np.ones((1, 3), int), c.cache(1), np.full((1, 3), 2)), ArgumentError, "number 2"),
        (lambda g, c: g(c.step, 4)([[1]], c.cache(1), np.ones((1, 1))), ArgumentError, "a list of prompts"),
        (lambda g, c: g(c.step, 4)([[1]], c.cache(1), seed=3), ArgumentError, "nothing is drawn"),
        (lambda g, c: g(c.step, 4, stop_tokens=5)([[1]], c.cache(1)), ArgumentError, "logits of 5 tokens"),
        (lambda g, c: g(lambda t, k: t, 4)([[1]], c.cache(1)), ArgumentTypeError, "logits and the next cache"),
        (lambda g, c: g(lambda t, k: (t[0], k), 4)([[1]], c.cache(1)), ShapeError, "logits of shape (1,)"),
        (lambda g, c: g(c.step, 4, adjust=lambda *a: a[1][:, :2])([[1]], c.cache(1)), ShapeError, "adjust gave"),
    ],
    ids=lambda value: None if callable(value) or isinstance(value, type) else value[:20],
)  # fmt: skip
def test_what_does_not_fit_is_refused(chain, kind, error, message):
    with pytest.raises(error) as found:
        kind(generation.Generator, chain)
    assert message in str(found.value)


@pytest.mark.broad
def test_a_cache_without_room_is_refused(decoder):
    with pytest.raises(ArgumentError, match=r"make_cache\(batch_size, length=8\)"):
        generation.Generator(decoder.step, 6)(np.array([[3, 1, 4]]), decoder.caches(1, 7))


@pytest.mark.slow
def test_a_cache_that_grows_is_refused():
    def step(tokens, cache):
        return ops.one_hot(tokens, 4), ops.concatenate([cache, tokens], axis=1)

    with pytest.raises(ShapeError):
        generation.Generator(step, 3)([[1]], np.zeros((1, 0), "int32"))
