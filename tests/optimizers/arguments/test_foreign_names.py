"""Names of Keras, torch and optax: each is answered with a line that runs."""

import copy
import re

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops, optimizers
from graftax.core import foreign_keywords
from graftax.core.errors import ArgumentTypeError, MissingAttributeError
from graftax.optimizers import schedules
from graftax.optimizers.arguments import foreign_names
from graftax.optimizers.arguments.foreign_names import SETTINGS
from tests.conformance.optimizer_rows import ROWS

X = np.ones((2, 3), "float32")


@pytest.fixture
def names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = gx.Sequential([layers.Dense(2, name="head")])
    model(X)
    optimizer = optimizers.Adam(1e-3)

    def loss_fn():
        return ops.sum(model(X) ** 2)

    optimizer.minimize(loss_fn, model)
    gx.Checkpoint(model=model, optimizer=optimizer).save("here")
    found = {"copy": copy, "graftax": gx, "model": model, "optimizer": optimizer, "loss_fn": loss_fn}
    return found | {"saved": lambda: gx.Checkpoint(model=model, optimizer=optimizer)}


def run(line, names):
    for part in line.split("; "):
        part = part.replace('.save("here")', '.save("there")')
        exec(part if not part.startswith("rules=") else f"graftax.optimizers.Adam({part})", dict(names))


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("name", foreign_names.ATTRIBUTES)
def test_a4_an_attribute_of_elsewhere_is_answered_with_a_line_that_runs(name, names):
    with pytest.raises(MissingAttributeError, match=f"Adam has no '{name}'") as caught:
        getattr(names["optimizer"], name)
    assert caught.value.reason
    run(caught.value.instead, names)


@pytest.mark.in_turn(4, 1, broad=2)
@pytest.mark.parametrize("name", foreign_names._LINES)
def test_a4_a_class_of_elsewhere_is_answered_with_a_line_that_runs(name, names):
    for where in (optimizers, schedules):
        if name in where.__all__:
            continue
        with pytest.raises(MissingAttributeError, match=name) as caught:
            getattr(where, name)
        run(caught.value.instead, names)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("adam", "graftax.optimizers.Adam"),
        ("adamw", "graftax.optimizers.AdamW"),
        ("sgd", "graftax.optimizers.SGD"),
        ("Lamb", "graftax.optimizers.LAMB"),
        ("NAdam", "graftax.optimizers.Nadam"),
        ("AdaGrad", "graftax.optimizers.Adagrad"),
        ("RMSProp", "graftax.optimizers.RMSprop"),
        ("CosineDecay", "graftax.optimizers.schedules.CosineDecay"),
        ("exponential_decay", "graftax.optimizers.schedules.ExponentialDecay"),
        ("Adm", "graftax.optimizers.Adam"),
    ],
)
def test_a4_nearly_a_name(name, instead):
    with pytest.raises(MissingAttributeError) as caught:
        getattr(optimizers, name)
    assert caught.value.instead == instead
    assert not hasattr(optimizers, name)


def test_a4_every_module_of_an_optimizer_is_no_attribute():
    assert set(optimizers.__all__) <= set(dir(optimizers))
    assert [name for name in dir(optimizers) if name not in optimizers.__all__ and not name.startswith("_")] == []
    from graftax.optimizers.update_rules import adam  # a module is found where it lies all the same

    assert adam.Adam is optimizers.Adam


def test_a4_keyword_names_of_elsewhere():
    tried = 0
    for kind in [getattr(where, name) for where in (optimizers, schedules) for name in where.__all__]:
        if not isinstance(kind, type) or not issubclass(kind, optimizers.Optimizer | schedules.Schedule):
            continue
        if kind in (optimizers.Optax, schedules.Schedule):  # the one needs its argument first, the other has none
            continue
        own = foreign_names.names_of(kind)
        for name, ours in foreign_keywords.KEYWORDS.items():
            meant = next((one for one in ours if one in own), None)
            if meant is None or name in own or name in foreign_keywords.WORDS:
                continue
            with pytest.raises(ArgumentTypeError, match=f"{kind.__name__} got {name}=0.5") as caught:
                kind(**{name: 0.5})
            assert re.match(rf"{meant}=(0\.5$|.+, since it is )", caught.value.instead)
            tried += 1
    assert tried > 300


@pytest.mark.parametrize("name", ["decay", "maximize", "params", "weight_decouple", "jit_compile", "use_ema"])
def test_a4_keyword_names_that_take_more_words(name):
    with pytest.raises(ArgumentTypeError) as caught:
        optimizers.RMSprop(**{name: 0.1})
    assert caught.value.instead
    assert caught.value.instead != "leave it out"


