"""A restore finds the model by whose paths rules are read, in whatever form the program gives it to the checkpoint."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, optimizers
from graftax.core.errors import UnusedInCheckpoint
from tests.training.transferred import MSE, RULES, Net, X, Y, expect_same, older_model, weights


class Program(gx.Module):
    """A program as one object: rules are about its model, and not about itself."""

    def __init__(self, model, optimizer):
        super().__init__()
        self.model, self.optimizer = model, optimizer


FORMS = {
    "beside": lambda model, optimizer: {"model": model, "optimizer": optimizer},
    "before": lambda model, optimizer: {"optimizer": optimizer, "model": model},
    "program": lambda model, optimizer: {"program": Program(model, optimizer)},
    "program of a list": lambda model, optimizer: {"program": Program([model], [optimizer])},
    "dict": lambda model, optimizer: {"state": {"model": model, "optimizer": optimizer}},
    "list": lambda model, optimizer: {"state": [gx.metrics.Mean(), optimizer, [model]]},
    "parts": lambda model, optimizer: {"body": model.layers[0], "head": model.layers[1], "optimizer": optimizer},
}
"""(model, optimizer) -> roots of a checkpoint."""

OPTIMIZERS = {
    "muon": lambda: optimizers.Muon(0.1, adamw=("layers/0/layers/0/**",), rules=RULES),
    "muon within": lambda: optimizers.SGD(
        0.1, rules=[("layers/0/**", {"optimizer": optimizers.Muon(0.1, adamw=("layers/0/layers/0/**",))})]
    ),
    "spared": lambda: optimizers.SGD(0.1, 0.5, rules=[(~gx.select("layers/0/**"), {"optimizer": optimizers.SGD(0.1)})]),
    "by a function": lambda: optimizers.SGD(
        0.1, 0.5, rules=[(lambda v: not v.path.startswith("layers/0/"), {"optimizer": optimizers.SGD(0.1)})]
    ),
}


def trained(model, optimizer):
    for _ in range(3):
        optimizer.minimize(lambda: MSE(Y, model(X)), model)
    return {**gx.state(model), **{f"optimizer/{path}": value for path, value in gx.state(optimizer).items()}}


# from parts alone, nothing leads to a newer model; and a rule that selects something in a part is read from there
CASES = [
    (owner, form, name)
    for owner in (weights, older_model)
    for form in FORMS
    for name in OPTIMIZERS
    if form != "parts" or (owner is weights and name.startswith("muon"))
]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("owner", "form", "name"), CASES)
def test_a_restore_before_the_first_step(tmp_path, owner, form, name):
    def begin():
        found = owner(Net)
        model, lives = found if isinstance(found, tuple) else (found, None)
        optimizer = OPTIMIZERS[name]()
        return model, optimizer, FORMS[form](model, optimizer), lives

    model, optimizer, roots, lives = begin()
    trained(model, optimizer)
    gx.Checkpoint(**roots).save(tmp_path / "c")
    other, another, others, live = begin()
    gx.Checkpoint(**others).restore(tmp_path / "c")
    expect_same(trained(model, optimizer), trained(other, another))
    del lives, live


def test_slots_for_which_the_rules_of_the_program_have_no_place_are_refused(tmp_path):
    model, muon = weights(Net), optimizers.Muon(0.1, adamw=("layers/0/layers/0/**",))
    trained(model, muon)
    gx.Checkpoint(program=Program(model, muon)).save(tmp_path / "c")
    other = optimizers.Muon(0.1, adamw=("layers/1/**",))
    with pytest.raises(UnusedInCheckpoint, match=r"slots\(velocity\)/program/model/layers/0/layers/0/kernel"):
        gx.Checkpoint(program=Program(weights(Net), other)).restore(tmp_path / "c")


def test_a_model_that_is_built_after_the_restore(tmp_path):
    muon = optimizers.Muon(0.1, adamw=("layers/1/**",))
    model = gx.Sequential([layers.Dense(4), layers.Dense(4)])
    model(X)
    trained(model, muon)
    saved = Program(model, muon)
    gx.Checkpoint(program=saved).save(tmp_path / "c")
    other, another = gx.Sequential([layers.Dense(4), layers.Dense(4)]), optimizers.Muon(0.1, adamw=("layers/1/**",))
    program = Program(other, another)
    gx.Checkpoint(program=program).restore(tmp_path / "c")
    other(X)
    expect_same(trained(saved.model, muon), trained(program.model, another))


def test_what_was_built_by_a_list_is_not_read_anew_by_a_restore(tmp_path):
    """The list says from where paths begin; the model beside the optimizer is only likely to be trained."""
    model, older = older_model(Net)
    optimizer = optimizers.SGD(0.1, rules=[("layers/1/kernel", {"frozen": True})])
    optimizer.build(model.trainable_variables)
    gx.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "c")
    gx.Checkpoint(model=model, optimizer=optimizer).restore(tmp_path / "c")
    shared = older.layers[1].kernel
    before = shared.numpy()
    ones = [np.ones(v.shape, "float32") for v in model.trainable_variables]
    optimizer.apply(ones, model.trainable_variables)
    assert np.array_equal(before, shared.numpy())
