"""Functions of users with too many or too few arguments: told before they are called, by every public name."""

import functools
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import generation
from graftax import layers as L
from graftax import optimizers as O
from graftax.core.errors import GraftaxError
from graftax.core.user_functions import misfit

X = np.ones((4, 2), "float32")
LATE = O.SGD(0.1)


def three(a: Any, b: Any, c: Any) -> Any:
    """Take three arguments, which nothing below gives."""
    return a


def five(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """Take five, for what may give three."""
    return a


def weight() -> gx.Variable:
    return gx.Variable(1.0)


def manager(tmp: Any) -> gx.CheckpointManager:
    return gx.CheckpointManager(str(tmp), w=weight())


def adjusting(adjust: Any) -> None:
    generation.Generator(lambda tokens, cache: (tokens, cache), 2, adjust=adjust)


def session(function: Any) -> None:
    with gx.training.session(w=weight()) as run:
        run.step(function)


ROWS: dict[str, Callable[[], Any]] = {
    "CheckpointManager.restore_or_initialize": lambda: manager("unused").restore_or_initialize(three),
    "Model.summary": lambda: gx.Sequential([]).summary(print_fn=three),
    "Optimizer": lambda: O.SGD(three),
    "Optimizer.minimize": lambda: O.SGD(0.1).minimize(three, [weight()]),
    "Optimizer.value_and_scaled_grad": lambda: O.SGD(0.1).value_and_scaled_grad(three, [weight()], False),
    "Sequential": lambda: gx.Sequential([three]),
    "Sequential.add": lambda: gx.Sequential([]).add(three),
    "Variable": lambda: gx.Variable(three),
    "activations.get": lambda: gx.activations.get(three),
    "associative_scan": lambda: gx.associative_scan(three, X),
    "batch_jacobian": lambda: gx.batch_jacobian(three, X),
    "callbacks.LambdaCallback": lambda: gx.callbacks.LambdaCallback(on_epoch_end=three),
    "callbacks.LearningRateScheduler": lambda: gx.callbacks.LearningRateScheduler(three),
    "cond": lambda: gx.cond(True, lambda: 1.0, three),
    "custom_gradient": lambda: gx.custom_gradient(three)(X),
    "export.Signature": lambda: gx.export.Signature(three, gx.export.Spec("2")),
    "export.onnx": lambda: gx.export.onnx("unused", three, X),
    "find_nan": lambda: gx.find_nan(three, X),
    "generation.Generator": lambda: generation.Generator(three, 2),
    "generation.Generator.adjust": lambda: adjusting(five),
    "grad": lambda: gx.grad(three)(1.0),
    "grad_pass_through": lambda: gx.grad_pass_through(three)(X),
    "gradcheck": lambda: gx.gradcheck(three, [X]),
    "gradients_function": lambda: gx.gradients_function(three)(1.0),
    "gradients_function.dy": lambda: gx.gradients_function(three)(1.0, dy=2.0),
    "hessian": lambda: gx.hessian(three, X),
    "implicit_gradients": lambda: gx.implicit_gradients(three)(X),
    "implicit_value_and_gradients": lambda: gx.implicit_value_and_gradients(three)(X),
    "jacobian": lambda: gx.jacobian(three, X),
    "jit": lambda: gx.jit(three)(X),
    "jvp": lambda: gx.jvp(three, (X,), (X,)),
    "layers.Activation": lambda: L.Activation(three),
    "layers.Dense": lambda: L.Dense(2, activation=three),
    "layers.JaxLayer": lambda: L.JaxLayer(three),
    "layers.Lambda": lambda: L.Lambda(three),
    "layers.Lambda.arguments": lambda: L.Lambda(lambda x: x, arguments={"power": 2}),
    "layers.Lambda.mask": lambda: L.Lambda(lambda x: x, mask=three),
    "layers.TextVectorization": lambda: L.TextVectorization(standardize=three),
    "layers.TextVectorization.split": lambda: L.TextVectorization(split=three),
    "losses.FunctionLoss": lambda: gx.losses.FunctionLoss(three),
    "losses.get": lambda: gx.losses.get(three),
    "map_fn": lambda: gx.map_fn(three, X),
    "metrics.MeanMetricWrapper": lambda: gx.metrics.MeanMetricWrapper(three),
    "metrics.get": lambda: gx.metrics.get(three),
    "offload": lambda: gx.offload(three, "cpu:0")(X),
    "optimizers.CrossShard.minimize": lambda: O.CrossShard(O.SGD(0.1)).minimize(three, [weight()]),
    "optimizers.LBFGS.minimize": lambda: O.LBFGS().minimize(three, [weight()]),
    "optimizers.Lookahead.minimize": lambda: O.Lookahead(O.SGD(0.1)).minimize(three, [weight()]),
    "optimizers.SAM.minimize": lambda: O.SAM(O.SGD(0.1)).minimize(three, [weight()]),
    "optimizers.Sophia.minimize": lambda: O.Sophia().minimize(three, [weight()]),
    "optimizers.Sophia.update_hessian": lambda: O.Sophia().update_hessian(three, [weight()]),
    "py_function": lambda: gx.py_function(three, [X]),
    "recompute_grad": lambda: gx.recompute_grad(three)(X),
    "remat": lambda: gx.remat(three)(X),
    "scan": lambda: gx.scan(three, 0.0, X),
    "shard_map": lambda: gx.shard_map(three, gx.distribution.mesh(data=1), [("data", None)], ())(X),
    "switch": lambda: gx.switch(0, [lambda: 1.0, three]),
    "template": lambda: gx.template(three)(X),
    "training.Session.step": lambda: session(three),
    "value_and_grad": lambda: gx.value_and_grad(three)(1.0),
    "value_and_gradients_function": lambda: gx.value_and_gradients_function(three)(1.0),
    "variable_creator_scope": lambda: gx.variable_creator_scope(three).__enter__(),
    "vectorized_map": lambda: gx.vectorized_map(three, X),
    "while_loop": lambda: gx.while_loop(three, lambda n: n, 0),
    "while_loop.body_fn": lambda: gx.while_loop(lambda n: n < 3, three, 0),
}

INHERITED = "has the check of its base"
ELSEWHERE = {
    "checkpoint.RestoreReport.tell": "called by restores, with functions of theirs",
    "optimizers.LossScale.unscale": "called by optimizers, with functions of theirs",
    "optimizers.LossScale.differentiate_scaled": "called by optimizers, with functions of theirs",
    "optimizers.Minimizer.minimize": "a protocol",
    "reparam.AdapterCreator.adapter": "called by the creator, with its own part",
    "reparam.DoRA.adapter": "called by the creator, with its own part",
    "reparam.LoRA.adapter": "called by the creator, with its own part",
}


def public(space: str, module: ModuleType, seen: set[int]) -> dict[str, Any]:
    """Return what can be called below a public namespace, methods of classes included, each once."""
    found: dict[str, Any] = {}
    for name in module.__all__:
        one = getattr(module, name)
        if inspect.ismodule(one) and one is not gx.backend and id(one) not in seen:
            seen.add(id(one))
            found |= public(f"{space}{name}.", one, seen)
        elif callable(one) and id(one) not in seen:
            seen.add(id(one))
            found[f"{space}{name}"] = one.__init__ if inspect.isclass(one) else one
            if inspect.isclass(one):
                methods = {key: value for key, value in vars(one).items() if inspect.isfunction(value)}
                found |= {f"{space}{name}.{key}": value for key, value in methods.items() if key[0] != "_"}
    return found


def test_every_public_function_that_takes_a_function_has_a_row() -> None:
    missing = []
    for name, one in public("", gx, set()).items():
        try:
            parameters = inspect.signature(one).parameters.values()
        except (TypeError, ValueError):
            continue
        if any(re.search(r"\bCallable\b", str(parameter.annotation)) for parameter in parameters):
            missing.append(name)
    assert [name for name in missing if name not in ROWS and name not in ELSEWHERE] == []


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_function_of_other_arguments_is_told(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GraftaxError) as caught:
        ROWS[name]()
    text = str(caught.value)
    assert re.search(r"\((logits|a|x).*\)|parameters \('a'|got no b", text), text
    assert "instead:" in text


@pytest.mark.broad
def test_arguments_with_defaults_methods_partials_and_jitted_functions_are_taken() -> None:
    class Holder:
        def step(self, carry: Any, x: Any, scale: float = 2.0) -> Any:
            return carry + scale * x, carry

        def __call__(self, carry: Any, x: Any) -> Any:
            return self.step(carry, x)

    holder = Holder()
    for fn in (holder.step, holder, functools.partial(holder.step, scale=2.0), gx.jit(holder.step), lambda *both: both):
        gx.scan(fn, np.zeros(2, "float32"), X)


def test_a_decorator_that_changes_the_arguments_counts_as_what_it_takes() -> None:
    def with_scale(fn: Callable[[Any, float], Any]) -> Callable[[Any], Any]:
        @functools.wraps(fn)
        def run(x: Any) -> Any:
            return fn(x, 2.0)

        return run

    scaled = with_scale(lambda x, scale: x * scale)
    assert gx.map_fn(scaled, X).tolist() == (2 * X).tolist()
    assert float(gx.grad(scaled)(1.0)) == 2.0


def test_an_error_of_the_function_itself_stays() -> None:
    def broken(x: Any) -> Any:
        return three(x)  # type: ignore[call-arg]

    for call in (lambda: gx.grad(broken)(1.0), lambda: gx.map_fn(broken, X), lambda: gx.jit(broken)(1.0)):
        with pytest.raises(TypeError, match="missing 2 required") as caught:
            call()
        assert not isinstance(caught.value, GraftaxError)


def test_what_tells_no_signature_falls_through() -> None:
    assert misfit(np.add, 7) is None or inspect.signature(np.add)
    assert misfit(dict.fromkeys, 1) is None


def test_a_jitted_method_names_its_class() -> None:
    class Model(gx.Module):
        @gx.jit
        def double(self, x: Any) -> Any:
            return 2 * x

    model = Model()
    with pytest.raises(GraftaxError, match=r"Model.double\(\) got 2 positional arguments"):
        model.double(1.0, 2.0)


def test_state_is_as_before(tmp_path: Any) -> None:
    w = weight()
    optimizer = O.SGD(0.1)
    with pytest.raises(GraftaxError):
        optimizer.minimize(three, [w])
    assert float(w) == 1.0
    assert int(optimizer.iterations) == 0
