"""What docs/optimizers.md says of torch, line by line, as programs that raise where it is wrong."""

import tempfile

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.optimizers import (
    LBFGS,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Nadam,
    Prodigy,
    RAdam,
    RMSprop,
    ScheduleFreeAdamW,
    schedules,
)
from tests.optimizers.porting.walks import gradients, here, in_torch, same, start


def loop():
    """`minimize`, and `value_and_grad` with `apply`, against zero_grad, backward and step."""
    torch = pytest.importorskip("torch")
    w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64))
    optimizer = torch.optim.SGD([w], 0.05, momentum=0.9)
    with jax.enable_x64(True):
        ours, other = (gx.Variable([1.0, -2.0, 0.5], dtype="float64") for _ in range(2))
        by_minimize, by_apply = SGD(0.05, momentum=0.9), SGD(0.05, momentum=0.9)
        for _ in range(10):
            optimizer.zero_grad()
            (w**4).sum().backward()
            optimizer.step()
            by_minimize.minimize(lambda: ops.sum(ours**4), [ours])
            _, gradient = gx.value_and_grad(lambda: ops.sum(other**4), wrt=[other])()
            by_apply.apply(gradient, [other])
        for one in (ours, other):
            np.testing.assert_allclose(one.numpy(), w.detach().numpy(), rtol=1e-12)


def sgd():
    for momentum in (0.0, 0.8):
        same(
            here(lambda momentum=momentum: SGD(0.05, momentum, l2=0.1)),
            in_torch(lambda t, p, m=momentum: t.optim.SGD(p.values(), 0.05, m, weight_decay=0.1)),
        )
    same(
        here(lambda: SGD(0.05, 0.8, nesterov=True)),
        in_torch(lambda t, p: t.optim.SGD(p.values(), 0.05, 0.8, nesterov=True)),
    )


def adam():
    same(
        here(lambda: Adam(0.05, 0.8, 0.95, 1e-8, epsilon_form="torch", l2=0.1)),
        in_torch(lambda t, p: t.optim.Adam(p.values(), 0.05, (0.8, 0.95), eps=1e-8, weight_decay=0.1)),
    )
    same(
        here(lambda: Adam(0.05, epsilon=1e-3, epsilon_form="torch")),
        in_torch(lambda t, p: t.optim.Adam(p.values(), 0.05, eps=1e-3)),
    )


def adamw():
    same(
        here(lambda: AdamW(0.05, 0.01, epsilon=1e-8, epsilon_form="torch")),
        in_torch(lambda t, p: t.optim.AdamW(p.values(), 0.05, weight_decay=0.01)),
    )


def rmsprop_and_adagrad():
    same(
        here(lambda: RMSprop(0.05, 0.99, epsilon=1e-8, epsilon_form="torch")),
        in_torch(lambda t, p: t.optim.RMSprop(p.values(), 0.05, alpha=0.99)),
    )
    same(
        here(lambda: RMSprop(0.05, 0.8, 0.5, 1e-8, True, epsilon_form="torch")),
        in_torch(lambda t, p: t.optim.RMSprop(p.values(), 0.05, alpha=0.8, momentum=0.5, centered=True)),
    )
    same(here(lambda: Adagrad(0.5, 0.0, 1e-10, "torch")), in_torch(lambda t, p: t.optim.Adagrad(p.values(), 0.5)))


def the_others():
    for ours, theirs in (
        (lambda: Adadelta(1.0, 0.9, 1e-6), lambda t, p: t.optim.Adadelta(p.values())),
        (lambda: Nadam(0.002, epsilon=1e-8), lambda t, p: t.optim.NAdam(p.values())),
        (lambda: RAdam(0.05), lambda t, p: t.optim.RAdam(p.values(), 0.05)),
        (lambda: Adamax(0.05, epsilon=1e-8, epsilon_form="torch"), lambda t, p: t.optim.Adamax(p.values(), 0.05)),
    ):
        same(here(ours), in_torch(theirs), rtol=1e-8)


