"""Creators: order, what they see and may return, misuse, selectors, layers that are built later."""

import asyncio
import threading
from dataclasses import fields

import numpy as np
import pytest

from graftax import ops
from graftax.core.errors import CreatorError, CreatorRecursionError, SelectorError
from graftax.core.typedefs import VariableLike
from graftax.layers.layer import Layer
from graftax.transforms.compile.jit import jit
from graftax.variables.creation import scopes, variable_creator_scope
from graftax.variables.graph.module import Module
from graftax.variables.spec import VariableSpec
from graftax.variables.variable import Variable
from tests.variables.creators import Logger, Scale, X, identity

# --- order and content ----------------------------------------------------------------------------------------------


def test_vc1_innermost_first():
    log = []
    with variable_creator_scope(Logger("outer", log)), variable_creator_scope(Logger("inner", log)):
        Variable(1.0)
    assert log == ["enter inner", "enter outer", "exit outer", "exit inner"]


def test_vc2_the_spec_has_every_field_and_nothing_else():
    logger = Logger()
    with variable_creator_scope(logger):
        Variable([1.0, 2.0], name="w", trainable=False, regularizer=abs, constraint=abs)
    (spec,) = logger.specs
    assert [f.name for f in fields(spec)] == [
        *["shape", "dtype", "initializer", "trainable", "role", "name", "path", "owner", "regularizer", "constraint"],
        *["resting", "adapter", "placement"],
    ]
    assert (spec.shape, spec.dtype, spec.trainable, spec.role, spec.name, spec.path, spec.owner) == (
        *((2,), "float32", False, "weight", "w", "w", None),
    )
    assert spec.regularizer is spec.constraint is abs


def test_vc2_a_layer_gives_its_path_and_itself():
    logger = Logger()

    class Outer(Layer):
        def __init__(self):
            super().__init__()
            self.blocks = [Scale()]

        def call(self, x):
            return self.blocks[0](x)

    with variable_creator_scope(logger):
        outer = Outer()
        outer(X)
    assert logger.paths == ["blocks/0/kernel", "blocks/0/bias"]
    assert logger.specs[0].owner is outer.blocks[0]
    assert [v.path for v in outer.trainable_variables] == logger.paths  # as announced


def test_vc3_changed_value_and_trainable():
    def creator(next_creator, spec):
        return next_creator(spec.replace(initializer=lambda key, shape, dtype: ops.full(shape, 5.0), trainable=False))

    with variable_creator_scope(creator):
        v = Variable([1.0, 2.0])
    assert (v.numpy().tolist(), v.trainable) == ([5.0, 5.0], False)


def test_vc3_changed_dtype_of_a_given_value():
    with variable_creator_scope(lambda next_creator, spec: next_creator(spec.replace(dtype="float16"))):
        assert Variable([1.0]).dtype == "float16"


def test_vc4_what_is_no_variable_like_is_refused():
    def creator(next_creator, spec):
        return 42

    with variable_creator_scope(creator), pytest.raises(CreatorError, match=r"creator .*creator returned 42 .*'w'"):
        Variable(1.0, name="w")


def test_vc4_another_shape_is_refused():
    def creator(next_creator, spec):
        return next_creator(spec.replace(shape=(3,), initializer=lambda key, shape, dtype: ops.ones(shape)))

    with variable_creator_scope(creator), pytest.raises(CreatorError, match=r"\(3,\)(.|\n)*\(2,\)"):
        Variable([1.0, 2.0])


def test_vc4_any_variable_like_will_do():
    class Fixed(VariableLike):
        shape = (2,)
        value = np.ones(2, "float32")

    with variable_creator_scope(lambda next_creator, spec: Fixed()):
        assert isinstance(Variable([1.0, 2.0]), Fixed)


def test_vc5_returning_none_names_creator_and_path():
    def forgot_return(next_creator, spec):
        next_creator(spec)

    with (
        variable_creator_scope(forgot_return),
        pytest.raises(CreatorError, match=r"forgot_return returned None for the variable 'w'") as caught,
    ):
        Variable(1.0, name="w")
    assert caught.value.instead == "return next_creator(spec)"
    assert isinstance(caught.value, TypeError)


def test_vc6_unknown_fields_are_refused_with_the_known_ones():
    def unknown(next_creator, spec):
        return next_creator(spec.replace(foo=3))

    def keyword(next_creator, spec):
        return next_creator(spec, foo=3)

    with variable_creator_scope(unknown), pytest.raises(CreatorError, match="unknown field foo.*'w'") as caught:
        Variable(1.0, name="w")
    assert all(f.name in str(caught.value) for f in fields(VariableSpec))
    with variable_creator_scope(keyword), pytest.raises(CreatorError, match="foo="):
        Variable(1.0)


