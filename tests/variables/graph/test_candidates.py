"""What selectors choose from: each way from a Module counts, with the names and classes on it, and no other."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import SelectorError
from graftax.variables.graph.candidates import candidates
from graftax.variables.graph.module import walk_with_edges
from tests.variables.graph.boxes import Box, var


def paths_of(box):
    return {one.path: list(one.paths) for one in candidates(walk_with_edges(box))}


def test_a_shared_weight_has_each_of_its_paths_and_the_first_is_that_of_a_walk():
    v = var()
    first, second = Box(x=v), Box(y=v)
    outer = Box(second=second, first=first, again=[first, first])
    assert paths_of(outer) == {"second/y": ["second/y", "first/x", "again/0/x", "again/1/x"]}
    assert list(outer.named_variables()) == ["second/y"]
    assert paths_of(second) == {"y": ["y"]}


def test_a_circle_ends():
    inner = Box(v=var())
    outer = Box(inner=inner)
    inner.back = outer
    assert paths_of(outer) == {"inner/v": ["inner/v"]}


def test_shared_parts_of_shared_parts_end():
    box = Box(v=var())
    for _ in range(40):
        box = Box(a=box, b=box)
    (paths,) = paths_of(box).values()
    assert paths[0] == "/".join([*"a" * 40, "v"])
    assert len(paths) == 64


def test_parts_of_an_expression_have_the_paths_of_it_by_each_way():
    dense = layers.Dense(2)
    dense(np.ones((1, 2), "float32"))
    gx.graft(dense, gx.reparam.WeightNorm(), where="kernel")
    found = paths_of(Box(a=dense, b=dense))["a/kernel/magnitude"]
    assert found == ["a/kernel/magnitude", "a/kernel", "b/kernel/magnitude", "b/kernel"]


class Front(gx.Sequential):
    pass


@pytest.fixture
def model():
    """A model of which one layer hung in an older one first, which comes along."""
    older = gx.Sequential([layers.Dense(2, name="old"), layers.Dense(2)], name="older")
    older(np.ones((1, 2), "float32"))
    model = gx.Sequential([Front([older.layers[0], layers.Dense(2)], name="front"), layers.Dense(2, name="head")])
    model(np.ones((1, 2), "float32"))
    return model, older


FRONT = ["layers/0/layers/0/kernel", "layers/0/layers/0/bias", "layers/0/layers/1/kernel", "layers/0/layers/1/bias"]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("layers/front/**", FRONT),
        ("layers/front/layers/old/**", FRONT[:2]),
        ("layers/0/layers/old/kernel", FRONT[:1]),
        (Front, FRONT),
        (gx.select(Front) & ~gx.select("**/old/**"), FRONT[2:]),
        (~gx.select("layers/head/**"), FRONT),
    ],
)
def test_names_and_classes_are_those_on_the_way_from_the_model(model, where, expected):
    model, older = model
    assert older.layers[0].kernel.path == "layers/0/kernel"
    assert [row.path for row in gx.explain(model, where).rows] == expected
    assert model.freeze(where) == expected
    optimizer = gx.optimizers.SGD(0.1, rules=[(where, {"weight_decay": 0.5})])
    assert [row.path for row in optimizer.explain(model).rows if row.weight_decay] == expected


def test_an_older_model_is_not_on_the_way(model):
    model, older = model
    with pytest.raises(SelectorError, match="matches none"):
        model.freeze("layers/0/kernel")
    assert older.freeze("layers/0/kernel") == ["layers/0/kernel"]


def test_what_is_shared_is_frozen_by_each_path_and_not_by_what_spares_one():
    shared = layers.Dense(2)
    model = gx.Sequential([shared, layers.Dense(2)])
    model.aux = shared
    model(np.ones((1, 2), "float32"))
    first = list(model.named_variables())[:2]
    assert model.freeze("layers/0/**") == model.unfreeze("aux/**")
    assert not set(model.freeze(~gx.select("aux/**"))) & set(first)
    assert model.freeze(gx.select("aux/kernel") & "layers/0/**") == first[:1]


def starts(prefix):
    return lambda variable: variable.path.startswith(prefix)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (starts("layers/0/layers/0/"), FRONT[:2]),
        (starts("layers/0/"), FRONT),
        (gx.select(starts("layers/0/")) & ~gx.select(starts("layers/0/layers/0/")), FRONT[2:]),
    ],
)
def test_a_function_sees_the_path_from_the_model_as_globs_do(model, where, expected):
    model, older = model
    assert [row.path for row in gx.explain(model, where).rows] == expected
    assert model.freeze(where) == expected
    optimizer = gx.optimizers.SGD(0.1, rules=[(where, {"weight_decay": 0.5})])
    assert [row.path for row in optimizer.explain(model).rows if row.weight_decay] == expected
    assert older.layers[0].kernel.path == "layers/0/kernel"  # everywhere else, it is the path in the first owner


def test_a_function_sees_one_path_of_a_shared_weight_and_the_weight_itself():
    shared = layers.Dense(2)
    model = gx.Sequential([shared, layers.Dense(2)])
    model.aux = shared
    model(np.ones((1, 2), "float32"))
    seen = []
    model.freeze(lambda v: seen.append((v.path, v is shared.kernel)) or True)
    first = next(iter(model.named_variables()))
    assert [path for path, is_it in seen if is_it] == [first]
    assert [path for path, _ in seen] == list(model.named_variables())


def test_a_function_that_grafts_or_restores_sees_the_paths_that_globs_are_matched_with(model, tmp_path):
    model, older = model
    assert older.layers[0].kernel.path == "layers/0/kernel"
    for _ in range(2):  # a weight, then an expression
        gx.graft(model, gx.reparam.WeightNorm(), where=lambda v: v.path == "layers/0/layers/0/kernel")
    assert isinstance(model.layers[0].layers[0].kernel, gx.reparam.Reparam)
    gx.Checkpoint(net=model).save(tmp_path / "c")
    report = gx.Checkpoint(net=model).restore(tmp_path / "c", only=lambda v: v.path == "net/layers/1/bias")
    assert [one.path for one in report.restored] == ["net/layers/1/bias"]