def groups():
    same(
        here(lambda: SGD(0.1, 0.5, rules=[("bias", {"learning_rate_multiplier": 0.1, "l2": 0.3})])),
        in_torch(
            lambda t, p: t.optim.SGD(
                [{"params": [p["kernel"], p["scale"]]}, {"params": [p["bias"]], "lr": 0.01, "weight_decay": 0.3}],
                0.1,
                0.5,
            )
        ),
    )
    with pytest.raises(gx.errors.SelectorError):
        here(lambda: SGD(0.1, rules=[("biass", {"l2": 0.1})]))


def frozen():
    def theirs(torch, parameters):
        parameters["bias"].requires_grad = False
        return torch.optim.AdamW(parameters.values(), 0.05, weight_decay=0.1)

    options = {"epsilon": 1e-8, "epsilon_form": "torch"}
    by_rule = here(lambda: AdamW(0.05, 0.1, rules=[("bias", {"frozen": True})], **options))
    same(by_rule, in_torch(theirs))
    np.testing.assert_array_equal(by_rule["bias"], start()["bias"])
    w = gx.Variable([1.0], trainable=False)
    AdamW(0.05, 0.1).apply([[1.0], [1.0]], [w, gx.Variable([1.0])])
    assert w.numpy().tolist() == [1.0]


def every_fourth():
    small = gradients(24)
    means = [{name: sum(g[name] for g in small[i : i + 4]) / 4 for name in small[0]} for i in range(0, len(small), 4)]
    same(
        here(lambda: Adam(0.05, epsilon=1e-8, epsilon_form="torch", accumulation_steps=4), small),
        in_torch(lambda t, p: t.optim.Adam(p.values(), 0.05), means),
    )


def clips():
    same(
        here(lambda: SGD(0.1, global_clipnorm=1.0)),
        in_torch(
            lambda t, p: t.optim.SGD(p.values(), 0.1),
            before_step=lambda t, p: t.nn.utils.clip_grad_norm_(p, 1.0),
        ),
        rtol=2e-6,  # torch adds 1e-6 to the norm
    )
    same(
        here(lambda: SGD(0.1, clipvalue=0.5)),
        in_torch(
            lambda t, p: t.optim.SGD(p.values(), 0.1), before_step=lambda t, p: t.nn.utils.clip_grad_value_(p, 0.5)
        ),
    )


def scaler():
    w, optimizer = gx.Variable([1.0]), SGD(0.5, loss_scale="dynamic")
    optimizer.minimize(lambda: ops.sum(w * w), [w])
    assert w.numpy().tolist() == [0.0]
    optimizer.apply([[np.nan]], [w])
    assert float(optimizer.loss_scale.scale) == 2.0**14
    assert w.numpy().tolist() == [0.0]


def cosine():
    def theirs(torch, parameters):
        made = torch.optim.SGD(parameters.values(), 0.1)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(made, T_max=30, eta_min=0.01)
        step = made.step

        class Both:
            def step(self):
                step()
                scheduler.step()

        return Both()

    same(here(lambda: SGD(schedules.CosineDecay(0.1, 30, alpha=0.1))), in_torch(theirs), rtol=1e-7)


def the_schedules():
    torch = pytest.importorskip("torch")
    lr = torch.optim.lr_scheduler

    def rates(make, steps=30):
        sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        scheduler, found = make(sgd), []
        for _ in range(steps):
            found.append(sgd.param_groups[0]["lr"])
            sgd.step()
            scheduler.step()
        return found

    for ours, theirs in (
        (schedules.ExponentialDecay(0.1, 7, 0.3, staircase=True), lambda o: lr.StepLR(o, 7, 0.3)),
        (schedules.ExponentialDecay(0.1, 1, 0.9), lambda o: lr.ExponentialLR(o, 0.9)),
        (schedules.PiecewiseConstant([6, 12], [0.1, 0.03, 0.009]), lambda o: lr.MultiStepLR(o, [7, 13], 0.3)),
        (schedules.OneCycle(0.5, 30), lambda o: lr.OneCycleLR(o, 0.5, total_steps=31)),
        (schedules.Cyclic(0.1, 0.5, 4), lambda o: lr.CyclicLR(o, 0.1, 0.5, 4)),
        (schedules.CosineDecayRestarts(0.1, 5, 2.0), lambda o: lr.CosineAnnealingWarmRestarts(o, 5, 2)),
        (schedules.PolynomialDecay(0.1, 20, 0.0, 2.0), lambda o: lr.PolynomialLR(o, 20, 2.0)),
    ):
        with jax.enable_x64(True):
            found = [float(ours(step)) for step in range(30)]
        if isinstance(ours, schedules.OneCycle):
            theirs_too = rates(lambda o: lr.OneCycleLR(o, 0.5, total_steps=30), 29)
            np.testing.assert_allclose(found[:29], theirs_too, rtol=1e-9)
        else:
            np.testing.assert_allclose(found, rates(theirs), rtol=1e-9, atol=1e-15, err_msg=repr(ours))


