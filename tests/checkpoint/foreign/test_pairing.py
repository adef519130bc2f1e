"""Which array goes where if names are the same only in part, or the order on both sides is not the same."""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers

MissingInCheckpoint = gx.errors.MissingInCheckpoint
X = np.ones((2, 4), "float32")


class Parts(gx.Layer):
    """A layer with these attributes: layers, or lists of layers."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)

    def call(self, x):
        return x


def built(module, shape=(None, 4)):
    for one in module.submodules:
        if type(one) is layers.Dense or type(one) is layers.BatchNormalization:
            one.build(shape)
    return module


def dense(count=1):
    found = [layers.Dense(4) for _ in range(count)]
    return found if count > 1 else found[0]


def file_of(names, folder, suffix="npz"):
    """A file of torch with a Linear of these names, in this order; its bias is its place in the sorted names."""
    arrays = {}
    for name in names:
        number = float(sorted(names).index(name))
        arrays |= {f"{name}.weight": np.full((4, 4), number, "float32"), f"{name}.bias": np.full(4, number, "float32")}
    path = folder / f"net.{suffix}"
    if suffix == "npz":
        np.savez(path, **arrays)
    else:
        from safetensors.numpy import save_file

        save_file(arrays, path, metadata={"format": "pt"})
    return path


def sources(report):
    return {
        one.path.removesuffix("/bias"): one.source.removesuffix(".bias")
        for one in report.restored
        if "bias" in one.path
    }


def load(path, module, **options):
    return sources(gx.checkpoint.load_foreign(path, module, **options))


SUFFIXES = ["npz", "safetensors"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("order", list(itertools.permutations(("fc1", "fc2", "gate"))), ids="-".join)
def test_names_inside_count_where_only_the_name_of_the_list_differs(order, suffix, tmp_path):
    blocks = [Parts(**{name: dense() for name in order}) for _ in range(2)]
    names = [f"layer.{i}.{name}" for i in range(2) for name in ("fc1", "fc2", "gate")]
    found = load(file_of(names, tmp_path, suffix), built(Parts(blocks=blocks)))
    assert found == {f"blocks/{i}/{name}": f"layer.{i}.{name}" for i in range(2) for name in order}


def test_names_inside_count_below_several_other_names(tmp_path):
    inner = Parts(fc2=dense(), fc1=dense())
    names = ["model.encoder.fc1", "model.encoder.fc2", "model.top"]
    found = load(file_of(names, tmp_path), built(Parts(net=Parts(body=inner, head=dense()))))
    assert found == {
        "net/body/fc2": "model.encoder.fc2",
        "net/body/fc1": "model.encoder.fc1",
        "net/head": "model.top",
    }


@pytest.mark.filterwarnings("ignore:load_foreign. nothing but the order")  # other and extra have another name
@pytest.mark.parametrize("names", [("fc1", "fc2"), ("q_lin", "k_lin"), ("up", "down")], ids="-".join)
def test_an_order_that_names_deny_is_refused(names, tmp_path):
    """The lists have other names, and another layer inside: so only the order is left, and names say another one."""
    one, two = names
    blocks = [Parts(**{two: dense(), one: dense(), "other": dense()}) for _ in range(2)]
    there = [f"layer.{i}.{name}" for i in range(2) for name in (one, two, "extra")]
    module = built(Parts(blocks=blocks, head=dense()))
    path = file_of([*there, "top"], tmp_path)
    with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
        load(path, module)
    found = load(path, module, names={"blocks": "layer"})
    assert found == {f"blocks/{i}/{name}": f"layer.{i}.{name}" for i in range(2) for name in names} | {
        "blocks/0/other": "layer.0.extra", "blocks/1/other": "layer.1.extra", "head": "top"
    }  # fmt: skip


def test_numbers_behind_words_deny_an_order_too(tmp_path):
    path = file_of(["fc1", "fc2"], tmp_path)
    with pytest.raises(MissingInCheckpoint, match="neither names nor order decide"):
        load(path, built(Parts(dense2=dense(), dense1=dense())))
    assert load(path, built(Parts(dense1=dense(), dense2=dense()))) == {"dense1": "fc1", "dense2": "fc2"}


def test_numbers_that_begin_elsewhere_are_no_names(tmp_path):
    found = load(file_of(["dense", "dense_1"], tmp_path), built(Parts(dense_1=dense(), dense_2=dense())))
    assert found == {"dense_1": "dense", "dense_2": "dense_1"}
    found = load(file_of(["layer1", "layer2", "layer3"], tmp_path), built(Parts(layer2=dense())), mode="cover")
    assert found == {"layer2": "layer2"}


@pytest.mark.parametrize(
    ("mapped", "name"), [("blocks/0", "blocks.3"), ("blocks/3", "blocks.0"), ("blocks/1", "blocks.2")]
)
def test_a_name_map_for_one_element_of_a_list_moves_no_other(mapped, name, tmp_path):
    module = built(Parts(blocks=dense(4)))
    path = file_of([f"blocks.{i}" for i in range(4)], tmp_path)
    found = load(path, module, names={mapped: name}, mode="cover")
    assert found == {f"blocks/{i}": f"blocks.{i}" for i in range(4)} | {mapped: name}
    with pytest.raises(gx.errors.UnusedInCheckpoint, match=mapped.replace("/", r"\.")):
        load(path, module, names={mapped: name})


def norm(name):
    return {f"{name}.{part}": np.full(4, value, "float32") for part, value in _NORM.items()}


_NORM = {"weight": 1.0, "bias": 2.0, "running_mean": 3.0, "running_var": 4.0}


def test_layers_of_one_shape_beside_others_that_prove_another_order(tmp_path):
    """The kernels of both branches fit only one, and are in the other order: so the norms are perhaps, too."""
    arrays = {"conv.weight": np.ones((4, 3), "float32")} | norm("bn")
    arrays |= {"shortcut.0.weight": np.ones((4, 5), "float32")} | norm("shortcut.1")
    np.savez(tmp_path / "net.npz", **arrays)
    wide, narrow = layers.Dense(4, use_bias=False), layers.Dense(4, use_bias=False)
    wide.build((None, 5)), narrow.build((None, 3))
    norms = [layers.BatchNormalization() for _ in range(2)]
    for one in norms:
        one.build((None, 4))
    module = Parts(a=wide, b=norms[0], c=narrow, d=norms[1])
    with pytest.raises(MissingInCheckpoint, match="b: needs gamma.*neither names nor order decide: bn, shortcut.1"):
        gx.checkpoint.load_foreign(tmp_path / "net.npz", module)
    gx.checkpoint.load_foreign(tmp_path / "net.npz", module, names={"b": "shortcut.1", "d": "bn"})
    other = Parts(a=narrow, b=norms[0], c=wide, d=norms[1])
    with pytest.warns(UserWarning, match="apart b, d, which"):
        report = gx.checkpoint.load_foreign(tmp_path / "net.npz", other)
    assert {one.path: one.source for one in report.restored}["b/gamma"] == "bn.weight"


TRIPLES = [("q_proj", "k_proj", "v_proj"), ("query", "key", "value"), ("to_q", "to_k", "to_v"), ("Wq", "Wk", "Wv")]


@pytest.mark.parametrize("output", ["out_proj", "dense", "to_out", "Wo"])
@pytest.mark.parametrize("triple", TRIPLES, ids="-".join)
def test_projections_are_known_by_name_whatever_the_order(triple, output, tmp_path):
    attention = layers.MultiHeadAttention(2, 2)
    x = np.ones((1, 3, 4), "float32")
    attention(x)
    query, key, value = triple
    names = [f"att.{name}" for name in (value, key, output, query)]
    found = load(file_of(names, tmp_path), Parts(att=attention))
    assert found == {
        "att/query": f"att.{query}", "att/key": f"att.{key}", "att/value": f"att.{value}", "att/output": f"att.{output}"
    }  # fmt: skip


@pytest.mark.parametrize("triple", TRIPLES, ids="-".join)
def test_own_layers_with_the_names_of_the_file(triple, tmp_path):
    """Names that have synonyms are names on both sides."""
    module = built(Parts(**{name: dense() for name in (*triple[::-1], "out_proj")}))
    found = load(file_of([*triple, "out_proj"], tmp_path), module)
    assert found == {name: name for name in (*triple, "out_proj")}


def test_layer_scale_called_gamma(tmp_path):
    class Scaled(gx.Layer):
        def build(self, input_shape):
            self.gamma = self.add_weight((4,), name="gamma")

        def call(self, x):
            return x * self.gamma

    layer = Scaled()
    layer(X)
    np.savez(
        tmp_path / "net.npz", **{"0.gamma": np.arange(4.0, dtype="float32"), "1.weight": np.ones((4, 4), "float32")}
    )
    second = layers.Dense(4, use_bias=False)
    second.build((None, 4))
    gx.checkpoint.load_foreign(tmp_path / "net.npz", Parts(scale=layer, out=second), source="torch")
    np.testing.assert_array_equal(layer.gamma, np.arange(4.0))


def test_a_checkpoint_that_was_made_of_a_file_of_torch_keeps_its_layouts(tmp_path):
    from graftax.cli.main import main

    kernel = np.arange(16, dtype="float32").reshape(4, 4)
    np.savez(tmp_path / "net.npz", **{"fc.weight": kernel, "fc.bias": np.ones(4, "float32")})
    assert main(["ckpt", "convert", str(tmp_path / "net.npz"), "--to", str(tmp_path / "net")]) == 0
    module = built(Parts(fc=dense()))
    report = gx.checkpoint.load_foreign(tmp_path / "net", module)
    assert report.source == "torch"
    np.testing.assert_array_equal(module.fc.kernel, kernel.T)


class Own(gx.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.weight = self.add_weight((input_shape[-1], self.units), name="weight")

    def call(self, x):
        return x @ self.weight


def test_a_square_matrix_for_an_own_weight_is_warned_of(tmp_path):
    net = Parts(fc=Own(4))
    net.fc(X)
    matrix = np.arange(16, dtype="float32").reshape(4, 4)
    np.savez(tmp_path / "net.npz", **{"fc.weight": matrix})
    with pytest.warns(
        UserWarning, match=r"fc/weight of layers of your own got a square matrix.*ops\.transpose\(weight\)"
    ):
        gx.checkpoint.load_foreign(tmp_path / "net.npz", net)
    np.testing.assert_array_equal(net.fc.weight, matrix)


def test_a_single_array_that_fits_is_named(tmp_path):
    net = Parts(a=Own(3), b=Own(2))
    net.a(X), net.b(X)
    arrays = {
        "x.weight": np.ones((4, 3), "float32"),
        "x.bias": np.ones(3, "float32"),
        "y.weight": np.ones((4, 2), "float32"),
    }
    np.savez(tmp_path / "net.npz", **arrays)
    with pytest.raises(MissingInCheckpoint) as caught:
        gx.checkpoint.load_foreign(tmp_path / "net.npz", net, mode="cover")
    assert "names={'a/weight': 'x.weight'" in str(caught.value)


def test_what_stands_elsewhere_as_a_whole_denies_no_order(tmp_path):
    """The class token is first in torch and last here: the layers of the blocks are in the same order."""

    class Net(Parts):
        def __init__(self):
            super().__init__(patches=layers.Dense(3), blocks=[Parts(up=dense()) for _ in range(2)])
            self.token = gx.Variable(np.zeros((1, 7), "float32"))

    net = built(Net())
    arrays = {"cls_token": np.ones((1, 7), "float32"), "embed.weight": np.ones((3, 4), "float32")}
    arrays |= {"embed.bias": np.ones(3, "float32")}
    for i in range(2):
        arrays |= {
            f"layers.{i}.mlp.0.weight": np.full((4, 4), i, "float32"),
            f"layers.{i}.mlp.0.bias": np.full(4, i, "float32"),
        }
    np.savez(tmp_path / "net.npz", **arrays)
    gx.checkpoint.load_foreign(tmp_path / "net.npz", net)
    assert [float(block.up.bias[0]) for block in net.blocks] == [0.0, 1.0]


def test_a_checkpoint_of_a_whole_program_with_random_streams(tmp_path):
    def made():
        model = gx.Sequential([layers.Dense(3), layers.Dropout(0.1), layers.Dense(2)])
        model(X)
        return model

    saved, model = made(), made()
    gx.Checkpoint(model=saved).save(tmp_path / "step")
    report = gx.checkpoint.load_foreign(tmp_path / "step", model)
    assert [one.name for one in report.left_out] == ["model/layers/1/seed_generator/state"]
    np.testing.assert_array_equal(model.layers[2].kernel, saved.layers[2].kernel)


def sorted_file(folder, layers_in):
    """A file of named layers, sorted, as a library returns what it read; a bias is the place of its layer."""
    arrays = {}
    for number, name in enumerate(layers_in):
        arrays[f"{name}.weight"] = np.full((4, 4), number, "float32")
        arrays[f"{name}.bias"] = np.full(4, number, "float32")
    np.savez(folder / "net.npz", **{name: arrays[name] for name in sorted(arrays)})
    return folder / "net.npz"


def test_sorted_names_say_nothing_of_the_order(tmp_path):
    names = ["fc1", *(f"layers.{i}" for i in range(12))]
    model = built(Parts(first=dense(), blocks=dense(12)))
    with pytest.raises(MissingInCheckpoint):
        gx.checkpoint.load_foreign(sorted_file(tmp_path, names), model, source="torch")
    model = built(Parts(blocks=dense(12)))
    gx.checkpoint.load_foreign(sorted_file(tmp_path, names[1:]), model, source="torch")
    assert [int(block.bias.numpy()[0]) for block in model.blocks] == list(range(12))
    model = built(Parts(encoder=dense(), decoder=dense()))
    with pytest.raises(MissingInCheckpoint):
        gx.checkpoint.load_foreign(sorted_file(tmp_path, ["reads", "answers"]), model, source="torch")


def test_files_that_were_put_together_of_sorted_ones(tmp_path):
    arrays = {}
    for shard in (range(11), range(11, 22)):
        names = [f"layers.{i}.{last}" for i in shard for last in ("a.weight", "b.weight")]
        arrays |= {name: np.full((4, 4), int(name.split(".")[1]), "float32") for name in sorted(names)}
    np.savez(tmp_path / "net.npz", **arrays)
    blocks = [Parts(a=layers.Dense(4, use_bias=False), b=layers.Dense(4, use_bias=False)) for _ in range(22)]
    model = built(Parts(blocks=blocks))
    gx.checkpoint.load_foreign(tmp_path / "net.npz", model, source="torch")
    assert [int(block.b.kernel.numpy()[0, 0]) for block in model.blocks] == list(range(22))


@pytest.mark.parametrize("rest", [{}, {"a/bias": "user.bias", "b/bias": "item.bias"}, {"a": "user", "b": "item"}])
def test_the_rest_of_a_layer_follows_its_named_array(rest, tmp_path, recwarn):
    model = built(Parts(a=dense(), b=dense()))
    path, names = file_of(["user", "item"], tmp_path), {"a/kernel": "item.weight", "b/kernel": "user.weight"}
    gx.checkpoint.load_foreign(path, model, source="torch", names=names | rest)
    assert [float(v.numpy().ravel()[0]) for v in (model.a.kernel, model.b.kernel)] == [0.0, 1.0]
    crossed = [0.0, 1.0] if not rest else [1.0, 0.0]
    assert [float(v.numpy().ravel()[0]) for v in (model.a.bias, model.b.bias)] == crossed
    assert not recwarn.list


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_an_order_that_nobody_defines(order, tmp_path):
    arrays = {}
    for number, name in enumerate(["user.0", "user.2", "item.0", "item.2"]):
        arrays |= {f"{name}.weight": np.full((4, 4), number, "float32"), f"{name}.bias": np.full(4, number, "float32")}
    names = list(arrays)[::-1] if order == "reversed" else np.random.default_rng(2).permutation(list(arrays)).tolist()
    np.savez(tmp_path / "net.npz", **{name: arrays[name] for name in names})
    model = built(Parts(a=dense(2), b=dense(2)))
    with pytest.raises(MissingInCheckpoint):
        gx.checkpoint.load_foreign(tmp_path / "net.npz", model, source="torch")
    gx.checkpoint.load_foreign(
        tmp_path / "net.npz",
        model,
        source="torch",
        names={f"{t}/{i}": f"{n}.{2 * i}" for t, n in (("a", "user"), ("b", "item")) for i in range(2)},
    )
    assert [int(one.bias.numpy()[0]) for one in [*model.a, *model.b]] == [0, 1, 2, 3]


def linear_file(folder, **layers_in):
    """A file of layers by name: whether each has a weight, a bias; all numbers of a layer are its place."""
    arrays = {}
    for number, (name, has) in enumerate(layers_in.items()):
        arrays |= {f"{name}.weight": np.full((4, 4), number, "float32")} if "w" in has else {}
        arrays |= {f"{name}.bias": np.full(4, number, "float32")} if "b" in has else {}
    np.savez(folder / "net.npz", **arrays)
    return folder / "net.npz"


def numbers_of(layer):
    return int(layer.kernel.numpy()[0, 0]), int(layer.bias.numpy()[0])


def test_the_rest_of_a_layer_may_have_another_name(tmp_path):
    model = built(Parts(head=dense()))
    path = linear_file(tmp_path, proj="w", predictions="b")
    gx.checkpoint.load_foreign(path, model, source="torch", names={"head/kernel": "proj.weight"})
    assert numbers_of(model.head) == (0, 1)
    path = linear_file(tmp_path, proj="w", head="b")
    gx.checkpoint.load_foreign(path, model, source="torch", names={"head/kernel": "proj.weight"})
    assert numbers_of(model.head) == (0, 1)


def test_one_rest_does_not_go_to_two_layers(tmp_path):
    model = built(Parts(a=dense(), b=dense()))
    path, names = linear_file(tmp_path, fc="wb"), {"a/kernel": "fc.weight", "b/kernel": "fc.weight"}
    with pytest.raises(MissingInCheckpoint):
        gx.checkpoint.load_foreign(path, model, source="torch", names=names)


@pytest.mark.parametrize(
    "names", [{"q/0": "query.0"}, {"q/1": "query.2"}, {"d/0": "doc.0"}, {"q/0/kernel": "query.0.weight"}]
)
def test_a_named_layer_that_contradicts_the_order(names, tmp_path):
    model = built(Parts(d=dense(2), q=dense(2)))
    path = file_of(["query.0", "query.2", "doc.0", "doc.2"], tmp_path)
    with pytest.raises(MissingInCheckpoint):
        gx.checkpoint.load_foreign(path, model, source="torch", names=names)


def test_a_named_layer_that_stands_elsewhere_leaves_the_order_of_the_others(tmp_path):
    model = built(Parts(head=dense(), first=dense(), second=dense(), third=dense()))
    path = file_of(["a", "b", "c", "fc"], tmp_path)
    with pytest.warns(UserWarning, match="apart first, second, third, which"):
        gx.checkpoint.load_foreign(path, model, source="torch", names={"head": "fc"})
    assert [int(one.bias.numpy()[0]) for one in (model.first, model.second, model.third, model.head)] == [0, 1, 2, 3]
