"""A backend with a mistake is found out: each mistake that is planted here fails the rows that look at it."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from graftax.backend import registry
from graftax.backend.api import AxisOrigin
from graftax.backend.base import GROUPS, BackendBase
from graftax.backend.testing import Conformance

NUMPY, JAX = registry.load("numpy"), registry.load("jax")


class Layer:
    """Another object with some things in another way."""

    def __init__(self, below: Any, **changed: Any) -> None:
        self.__dict__.update(changed)
        self._below = below

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)


class Wrapper(BackendBase):
    """Another backend, some of whose groups are changed."""

    def __init__(self, below: Any, groups: tuple[str, ...], **changed: Any) -> None:
        self.name = "wrapper"
        self.groups = groups
        self.libraries = (*below.libraries, __name__.partition(".")[0])
        for group in groups:
            setattr(self, group, Layer(getattr(below, group), **changed.get(group, {})))


SMALL = ("arrays", "random", "devices")


def kit(backend: Any) -> Conformance:
    class Mine(Conformance):
        groups = backend.groups

    Mine.backend = backend
    return Mine()


def of_numpy(**changed: Any) -> Wrapper:
    return Wrapper(NUMPY, SMALL, **changed)


def of_jax(**changed: Any) -> Wrapper:
    return Wrapper(JAX, GROUPS, **changed)


def space(below: Any, **changed: Any) -> dict[str, Any]:
    return {"numpy": Layer(below.arrays.numpy, **changed)}


def shared(x: Any, dtype: Any = None) -> Any:
    fits = isinstance(x, np.ndarray) and x.dtype == np.float32 and dtype in (None, "float32")
    return x if fits else NUMPY.arrays.asarray(x, dtype)


def in_place(x: Any, index: Any, value: Any) -> Any:
    x.flags.writeable = True
    x[index] = value
    return x


def drops_duplicates(x: Any, indices: Any, updates: Any) -> Any:
    result = x.copy()
    result[indices] += updates
    return result


T: Any = JAX.tracing
G: Any = JAX.gradients


def plain_var(x: Any, axis: Any = None, ddof: int = 0, **options: Any) -> Any:
    return NUMPY.arrays.numpy.var(x, axis, **options)


def by_squares(x: Any, axes: Any, epsilon: float) -> Any:
    away = x - x.mean(axes, keepdims=True)
    return away / np.sqrt((away**2).mean(axes, keepdims=True) + np.float32(epsilon))


def zero_padded(x: Any, window: Any, strides: Any, padding: Any) -> Any:
    padded = np.pad(x, [(0, 0), *padding, (0, 0)])
    return NUMPY.arrays.max_pool(padded, window, strides, [(0, 0)] * len(padding))


def any_dtype(dtype: Any) -> str:
    return "float32" if dtype == "float31" else NUMPY.arrays.canonical_dtype(dtype)


def one_winner(x: Any, axis: Any = None, **options: Any) -> Any:
    return x.ravel()[JAX.arrays.numpy.argmax(x)]


def sorted_keys(tree: Any) -> Any:
    return T.flatten(dict(sorted(tree.items())) if isinstance(tree, dict) else tree)


def twice(function: Any, leaves: Any, looks: str = "plain") -> Any:
    T.trace(function, leaves, looks)
    return T.trace(function, leaves, looks)


def backwards_scan(function: Any, init: Any, xs: Any, length: int, reverse: bool) -> Any:
    return T.scan(function, init, xs, length, not reverse)


def conjugated(function: Any) -> Any:
    def run(*args: Any) -> Any:
        found, gradient = G.value_and_grad(function)(*args)
        return found, gradient.conj() if hasattr(gradient, "conj") else gradient

    return run


def zeros_for_unreached(function: Any) -> Any:
    return lambda values: G.value_and_grad(function)(values)


MISTAKES: dict[str, tuple[Callable[[], Wrapper], str, set[str]]] = {
    "memory of the caller is shared": (
        lambda: of_numpy(arrays={"asarray": shared}),
        "arrays/",
        {"arrays/memory", "arrays/weak references"},
    ),
    "set_at writes into the array": (lambda: of_numpy(arrays={"set_at": in_place}), "arrays/", {"arrays/updates"}),
    "updates of one row are dropped": (
        lambda: of_numpy(arrays={"scatter_add": drops_duplicates}),
        "arrays/",
        {"arrays/updates"},
    ),
    "64 bits come out": (
        lambda: of_numpy(arrays=space(NUMPY, arange=np.arange)),
        "arrays/at most",
        {"arrays/at most 32 bits"},
    ),
    "a function is missing": (lambda: of_numpy(arrays=space(NUMPY, hypot=None)), "arrays/names", {"arrays/namespace"}),
    "a function computes something else": (
        lambda: of_numpy(arrays=space(NUMPY, expm1=NUMPY.arrays.numpy.exp)),
        "ops/expm1",
        {"ops/expm1/0"},
    ),
    "an argument is ignored": (lambda: of_numpy(arrays=space(NUMPY, var=plain_var)), "ops/var", {"ops/var/1"}),
    "the variance of complex numbers is that of their squares": (
        lambda: of_numpy(arrays={"standardize": by_squares}),
        "ops/standardize",
        {"ops/standardize/2"},
    ),
    "pooling pads with zeros": (
        lambda: of_numpy(arrays={"max_pool": zero_padded}),
        "ops/max_pool",
        {"ops/max_pool/1", "ops/max_pool/2", "ops/max_pool/3"},
    ),
    "an unknown dtype is taken": (
        lambda: of_numpy(arrays={"canonical_dtype": any_dtype}),
        "arrays/",
        {"arrays/dtypes"},
    ),
    "another generator": (
        lambda: of_numpy(random={"bits": lambda key, shape: NUMPY.random.bits(key[::-1].copy(), shape)}),
        "random/",
        {"random/bits"},
    ),
    "maxval can come": (
        lambda: of_numpy(random={"uniform": lambda k, s, d, a=0.0, b=1.0: 1 - NUMPY.random.uniform(k, s, d, a, b)}),
        "random/",
        {"random/uniform"},
    ),
    "negative seeds are cut": (
        lambda: of_numpy(random={"key": lambda seed: NUMPY.random.key(abs(seed))}),
        "random/",
        {"random/keys"},
    ),
    "an unknown device is taken": (
        lambda: of_numpy(devices={"put": lambda x, device: x}),
        "devices/",
        {"devices/devices"},
    ),
    "keys of dicts are sorted": (
        lambda: of_jax(tracing={"flatten": sorted_keys}),
        "tracing/cont",
        {"tracing/containers"},
    ),
    "axes come from anywhere": (
        lambda: of_jax(tracing={"axis_origins": lambda function, arrays: [AxisOrigin(0, "", None)] * 8}),
        "tracing/axis",
        {"tracing/axis origins"},
    ),
    "levels are made anew": (lambda: of_jax(tracing={"level": object}), "tracing/eager", {"tracing/eager code"}),
    "rows are not told from values": (
        lambda: of_jax(vectorizing={"is_tracer": lambda x: False}),
        "vectorizing/",
        {"vectorizing/levels"},
    ),
    "an axis has a name that nobody gave it": (
        lambda: of_jax(vectorizing={"named_axes": lambda: ("rows",)}),
        "vectorizing/",
        {"vectorizing/named axes"},
    ),
    "one of the largest gets the gradient": (
        lambda: of_jax(arrays=space(JAX, max=one_winner)),
        "gradients/kinks/max with",
        {"gradients/kinks/max with ties"},
    ),
    "gradients of complex numbers are conjugated": (
        lambda: of_jax(gradients={"value_and_grad": conjugated}),
        "gradients/kinks/",
        {"gradients/kinks/real part of a square"},
    ),
    "what is not reached gets zeros": (
        lambda: of_jax(gradients={"value_and_reached_grad": zeros_for_unreached}),
        "gradients/value and reached",
        {"gradients/value and reached grad"},
    ),
    "the rule of a function is not used": (
        lambda: of_jax(gradients={"custom_vjp": lambda function, forward, backward, inputs, refused: function(inputs)}),
        "gradients/own",
        {"gradients/own rule"},
    ),
    "the forward rule of a function is not used": (
        lambda: of_jax(arrays={"with_jvp": lambda function, rule, *arrays: function(*arrays)}),
        "gradients/own",
        {"gradients/own forward rule"},
    ),
    "copies are recorded": (
        lambda: of_jax(gradients={"copy_unrecorded": lambda value, level: value * 1}),
        "gradients/rec",
        {"gradients/recording"},
    ),
    "a trace runs the function twice": (
        lambda: of_jax(compiling={"trace": twice}),
        "compiling/late",
        {"compiling/late inputs"},
    ),
    "nothing is compiled": (
        lambda: of_jax(compiling={"compiled": lambda function: function}),
        "compiling/",
        {"compiling/compiled"},
    ),
    "scans go the other way": (
        lambda: of_jax(control_flow={"scan": backwards_scan}),
        "control_flow/loops",
        {"control_flow/loops"},
    ),
    "a wrong branch is an error": (
        lambda: of_jax(control_flow={"switch": lambda index, branches, x: branches[int(index)](x)}),
        "control_flow/branches",
        {"control_flow/branches"},
    ),
    "what is placed on the default device stays on the mesh": (
        lambda: of_jax(meshes={"place": lambda x, sharding: x if sharding is None else JAX.meshes.place(x, sharding)}),
        "meshes/",
        {"meshes/placing"},
    ),
    "shares are not told apart": (
        lambda: of_jax(meshes={"mean_of_shards": lambda x, axes: x * 2}),
        "meshes/shards",
        {"meshes/shards"},
    ),
    "a process alone waits for others": (
        lambda: of_jax(processes={"count": lambda: 2}),
        "processes/alone",
        {"processes/alone"},
    ),
    "a part is the whole": (
        lambda: of_jax(processes={"part": lambda x, start, extent: np.asarray(x)}),
        "processes/parts",
        {"processes/parts"},
    ),
    "a mesh has one axis": (
        lambda: of_jax(meshes={"mesh": lambda axes, devices: JAX.meshes.mesh({"data": len(devices)}, devices)}),
        "meshes/axes",
        {"meshes/axes"},
    ),
    "effects are dropped": (
        lambda: of_jax(callbacks={"effect": lambda function, args: None}),
        "callbacks/",
        {"callbacks/calls of Python"},
    ),
}


@pytest.mark.in_turn(18, broad=11)
@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_a_mistake_is_found_by_the_rows_that_look_at_it_and_by_no_others(mistake: str) -> None:
    make, start, rows = MISTAKES[mistake]
    assert set(kit(make()).differences(start)) == rows


@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("start", sorted({start for make, start, _ in MISTAKES.values()}))
def test_the_wrapper_itself_is_no_mistake(start: str) -> None:
    small = start.split("/")[0] in ("arrays", "ops", "random", "devices")
    assert kit(of_numpy() if small else of_jax()).differences(start) == {}


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        ({"name": "no word"}, {"backend/name"}),
        ({"libraries": ()}, {"backend/libraries"}),
        ({"has": lambda group: True}, {"backend/groups"}),
        ({"translate_error": lambda error: KeyError("mine")}, {"backend/errors of others"}),
    ],
)
def test_what_a_backend_says_of_itself_is_looked_at(change: dict[str, Any], rows: set[str]) -> None:
    backend = of_numpy()
    backend.__dict__.update(change)
    assert set(kit(backend).differences("backend/")) == rows


def test_a_promise_that_is_not_kept_and_a_group_that_was_not_promised_are_mistakes() -> None:
    for promised in (("arrays", "random"), (*SMALL, "gradients")):
        mine = kit(of_numpy())
        type(mine).groups = promised
        with pytest.raises(AssertionError, match="groups says"):
            mine.test_promised_groups_are_those_it_has()


def test_a_known_difference_passes_while_it_differs_and_fails_from_then_on() -> None:
    class Known(Conformance):
        backend = of_numpy(random={"key": lambda seed: NUMPY.random.key(abs(seed))})
        groups = SMALL
        known: ClassVar = {"random/keys": "negative seeds"}

    Known().test_conformance("random/keys")
    Known.backend = of_numpy()
    with pytest.raises(AssertionError, match="negative seeds.*does not differ: take it out"):
        Known().test_conformance("random/keys")
    Known().test_known_differences_are_rows()
    Known.known = {"random/clouds": "there is no such row"}
    with pytest.raises(AssertionError, match="random/clouds"):
        Known().test_known_differences_are_rows()


def test_a_warning_is_a_difference() -> None:
    def loud(key: Any, shape: Any) -> Any:
        import warnings

        warnings.warn("slow", stacklevel=1)
        return NUMPY.random.bits(key, shape)

    found = kit(of_numpy(random={"bits": loud})).differences("random/bits")
    assert isinstance(found["random/bits"], UserWarning)


def test_tolerances_are_those_that_were_asked_for() -> None:
    backend = of_numpy(arrays=space(NUMPY, exp=lambda x: NUMPY.arrays.numpy.exp(x) * 1.01))
    assert set(kit(backend).differences("ops/exp/0")) == {"ops/exp/0"}
    loose = kit(backend)
    type(loose).tolerances = {"float32": 0.02}
    assert loose.differences("ops/exp/0") == {}
