"""Wherever selectors are taken: a word is a path, a role has its prefix, classes and predicates do what they say."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.cli.main import main
from graftax.core.errors import SelectorError
from graftax.core.roles import ROLES
from graftax.core.selectors import select

NAMES = (*ROLES, "bias")


class Words(gx.Layer):
    """Weights with the names of roles, and a block below."""

    def build(self, input_shape):
        for name in NAMES:
            setattr(self, name, self.add_weight((3, 3), initializer="ones", name=name))
        self.norm = layers.LayerNormalization()
        self.norm.build((None, 3))

    def call(self, x):
        return self.norm(x @ self.weight)


def words():
    layer = Words()
    layer.build((None, 3))
    return layer


def frozen(layer, selector, tmp_path):
    return layer.freeze(selector)


def unfrozen(layer, selector, tmp_path):
    layer.freeze()
    return layer.unfreeze(selector)


def explained(layer, selector, tmp_path):
    table = gx.explain(layer, selector)
    if table.idle:
        raise SelectorError(table.idle, "", "one of " + ", ".join(table.near))
    return [row.path for row in table.rows]


def ruled(layer, selector, tmp_path):
    optimizer = gx.optimizers.SGD(1.0, rules=[(selector, {"frozen": True})])
    before = {path: v.numpy() for path, v in layer.named_variables().items()}
    optimizer.apply([np.ones(v.shape, "float32") for v in layer.trainable_variables], layer.trainable_variables)
    return [path for path, v in layer.named_variables().items() if np.array_equal(v.numpy(), before[path])]


def muon(layer, selector, tmp_path):
    optimizer = gx.optimizers.Muon(1.0, adamw=(selector,))
    weights = [v for v in layer.trainable_variables if v.ndim == 2]
    optimizer.apply([np.ones(v.shape, "float32") for v in weights], weights)
    return [v.path for v in weights if any(one.variable is v and one.name == "velocity" for one in optimizer.slots())]


def grafted(layer, selector, tmp_path):
    return [done.path for done in gx.graft(layer, gx.reparam.WeightNorm(), where=selector)]


def ungrafted(layer, selector, tmp_path):
    gx.graft(layer, gx.reparam.WeightNorm())
    return gx.ungraft(layer, selector)


def created(layer, selector, tmp_path):
    seen = []

    def note(next_creator, spec):
        seen.append(spec.path)
        return next_creator(spec)

    with gx.variable_creator_scope(note, where=selector):
        words()
    return seen


def saved(layer, selector, tmp_path):
    gx.Checkpoint(words=layer).save(tmp_path / "saved", overwrite=True, only=selector)
    empty = words()
    for v in empty.variables:
        v.assign(v * 0 - 7)
    gx.Checkpoint(words=empty).restore(tmp_path / "saved", mode="overlap")
    return [path for path, v in empty.named_variables().items() if v.numpy().min() > -7]


def restored(layer, selector, tmp_path):
    gx.Checkpoint(words=layer).save(tmp_path / "whole", overwrite=True)
    empty = words()
    for v in empty.variables:
        v.assign(v * 0 - 7)
    gx.Checkpoint(words=empty).restore(tmp_path / "whole", only=selector)
    return [path for path, v in empty.named_variables().items() if v.numpy().min() > -7]


def skipped(layer, selector, tmp_path):
    gx.Checkpoint(words=layer).save(tmp_path / "whole", overwrite=True)
    empty = words()
    for v in empty.variables:
        v.assign(v * 0 - 7)
    gx.Checkpoint(words=empty).restore(tmp_path / "whole", skip=selector)
    return [path for path, v in empty.named_variables().items() if v.numpy().min() == -7]


BY_ROOT = (saved, restored, skipped)  # whose paths begin with the name of the root
TAKERS = (frozen, unfrozen, explained, ruled, muon, grafted, ungrafted, created, *BY_ROOT)
for_each = pytest.mark.parametrize("take", TAKERS, ids=lambda take: take.__name__)


@pytest.mark.in_turn(2)
@for_each
@pytest.mark.parametrize("name", NAMES)
def test_o1_a_bare_word_names_the_variable_of_that_name(take, name, tmp_path):
    selector = f"words/{name}" if take in BY_ROOT else name
    assert take(words(), selector, tmp_path) == [name]


@for_each
def test_o1_a_role_is_written_with_its_prefix(take, tmp_path):
    assert set(take(words(), "role:weight", tmp_path)) >= set(NAMES)


@for_each
def test_o1_a_role_without_its_prefix_that_is_no_path_says_how_roles_are_written(take, tmp_path):
    word = "counter"
    layer = words()
    if take not in BY_ROOT:
        del layer.counter
    if take is created:
        with pytest.raises(SelectorError, match="one of role:counter"), gx.variable_creator_scope(grown, where=word):
            layers.Dense(3).build((None, 3))
        return
    with pytest.raises(SelectorError) as caught:
        take(layer, word, tmp_path)
    assert "one of role:counter" in caught.value.instead


def grown(next_creator, spec):
    return next_creator(spec)


def test_o1_top_level_variables_of_a_checkpoint_can_be_named(tmp_path):
    variables = {name: gx.Variable(1.0, role="counter", trainable=False) for name in NAMES}
    gx.Checkpoint(**variables).save(tmp_path / "c", only="slot")
    other = gx.Variable(0.0, role="counter", trainable=False)
    gx.Checkpoint(slot=other).restore(tmp_path / "c")
    assert float(other) == 1.0


def test_o1_the_command_line_takes_roles_and_words(tmp_path, capsys):
    gx.Checkpoint(slot=gx.Variable(1.0), count=gx.Variable(2.0, role="counter")).save(tmp_path / "c")
    shown = {}
    for selector in ("slot", "role:counter"):
        assert main(["ckpt", "show", str(tmp_path / "c"), "--only", selector]) == 0
        shown[selector] = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert shown == {"slot": ["slot"], "role:counter": ["count"]}
    assert main(["ckpt", "show", str(tmp_path / "c"), "--only", "counter"]) == 2
    assert "role:counter" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["role:", "role: slot", "role:slots", "role:Slot", "role:weight/kernel"])
def test_o1_roles_that_there_are_not(text):
    with pytest.raises(SelectorError, match="no such role"):
        select(text)


@for_each
def test_a1_a_class_selects_the_weights_of_such_layers(take, tmp_path):
    inner = ["norm/gamma", "norm/beta"]
    if take in (grafted, ungrafted, muon):  # those take matrices only
        assert set(take(words(), Words, tmp_path)) >= set(NAMES)
    else:
        assert take(words(), layers.LayerNormalization, tmp_path) == inner
        assert take(words(), select(Words) & ~select(layers.LayerNormalization), tmp_path) == list(NAMES)


def test_a1_a_base_class_and_a_composed_layer_select_all_that_is_below():
    model = gx.Sequential([layers.Dense(4), layers.MultiHeadAttention(2, 2)])
    model.build_for(np.ones((1, 3, 4), "float32"))
    attention = [v.path for v in model.layers[1].trainable_variables]
    assert [row.path for row in gx.explain(model, layers.MultiHeadAttention).rows] == attention
    assert [row.path for row in gx.explain(model, gx.Sequential).rows] == [v.path for v in model.variables]
    assert len(gx.explain(model, layers.Layer).rows) == len(model.variables)


def test_a1_a_class_selects_what_waits_for_a_layer_that_is_not_built(tmp_path):
    def net():
        return gx.Sequential([layers.Dense(3), layers.LayerNormalization()])

    x = np.ones((1, 3), "float32")
    model, other = net(), net()
    model(x)
    for v in model.variables:
        v.assign(v * 0 + 5)
    gx.Checkpoint(model=model).save(tmp_path / "c")
    gx.Checkpoint(model=other).restore(tmp_path / "c", only=layers.LayerNormalization)
    other(x)
    assert [bool((v.numpy() == 5).all()) for v in other.variables] == [False, False, True, True]


@pytest.mark.in_turn(2, 1)
@for_each
@pytest.mark.parametrize(
    "wrong",
    [str, int, gx.Variable, np.ndarray, lambda variable: variable],
    ids=["str", "int", "Variable", "ndarray", "what returns no bool"],
)
def test_a1_other_classes_and_functions_are_refused(take, wrong, tmp_path):
    with pytest.raises(SelectorError) as caught:
        take(words(), wrong, tmp_path)
    assert caught.value.reason
    assert caught.value.instead


@pytest.mark.parametrize("answer", [None, 0, 1, "yes", [], [True], np.array([True]), 1.0])
def test_a1_a_predicate_returns_a_bool(answer):
    def odd(variable):
        return answer

    with pytest.raises(SelectorError, match=r"the predicate odd returned .*, of type .*, for 'weight'"):
        words().freeze(odd)


def test_a1_booleans_of_numpy_and_of_the_backend_are_bools():
    for one in (lambda v: np.bool_(v.path == "slot"), lambda v: v.value.sum() < 10 if v.path == "slot" else False):
        assert words().freeze(one) == ["slot"]


@pytest.mark.parametrize("roles", ["slot", "weight", (), [], ("weight", "wieght")])
def test_roles_are_checked_wherever_they_are_taken(roles):
    with pytest.raises(SelectorError, match="roles="):
        gx.graft(words(), gx.reparam.WeightNorm(), roles=roles)
    with (
        pytest.raises(SelectorError, match="roles="),
        gx.variable_creator_scope(lambda next_creator, spec: next_creator(spec), roles=roles),
    ):
        pass
