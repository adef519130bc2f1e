"""ModelCheckpoint refuses what it cannot do where it is made."""

import pytest

from graftax.callbacks import ModelCheckpoint
from graftax.core.errors import ArgumentError


def test_settings_without_effect():
    with pytest.raises(ArgumentError, match="keep_best=1 without monitor="):
        ModelCheckpoint("run", keep_best=1)
    with pytest.raises(ArgumentError, match="without keep="):
        ModelCheckpoint("run", monitor="val_loss", keep_best=1)
    with pytest.raises(ArgumentError, match="keep=0"):
        ModelCheckpoint("run", keep=0)
    ModelCheckpoint("run", monitor="val_loss", keep=1, keep_best=1)


@pytest.mark.parametrize("name", ["b.weights.h5", "b.keras", "b.pt", "b.ckpt", "b-{epoch:02d}.H5"])
def test_names_of_single_files(name, tmp_path):
    stem = name.partition(".")[0]
    with pytest.raises(
        ArgumentError, match=rf"(?s)name of one file.*instead: ModelCheckpoint\('.*{stem[:1]}.*', monitor"
    ):
        ModelCheckpoint(name)
    with pytest.raises(ArgumentError, match="name of one file"):
        ModelCheckpoint(tmp_path / name)
    (tmp_path / name).mkdir()
    ModelCheckpoint(tmp_path / name)  # a run that is there is gone on with