def averaged():
    def ours():
        with jax.enable_x64(True):
            variables = {n: gx.Variable(v, dtype="float64", name=n) for n, v in start().items()}
            optimizer = SGD(0.05, ema_momentum=0.8)
            for g in gradients():
                optimizer.apply(g, variables)
            with optimizer.averaged():
                return {n: v.numpy() for n, v in variables.items()}

    torch = pytest.importorskip("torch")
    averages: dict[str, np.ndarray] = {}

    def follow(torch, parameters):
        for name, parameter in parameters.items():
            now = parameter.detach().numpy().copy()
            averages[name] = now if name not in averages else 0.8 * averages[name] + 0.2 * now

    in_torch(lambda t, p: t.optim.SGD(p.values(), 0.05), after_step=follow)
    same(ours(), averages)
    module = torch.nn.Linear(1, 1)  # AveragedModel starts as the first value that it sees, as ours
    swa = torch.optim.swa_utils.AveragedModel(module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.8))
    swa.update_parameters(module)
    assert torch.equal(swa.module.weight, module.weight)


def lbfgs():
    torch = pytest.importorskip("torch")
    w = torch.nn.Parameter(torch.tensor([-1.0, 1.5], dtype=torch.float64))
    optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=100, tolerance_grad=1e-10)

    def closure():
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    with jax.enable_x64(True):
        v = gx.Variable([-1.0, 1.5], dtype="float64")

        def rosenbrock():
            return (1 - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2

        end = LBFGS(max_iterations=100, tolerance_gradient=1e-10).minimize(rosenbrock, [v])
        np.testing.assert_allclose(v.numpy(), w.detach().numpy(), rtol=1e-6)
        np.testing.assert_allclose(end, rosenbrock(), atol=1e-15)  # where the weights are, not where they were


def sparse_adam():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    table = torch.nn.Embedding(6, 2, sparse=True, dtype=torch.float64)
    first = table.weight.detach().numpy().copy()
    optimizer = torch.optim.SparseAdam(table.parameters(), 0.05)
    with jax.enable_x64(True):
        ours = gx.Variable(first, dtype="float64")
        adam = Adam(0.05, epsilon=1e-8, lazy=True)
        for _ in range(6):
            rows, values = rng.integers(0, 6, 3), rng.normal(size=(3, 2))
            optimizer.zero_grad()
            (table(torch.tensor(rows)) * torch.tensor(values)).sum().backward()
            optimizer.step()
            adam.apply([gx.IndexedRows(rows, values, (6, 2))], [ours])
        np.testing.assert_allclose(ours.numpy(), table.weight.detach().numpy(), rtol=1e-9)


def by_path():
    model = gx.Sequential([layers.Dense(2)])
    model(np.ones((1, 3), "float32"))
    optimizer = Adam(0.1)
    optimizer.minimize(lambda: ops.sum(model(np.ones((1, 3), "float32"))), model)
    with tempfile.TemporaryDirectory() as folder:
        gx.Checkpoint(model=model, optimizer=optimizer).save(f"{folder}/here")
        again, other = Adam(0.1), gx.Sequential([layers.Dense(2)])
        other(np.ones((1, 3), "float32"))
        gx.Checkpoint(model=other, optimizer=again).restore(f"{folder}/here")
    momentum = optimizer.slot(model.layers[0].kernel, "momentum").numpy()
    np.testing.assert_array_equal(again.slot(other.layers[0].kernel, "momentum").numpy(), momentum)


def prodigy():
    """The formula of the authors' program, with decay, on the walk."""
    decay, names = 0.1, ("kernel", "bias", "scale")
    w = start()
    w0 = start()
    m, v, s = ({n: np.zeros_like(x) for n, x in w.items()} for _ in range(3))
    d, r, largest = 1e-6, 0.0, 1e-6
    for g in gradients():
        rate, kept = d, 0.999**0.5
        r = kept * r + d / 1e-6 * rate * sum(np.sum(g[n] * (w0[n] - w[n])) for n in names)
        for n in names:
            m[n] = 0.9 * m[n] + 0.1 * d * g[n]
            v[n] = 0.999 * v[n] + 0.001 * (d * g[n]) ** 2
            s[n] = kept * s[n] + d / 1e-6 * rate * g[n]
        found = r / sum(np.sum(np.abs(s[n])) for n in names)
        largest = max(largest, found)
        new = max(d, found) if d == 1e-6 else largest
        for n in names:
            w[n] = w[n] - rate * (m[n] / (np.sqrt(v[n]) + new * 1e-8) + decay * w[n])
        d = new
    same(here(lambda: Prodigy(weight_decay=decay)), w, rtol=1e-7)


def schedule_free():
    """The formula of the paper's program: y, z and the average x, at which it is evaluated."""
    rate, warm, y = 0.05, 5, start()
    z, x = start(), start()
    v = {n: np.zeros_like(a) for n, a in y.items()}
    total, largest = 0.0, 0.0
    for t, g in enumerate(gradients(), 1):
        now = rate * min(t / warm, 1)
        largest = max(largest, now)
        total += largest**2
        c = largest**2 / total
        for n in y:
            v[n] = 0.999 * v[n] + 0.001 * g[n] ** 2
            z[n] = z[n] - now * g[n] / (np.sqrt(v[n] / (1 - 0.999**t)) + 1e-8)
            x[n] = (1 - c) * x[n] + c * z[n]
            y[n] = 0.9 * x[n] + 0.1 * z[n]
    same(here(lambda: ScheduleFreeAdamW(rate, warm)), y, rtol=1e-8)
    with jax.enable_x64(True):
        variables = {n: gx.Variable(a, dtype="float64", name=n) for n, a in start().items()}
        optimizer = ScheduleFreeAdamW(rate, warm)
        for g in gradients():
            optimizer.apply(g, variables)
        with optimizer.averaged():
            same({n: a.numpy() for n, a in variables.items()}, x, rtol=1e-8)


TORCH = {
    "`opt.zero_grad(); loss.backward(); opt.step()`": loop,
    "`SGD(p, lr, momentum, weight_decay=wd)`": sgd,
    "`Adam(p, lr, betas=(b1, b2), eps=1e-8, weight_decay=wd)`": adam,
    "`AdamW(p, lr, weight_decay=0.01)`": adamw,
    "`RMSprop(p, lr, alpha=0.99)`, `Adagrad(p, lr)`": rmsprop_and_adagrad,
    "`Adadelta(p)`, `NAdam(p)`, `RAdam(p, lr)`, `Adamax(p, lr)`": the_others,
    "parameter groups": groups,
    "`p.requires_grad = False`": frozen,
    "`loss / 4` and a step each fourth time": every_fourth,
    "`clip_grad_norm_(p, 1.0)`, `clip_grad_value_`": clips,
    "`GradScaler`": scaler,
    "`lr_scheduler.CosineAnnealingLR` with a step each epoch": cosine,
    "`StepLR`, `MultiStepLR`, `ExponentialLR`, `OneCycleLR`, `CyclicLR`, `CosineAnnealingWarmRestarts`": the_schedules,
    "`swa_utils.AveragedModel`": averaged,
    "`prodigyopt.Prodigy(p, lr=1.0, weight_decay=wd)`": prodigy,
    "`schedulefree.AdamWScheduleFree(p, lr, warmup_steps=w)`, `opt.eval()`": schedule_free,
    '`LBFGS(p, line_search_fn="strong_wolfe")`, `opt.step(closure)`': lbfgs,
    "`SparseAdam` with `Embedding(sparse=True)`": sparse_adam,
    "`state_dict()` by numbers": by_path,
}
