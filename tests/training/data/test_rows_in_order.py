"""`predict` on batches by length: rows in the order of the data, or an error."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import DataError

LENGTHS = (3, 1, 5, 2, 4, 1, 7)
ROWS = [np.full((n, 1), place, "float32") for place, n in enumerate(LENGTHS)]


class First(gx.Model):
    """Gives the first position of each row."""

    def call(self, x: Any) -> Any:
        return {"first": x[:, 0], "twice": 2 * x[:, 0]}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("ahead", [False, True])
def test_rows_come_in_the_order_of_the_data(shuffle: bool, ahead: bool) -> None:
    batches: Any = gx.data.bucket(ROWS, sizes=[2, 4, 8], batch_size=2, shuffle=shuffle)
    batches = gx.data.prefetch(batches) if ahead else batches
    for _ in range(2):  # each pass has an order of its own
        found = First().predict(batches)
        assert found["first"][:, 0].tolist() == list(range(7))
        assert found["twice"][:, 0].tolist() == [2 * i for i in range(7)]


def test_rows_that_cannot_be_told_apart_are_refused() -> None:
    class Mean(gx.Model):
        def call(self, x: Any) -> Any:
            return x[:1, 0]

    batches = gx.data.bucket(ROWS, sizes=[2, 4, 8], batch_size=2)
    with pytest.raises(DataError, match="put back into the order"):
        Mean().predict(batches)
    with pytest.raises(DataError, match="without steps="):
        First().predict(batches, steps=2)


@pytest.mark.broad
def test_pictures_come_in_the_order_of_their_files(tmp_path) -> None:
    images = pytest.importorskip("PIL.Image")
    for place in range(7):
        (tmp_path / "ab"[place % 2]).mkdir(exist_ok=True)
        images.new("RGB", (2, 2), (place, place, place)).save(tmp_path / "ab"[place % 2] / f"{place}.png")
    batches = gx.data.images_from_directory(tmp_path, image_size=(2, 2), batch_size=3)

    class Shade(gx.Model):
        def call(self, x: Any) -> Any:
            return x[:, 0, 0, 0]

    for given in (batches, gx.data.prefetch(batches)):
        assert Shade().predict(given).tolist() == [int(path.stem) for path in batches.file_paths]
