"""Calls with too many arguments, too few, or keywords that there are not: told in three beats wherever they come."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import graftax as gx
from graftax import checkpoint, ops
from graftax.core import errors
from graftax.core.errors import ArgumentTypeError, GraftaxError
from graftax.layers.policy import get_dtype_policy
from graftax.variables.keys import get_random_seed

NAMESPACES: dict[str, Any] = {
    "gx": gx,
    "gx.ops": ops,
    "gx.random": gx.random,
    "gx.layers": gx.layers,
    "gx.losses": gx.losses,
    "gx.metrics": gx.metrics,
    "gx.optimizers": gx.optimizers,
    "gx.optimizers.schedules": gx.optimizers.schedules,
    "gx.initializers": gx.initializers,
    "gx.regularizers": gx.regularizers,
    "gx.constraints": gx.constraints,
    "gx.reparam": gx.reparam,
    "gx.adapters": gx.adapters,
    "gx.callbacks": gx.callbacks,
    "gx.checkpoint": checkpoint,
}
MADE_BY_GRAFTAX = {
    "gx.callbacks.Logs",
    *(f"gx.checkpoint.{name}" for name in ("ForeignReport", "RestoreReport", "SavedArray", "SavedArrays")),
}
CALLABLES = {
    f"{space}.{name}": found
    for space, module in NAMESPACES.items()
    for name in dir(module)
    if not name.startswith("_")
    and f"{space}.{name}" not in MADE_BY_GRAFTAX
    and inspect.isroutine(found := getattr(module, name)) | inspect.isclass(found)
    and getattr(found, "__module__", "").startswith("graftax")
    and not (inspect.isclass(found) and issubclass(found, Exception | tuple | dict))
    and not dataclasses.is_dataclass(found)
}
METHODS = {
    f"{kind.__name__}.{name}": getattr(made(), name)
    for kind, made, names in (
        (gx.GradientTape, gx.GradientTape, "watch reset gradient jacobian batch_jacobian"),
        (gx.ForwardAccumulator, lambda: gx.ForwardAccumulator(ops.ones(()), ops.ones(())), "jvp"),
        (gx.optimizers.SGD, gx.optimizers.SGD, "apply minimize"),
    )
    for name in names.split()
}


def told(call: Callable[[], Any]) -> GraftaxError:
    with pytest.raises(GraftaxError) as raised:
        call()
    assert all((raised.value.received, raised.value.reason, raised.value.instead))
    return raised.value


@pytest.mark.parametrize("name", sorted(CALLABLES | METHODS))
def test_every_public_name_tells_what_it_does_not_take(name: str) -> None:
    found = (CALLABLES | METHODS)[name]
    kinds = [one.kind for one in inspect.signature(found).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        told(lambda: found(*range(40)))
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        assert "zyx" in str(told(lambda: found(zyx=1)))
    needed = [
        one
        for one in inspect.signature(found).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if needed:
        assert needed[0].name in told(found).received


@pytest.mark.parametrize(
    ("call", "received", "instead"),
    [
        (lambda: ops.matmul(1, 2, 3), "matmul() got 3 positional arguments", "ops.matmul(x, y)"),
        (lambda: ops.matmul(1), "matmul() got no y", "ops.matmul(..., y=...)"),
        (lambda: gx.grad(abs, 1, 2, 3), "grad() got 4 positional arguments", "grad(fn, wrt=..., has_aux=...)"),
        (lambda: gx.scan(abs), "scan() got no init", "scan(fn, init=init)"),
        (
            lambda: gx.scan(abs, 1.0, init=2.0),
            "scan() got init twice",
            "scan(fn, init, xs=..., length=..., reverse=...)",
        ),
        (lambda: gx.while_loop(abs, abs, loop_vars=1), "while_loop() got loop_vars=1", "init= in place of loop_vars="),
        (lambda: gx.random.normal((2,), std=3.0), "normal() got std=3.0", "stddev= in place of std="),
        (lambda: gx.layers.Dense(), "Dense() got no units", "Dense(units=8)"),
        (lambda: gx.layers.Embedding(5), "Embedding() got no output_dim", "Embedding(5, output_dim=8)"),
        (lambda: gx.layers.Conv2D(kernel_size=3), "Conv2D() got no filters", "Conv2D(kernel_size=3, filters=8)"),
        (lambda: gx.reparam.LoRA(), "LoRA() got no rank", "LoRA(rank=8)"),
        (lambda: gx.DTypePolicy(), "DTypePolicy() got no name", 'DTypePolicy(name="float32")'),
        (lambda: gx.set_random_seed(), "set_random_seed() got no seed", "set_random_seed(seed=0)"),
        (lambda: gx.GradientTape(False, True, 3), "GradientTape() got 3 positional arguments", None),
        (lambda: gx.Variable([1.0], True), "Variable() got 2 positional arguments", None),
        (
            lambda: gx.Variable(1.0, traineable=True),
            "Variable() got traineable=True",
            "trainable= in place of traineable=",
        ),
        (
            lambda: gx.optimizers.SGD().apply([]),
            "SGD.apply() got no variables",
            "SGD.apply(gradients, variables=variables)",
        ),
    ],
)
def test_the_line_to_write_has_the_arguments_that_there_are(
    call: Callable[[], Any], received: str, instead: str | None
) -> None:
    error = told(call)
    assert isinstance(error, ArgumentTypeError)
    assert error.received == received
    assert instead is None or error.instead == instead


def test_a_type_error_of_the_functions_own_code_stays_what_it_is() -> None:
    def needs_two(x: Any, y: Any) -> Any:
        return x * y

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'") as raised:
        gx.grad(lambda x: needs_two(x))(1.0)  # type: ignore[call-arg]
    assert not isinstance(raised.value, errors.GraftaxError)


def test_a_class_of_the_user_is_told_by_the_constructor_that_misses_something() -> None:
    class Mine(gx.layers.Dense):
        def __init__(self, width: int) -> None:
            super().__init__()  # type: ignore[call-arg]

    assert told(lambda: Mine()).received == "Mine() got no width"  # type: ignore[call-arg]
    assert told(lambda: Mine(3)).received == "Dense() got no units"


@pytest.mark.parametrize("policy", [None, "nonsense", 3, True, [1]])
def test_the_global_policy_stays_where_nonsense_is_set(policy: Any) -> None:
    before = get_dtype_policy()
    told(lambda: gx.set_dtype_policy(policy))
    assert get_dtype_policy() == before


@pytest.mark.parametrize("seed", [None, "nonsense", -1, 1.5, True, [1], 2**64])
def test_the_global_seed_stays_where_nonsense_is_set(seed: Any) -> None:
    before = get_random_seed()
    told(lambda: gx.set_random_seed(seed))
    assert get_random_seed() == before
