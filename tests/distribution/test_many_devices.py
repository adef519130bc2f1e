"""A whole program as it stands: alone, in processes that a launcher starts, and as copies that know no other."""

from pathlib import Path

import numpy as np
import pytest

from tests.distribution import several

PROGRAM = Path(__file__).with_name("many_devices.py")


@pytest.mark.slow
def test_the_same_file_alone_and_in_two_and_four_processes(tmp_path):
    found = {}
    for count, devices in ((1, 8), (2, 4), (4, 2)):
        folder = tmp_path / str(count)
        folder.mkdir()
        told = several.told(several.launched(PROGRAM, count, devices, folder, "together"))
        assert [one["number"] for one in told] == list(range(count))
        assert {one["devices"] for one in told} == {count * devices}
        for one in told:
            found.setdefault("one", one["found"]["one"])
            for name, numbers in one["found"].items():
                np.testing.assert_allclose(numbers, found["one"], rtol=2e-5, atol=1e-5, err_msg=f"{name} of {count}")
        assert sorted(path.name for path in folder.iterdir()) == ["c", "kernel.npy"]


@pytest.mark.slow
def test_copies_that_joined_nobody_are_whole_programs_and_say_so(tmp_path):
    ended = several.launched(PROGRAM, 2, 8, tmp_path, "apart", warnings="default")
    for number, one in enumerate(ended):
        assert one.status == 0, one.text[-4000:]
        assert one.text.count("and it has not joined the others") == 1
        assert f"this is process {number} of 2, started by torchrun (WORLD_SIZE=2)" in one.text
        assert (one.told["number"], one.told["devices"]) == (0, 8)
        np.testing.assert_allclose(one.told["found"]["data"], ended[0].told["found"]["one"], rtol=2e-5, atol=1e-5)
