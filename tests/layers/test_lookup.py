"""Vocabularies: of integers, of words, of texts; and bins without one."""

import copy
import math
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError, DTypeError

WORDS = [["b", "a", "b"], ["c", "b", "d"], ["a", "d", "b"]]


def test_the_most_frequent_come_first_and_of_equals_the_last_by_order():
    layer = layers.StringLookup()
    layer.adapt(WORDS)
    assert layer.get_vocabulary() == ["[UNK]", "b", "d", "a", "c"]
    assert layer([["a", "b", "nowhere"]]).tolist() == [[3, 1, 0]]
    assert layer("b").shape == ()
    assert layer(np.array([b"b", b"c"])).tolist() == [1, 4]
    back = layers.StringLookup(vocabulary=layer.get_vocabulary(include_special_tokens=False), invert=True)
    assert back(layer(WORDS)).tolist() == WORDS
    few = layers.StringLookup(max_tokens=3)
    few.adapt(iter([np.array(WORDS), np.array([["a"] * 9])]))
    assert few.get_vocabulary() == ["[UNK]", "a", "b"]


@pytest.mark.parametrize("oov", [0, 1, 3])
@pytest.mark.parametrize("mask", [None, 7])
def test_places_of_what_is_masked_and_unknown(oov, mask):
    layer = layers.IntegerLookup(num_oov_indices=oov, mask_token=mask, vocabulary=[5, 3])
    start = oov + (mask is not None)
    assert layer([3, 5]).tolist() == [start + 1, start]
    assert layer.vocabulary_size() == start + 2
    if mask is not None:
        assert layer([7, 5]).tolist() == [0, start]
    if oov:
        found = layer(range(100, 150)).tolist()
        assert set(found) == set(range(start - oov, start))
        assert found == layer(np.arange(100, 150)).tolist()
    else:
        with pytest.raises(gx.errors.ArgumentError, match=r"the token 100(.|\n)*num_oov_indices=0"):
            layer([100])


@pytest.mark.broad
def test_vectors_in_place_of_places():
    words = [["a", "b", "a"], ["z", "b", "c"]]
    vocabulary = ["a", "b", "c"]
    for mode, expected in (("multi_hot", [[0, 1, 1, 0], [1, 0, 1, 1]]), ("count", [[0, 2, 1, 0], [1, 0, 1, 1]])):
        assert layers.StringLookup(vocabulary=vocabulary, output_mode=mode)(words).tolist() == expected
    one = layers.StringLookup(vocabulary=vocabulary, output_mode="one_hot")
    assert one(["a", "z"]).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]
    weighed = layers.StringLookup(vocabulary=vocabulary, output_mode="tf_idf", idf_weights=[1.0, 2.0, 6.0])
    assert weighed(words).tolist() == [[0, 2, 2, 0], [3, 0, 2, 6]]
    learned = layers.StringLookup(output_mode="tf_idf")
    learned.adapt(WORDS)
    idf = {"b": math.log(1 + 3 / 4), "d": math.log(1 + 3 / 3), "a": math.log(1 + 3 / 3), "c": math.log(1 + 3 / 2)}
    np.testing.assert_allclose(learned([["a", "c"]])[0], [0, 0, 0, idf["a"], idf["c"]], rtol=1e-6)


TEXTS = ["The cat, the mat.", "A cat sat!", "the END"]


def test_texts_become_numbers_of_their_words():
    layer = layers.TextVectorization()
    layer.adapt(TEXTS)
    assert layer.get_vocabulary() == ["", "[UNK]", "the", "cat", "sat", "mat", "end", "a"]
    assert layer(["the CAT barks", "end"]).tolist() == [[2, 3, 1], [6, 0, 0]]
    assert layer("the cat").tolist() == [[2, 3]]
    assert layer([["the cat"]]).tolist() == [[2, 3]]
    for length in (2, 5):
        fixed = layers.TextVectorization(output_sequence_length=length, vocabulary=["the", "cat"])
        assert fixed(["the cat the", ""]).tolist() == [[2, 3, 2, 0, 0][:length], [0] * length]
    counted = layers.TextVectorization(output_mode="count", vocabulary=["the", "cat"])
    assert counted(["the cat the dog", "dog dog"]).tolist() == [[1, 2, 1], [2, 0, 0]]
    hot = layers.TextVectorization(6, output_mode="multi_hot", vocabulary=["the", "cat"], pad_to_max_tokens=True)
    assert hot(["the the dog"]).tolist() == [[1, 1, 0, 0, 0, 0]]


