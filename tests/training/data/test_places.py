"""Places in passes over rows: wherever batches change, each pass has each row once, in its order."""

from itertools import product

import pytest

from graftax.core.errors import DataError
from graftax.training.sources.places import Places


def rows_of(pieces):
    """The rows of some batches: the number of the pass, and the row."""
    assert all(piece.begin < piece.end for piece in pieces)
    return [(piece.number_of_pass, row) for piece in pieces for row in range(piece.begin, piece.end)]


SETTINGS = [(3, None), (3, 2), (5, 6), (12, 1)]


@pytest.mark.parametrize("rows", [1, 7, 12])
@pytest.mark.parametrize(("first", "second"), list(product(SETTINGS, SETTINGS)))
def test_rows_go_on_in_the_stream_of_passes(rows, first, second):
    before = Places(*first)
    done = []
    for epoch in range(3):
        here = list(before.pieces(epoch, 0, rows))
        for index in range(len(here) + 1):
            after, found, start = Places(*second), done + rows_of(here[:index]), index
            after.set_state({"at": before.tell(epoch, index, rows), "shuffle": True}, rows, shuffle=True)
            for later in range(epoch, epoch + 3):
                pieces = list(after.pieces(later, start, rows))
                assert len(pieces) == max(after.steps_in(later, rows) - start, 0)
                assert second[1] is None or len(pieces) == max(second[1] - start, 0)
                found, start = found + rows_of(pieces), 0
                assert second[1] is not None or len(found) % rows == 0  # each epoch ends a pass
                assert pieces or later == epoch
            assert found == [divmod(i, rows) for i in range(len(found))]
        done += rows_of(here)


def test_another_order_is_refused_within_a_pass_only():
    places = Places(4, None)
    for index in (1, 2):
        with pytest.raises(DataError, match=f"after {4 * index} of 12 rows of a pass"):
            Places(4, None).set_state({"at": places.tell(0, index, 12), "shuffle": True}, 12, shuffle=False)
    for epoch, index in ((0, 0), (0, 3), (1, 0)):
        Places(4, None).set_state({"at": places.tell(epoch, index, 12), "shuffle": True}, 12, shuffle=False)
