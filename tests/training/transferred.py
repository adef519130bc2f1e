"""Models whose weights hang in other models, too, and the same models with weights of their own."""

import gc

import numpy as np

import graftax as gx
from graftax import layers, optimizers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 4)).astype("float32")
Y = RNG.normal(size=(8, 4)).astype("float32")
MSE = gx.losses.MeanSquaredError()
FROZEN = {"frozen": True}


class Net(gx.Model):
    """A body of two layers and a head, which may be one that the body has, too; its step is its own."""

    def __init__(self, body, head):
        super().__init__()
        self.layers = [body, head]

    def call(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class OwnStep(Net):
    def train_step(self, batch):
        x, y = batch
        return {"loss": self.optimizer.minimize(lambda: MSE(y, self(x)), self)}


class StepOfParts(Net):
    """Gives its parts to the optimizer, one after the other: rules are still about the whole."""

    def train_step(self, batch):
        x, y = batch
        self.optimizer.minimize(lambda: MSE(y, self(x)), self.layers[0])
        return {"loss": self.optimizer.minimize(lambda: MSE(y, self(x)), self.layers[1].trainable_variables)}


# --- whose weights they are: kind of model -> (model, what must live) ---------------------------------------------


def weights(kind):
    """Return a model whose weights hang in nothing else."""
    gx.set_random_seed(3)
    model = kind(gx.Sequential([layers.Dense(4), layers.Dense(4)]), layers.Dense(4))
    model(X)
    return model


def older_model(kind):
    fresh = weights(kind)
    older = gx.Sequential([layers.Dense(4), layers.Dense(4), layers.Dense(1)])
    older(X)
    model = kind(older[:2], layers.Dense(4))
    model(X)
    gx.assign_state(model, gx.state(fresh))
    assert [v.path for v in model.variables] != list(model.named_variables())
    return model, older


def older_model_in_other_order(kind):
    fresh = weights(kind)
    older = gx.Sequential([layers.Dense(4), layers.Dense(4), layers.Dense(4)])
    older(X)
    body = gx.Sequential([older.layers[2], older.layers[0]])
    model = kind(body, older.layers[1])
    model(X)
    gx.assign_state(model, gx.state(fresh))
    return model, (older, body)


def model_that_is_gone(kind):
    model, older = older_model(kind)
    del older
    gc.collect()
    return model, None


def part_of_another(kind):
    model = weights(kind)
    whole = gx.Module()
    whole.layers = [model]
    return model, whole


OWNERS = [older_model, older_model_in_other_order, model_that_is_gone, part_of_another]

RULES = [
    ("layers/1/**", {"learning_rate_multiplier": 0.25}),
    ("layers/0/layers/0/**", FROZEN),
    ("layers/0/layers/1/kernel", {"weight_decay": 0.5}),
]
OPTIMIZERS = {
    "rules": lambda: optimizers.SGD(0.1, momentum=0.5, rules=RULES),
    "muon": lambda: optimizers.Muon(0.1, adamw=("layers/0/layers/0/**", "**/bias")),
    "within": lambda: optimizers.SGD(
        0.1, rules=[("layers/0/**", {"optimizer": optimizers.Adam(0.1, rules=RULES[1:])})]
    ),
    "lookahead": lambda: optimizers.Lookahead(optimizers.SGD(0.1, rules=RULES), every=2),
    "sam": lambda: optimizers.SAM(optimizers.SGD(0.1, rules=RULES)),
    "accumulated": lambda: optimizers.AdamW(0.1, accumulation_steps=2, ema_momentum=0.5, rules=RULES),
    "cross_shard": lambda: optimizers.CrossShard(optimizers.SGD(0.1, rules=RULES)),
}


def expect_same(one, other):
    assert one.keys() == other.keys()
    for path, value in one.items():
        np.testing.assert_allclose(other[path], value, rtol=2e-5, atol=1e-6, err_msg=path)