def test_vc7_next_creator_needs_its_spec():
    with (
        variable_creator_scope(lambda next_creator, spec: next_creator()),
        pytest.raises(CreatorError, match="with nothing for the variable 'w'"),
    ):
        Variable(1.0, name="w")
    with variable_creator_scope(lambda next_creator, spec: next_creator(3)), pytest.raises(CreatorError, match="int"):
        Variable(1.0)


def test_vc8_next_creator_twice():
    made = []

    def twice(next_creator, spec):
        made.extend([next_creator(spec), next_creator(spec)])
        return made[1]

    with variable_creator_scope(twice):
        assert Variable(1.0) is made[1]
    assert made[0] is not made[1]


def test_vc9_a_creator_that_makes_variables_meets_itself():
    def careless(next_creator, spec):
        return Variable(1.0)

    with variable_creator_scope(careless), pytest.raises(CreatorRecursionError, match=r"use next_creator\(spec\)"):
        Variable(1.0)
    assert Variable(2.0).value == 2.0


def test_vc9_five_deep_is_fine():
    count = []

    def five(next_creator, spec):
        count.append(spec)
        return Variable(1.0) if len(count) < 5 else next_creator(spec)

    with variable_creator_scope(five):
        Variable(1.0)
    assert len(count) == 5


def test_vc10_threads_do_not_see_it():
    logger, threads = Logger(), []
    with variable_creator_scope(logger):
        thread = threading.Thread(target=lambda: threads.append(Variable(1.0)))
        thread.start()
        thread.join()
    assert len(threads) == 1
    assert logger.specs == []


def test_vc10_tasks_do_not_see_it():
    logger = Logger()

    async def with_scope(entered, done):
        with variable_creator_scope(logger):
            entered.set()
            await done.wait()
            Variable(1.0, name="mine")

    async def without(entered, done):
        await entered.wait()
        Variable(1.0, name="other")
        done.set()

    async def main():
        entered, done = asyncio.Event(), asyncio.Event()
        await asyncio.gather(with_scope(entered, done), without(entered, done))

    asyncio.run(main())
    assert logger.paths == ["mine"]


def test_vc11_a_creator_that_raises_is_popped():
    def broken(next_creator, spec):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), variable_creator_scope(broken):
        Variable(1.0)
    assert scopes.items == ()
    assert float(Variable(3.0)) == 3.0


def test_vc12_a_subclass_bypasses():
    class Sub(Variable):
        pass

    logger = Logger()
    with variable_creator_scope(logger):
        sub = Sub(1.0)
    assert type(sub) is Sub
    assert logger.specs == []


@pytest.mark.parametrize("where", ["around the call", "inside the function"])
def test_vc13_vc14_compiled_functions_create_once_under_the_scope(where):
    logger = Logger()
    holder = Module()
    holder.v = None

    def body(x):
        if holder.v is None:
            holder.v = Variable(lambda: ops.ones(2), name="inside")
        return x * holder.v

    def scoped(x):
        with variable_creator_scope(logger):
            return body(x)

    if where == "around the call":
        step = jit(body)
        with variable_creator_scope(logger):
            results = [step(2.0), step(3.0)]
    else:
        step = jit(scoped)
        results = [step(2.0), step(3.0)]
    assert [r.tolist() for r in results] == [[2.0, 2.0], [3.0, 3.0]]
    assert logger.paths == ["inside"]
    # the function depends on the logger around it, an object with a list that its own first trace changes
    assert step.trace_count == (1 if where == "around the call" else 2)


def test_vc15_while_something_is_computed_eagerly_inside_a_trace():
    logger, layer = Logger(), Scale()
    with variable_creator_scope(logger):
        jit(lambda x: layer(x))(X)
    assert logger.paths == ["kernel", "bias"]


def test_vc19_only_weights_unless_told():
    seen, everything, states = Logger(), Logger(), Logger()
    with (
        variable_creator_scope(seen),
        variable_creator_scope(everything, roles=None),
        variable_creator_scope(states, roles=("state", "slot")),
    ):
        Scale()(X)
        Variable(0, role="counter", trainable=False, name="n")
    assert seen.paths == ["kernel", "bias"]
    assert everything.paths == ["kernel", "bias", "moving", "n"]
    assert states.paths == ["moving"]


def test_vc19_an_unknown_role_is_refused():
    with pytest.raises(SelectorError, match="'wieght'"), variable_creator_scope(identity, roles=("wieght",)):
        pass


def test_an_inner_creator_that_changes_the_role_takes_it_out_of_sight():
    outer = Logger()
    with (
        variable_creator_scope(outer),
        variable_creator_scope(lambda next_creator, spec: next_creator(spec.replace(role="state"))),
    ):
        assert Variable(1.0).role == "state"
    assert outer.specs == []