def test_ways_to_cut_texts():
    def words(text, **options):
        return layers.TextVectorization(**options).words(text)

    assert words("A b, C") == ["a", "b", "c"]
    assert words("A b, C", standardize=None) == ["A", "b,", "C"]
    assert words("A b, C", standardize="lower") == ["a", "b,", "c"]
    assert words("A b, C", standardize="strip_punctuation") == ["A", "b", "C"]
    assert words("A b", standardize=str.upper, split="character") == ["A", " ", "B"]
    assert words("a-b", standardize=None, split=lambda text: text.split("-")) == ["a", "b"]
    assert words("A b", split=None) == ["a b"]
    assert words("a b c", ngrams=2) == ["a", "b", "c", "a b", "b c"]
    assert words("a b c", ngrams=(2, 3)) == ["a b", "b c", "a b c"]


def test_vocabularies_are_in_checkpoints_and_copies(tmp_path):
    layer = layers.TextVectorization(output_mode="tf_idf", standardize="lower")
    layer.adapt(TEXTS)
    bins = layers.Discretization(num_bins=3)
    bins.adapt(np.arange(9.0))
    expected = layer(TEXTS).tolist()
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin(TEXTS).tolist() == expected
    gx.Checkpoint(text=layer, bins=bins).save(tmp_path / "one")
    other, others = (
        layers.TextVectorization(output_mode="tf_idf", standardize="lower"),
        layers.Discretization(num_bins=3),
    )
    gx.Checkpoint(text=other, bins=others).restore(tmp_path / "one")
    assert other(TEXTS).tolist() == expected
    assert others.bin_boundaries == bins.bin_boundaries


@pytest.mark.broad
def test_numbers_in_bins():
    layer = layers.Discretization([0.0, 1.5, 4.0])
    x = np.float32([[-1, 0, 1.4], [1.5, 4, 9]])
    assert layer(x).tolist() == np.digitize(x, [0.0, 1.5, 4.0]).tolist()
    assert gx.jit(lambda x: layer(x))(x).tolist() == layer(x).tolist()
    values = np.random.default_rng(0).normal(size=(1000, 2))
    adapted = layers.Discretization(num_bins=4)
    adapted.adapt(iter([values[:300], values[300:]]))
    assert np.bincount(np.ravel(adapted(values))).tolist() == pytest.approx([500] * 4, abs=2)
    hot = layers.Discretization([0.0], output_mode="one_hot")(np.float32([-1, 1]))
    assert hot.tolist() == [[1, 0], [0, 1]]


