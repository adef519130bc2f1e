"""Drawn trees of layers of one shape, which only names tell apart: each gets its own array, or the load is refused."""

import numpy as np
import pytest
from safetensors.numpy import save_file

import graftax as gx
from graftax import layers

NAMES = (
    "fc1 fc2 q_proj k_proj v_proj out_proj gate up down norm1 norm2 linear1 linear2 self_attn query key value dense "
    "dense_1 dense_2 conv head body proj output layer1 layer2 encoder decoder layers"
).split()


class Part(gx.Layer):
    def __init__(self, parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)

    def call(self, x):
        return x


def draw(rng, depth=0):
    """Return a dict of names, each with a layer (None), a dict, or a list of those."""
    found = {}
    names = rng.choice(NAMES, int(rng.integers(2, 5)), replace=False).tolist()
    if rng.random() < 0.3 and "layers" not in names:
        names[0] = "layers"
    for name in names:
        kind = (0.4 if name == "layers" else rng.random()) if depth < 2 else 1.0
        if kind < 0.3:
            found[name] = draw(rng, depth + 1)
        elif kind < 0.5:
            inside = draw(rng, depth + 1) if rng.random() < 0.6 else None
            found[name] = [inside] * int(rng.integers(2, 4))
        else:
            found[name] = None
    return found


def names_in(tree, above=()):
    if tree is None:
        return [above]
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return [name for key, inside in items for name in names_in(inside, (*above, str(key)))]


def make(tree, rng, shuffles, renames, above=()):
    """Return the module of a tree, and the names in the tree of the paths in it.

    Args:
        tree: The tree.
        rng: What draws.
        shuffles: Whether attributes are defined in another order.
        renames: Whether lists have other names.
        above: The name of the tree.
    """
    if tree is None:
        dense = layers.Dense(2)
        dense.build((None, 2))
        return dense, {(): above}
    if isinstance(tree, list):
        made = [make(one, rng, shuffles, renames, (*above, str(i))) for i, one in enumerate(tree)]
        found = {(str(i), *k): v for i, (_, known) in enumerate(made) for k, v in known.items()}
        held = [one for one, _ in made]
        if tree[0] is None and rng.random() < 0.5:  # of which files have no name for the list
            return gx.Sequential(held), {("layers", *key): value for key, value in found.items()}
        return held, found
    parts, found, names = {}, {}, list(tree)
    if shuffles:
        rng.shuffle(names)
    for name in names:
        inside, known = make(tree[name], rng, shuffles, renames, (*above, name))
        here = f"blocks_{name}" if renames and isinstance(tree[name], list) else name
        parts[here] = inside
        found |= {(here, *key): value for key, value in known.items()}
    return Part(parts), found


def load(seed, folder, shuffles, renames, prefix, is_sorted=False):
    """Return, for each layer, its name in the file and the name of what it got; None if the load was refused."""
    rng = np.random.default_rng(seed)
    tree = draw(rng)
    if is_sorted:
        tree["stages"] = [None] * 12
    module, known = make(tree, rng, shuffles, renames)
    names = names_in(tree)
    arrays = {}
    for i, name in enumerate(names):
        there = ".".join((*prefix, *name))
        arrays |= {f"{there}.weight": np.full((2, 2), i, "float32"), f"{there}.bias": np.full(2, i, "float32")}
    if is_sorted:
        arrays = {name: arrays[name] for name in sorted(arrays)}
    path = folder / ("net.npz" if seed % 2 else "net.safetensors")
    np.savez(path, **arrays) if seed % 2 else save_file(arrays, path, metadata={"format": "pt"})
    try:
        gx.checkpoint.load_foreign(path, module, source="torch")
    except gx.errors.MatchError:
        return None
    variables = module.named_variables()
    return {known[path]: names[int(variables["/".join((*path, "bias"))].value[0])] for path in known}


@pytest.mark.parametrize("prefix", [(), ("module",)], ids=["", "below a prefix"])
@pytest.mark.parametrize("shuffles", [False, True], ids=["", "in another order"])
def test_the_same_names(shuffles, prefix, tmp_path):
    for seed in range(24):
        found = load(seed, tmp_path, shuffles, False, prefix)
        assert found is not None, seed
        assert all(name == got for name, got in found.items()), seed


@pytest.mark.filterwarnings("ignore:load_foreign. nothing but the order")
@pytest.mark.parametrize("shuffles", [False, True], ids=["", "in another order"])
def test_lists_of_other_names(shuffles, tmp_path):
    right = 0
    for seed in range(40):
        found = load(seed, tmp_path, shuffles, True, ())
        right += found is not None
        assert found is None or all(name == got for name, got in found.items()), seed
    assert right >= 16


@pytest.mark.filterwarnings("ignore:load_foreign. nothing but the order")
@pytest.mark.parametrize("shuffles", [False, True], ids=["", "in another order"])
def test_files_whose_names_were_sorted(shuffles, tmp_path):
    for seed in range(1, 61, 2):  # .npz, which keeps the order that it was given
        found = load(seed, tmp_path, shuffles, True, (), is_sorted=True)
        assert found is None or all(name == got for name, got in found.items()), seed
