"""What distributions do where there is one device: the same as none, and what is wrong is told all the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax.errors import ArgumentError, ArgumentTypeError, BackendCapabilityError, SelectorError

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")


def one() -> gd.Distribution:
    return gd.FullyShardedDataParallel(gd.mesh(data=1), min_size=4)


@pytest.mark.broad
def test_a_model_under_a_scope_trains_as_one_without() -> None:
    found = []
    for scoped in (True, False):
        gx.set_random_seed(0)
        if scoped:
            with one().scope():
                model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(1)])
        else:
            model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(1)])
        model.compile("adam", "mse")
        history = model.fit(X, X[:, :1], batch_size=4, epochs=2, verbose=0)
        found.append((history.history["loss"], model.predict(X, verbose=0), model.evaluate(X, X[:, :1], verbose=0)))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][2] == found[1][2]


def test_report_is_a_table_with_rows() -> None:
    d = one()
    with d.scope():
        layer = gx.layers.Dense(8, name="dense")
    layer.build((None, 4))
    report = d.report(layer)
    assert [(row.path, row.axes, row.bytes) for row in report.rows] == [
        ("kernel", (None, "data"), 128),
        ("bias", ("data",), 32),
    ]
    assert report.bytes == report.bytes_per_device == 160
    text = str(report)
    assert text.startswith("FullyShardedDataParallel over mesh(data=1), 1 device")
    assert "kernel  (4, 8)  (None, data)" in text
    assert "2 Variables: 160 B on each device of 160 B" in text


@pytest.mark.parametrize(
    ("axes", "error", "says"),
    [
        ({"data": 4096}, ArgumentError, "it needs 4096 devices"),
        ({"data": 0}, ArgumentError, "at least one device"),
        ({"data": -1, "model": -1}, ArgumentError, "one size may be -1"),
        ({"data": 1.0}, ArgumentTypeError, "an integer"),
    ],
)
def test_a_mesh_that_cannot_be_is_refused(axes: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gd.mesh(**axes)


def test_a_machine_with_one_device_is_told_how_to_try_without_hardware() -> None:
    with pytest.raises(ArgumentError, match="xla_force_host_platform_device_count"):
        gd.mesh(data=4096)


@pytest.mark.parametrize(
    ("rules", "error", "says"),
    [
        ({"kernel": (None, "data")}, ArgumentTypeError, "rules= is a dict"),
        (["kernel"], ArgumentTypeError, "a rule is a pair"),
        ([("kernel", "data")], ArgumentTypeError, "one entry for each dimension"),
        ([("kernel", (None, "dta"))], ArgumentError, "the mesh has the axes data"),
        ([("", (None,))], SelectorError, "empty selector"),
    ],
)
def test_rules_are_looked_at_when_they_are_given(rules: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gd.DataParallel(gd.mesh(data=1), rules)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda m: gd.DataParallel(m, data="rows"), "the mesh has the axes data"),
        (lambda m: gd.DataParallel(m, tolerance=2.0), "a share of bytes"),
        (lambda m: gd.FullyShardedDataParallel(m, min_size=0), "a number of elements"),
        (lambda m: gd.FullyShardedDataParallel(m, over="rows"), "the mesh has the axes data"),
        (lambda m: gd.ModelParallel(m, []), "without a rule"),
    ],
)
def test_settings_are_looked_at_when_they_are_given(make: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        make(gd.mesh(data=1))


def test_place_and_report_want_modules() -> None:
    with pytest.raises(ArgumentError, match="no model"):
        one().report()
    with pytest.raises(ArgumentTypeError, match="in place of a model"):
        one().place(gx.Variable(1.0))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="place got Dense without a Variable"):
        one().place(gx.layers.Dense(2))


def test_a_subclass_says_where_weights_lie() -> None:
    class Rows(gd.Distribution):
        def axes(self, spec: Any, ruled: Any) -> Any:
            return ("data", *ruled[1:]) if spec.path.endswith("kernel") else ruled

    class Wrong(gd.Distribution):
        def axes(self, spec: Any, ruled: Any) -> Any:
            return ("data",)

    d = Rows(gd.mesh(data=1))
    with d.scope():
        layer = gx.layers.Dense(2)
    layer.build((None, 4))
    assert [row.axes for row in d.report(layer).rows] == [("data", None), (None,)]
    assert d.report(layer).rows[0].why == "Rows.axes"
    with (
        Wrong(gd.mesh(data=1)).scope(),
        pytest.raises(ArgumentError, match=r"Wrong.axes gave \('data',\) for 'kernel'"),
    ):
        gx.layers.Dense(2).build((None, 4))


def test_constrain_is_the_identity_without_a_distribution_and_wants_an_entry_for_each_dimension() -> None:
    x = gx.ops.asarray(X)
    assert gd.constrain(x, ("data", None)) is x
    with pytest.raises(ArgumentError, match="one entry for each dimension"):
        gd.constrain(x, ("data",))
    with one().scope(), pytest.raises(ArgumentError, match="the mesh has the axes data"):
        gd.constrain(x, ("data", "modle"))


def test_the_reference_backend_has_no_meshes() -> None:
    with gx.backend.use("numpy"), pytest.raises(BackendCapabilityError, match="'numpy' has no meshes"):
        gd.mesh()


@pytest.mark.broad
def test_constrain_looks_at_an_optimizer_that_is_built_while_it_looks() -> None:
    with gd.DataParallel(gd.mesh(data=1)).scope():
        model = gx.Sequential([gx.layers.Dense(3)])
    x = np.ones((2, 3), "float32")
    model.build_for(x)
    optimizer = gx.optimizers.Adam(1e-3)

    @gx.jit
    def step(x: Any, y: Any) -> Any:  # two constraints before anything is read: the second one looks again
        x, y = gd.constrain(x, ("data", None)), gd.constrain(y, ("data", None))
        return optimizer.minimize(lambda: gx.ops.mean((model(x) - y) ** 2), model.trainable_variables)

    assert step.lower(x, x).text.count("sharding_constraint") >= 2


def test_a_lowered_program_on_one_device_has_no_collectives() -> None:
    w = gx.Variable([1.0, 2.0])
    assert gx.jit(lambda x: w * x).lower([1.0, 2.0]).collectives == {}


def split_parts(make: Callable[[], gx.Layer], rules: Any) -> dict[str, Any]:
    """Return where the weights of a model lie that rules split."""
    d = gd.ModelParallel(gd.mesh(data=1, model=1), rules)
    with d.scope():
        model = gx.Sequential([make()])
    model.build_for(X.reshape(2, 4, 4))
    return {row.path: row.axes for row in d.report(model).rows if any(row.axes)}


@pytest.mark.parametrize("kind", ["TransformerEncoder", "TransformerDecoder"])
def test_tensor_parallel_knows_blocks_by_their_class_whatever_they_are_called(kind: str) -> None:
    found = split_parts(lambda: getattr(gx.layers, kind)(8, num_heads=2), gd.tensor_parallel())
    assert found["layers/0/feedforward_intermediate/kernel"] == (None, "model")
    assert found["layers/0/feedforward_intermediate/bias"] == ("model",)
    assert found["layers/0/feedforward_output/kernel"] == ("model", None)
    assert found["layers/0/self_attention/query/kernel"] == (None, "model")
    assert found["layers/0/self_attention/output/kernel"] == ("model", None)
    assert "layers/0/feedforward_output/bias" not in found


def test_tensor_parallel_takes_names_for_no_attention() -> None:
    class Lookup(gx.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.up, self.down = gx.layers.Dense(4), gx.layers.Dense(8), gx.layers.Dense(4)

        def call(self, x: Any) -> Any:
            return self.down(self.up(self.query(x)))

    found = split_parts(Lookup, gd.tensor_parallel())
    assert set(found) == {"layers/0/up/kernel", "layers/0/up/bias", "layers/0/down/kernel"}


def test_pairs_of_tensor_parallel_are_an_argument() -> None:
    def two() -> gx.Sequential:
        return gx.Sequential([gx.layers.Dense(8, name="wide"), gx.layers.Dense(4, name="narrow")])

    class Both(gx.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.pair = gx.layers.MultiHeadAttention(2, 2), two()

        def call(self, x: Any) -> Any:
            return self.pair(self.attention(x))

    found = split_parts(Both, gd.tensor_parallel(pairs=[("**/wide/**", "**/narrow/**")]))
    assert found["layers/0/pair/layers/0/kernel"] == (None, "model")
    assert found["layers/0/pair/layers/1/kernel"] == ("model", None)
    with pytest.raises(SelectorError, match="wode"):
        split_parts(Both, gd.tensor_parallel(pairs=[("**/wode/**", "**/narrow/**")]))
    with pytest.raises(ArgumentTypeError, match="pair of selectors"):
        gd.tensor_parallel(pairs=["**/up/**"])  # type: ignore[list-item]


def test_parts_of_a_graft_are_split_by_the_rules_for_their_weight() -> None:
    d = gd.ModelParallel(gd.mesh(data=1, model=1), gd.tensor_parallel())
    with d.scope():
        block = gx.layers.TransformerEncoder(8, num_heads=2)
    block.build_for(X.reshape(2, 4, 4))
    gx.graft(block, gx.reparam.LoRA(rank=2), where="**/feedforward_intermediate/kernel")
    rows = {row.path: row.axes for row in d.report(block).rows}
    parts = [path for path in rows if path.startswith("feedforward_intermediate/kernel/")]
    assert len(parts) == 3
    assert all(rows[path] == (None, "model") for path in parts)