@pytest.mark.broad
def test_a_nan_lies_in_no_bin():
    x = np.float32([[1, np.nan], [np.inf, -np.inf]])
    layer = layers.Discretization([0.0, 10.0])
    assert layer(np.float32([np.inf, -np.inf])).tolist() == [2, 0]
    with pytest.raises(gx.errors.ArgumentError, match=r"x\[0, 1\] is nan(.|\n)*no bin(.|\n)*nan_to_num"):
        layer(x)
    assert gx.jit(lambda x: layer(x))(x).tolist() == [[1, np.iinfo("int32").min], [2, 0]]
    with pytest.raises(gx.errors.ArgumentError, match="nan belongs to no bin"):
        gx.jit(lambda x: layer(x), checked=True)(x)
    hot = layers.Discretization([0.0, 10.0], output_mode="multi_hot")
    assert gx.jit(lambda x: hot(x))(x).tolist() == [[0, 1, 0], [1, 0, 1]]
    model = gx.Sequential([hot, layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(gx.errors.ArgumentError, match="nan belongs to no bin"):
        model.fit(x, np.zeros((2, 1), "float32"), verbose=0)
    with gx.backend.use("numpy"), pytest.raises(gx.errors.ArgumentError, match="nan belongs to no bin"):
        layers.Discretization([0.0])(x)


@pytest.mark.parametrize(
    ("make", "tokens", "message"),
    [
        (layers.StringLookup, ["a", np.nan], r'got data\[1\] = nan[\s\S]*\["" if t != t else t for t in data\]$'),
        (layers.StringLookup, ["a", 1, None], r'\["" if t is None else str\(t\) for t in tokens\]$'),
        (layers.StringLookup, ["a", 1], r"str\(t\) for t in tokens"),
        (layers.StringLookup, [["a"], [None]], r'\[\["" if t is None else t for t in row\] for row in data\]$'),
        (
            layers.TextVectorization,
            ["a", None, "b"],
            r'got data\[1\] = None[\s\S]*\["" if t is None else t for t in data\]$',
        ),
        (layers.StringLookup, [1, 2], "IntegerLookup for integers"),
        (layers.StringLookup, np.array([b"a\xff"]), "text in bytes is UTF-8"),
        (layers.IntegerLookup, [1.0, np.nan], "another number for nan first"),
        (layers.IntegerLookup, [1, None], r"\[-1 if t is None else t for t in data\]$"),
        (layers.IntegerLookup, [True], 'astype\\("int64"\\)$'),
        (layers.IntegerLookup, [[1], [2, 3]], "nested lists of one length of integers"),
        (lambda **_: layers.Hashing(4), ["a", np.nan], r'\["" if t != t else t for t in data\]$'),
        (lambda **_: layers.Hashing(4), [2, None], r"\[-1 if t is None else t for t in data\]$"),
        (lambda **_: layers.Hashing(4), [1.5], "Discretization for numbers with fractions"),
    ],
)
def test_tokens_of_other_kinds_are_told_what_to_write(make, tokens, message):
    with pytest.raises(gx.errors.ArgumentTypeError, match=message):
        make(vocabulary=[7] if make is layers.IntegerLookup else ["b"])(tokens)


def test_bins_are_those_of_keras(keras):
    x = np.random.default_rng(0).normal(size=(50, 2)).astype("float32")
    ours, theirs = (one.Discretization([-0.5, 0.1, 2.0]) for one in (layers, keras.layers))
    np.testing.assert_array_equal(ours(x), theirs(x))


@pytest.mark.parametrize("mode", ["multi_hot", "one_hot", "count"])
def test_categories_are_those_of_keras(keras, mode):
    x = np.array([[0, 2, 2], [3, 1, 0]])
    ours, theirs = (one.CategoryEncoding(4, mode) for one in (layers, keras.layers))
    np.testing.assert_array_equal(ours(x), theirs(x))
    np.testing.assert_array_equal(ours(x[:, :1]), theirs(x[:, :1]))


@pytest.mark.broad
def test_categories_as_vectors():
    x = np.array([[0, 2, 2], [3, 1, 0]])
    assert layers.CategoryEncoding(4)(x).tolist() == [[1, 0, 1, 0], [1, 1, 0, 1]]
    weights = np.float32([[0.5, 1, 2], [1, 1, 1]])
    assert layers.CategoryEncoding(4, "count")(x, count_weights=weights).tolist() == [[0.5, 0, 3, 0], [1, 1, 0, 1]]
    endless = layers.CategoryEncoding(4, "count")(x[:1], count_weights=np.float32([[np.inf, 1, 2]]))
    assert endless.tolist() == [[np.inf, 0, 3, 0]]
    assert layers.CategoryEncoding(4, "one_hot")(x).shape == (2, 3, 4)
    assert layers.CategoryEncoding(4, "one_hot")(x[:, :1]).shape == (2, 4)
    with pytest.raises(gx.errors.IndexRangeError):
        layers.CategoryEncoding(3)(x)
    with pytest.raises(gx.errors.DTypeError, match="categories are counted"):
        layers.CategoryEncoding(3)(x.astype("float32"))
    with pytest.raises(gx.errors.ArgumentError, match="nothing is counted"):
        layers.CategoryEncoding(4)(x, count_weights=weights)
    with pytest.raises(gx.errors.ShapeError, match="count_weights of shape"):
        layers.CategoryEncoding(4, "count")(x, count_weights=weights[:1])


def test_bins_by_hash_are_the_same_everywhere():
    layer = layers.Hashing(8)
    assert layer(["a", "b", "c", "a"]).tolist() == [0, 4, 7, 0]  # BLAKE2b of 8 bytes, little-endian, modulo 8
    assert layers.Hashing(8, salt=3)(["a", "b", "c"]).tolist() != layer(["a", "b", "c"]).tolist()
    masked = layers.Hashing(3, mask_value="")(["", *"abcdefgh"]).tolist()
    assert masked[0] == 0
    assert set(masked[1:]) == {1, 2}
    assert layer([1, 2]).tolist() == layer(["1", "2"]).tolist()
    assert layers.Hashing(8, output_mode="count")([["a", "a", "b"]]).tolist() == [[2, 0, 0, 0, 1, 0, 0, 0]]


def test_bad_input_is_refused():
    for make in (layers.StringLookup, layers.IntegerLookup, layers.TextVectorization):
        with pytest.raises(gx.errors.StateError, match=r"adapt\(\) was not called"):
            make()(["a"])
    layer = layers.StringLookup(vocabulary=["a"])
    for given in ([1, 2], [1.5], None, object()):
        with pytest.raises(gx.errors.ArgumentTypeError, match="it takes text, on the host"):
            layer(given)
    with pytest.raises(gx.errors.ArgumentTypeError, match="it takes integers, on the host"):
        gx.jit(lambda x: layers.IntegerLookup(vocabulary=[1])(x))(ops.asarray([1]))
    with pytest.raises(gx.errors.StateError, match="its vocabulary was given"):
        layer.adapt(["b"])
    for options, message in (
        ({"vocabulary": ["a", "a"]}, "'a' twice"),
        ({"vocabulary": ["a", "[UNK]"]}, r"'\[UNK\]' in it"),
        ({"vocabulary": ["a", "b"], "max_tokens": 2}, "max_tokens=2 has not so many"),
        ({"idf_weights": [1.0]}, "without a vocabulary"),
        ({"vocabulary": ["a"], "output_mode": "tf_idf"}, "weighs each token"),
        ({"vocabulary": ["a"], "output_mode": "tf_idf", "idf_weights": [np.inf]}, "one finite weight"),
        ({"vocabulary": ["a"], "idf_weights": [1.0]}, "nothing is weighed"),
        ({"output_mode": "hot"}, "output_mode="),
        ({"num_oov_indices": -1}, "num_oov_indices="),
        ({"invert": True, "num_oov_indices": 2}, "one for all that are unknown"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            layers.StringLookup(**options)
    for options, message in (
        ({"standardize": "upper"}, "standardize="),
        ({"split": "comma"}, "split="),
        ({"ngrams": 0}, "ngrams=0"),
        ({"output_mode": "one_hot"}, "many words"),
        ({"output_mode": "count", "output_sequence_length": 3}, "there are no sequences"),
        ({"pad_to_max_tokens": True}, "nothing to fill up"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            layers.TextVectorization(**options)
    with pytest.raises(gx.errors.IndexRangeError, match="there are 2"):
        layers.StringLookup(vocabulary=["a"], invert=True)([5])
    with pytest.raises(gx.errors.ArgumentTypeError, match="each row is one text"):
        layers.TextVectorization(vocabulary=["a"])([["a", "b"]])
    for options in ({}, {"bin_boundaries": [0.0], "num_bins": 2}, {"bin_boundaries": [1.0, 0.0]}, {"num_bins": 0}):
        with pytest.raises(gx.errors.ArgumentError, match="num_bins=|bin_boundaries="):
            layers.Discretization(**options)
    with pytest.raises(gx.errors.StateError, match="were given"):
        layers.Discretization([0.0]).adapt([1.0])
    with pytest.raises(gx.errors.ArgumentError, match="nan"):
        layers.Discretization(num_bins=2).adapt(np.array([np.nan]))
    with pytest.raises(gx.errors.ArgumentError, match="no bin is left"):
        layers.Hashing(1, mask_value="")


def restored(make_saved, make_other, path):
    saved, other = (gx.Sequential([make()], name="words") for make in (make_saved, make_other))
    gx.Checkpoint(model=saved).save(path, overwrite=True)
    gx.Checkpoint(model=other).restore(path)
    return other.layers[0]


@pytest.mark.parametrize(
    ("make", "more", "other", "message"),
    [
        (layers.StringLookup, {"vocabulary": ["a", "b"]}, {"max_tokens": 2}, "max_tokens=2 has not so many"),
        (layers.IntegerLookup, {"vocabulary": [3, 4]}, {"max_tokens": 2}, "max_tokens=2 has not so many"),
        (layers.TextVectorization, {"vocabulary": ["a", "b"]}, {"max_tokens": 3}, "max_tokens=3 has not so many"),
        (layers.StringLookup, {"vocabulary": ["a"]}, {"num_oov_indices": 2}, "the saved one had num_oov_indices=1"),
        (layers.IntegerLookup, {"vocabulary": [3]}, {"mask_token": 0}, "the saved one had mask_token=None"),
    ],
)
def test_a_checkpoint_moves_no_token_to_another_place(tmp_path, make, more, other, message):
    path = tmp_path / "saved"
    assert restored(lambda: make(**more), make, path).get_vocabulary() == make(**more).get_vocabulary()
    untouched = make(**other)
    with pytest.raises(gx.errors.StateError, match=message):
        restored(lambda: make(**more), lambda: untouched, path)
    assert untouched.vocabulary is None


def test_texts_do_not_go_into_models_compiled_functions_and_graphs():
    texts = np.array(["a", "b"])
    lookup = layers.StringLookup(vocabulary=["a", "b"])
    answer = "StringLookup"
    with pytest.raises(ArgumentTypeError, match=rf"{answer} as layers\[0\], which takes text"):
        gx.Sequential([lookup, layers.Embedding(4, 2)])
    model = gx.Sequential([layers.Embedding(4, 2)])
    model.compile("sgd", "mse")
    with pytest.raises(DataError, match=answer):
        model.fit(texts, np.ones(2), verbose=0)
    with pytest.raises(DataError, match=answer):
        model.predict_on_batch(texts)
    with pytest.raises(ArgumentTypeError, match=rf"an array of text(.|\n)*{answer}"):
        model(texts)
    with pytest.raises(ArgumentTypeError, match=rf"holds no numbers(.|\n)*{answer}"):
        gx.jit(lambda x: lookup(x))(texts)
    with pytest.raises(DTypeError, match=rf"'string'(.|\n)*{answer}"):
        gx.Input((), dtype="string")
    with pytest.raises(ArgumentTypeError, match=r"takes text, on the host(.|\n)*before the data goes to the model"):
        lookup(gx.Input((), dtype="int32"))


@pytest.mark.broad
@pytest.mark.parametrize("oov", [0, 1, 3])
def test_a_masked_token_counts_nowhere(oov):
    rows = [["", "a", ""], ["b", "b", ""]]
    wanted = np.pad([[1, 0], [0, 2]], ((0, 0), (oov, 0)))
    options = {"mask_token": "", "num_oov_indices": oov, "vocabulary": ["a", "b"]}
    np.testing.assert_array_equal(layers.StringLookup(output_mode="count", **options)(rows), wanted)
    np.testing.assert_array_equal(layers.StringLookup(output_mode="multi_hot", **options)(rows), wanted > 0)
    hot = layers.StringLookup(output_mode="one_hot", **options)(["", "b"])
    np.testing.assert_array_equal(hot, np.pad([[0, 0], [0, 1]], ((0, 0), (oov, 0))))
    weighed = layers.StringLookup(output_mode="tf_idf", idf_weights=[2.0, 3.0], **options)(rows)
    np.testing.assert_array_equal(weighed, wanted * np.array([*[2.5] * oov, 2, 3]))


def test_texts_without_a_letter_count_nowhere():
    layer = layers.TextVectorization(split=None, vocabulary=["a"], output_mode="count")
    assert layer(["", "a", "!", "z"]).tolist() == [[0, 0], [0, 1], [0, 0], [1, 0]]


def test_max_tokens_has_room_for_those_before_the_vocabulary():
    with pytest.raises(gx.errors.ArgumentError, match="max_tokens=6 or more"):
        layers.StringLookup(max_tokens=3, num_oov_indices=4, mask_token="")


@pytest.mark.parametrize("options", [{}, {"num_oov_indices": 0}, {"output_mode": "one_hot"}], ids=str)
def test_a_model_with_a_lookup_of_integers_is_saved_and_loaded(options, tmp_path):
    """The trial of its description called it on zeros with fractions, which a lookup refuses."""
    given = np.array([[12, 36]])
    model = gx.Sequential([layers.IntegerLookup(vocabulary=[12, 36, 1138], **options), layers.Lambda(ops.negative)])
    wanted = model(given)
    model.save(tmp_path / "given")
    np.testing.assert_array_equal(gx.load_model(tmp_path / "given")(given), wanted)
    if not options:
        adapted = layers.IntegerLookup()
        adapted.adapt(np.array([5, 6, 7]))
        model = gx.Sequential([adapted, layers.Embedding(4, 2)])
        wanted = model(given - 7)
        model.save(tmp_path / "adapted")
        np.testing.assert_array_equal(gx.load_model(tmp_path / "adapted")(given - 7), wanted)


def test_the_shape_of_a_lookup():
    layer = layers.IntegerLookup(vocabulary=[12, 36], num_oov_indices=0, output_mode="one_hot")
    assert layer.compute_output_shape((None, 1)) == (None, 2)
    back = layers.IntegerLookup(vocabulary=[12, 36], invert=True)
    assert back.compute_output_shape((None, 3)) == (None, 3)
    with pytest.raises(ArgumentTypeError, match="integers"):  # what is no example is looked at
        layer(np.zeros((2, 1), "float32"))


@pytest.mark.parametrize("given", ["words.txt", "abc", b"abc", {"a", "b"}, frozenset("ab")])
def test_a_vocabulary_is_no_path_and_no_set(given):
    for layer in (layers.StringLookup(vocabulary=["x"]), layers.TextVectorization(vocabulary=["x"])):
        with pytest.raises(ArgumentTypeError, match="a sequence of tokens"):
            layer.set_vocabulary(given)
        assert layer.get_vocabulary(include_special_tokens=False) == ["x"]


@pytest.mark.parametrize("make", [layers.StringLookup, layers.TextVectorization])
def test_data_without_tokens_is_refused(make):
    layer, batches = make(), iter([np.array(["a", "b"])])
    layer.adapt(batches)
    before = layer.get_vocabulary()
    for nothing in (batches, [], np.zeros(0, "U1")):  # the iterator is used up
        with pytest.raises(ArgumentError, match=r"adapt got no tokens(.|\n)*only once"):
            layer.adapt(nothing)
    with pytest.raises(ArgumentTypeError, match=r"a dict of 'text', 'label'(.|\n)*adapt\(data\['text'\]\)"):
        layer.adapt({"text": np.array(["a"]), "label": np.array(["b"])})
    assert layer.get_vocabulary() == before


def test_one_token_is_not_masked_and_unknown():
    for make, token in ((layers.StringLookup, "?"), (layers.IntegerLookup, 0)):
        with pytest.raises(ArgumentError, match="it is masked or unknown"):
            make(mask_token=token, oov_token=token)
    assert layers.StringLookup(num_oov_indices=0, mask_token="[UNK]").mask_token == "[UNK]"
