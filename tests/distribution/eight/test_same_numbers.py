"""The same numbers as on one device: models, ways to train, and ways to lie over eight devices."""

from functools import cache

import pytest

from tests.distribution.eight.programs import KINDS, PROGRAMS, Trained, compare, one, train

pytestmark = pytest.mark.slow


@cache
def alone(program: str, way: str) -> Trained:
    return train(program, one(), way)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_fit_gives_the_numbers_of_one_device_and_compiles_once_for_each_shape(program: str, kind: str) -> None:
    found, wanted = train(program, KINDS[kind]()), alone(program, "fit")
    compare(found, wanted)
    assert found.compilations == wanted.compilations == 2  # a whole batch, and the last one


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["own", "two steps"])
def test_own_loops_and_several_steps_in_a_run_give_the_same_numbers(way: str, kind: str) -> None:
    found, wanted = train("transformer", KINDS[kind](), way), alone("transformer", way)
    compare(found, wanted)
    assert found.compilations == wanted.compilations
