"""The metrics of a model count for one loop: others wait outside, or leave the numbers as they were."""

import copy
import threading

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import StateError
from graftax.training import active_loops
from tests.conformance.lanes import crossed
from tests.interrupts import interrupts

X = np.linspace(-1, 1, 12, dtype="float32")[:, None]
Y = 2 * X


def line(**options):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.0), "mse", metrics=["mae"], **options)
    return model


def Hook(name, act):
    return type("Hook", (gx.Callback,), {name: lambda self, *args, **logs: act()})()


def fitted(model, *hooks):
    return model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0, callbacks=list(hooks)).history


@pytest.mark.broad
def test_predict_and_a_copy_may_run_beside_fit():
    model = line()
    expected = fitted(model)
    other, found = copy.deepcopy(model), []

    def beside():
        found.extend([model.predict(X, verbose=0), other.evaluate(X, Y, verbose=0)["mae"]])

    def act():
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()

    assert fitted(model, Hook("on_train_batch_end", act)) == expected
    np.testing.assert_allclose(found[1], expected["mae"][0], rtol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("run", ["evaluate", "fit", "train_on_batch", "test_on_batch"])
def test_another_thread_is_refused_and_changes_no_number(run):
    model = line()
    expected, errors = fitted(model), []

    def beside():
        with pytest.raises(StateError) as caught:
            getattr(model, run)(X, Y)
        errors.append(str(caught.value))

    def act():
        thread = threading.Thread(target=beside, name="beside")
        thread.start()
        thread.join()

    assert fitted(model, Hook("on_train_batch_end", act)) == expected
    assert len(errors) == 6
    assert f"{run} of Sequential" in errors[0]
    assert "'beside', while its fit runs in 'MainThread'" in errors[0]
    model.evaluate(X, Y, verbose=0)


HOOKS = ["on_train_batch_end", "on_test_batch_end", "on_epoch_end", "on_test_begin"]


@pytest.mark.broad
@pytest.mark.parametrize(("hook", "run"), crossed(HOOKS, ["evaluate", "train_on_batch", "test_on_batch"]))
def test_in_a_callback_the_numbers_of_the_loop_go_on(run, hook):
    model = line()
    options = {"batch_size": 4, "epochs": 2, "verbose": 0, "shuffle": False, "validation_data": (X[:7], Y[:7])}
    expected, inner = model.fit(X, Y, **options).history, []
    quiet = {"verbose": 0} if run == "evaluate" else {}
    busy = []

    def act():
        if not busy:
            busy.append(1)
            inner.append(getattr(model, run)(X[:5], Y[:5], **quiet))
            busy.pop()

    found = model.fit(X, Y, callbacks=[Hook(hook, act)], **options).history
    assert found == expected
    assert inner
    alone = model.evaluate(X[:5], Y[:5], verbose=0)
    for numbers in inner:
        assert numbers == pytest.approx(alone)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("run", ["evaluate", "test_on_batch"])
def test_metrics_that_an_inner_loop_makes_first_count_nothing_outside(run, step):
    def fresh():
        gx.set_random_seed(0)
        x = gx.Input((1,))
        model = gx.Model(x, {"a": layers.Dense(1)(x), "b": layers.Dense(1)(x)})
        model.compile(gx.optimizers.SGD(0.0), "mse", metrics={"a": ["mae"]})
        return model

    class Looks(gx.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == step:
                getattr(self.model, run)(9 * X, {"a": Y, "b": Y}, **({"verbose": 0} if run == "evaluate" else {}))

    options = {"batch_size": 4, "verbose": 0, "shuffle": False}
    expected = fresh().fit(X, {"a": Y, "b": Y}, **options).history
    assert fresh().fit(X, {"a": Y, "b": Y}, callbacks=[Looks()], **options).history == expected


@pytest.mark.broad
@pytest.mark.parametrize("run", ["evaluate", "test_on_batch", "fit"])
def test_a_metric_of_two_models_counts_for_the_outer_loop(run):
    def two(one, other):
        model, inner = line(), line()
        for each, metric in ((model, one), (inner, other)):
            each.compile(gx.optimizers.SGD(0.0), "mse", metrics=[metric])
        options = {} if run == "test_on_batch" else {"verbose": 0}
        return fitted(model, Hook("on_train_batch_end", lambda: getattr(inner, run)(9 * X, Y, **options)))

    shared, made = gx.metrics.MeanAbsoluteError(name="mae"), gx.metrics.MeanAbsoluteError
    assert two(shared, shared) == two(made(name="mae"), made(name="mae"))


@pytest.mark.broad
def test_metrics_that_a_model_does_not_list_are_kept_too():
    class Lists(gx.Sequential):
        @property
        def metrics(self):
            return []

    def fresh():
        gx.set_random_seed(0)
        model = Lists([layers.Dense(1)])
        model.compile(gx.optimizers.SGD(0.0), "mse", metrics=["mae"])
        return model

    expected, model = fitted(fresh()), fresh()
    assert fitted(model, Hook("on_train_batch_end", lambda: model.evaluate(9 * X, Y, verbose=0))) == expected


@pytest.mark.broad
@pytest.mark.parametrize("hook", ["on_train_batch_end", "on_test_begin"])
def test_compile_between_steps_is_refused_and_changes_nothing(hook):
    model = line()
    expected = fitted(model)
    before = model.optimizer
    again = Hook(hook, lambda: model.compile(gx.optimizers.SGD(0.5), "mae"))
    with pytest.raises(StateError, match="compile of Sequential.* between two steps of its fit"):
        model.fit(X, Y, verbose=0, validation_data=(X, Y), callbacks=[again])
    assert model.optimizer is before
    assert fitted(model) == expected


@pytest.mark.broad
def test_compile_between_epochs_holds_from_the_next_one():
    model = line()
    once = iter([lambda: model.compile(gx.optimizers.SGD(0.0), "mae", metrics=["mse"])])
    with pytest.warns(UserWarning, match="compiled again within fit"):
        history = fitted(model, Hook("on_epoch_end", lambda: next(once, lambda: None)()))
    assert history["loss"][1] == pytest.approx(history["mae"][0])
    assert history["mse"] == pytest.approx([history["loss"][0]])
    assert len(history["mae"]) == 1


@pytest.mark.broad
def test_an_evaluation_inside_of_an_evaluation():
    model = line()
    expected = model.evaluate(X, Y, batch_size=4, verbose=0)
    hook = Hook("on_test_batch_end", lambda: model.evaluate(X[:3], Y[:3], verbose=0))
    assert model.evaluate(X, Y, batch_size=4, verbose=0, callbacks=[hook]) == expected


@pytest.mark.broad
@pytest.mark.parametrize("around", ["fit", "evaluate"])
def test_fit_inside_of_a_loop_is_refused(around):
    model = line()
    hook = Hook("on_train_batch_end" if around == "fit" else "on_test_batch_end", lambda: model.fit(X, Y, verbose=0))
    with pytest.raises(StateError, match=f"inside of its {around}"):
        getattr(model, around)(X, Y, verbose=0, callbacks=[hook])
    assert fitted(model)["mae"]


@pytest.mark.parametrize("run", ["evaluate", "test_on_batch"])
def test_in_a_step_that_is_compiled_it_is_refused(run):
    class Nested(gx.Sequential):
        def train_step(self, batch):
            getattr(self, run)(X, Y)
            return super().train_step(batch)

    model = Nested([layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(StateError, match=f"{run} of Nested.* inside of a function that is compiled"):
        model.fit(X, Y, verbose=0)


def test_ctrl_c_anywhere_leaves_the_model_to_the_next_loop():
    model = line()

    def run(method=active_loops.active_loop):
        with method(model, "fit"):
            pass

    for method in (active_loops.active_loop, active_loops.isolated_metrics):
        number = 0
        for number in interrupts(lambda: run(method), active_loops.__file__):  # noqa: B023
            run()  # refused where the interrupted one counts as running
            assert not active_loops._loops.get(model), number
        assert number > 5
