"""The benchmark of exports runs, and what does not depend on the speed of the machine keeps to its targets."""

import pytest

from benchmarks.export import measure


@pytest.mark.slow
def test_programs_are_as_small_as_they_should_be() -> None:
    found = {target.name: target for target in measure(rounds=3)}
    assert len(found) >= 9  # and one more where there is onnxruntime
    for name, target in found.items():
        if target.unit == "kB":
            assert target.found <= 1.2 * target.most, name
