"""Layers of one shape: right by their names, refused, or warned of where nothing but their order tells them apart."""

import warnings

import numpy as np
import pytest
from safetensors.numpy import save_file

import graftax as gx
from graftax import layers
from tests.checkpoint.foreign.test_pairing import Parts

ORDER = "nothing but the order"
ROLES = {  # names that libraries and projects give to the same layer
    "query": "query q wq q_proj queries to_q q_lin toqueries".split(),
    "key": "key k wk k_proj keys to_k k_lin tokeys".split(),
    "value": "value v wv v_proj values to_v v_lin tovalues".split(),
    "merge": "out output wo o_proj merge to_out proj c_proj".split(),
    "fc1": "fc1 linear1 w1 lin1 intermediate dense1 up expand".split(),
    "fc2": "fc2 linear2 w2 lin2 down dense2 contract ff_last".split(),
}


def file_of(names, path):
    """A file of torch with square Linears of these names, whose biases are their places."""
    arrays = {f"{name}.{part}": np.full((2, 2) if part == "weight" else 2, place, "float32")
              for place, name in enumerate(names) for part in ("weight", "bias")}  # fmt: skip
    np.savez(path, **arrays) if path.suffix == ".npz" else save_file(arrays, path, metadata={"format": "pt"})
    return path


def built(dense):
    dense.build((None, 2))
    return dense


def load(theirs, ours, path, **settings):
    """Return for each layer the name of what it got."""
    module = Parts(**{name: built(layers.Dense(2)) for name in ours})
    gx.checkpoint.load_foreign(file_of(theirs, path), module, source="torch", **settings)
    return {name: theirs[int(getattr(module, name).bias[0])] for name in ours}


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_whatever_is_loaded_without_a_warning_is_right(suffix, tmp_path):
    found = {"right": 0, "refused": 0, "warned": 0}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        roles = rng.permutation(list(ROLES))[: rng.integers(2, 7)].tolist()
        place = int(rng.integers(8))
        theirs = {role: ROLES[role][place if seed % 2 else rng.integers(8)] for role in roles}
        ours = {role: str(rng.choice(ROLES[role])) for role in (rng.permutation(roles) if seed % 3 else roles)}
        with warnings.catch_warnings():
            warnings.filterwarnings("error", ORDER)
            warnings.filterwarnings("error", "load_foreign")
            try:
                got = load(list(theirs.values()), list(ours.values()), tmp_path / f"net.{suffix}")
            except gx.errors.MatchError:
                found["refused"] += 1
            except UserWarning:
                found["warned"] += 1
            else:
                found["right"] += 1
                assert got == {ours[role]: theirs[role] for role in roles}, seed
    assert found["right"] > 10
    assert found["refused"] > 10


@pytest.mark.parametrize("ours", [["wq", "wk", "out", "v_proj"], ["out", "wq", "wk", "value"], ["keys", "queries"]])
@pytest.mark.parametrize("theirs", [["query", "key", "value", "out"], ["key", "query", "value", "out"]])
@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_the_usual_order_of_projections_is_no_order(suffix, theirs, ours, tmp_path):
    theirs = theirs[: len(ours)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "load_foreign: " + ORDER)
        try:
            found = load(theirs, ours, tmp_path / f"net.{suffix}")
        except gx.errors.MissingInCheckpoint:
            return
    assert found == {"keys": "key", "queries": "query"}
    assert suffix == "npz"


@pytest.mark.parametrize("others", [{}, {"norm_1": "na", "norm_2": "nb"}])
def test_numbers_deny_an_order_beside_any_others(others, tmp_path):
    with pytest.raises(gx.errors.MissingInCheckpoint, match="neither names nor order decide"):
        load(["wo", "w1", "w2", *others.values()], ["output", "linear2", "linear1", *others], tmp_path / "net.npz")


TOLD = {
    "by words": (["enc_fc", "dec_fc"], ["encoder", "decoder"]),
    "by one word": (["stem", "head"], ["first", "class_head"]),
    "by numbers": (["conv1", "conv2", "conv3"], ["c_0", "c_1", "c_2"]),
    "by a number that the first lacks": (["dense", "dense_1"], ["hidden1", "hidden2"]),
    "by letters": (["layer.q", "layer.k"], ["q_lin", "k_lin"]),
}
UNTOLD = {
    "by nothing": (["alpha", "zulu"], ["first", "second"]),
    "by numbers of one side": (["fc1", "fc2"], ["first", "second"]),
    "by words of any layer": (["key_proj", "unify"], ["o_proj", "wk"]),
}


@pytest.mark.parametrize("case", TOLD)
def test_names_tell_who_is_who(case, tmp_path):
    theirs, ours = TOLD[case]
    assert list(load(theirs, ours, tmp_path / "net.npz").values()) == theirs


@pytest.mark.parametrize("case", UNTOLD)
def test_names_do_not_tell(case, tmp_path):
    theirs, ours = UNTOLD[case]
    with pytest.warns(UserWarning, match=f"(?s){ORDER}.*apart {ours[0]}, {ours[1]}, which.*'{ours[0]}': '{theirs[0]}'"):
        load(theirs, ours, tmp_path / "net.npz")
    names = dict(zip(ours, theirs, strict=True))
    assert load(theirs, ours, tmp_path / "net.npz", names=names) == names
    assert load(theirs, ours, tmp_path / "net.npz", names=dict([*names.items()][:1])) == names


def test_layers_that_are_not_loaded_are_not_warned_of(tmp_path):
    path = file_of(["alpha", "zulu"], tmp_path / "net.npz")
    module = Parts(first=built(layers.Dense(2)), second=built(layers.Dense(2)))
    with pytest.warns(UserWarning, match="apart first, which"):
        report = gx.checkpoint.load_foreign(path, module, source="torch", only="first/**")
    assert report.by_order == ("first",)
    assert report.as_dict()["by_order"] == ("first",)


def test_blocks_of_a_list_and_what_is_behind_it(tmp_path):
    blocks = [Parts(norm_1=built(layers.Dense(2)), norm_2=built(layers.Dense(2))) for _ in range(2)]
    names = [f"h.{i}.ln_{j}" for i in range(2) for j in (1, 2)]
    module = Parts(blocks=blocks, norm=built(layers.Dense(2)))
    report = gx.checkpoint.load_foreign(file_of([*names, "ln_f"], tmp_path / "net.npz"), module, source="torch")
    assert report.by_order == ()


def test_the_name_of_a_layer_is_that_of_an_attribute_of_the_file(tmp_path):
    given = gx.Input((2,))
    made = [layers.Dense(2, name=name)(given) for name in ("mean", "log_var")]
    model = gx.Model(given, layers.Concatenate()(made))
    gx.checkpoint.load_foreign(file_of(["log_var", "mean"], tmp_path / "net.npz"), model, source="torch")
    found = {layer.name: float(layer.bias[0]) for layer in model.layers if isinstance(layer, layers.Dense)}
    assert found == {"mean": 1.0, "log_var": 0.0}
