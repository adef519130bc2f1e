"""Features that a Reshape makes steps or matrices of: torch has these in the same order, and a Conv1D may follow."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers as L
from graftax import ops

torch = pytest.importorskip("torch")
nn = torch.nn
DRAW = np.random.default_rng(0)
CODE = DRAW.normal(size=(4, 6)).astype("float32")
POINTS = DRAW.normal(size=(4, 9, 3)).astype("float32")


def compare(theirs, ours, x, given, tmp_path):
    torch.save(theirs.state_dict(), tmp_path / "net.pt")
    ours(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gx.checkpoint.load_foreign(tmp_path / "net.pt", ours)
    with torch.no_grad():
        expected = theirs.eval()(given).movedim(1, 2).numpy()
    np.testing.assert_allclose(ours(x), expected, rtol=1e-4, atol=1e-5)


PRODUCTS = {
    "@": lambda x, turn: x @ turn,
    "matmul": ops.matmul,
    "einsum": lambda x, turn: ops.einsum("bnc,bcd->bnd", x, turn),
}


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_matrix_of_a_product(product, tmp_path):
    class Theirs(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.conv = nn.Linear(3, 9), nn.Conv1d(3, 8, 1)

        def forward(self, points):
            turn = self.fc(points.mean(2)).view(-1, 3, 3)
            return self.conv(torch.bmm(points.transpose(2, 1), turn).transpose(2, 1))

    class Ours(gx.Model):
        def __init__(self):
            super().__init__()
            self.fc, self.conv = L.Dense(9), L.Conv1D(8, 1)

        def call(self, points):
            turn = ops.reshape(self.fc(ops.mean(points, axis=1)), (-1, 3, 3))
            return self.conv(PRODUCTS[product](points, turn))

    compare(Theirs(), Ours(), POINTS, torch.tensor(POINTS).transpose(1, 2), tmp_path)


MIDDLE = {
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), lambda: L.TransformerEncoder(8, 2)),
    "norm": (lambda: nn.LayerNorm(4), lambda: L.LayerNormalization(epsilon=1e-5)),
    "dense": (lambda: nn.Linear(4, 4), lambda: L.Dense(4)),
}


@pytest.mark.parametrize("name", MIDDLE)
def test_steps_before_a_convolution(name, tmp_path):
    class Theirs(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.mid, self.conv = nn.Linear(6, 20), MIDDLE[name][0](), nn.Conv1d(4, 2, 3, padding=1)

        def forward(self, x):
            return self.conv(self.mid(self.fc(x).view(-1, 5, 4)).transpose(1, 2))

    ours = gx.Sequential([L.Dense(20), L.Reshape((5, 4)), MIDDLE[name][1](), L.Conv1D(2, 3, padding="same")])
    compare(Theirs(), ours, CODE, torch.tensor(CODE), tmp_path)


def test_a_row_that_a_convolution_takes_at_once(tmp_path):
    """Torch has its channels first then: nothing else takes the features for steps."""
    theirs = nn.Sequential(nn.Linear(6, 20), nn.Unflatten(1, (4, 5)), nn.Conv1d(4, 2, 3, padding=1))
    ours = gx.Sequential([L.Dense(20), L.Reshape((5, 4)), L.Conv1D(2, 3, padding="same")])
    compare(theirs, ours, CODE, torch.tensor(CODE), tmp_path)
