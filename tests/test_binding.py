"""Calls that give too little, too much, or a name that there is not."""

import inspect

import pytest

import graftax as gx
from graftax.binding import told
from graftax.errors import ArgumentTypeError, GraftaxError
from graftax.keywords import Constructed
from graftax.layers.policy import get_dtype_policy
from graftax.variables.keys import get_random_seed

NAMESPACES = (
    gx.layers, gx.losses, gx.metrics, gx.optimizers, gx.optimizers.schedules, gx.initializers, gx.regularizers,
    gx.constraints, gx.reparam, gx.callbacks,
)  # fmt: skip
CLASSES = {
    f"{space.__name__}.{name}": getattr(space, name)
    for space in NAMESPACES
    for name in dir(space)
    if isinstance(getattr(space, name), type) and issubclass(getattr(space, name), Constructed)
}


@pytest.mark.parametrize("name", CLASSES)
def test_no_constructor_answers_a_call_that_does_not_fit_with_an_error_of_python(name):
    kind = CLASSES[name]
    required = [p.name for p in inspect.signature(kind).parameters.values() if p.default is p.empty and p.kind < 2]
    if required:
        with pytest.raises(ArgumentTypeError, match=f"{kind.__name__} got no {required[0]}") as caught:
            kind()
        assert caught.value.instead.startswith(f"{kind.__name__}({required[0]}=")
    many = range(1, 40)
    if all(p.kind is not p.VAR_POSITIONAL for p in inspect.signature(kind).parameters.values()):
        with pytest.raises(ArgumentTypeError, match="39 arguments by position"):
            kind(*many)
    with pytest.raises(GraftaxError):
        kind(*many, nonsense=1)


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda: gx.layers.Dense(), "Dense(units=8)"),
        (lambda: gx.layers.Embedding(5), "Embedding(5, output_dim=8)"),
        (lambda: gx.layers.Conv2D(3), "Conv2D(3, kernel_size=3)"),
        (lambda: gx.layers.Conv2D(kernel_size=3), "Conv2D(kernel_size=3, filters=8)"),
        (lambda: gx.layers.Dense(3, units=4), "Dense(units=4), once"),
        (lambda: gx.reparam.LoRA(), "LoRA(rank=8)"),
        (lambda: gx.initializers.Ones(3), "Ones()"),
        (lambda: gx.DTypePolicy(), 'DTypePolicy(name="float32")'),
        (lambda: gx.Checkpoint(gx.layers.Dense(2)), "Checkpoint(model=model), each by its name"),
        (lambda: gx.GradientTape(persistant=True), "GradientTape(persistent=True)"),
        (lambda: gx.jit(max_retrace=3), "jit(max_retraces=3)"),
        (lambda: gx.variable_creator_scope(print, were="x"), "variable_creator_scope(where='x')"),
        (lambda: gx.Variable(1.0, trainabel=False), "Variable(trainable=False)"),
        (lambda: gx.set_random_seed(), "set_random_seed(seed=0)"),
    ],
)
def test_the_line_to_write_has_what_was_given_and_what_is_missing(call, instead):
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    assert caught.value.instead == instead


def test_a_class_of_the_user_is_told_by_the_constructor_that_misses_something():
    class Mine(gx.layers.Dense):
        def __init__(self, width):
            super().__init__()

    with pytest.raises(ArgumentTypeError, match="Mine got no width"):
        Mine()
    with pytest.raises(ArgumentTypeError, match="Dense got no units"):
        Mine(3)


def test_told_leaves_names_documentation_and_results_as_they_are():
    @told
    def add(first, second=2, *, times=1):
        """Add."""
        return (first + second) * times

    assert (add.__name__, add.__doc__, add(1), add(1, 3, times=2)) == ("add", "Add.", 3, 8)
    assert list(inspect.signature(add).parameters) == ["first", "second", "times"]


@pytest.mark.parametrize("policy", [None, "nonsense", 3, True, [1]])
def test_the_global_policy_stays_where_nonsense_is_set(policy):
    before = get_dtype_policy()
    with pytest.raises(GraftaxError):
        gx.set_dtype_policy(policy)
    assert get_dtype_policy() == before


@pytest.mark.parametrize("seed", [None, "nonsense", -1, 1.5, True, [1], 2**64])
def test_the_global_seed_stays_where_nonsense_is_set(seed):
    before = get_random_seed()
    with pytest.raises(GraftaxError):
        gx.set_random_seed(seed)
    assert get_random_seed() == before