def test_a4_betas_and_the_rest_as_they_are_written():
    with pytest.raises(ArgumentTypeError) as caught:
        optimizers.Adam(betas=(0.9, 0.99))
    assert caught.value.instead == "beta_1=0.9, beta_2=0.99"
    assert optimizers.AdamW(amsgrad=True).amsgrad
    adam, w = optimizers.Adam(0.5), gx.Variable([1.0])
    adam.apply_gradients([(np.ones(1, "float32"), w)])
    assert len(adam.variables) == 4


@pytest.mark.parametrize(
    ("make", "name", "meant"),
    [
        (lambda: optimizers.Adam(), "lr", "learning_rate"),
        (lambda: optimizers.Adam(), "beta1", "beta_1"),
        (lambda: optimizers.Adam(), "global_clip_norm", "global_clipnorm"),
        (lambda: optimizers.AdamW(), "weigth_decay", "weight_decay"),
        (lambda: optimizers.RMSprop(), "centred", "centered"),
        (lambda: optimizers.Adam(), "eps", "epsilon"),
        (lambda: optimizers.AdamW(), "momentum", "beta_1"),
        (lambda: optimizers.AdamW(), "rho", "beta_2"),
        (lambda: optimizers.SGD(), "beta_1", "momentum"),
        (lambda: optimizers.Lookahead(optimizers.Adam()), "epsilon", "optimizer.epsilon"),
        (lambda: schedules.CosineDecay(0.1, 10), "decay_step", "decay_steps"),
        (lambda: optimizers.LBFGS(), "max_iteration", "max_iterations"),
    ],
)
def test_a4_an_assignment_that_nothing_would_look_at(make, name, meant):
    with pytest.raises(MissingAttributeError, match=name) as caught:
        setattr(make(), name, 1)
    assert caught.value.instead == f"optimizer.{meant} = 1"


@pytest.mark.parametrize(
    "name", ["betas", "decay", "nesterov", "rho", "maximize", "foreach", "ema_overwrite_frequency"]
)
@pytest.mark.parametrize("make", [optimizers.SGD, optimizers.Lion, lambda: optimizers.Lookahead(optimizers.SignSGD())])
def test_a4_settings_of_other_optimizers_are_refused(make, name):
    optimizer = make()
    if hasattr(optimizer, name):
        return
    with pytest.raises(MissingAttributeError, match="nothing would look at it"):
        setattr(optimizer, name, 0.5)
    assert name not in vars(optimizer)


def test_a4_two_settings_for_one():
    adam = optimizers.Adam()
    with pytest.raises(MissingAttributeError) as caught:
        adam.betas = (0.8, 0.99)
    exec(caught.value.instead, {"optimizer": adam})
    assert (adam.beta_1, adam.beta_2) == (0.8, 0.99)


@pytest.mark.parametrize("name", SETTINGS)
def test_a4_lines_for_settings_run(names, name):
    eval(SETTINGS[name], names | {"step": lambda: 0.0})


def test_a4_notes_of_ones_own_may_hang_on_optimizers_and_rules_of_ones_own_have_any_name():
    class Heavy(optimizers.SGD):
        pass

    optimizer, heavy = optimizers.SGD(0.1), Heavy(0.1)
    optimizer.note = "run 3"
    heavy.betas = (0.5, 0.9)
    assert (optimizer.note, heavy.betas) == ("run 3", (0.5, 0.9))


def test_a4_a_class_of_ones_own_keeps_what_it_likes():
    class Mine(gx.Optimizer):
        def __init__(self):
            super().__init__(0.1)
            self.lr = 0.1
            self.weight_decays = [0.1]

    assert Mine().lr == 0.1
    with pytest.raises(AttributeError, match="nothing_like_it"):
        Mine().nothing_like_it  # noqa: B018


@pytest.mark.parametrize("name", ROWS)
def test_a4_no_optimizer_of_the_table_takes_a_setting_that_it_does_not_have(name):
    optimizer = ROWS[name].make()
    for setting in [*SETTINGS, "eps", "lr", "betas", "b1", "b2", "beta1", "beta2", "alpha", "wd", "clip_norm"]:
        if setting not in foreign_names.names_of(type(optimizer)):
            with pytest.raises(MissingAttributeError, match="nothing would look at it"):
                setattr(optimizer, setting, 0.5)
