"""Scope stacks: order, threads, tasks, misuse."""

import asyncio
import threading

import pytest

from graftax.core.errors import ScopeError
from graftax.core.scopes import ScopeStack, ambient, register_ambient, signs


@pytest.fixture
def stack():
    return ScopeStack("colour")


def test_innermost_last(stack):
    with stack.entered("a"), stack.entered("b", "c"):
        assert stack.items == ("a", "b", "c")
        assert stack.top == "c"
    assert stack.items == ()
    assert stack.top is None


def test_an_exception_pops(stack):
    with pytest.raises(KeyError), stack.entered("a"):
        raise KeyError
    assert stack.items == ()


def test_wrong_order_of_exit_is_an_error_and_names_the_scope(stack):
    outer, inner = stack.entered("outer"), stack.entered("inner")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(ScopeError, match="colour scope was left while 2 scopes were open, 1 expected"):
        outer.__exit__(None, None, None)
    assert stack.items == ()
    with pytest.raises(ScopeError):
        inner.__exit__(None, None, None)
    assert stack.items == ()  # the outer one does not come back


def test_a_generator_suspended_inside_a_scope_is_noticed(stack):
    def suspended():
        with stack.entered("inside"):
            yield

    generator = suspended()
    with pytest.raises(ScopeError, match="suspend a generator"), stack.entered("outside"):
        next(generator)
    with pytest.raises(ScopeError):
        generator.close()
    assert stack.items == ()


def test_replaced_puts_the_old_stack_back(stack):
    with stack.entered("a"):
        with stack.replaced(("x", "y")):
            assert stack.items == ("x", "y")
        assert stack.items == ("a",)


def test_a_thread_starts_empty(stack):
    seen = []
    with stack.entered("here"):
        thread = threading.Thread(target=lambda: seen.append(stack.items))
        thread.start()
        thread.join()
    assert seen == [()]


def test_tasks_do_not_see_each_other(stack):
    async def task(name, own, other):
        with stack.entered(name):
            own.set()
            await other.wait()
            return stack.items

    async def main():
        a, b = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(task("a", a, b), task("b", b, a))

    assert asyncio.run(main()) == [("a",), ("b",)]


def test_ambient_settings_are_read_at_each_call():
    value = [1]
    register_ambient(lambda: value[0])
    before = ambient()
    value[0] = 2
    assert ambient()[:-1] == before[:-1]
    assert (before[-1], ambient()[-1]) == (1, 2)


def test_the_sign_of_a_setting_changes_with_it(stack):
    register_ambient(lambda: stack.top, stack.read)
    before, signed = ambient(), signs()
    assert signs() == signed
    with stack.entered("a"):
        assert ambient() != before
        assert signs() != signed
    assert signs() == signed
