"""What the base promises to every rule: OP4, OP6, OP7, OP8, OP19, OP20, OP23, slots, copies, creators, compiling."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    GradientError,
    ShapeError,
)
from graftax.optimizers import SGD, Adam, AdamW
from tests.optimizers.nets import Net, Weird, ones_like, values

# --- apply and its relatives ------------------------------------------------------------------------------------------


def test_op4_iterations_counts_applies():
    net, optimizer = Net(), SGD(0.0)
    assert int(optimizer.iterations) == 0
    assert (optimizer.iterations.role, optimizer.iterations.dtype) == ("counter", "int32")
    optimizer.apply(ones_like(net.variables), net.variables)
    optimizer.apply(ones_like([net.bias]), [net.bias])
    assert int(optimizer.iterations) == 2
    assert optimizer.variables[0] is optimizer.iterations


def test_any_structure_of_variables_and_a_module():
    expected = values(Net())
    for structure in (
        lambda n: (ones_like(n.variables), n.variables),
        lambda n: (tuple(ones_like(n.variables)), tuple(n.variables)),
        lambda n: ({"b": [np.ones(2, "float32")], "k": np.ones((2, 2))}, {"k": n.kernel, "b": [n.bias]}),
        lambda n: ({"kernel": np.ones((2, 2)), "bias": [1.0, 1.0]}, n),
        lambda n: (iter(ones_like(n.variables)), iter(n.variables)),
    ):
        net = Net()
        SGD(1.0).apply(*structure(net))
        np.testing.assert_allclose(net.kernel.numpy(), expected[0] - 1)
        np.testing.assert_allclose(net.bias.numpy(), expected[1] - 1)


def test_gradients_of_a_module_fit_the_module():
    net, optimizer = Net(), SGD(0.01)
    before, gradients = gx.value_and_grad(net.loss, wrt=net)()
    optimizer.apply(gradients, net)
    assert float(net.loss()) < float(before)


def test_apply_gradients_takes_pairs():
    net = Net()
    SGD(1.0).apply_gradients(zip(ones_like(net.variables), net.variables, strict=True))
    assert net.bias.numpy().tolist() == [-0.5, -1.5]


@pytest.mark.parametrize("of", [lambda n: n, lambda n: n.trainable_variables, lambda n: {"x": n.kernel, "y": n.bias}])
def test_minimize_returns_the_loss_and_moves(of):
    net = Net()
    before = float(net.loss())
    loss = SGD(0.01).minimize(net.loss, of(net))
    assert float(loss) == before
    assert float(net.loss()) < before


@pytest.mark.parametrize(
    ("gradients", "variables", "error", "message"),
    [
        ([1.0], lambda n: n.variables, ArgumentError, "gradients 1 for variables 2"),
        ({"kernel": 1.0}, lambda n: n, ArgumentError, r"\['kernel'\] for variables \['kernel', 'bias'\]"),
        ([1.0, 1.0], lambda n: n, ArgumentError, "each variable needs its gradient"),
        (1.0, lambda n: n.variables, ArgumentError, "each variable needs its gradient"),
        ([], lambda n: [], ArgumentError, "no variables"),
        ([[1.0, 1.0]] * 2, lambda n: [n.bias, n.bias], ArgumentError, "'bias' twice"),
        ([1.0], lambda n: [1.0], ArgumentTypeError, "got float as variable 0"),
        ([[1.0, 1.0]], lambda n: [n.kernel], ShapeError, r"shape \(2,\) for the variable 'kernel'"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_moves(gradients, variables, error, message):
    net, optimizer = Net(), SGD(1.0)
    before = values(net)
    with pytest.raises(error, match=message):
        optimizer.apply(gradients, variables(net))
    assert all((a == b).all() for a, b in zip(before, values(net), strict=True))
    assert int(optimizer.iterations) == 0


def test_op6_no_gradient_at_all_is_an_error_that_lists_the_paths():
    net = Net()
    with pytest.raises(GradientError, match="kernel, bias"):
        SGD(1.0).apply([None, None], net.variables)


def test_op6_some_without_gradient_warn_once_and_the_others_move():
    net = Net()
    with pytest.warns(UserWarning, match="no gradient for kernel: not updated") as caught:
        SGD(1.0).apply([None, [1.0, 1.0]], net.variables)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert net.bias.numpy().tolist() == [-0.5, -1.5]
    assert net.kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_op19_integers_are_refused_up_front():
    net, count = Net(), gx.Variable(3, name="count")
    with pytest.raises(DTypeError, match="'count' of dtype int32") as caught:
        SGD(1.0).apply([*ones_like(net.variables), 1], [*net.variables, count])
    assert isinstance(caught.value, ValueError)
    assert net.bias.numpy().tolist() == [0.5, -0.5]


def test_constraints_hold_after_each_update():
    w = gx.Variable([1.0, -1.0], constraint=lambda value: ops.maximum(value, 0.0))
    SGD(1.0, weight_decay=0.5).apply([[0.25, -3.0]], [w])
    assert w.numpy().tolist() == [0.25, 2.5]
    SGD(1.0).apply([[1.0, 1.0]], [w])
    assert w.numpy().tolist() == [0.0, 1.5]


# --- frozen -----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:nothing is updated")
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
def test_op20_frozen_means_frozen_and_is_read_at_each_step(run):
    net, optimizer = Net(), AdamW(0.1, weight_decay=0.1, global_clipnorm=1.0)
    step = run(lambda: optimizer.apply(ones_like([net.kernel, net.bias]), [net.kernel, net.bias]))
    net.kernel.trainable = False
    before = net.kernel.numpy().copy()
    for _ in range(3):
        step()
    np.testing.assert_array_equal(net.kernel.numpy(), before)
    assert {r.variable for r in optimizer.slots()} == {net.bias}, "no slot for what does not move"
    net.kernel.trainable = True
    step()
    assert (net.kernel.numpy() != before).all()
    net.trainable = False
    before = values(net)
    step()
    assert all((a == b).all() for a, b in zip(before, values(net), strict=True))
    assert int(optimizer.iterations) == 5


@pytest.mark.filterwarnings("ignore:nothing is updated")
def test_op20_a_variable_that_nobody_owns_is_watched_under_jit():
    w = gx.Variable([1.0])
    optimizer = SGD(1.0)
    step = gx.jit(lambda: optimizer.apply([[1.0]], [w]))
    step()
    w.trainable = False
    step()
    assert w.numpy().tolist() == [0.0]
    w.trainable = True
    step()
    assert w.numpy().tolist() == [-1.0]


def test_the_global_norm_is_that_of_what_moves():
    net = Net()
    net.kernel.trainable = False
    SGD(1.0, global_clipnorm=1.0).apply([np.full((2, 2), 100.0), [0.6, 0.0]], [net.kernel, net.bias])
    np.testing.assert_allclose(net.bias.numpy(), [-0.1, -0.5], rtol=1e-6)


def test_minimize_takes_no_gradient_of_what_is_frozen():
    net = Net()
    net.kernel.trainable = False
    SGD(0.1).minimize(net.loss, [net.kernel, net.bias])
    assert net.kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert net.bias.numpy().tolist() != [0.5, -0.5]


# --- compiling --------------------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_a_plain_number_retraces_once():
    net, optimizer = Net(), Weird(0.1)
    step = gx.jit(lambda: optimizer.apply(ones_like(net.variables), net.variables))
    step()
    step()
    assert step.trace_count == 1
    optimizer.beta = 0.5
    before = optimizer.slot(net.bias, "momentum").numpy().copy()
    step()
    step()
    assert step.trace_count == 2
    expected = 0.5 * (0.5 * before + 0.5) + 0.5
    np.testing.assert_allclose(optimizer.slot(net.bias, "momentum").numpy(), expected, rtol=1e-6)


def test_options_may_change_later():
    w = gx.Variable([1.0])
    optimizer = SGD(1.0)
    step = gx.jit(lambda: optimizer.apply([[0.5]], [w]))
    step()
    optimizer.clipvalue = 0.25
    optimizer.weight_decay = 0.5
    step()
    assert w.numpy().tolist() == [0.0]
    assert step.trace_count == 2


def test_an_error_in_a_compiled_step_leaves_everything_as_it_was():
    net, optimizer = Net(), Adam(0.1)
    optimizer.build(net)

    @gx.jit
    def step():
        optimizer.apply(ones_like(net.variables), net.variables)
        raise KeyError("later")

    before = [*values(net), *(v.numpy().copy() for v in optimizer.variables)]
    with pytest.raises(KeyError):
        step()
    for a, b in zip(before, [*values(net), *(v.numpy() for v in optimizer.variables)], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_step_of_a_step_can_be_differentiated():
    w, scale = gx.Variable([1.0]), gx.Variable(2.0)

    def after_one_step():
        SGD(0.1).minimize(lambda: ops.sum(scale * w * w), [w])
        return ops.sum(w)

    # w - 0.1 * 2 * scale * w, by scale
    gradient = gx.grad(after_one_step, wrt=scale)()
    np.testing.assert_allclose(gradient, -0.2, rtol=1e-6)


# --- looks ------------------------------------------------------------------------------------------------------------


def test_repr_shows_what_was_given():
    assert repr(SGD(0.1, momentum=0.9)) == "SGD(learning_rate=0.1, momentum=0.9)"
    assert repr(Weird(beta=0.5, clipnorm=1.0)) == "Weird(learning_rate=0.01, beta=0.5, clipnorm=1.0)"
    assert repr(AdamW(name="mine")) == "AdamW(learning_rate=0.001, name='mine')"
    optimizer = SGD(gx.optimizers.schedules.Constant(0.1))
    assert repr(optimizer) == "SGD(learning_rate=Constant(value=0.1))"


@pytest.mark.parametrize("option", ["clipvalue", "clipnorm", "global_clipnorm"])
def test_limits_are_positive(option):
    with pytest.raises(ArgumentError, match=f"{option}=0"):
        SGD(0.1, **{option: 0})


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="decay_everything"):
        Weird(0.1, decay_everything=True)


@pytest.mark.filterwarnings("ignore:nothing is updated")
@pytest.mark.parametrize("loss_scale", [8.0, "dynamic"])
def test_where_nothing_moves_a_loss_scale_stays(loss_scale):
    optimizer = SGD(0.1, loss_scale=loss_scale)
    optimizer.apply([[1.0]], [gx.Variable([1.0], trainable=False)])
    assert int(optimizer.iterations) == 1
    assert int(optimizer.loss_scale.good_steps) == 0
