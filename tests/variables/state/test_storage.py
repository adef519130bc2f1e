"""Storage and frames: who sees which value, and what must not leave its trace."""

import jax
import jax.numpy as jnp
import pytest

from graftax.backend import registry
from graftax.core.errors import StaleReadError, TracerLeakError
from graftax.core.scopes import ambient
from graftax.transforms.compile.jit import jit
from graftax.transforms.functional import functional_call, state
from graftax.transforms.gradients.grad import grad
from graftax.variables.graph.module import Module
from graftax.variables.state import storage
from graftax.variables.variable import Variable


@pytest.fixture
def v():
    return Variable([1.0, 2.0], name="v")


def test_without_a_frame_the_buffer_itself(v):
    assert v._storage.read() is v._storage.buffer
    assert v._storage.user is v
    assert v._storage.path == "v"


def test_a_read_in_a_foreign_trace_is_refused(v):
    for transform in (jax.jit, lambda f: lambda x: jax.lax.map(f, jnp.ones(3)), jax.make_jaxpr):
        with pytest.raises(StaleReadError, match=r"'v' was read while a function of plain jax is traced") as caught:
            transform(lambda x: x * v.value)(1.0)
        assert "graftax.jit" in caught.value.instead
        assert "functional_call" in caught.value.instead


def test_a_jitted_function_of_plain_jax_would_keep_what_it_was_given_the_first_time(v):
    inner = jax.jit(lambda x: x * v.value)

    class Call(Module):
        def __init__(self):
            self.v = v

        def __call__(self, x):
            return inner(x)

    call = Call()
    for run in (
        lambda: functional_call(call, state(call), 1.0),
        lambda: jax.jit(lambda s: functional_call(call, s, 1.0)[0])(state(call)),
        grad(lambda: inner(1.0).sum(), wrt=v),
    ):
        with pytest.raises(StaleReadError, match="'v' was read while a function of plain jax is traced"):
            run()
    compiled = jit(grad(lambda: inner(1.0).sum() * v.value.sum(), wrt=v))
    for factor in 1, 2:
        v.assign(v * factor)
        assert compiled().tolist() == [6.0 * factor] * 2


def test_a_read_under_foreign_grad_or_vmap_is_fine(v):
    assert jax.grad(lambda x: (x * v.value).sum())(1.0) == 3.0
    assert jax.vmap(lambda x: x * v.value)(jnp.ones(3)).shape == (3, 2)
    assert jax.jvp(lambda x: x * v.value, (1.0,), (1.0,))[1].tolist() == [1.0, 2.0]


def test_an_assignment_in_a_foreign_trace_is_refused(v):
    def step(x):
        v.assign(jnp.ones(2) * x)
        return x

    for transform in (jax.jit, jax.grad):
        with pytest.raises(TracerLeakError, match="'v' was assigned a traced value"):
            transform(step)(1.0)
    with pytest.raises(TracerLeakError, match="'v'"):
        jax.vmap(step)(jnp.ones(3))
    assert v.numpy().tolist() == [1.0, 2.0]


def test_a_constant_assigned_in_a_foreign_trace_is_refused(v):
    @jax.jit
    def step(x):
        v.assign([5.0, 5.0])  # would happen once, at the trace
        return x

    with pytest.raises(TracerLeakError, match="while the function is traced"):
        step(1.0)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_assignments_inside_foreign_transforms_of_a_compiled_function(v):
    other = Variable([7.0, 7.0])

    def in_cond(p):
        return jax.lax.cond(p, lambda: v.assign(other.value).value.sum(), lambda: 0.0)

    def in_scan(p):
        return jax.lax.scan(lambda c, _: (c + v.assign_add([1.0, 1.0]).value.sum(), None), 0.0, None, length=3)[0]

    def in_vmap(p):
        return jax.vmap(lambda x: v.assign(x * v.value).value.sum())(jnp.ones(3))

    for body in (in_cond, in_scan, in_vmap):
        with pytest.raises(TracerLeakError, match="a jax transformation that graftax does not see"):
            jit(body)(False)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_concretely_computes_now_inside_a_trace(v):
    seen = []

    def body(x):
        with storage.concretely():
            seen.append(float((v.value * 2).sum()))
        return x

    jit(body)(1.0)
    jax.jit(body)(1.0)
    assert seen == [6.0, 6.0]


def test_memo_is_nowhere_in_eager_code():
    assert storage.memo() is None


def test_autocast_is_a_setting_that_traces_depend_on():
    before = ambient()
    with storage.autocast.entered("bfloat16"):
        assert ambient() != before
    assert ambient() == before


def test_autocast_casts_floating_weights_only():
    weight, count, moving = Variable([1.0]), Variable([1]), Variable([1.0], role="state")
    with storage.autocast.entered("bfloat16"):
        assert [str(x.value.dtype) for x in (weight, count, moving)] == ["bfloat16", "int32", "float32"]
        assert weight.dtype == "float32"
    assert str(weight.value.dtype) == "float32"


def test_autocast_inside_and_outside_one_compiled_function_are_two_traces():
    weight = Variable([1.0])
    read = jit(lambda: weight.value)
    assert read().dtype == jnp.float32
    with storage.autocast.entered("bfloat16"):
        assert read().dtype == jnp.bfloat16
    assert (read().dtype, read.trace_count) == (jnp.float32, 2)


def test_frames_on_the_reference_backend():
    from graftax.variables.graph.module import Module

    class Adder(Module):
        def __init__(self):
            self.total = Variable(1.0)

        def __call__(self, x):
            return self.total.assign_add(x).value

    with registry.use("numpy"):
        adder = Adder()
        out, after = functional_call(adder, state(adder), 2.0)
        assert (float(out), float(after["total"]), float(adder.total)) == (3.0, 3.0, 1.0)
