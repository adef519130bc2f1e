"""What TensorBoard, MLflow and W&B are given, read with TensorBoard and MLflow themselves."""

import errno
from types import SimpleNamespace

import numpy as np
import pytest

from graftax.callbacks import LambdaCallback, MLflow, TensorBoard, WandB
from graftax.core.errors import ArgumentError, LogError, MissingLibraryError
from tests.training.lines import X, Y, line


def events(folder):
    """The events of a directory, as TensorBoard accumulates them."""
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = accumulators.EventAccumulator(str(folder), size_guidance={"tensors": 0, "images": 0})
    return found.Reload()


def scalars(folder, tag):
    return [(event.step, event.value) for event in events(folder).Scalars(tag)]


def test_tensorboard_reads_numbers_histograms_and_texts(tmp_path):
    pytest.importorskip("tensorboardX")
    board = TensorBoard(
        tmp_path, histogram_freq=1, write_images=True, write_steps_per_second=True, hyperparameters={"width": 1}
    )
    history = line(0.1).fit(X, Y, epochs=2, validation_data=(X, Y), verbose=0, callbacks=[board]).history
    for place, prefix in (("train", ""), ("validation", "val_")):
        steps, values = zip(*scalars(tmp_path / place, "epoch_loss"), strict=True)
        assert steps == (0, 1)
        np.testing.assert_allclose(values, history[f"{prefix}loss"], rtol=1e-6)
    assert [value for _, value in scalars(tmp_path / "train", "epoch_learning_rate")] == pytest.approx([0.1, 0.1])
    assert scalars(tmp_path / "train", "epoch_steps_per_second")
    found = events(tmp_path / "train")
    tags = found.Tags()
    assert "layers/0/kernel" in tags["histograms"]
    assert found.Histograms("layers/0/kernel")[0].histogram_value.num == 1
    assert "layers/0/kernel" in tags["images"]
    text = found.Tensors("model/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "layers/0 (Dense)" in text
    assert any("hparams" in tag for tag in found.summary_metadata)


def test_tensorboard_writes_steps_and_evaluations(tmp_path):
    pytest.importorskip("tensorboardX")
    model = line(0.1)
    model.fit(X, Y, batch_size=1, epochs=2, verbose=0, callbacks=[TensorBoard(tmp_path, update_freq=5)])
    assert [step for step, _ in scalars(tmp_path / "train", "batch_loss")] == [5, 10]
    loss = model.evaluate(X, Y, verbose=0, callbacks=[TensorBoard(tmp_path / "e")])["loss"]
    assert scalars(tmp_path / "e" / "validation", "evaluation_loss") == [(10, pytest.approx(loss))]


def test_tensorboard_refuses(tmp_path):
    pytest.importorskip("tensorboardX")
    with pytest.raises(ArgumentError, match="update_freq"):
        TensorBoard(tmp_path, update_freq="never")
    with pytest.raises(ArgumentError, match="histogram"):
        TensorBoard(tmp_path, write_images=True)


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    files = pytest.importorskip("tensorboardX.event_file_writer")

    write = files.EventsWriter._write_serialized_event

    def full(self, event):
        if b"epoch_loss" in event:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, event)

    model = line(0.1)
    monkeypatch.setattr(files.EventsWriter, "_write_serialized_event", full)
    with pytest.raises(LogError, match="no space is left"):
        model.fit(X, Y, batch_size=5, verbose=0, callbacks=[TensorBoard(tmp_path)])
    assert int(model.optimizer.iterations) == 1


def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file:{tmp_path / 'runs'}")
    history = line(0.1).fit(X, Y, epochs=3, verbose=0, callbacks=[MLflow("first", {"width": 1})]).history
    (run,) = mlflow.MlflowClient().search_runs(["0"])
    assert run.data.params == {"width": "1"}
    assert run.info.status == "FINISHED"
    assert run.data.metrics["loss"] == pytest.approx(history["loss"][-1])
    assert mlflow.active_run() is None


class FakeMLflow:
    """MLflow as far as the callback goes, which keeps what each run is given."""

    def __init__(self):
        self.runs, self.active = {}, None

    def active_run(self):
        return None if self.active is None else SimpleNamespace(info=SimpleNamespace(run_id=self.active))

    def start_run(self, run_id=None, run_name=None):
        self.active = run_id or f"run {len(self.runs)}"
        self.runs.setdefault(self.active, {"name": run_name, "losses": []})

    def log_params(self, parameters):
        self.runs[self.active] |= parameters

    def log_metrics(self, numbers, step):
        self.runs[self.active]["losses"].append(step)

    def end_run(self, status):
        self.active = None


@pytest.mark.broad
def test_mlflow_each_training_has_a_run_with_its_parameters(monkeypatch):
    library = FakeMLflow()
    monkeypatch.setattr("graftax.training.callbacks.mlflow.optional_library", lambda *names: library)
    callback = MLflow("name", {"width": 1})
    for _ in range(2):
        line().fit(X, Y, epochs=2, verbose=0, callbacks=[callback])
    library.start_run(run_name="mine")
    line().fit(X, Y, verbose=0, callbacks=[callback])
    library.end_run("FINISHED")
    resume = LambdaCallback(on_train_begin=lambda logs: callback.set_state({"id": "run 1"}))
    line().fit(X, Y, initial_epoch=2, epochs=3, verbose=0, callbacks=[callback, resume])
    own = {"name": "name", "width": 1}
    assert library.runs == {
        "run 0": {**own, "losses": [0, 1]},
        "run 1": {**own, "losses": [0, 1, 2]},
        "run 2": {"name": "mine", "width": 1, "losses": [0]},
    }


class FakeRun:
    """A run of W&B that keeps what it is sent."""

    def __init__(self):
        self.id, self.sent, self.finished = "abc", [], []

    def log(self, numbers):
        self.sent.append(numbers)

    def finish(self, exit_code=0):
        self.finished.append(exit_code)


def test_wandb_sends_to_a_run_that_is_given_and_leaves_it_open():
    run = FakeRun()
    line(0.1).fit(X, Y, batch_size=1, epochs=2, verbose=0, callbacks=[WandB(run=run, every=5)])
    assert [sent["step"] for sent in run.sent] == [5, 5, 10, 10]
    assert {"epoch/loss", "epoch", "step"} <= run.sent[1].keys()
    assert run.finished == []


@pytest.mark.broad
def test_wandb_makes_a_run_and_goes_on_in_it(monkeypatch):
    made = []

    def init(**options):
        made.append((options, FakeRun()))
        return made[-1][1]

    monkeypatch.setattr("graftax.training.callbacks.wandb.optional_library", lambda *names: SimpleNamespace(init=init))
    callback = WandB(project="p", config={"a": 1})
    resume = LambdaCallback(on_train_begin=lambda logs: callback.set_state({"id": "abc"}))
    line().fit(X, Y, verbose=0, callbacks=[callback, resume])
    (options, run) = made[0]
    assert (options["project"], options["config"], options["id"], options["resume"]) == ("p", {"a": 1}, "abc", "allow")
    assert run.finished == [0]
    line().fit(X, Y, verbose=0, callbacks=[callback])
    assert [options["id"] for options, _ in made] == ["abc", None]  # another training has a run of its own


def test_wandb_refuses_both():
    with pytest.raises(ArgumentError, match="run="):
        WandB("project", run=FakeRun())


@pytest.mark.parametrize(("callback", "extra"), [(WandB, "wandb"), (MLflow, "mlflow"), (TensorBoard, "tensorboard")])
def test_a_missing_library_is_named_before_training(callback, extra, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    model = line(0.1)
    with pytest.raises(MissingLibraryError, match=rf"graftax\[{extra}\]"):
        model.fit(X, Y, verbose=0, callbacks=[callback()])
    assert int(model.optimizer.iterations) == 0


def test_what_comes_every_few_steps_comes_where_several_are_run_at_once(tmp_path):
    run = FakeRun()
    model = line(0.1, steps_per_execution=2)
    model.fit(X, Y, batch_size=1, epochs=2, verbose=0, callbacks=[WandB(run=run, every=3)])
    # runs end after steps 2, 4, 5, 7, 9, 10
    assert [sent["step"] for sent in run.sent if "batch/loss" in sent] == [4, 7, 9]
    pytest.importorskip("tensorboardX")
    model.fit(X, Y, batch_size=1, epochs=2, verbose=0, callbacks=[TensorBoard(tmp_path, update_freq=3)])
    assert [step for step, _ in scalars(tmp_path / "train", "batch_loss")] == [12, 15, 19]


def test_hyperparameters_of_numpy_are_numbers(tmp_path):
    pytest.importorskip("tensorboardX")
    metadata = pytest.importorskip("tensorboard.plugins.hparams.metadata")
    given = {"rate": np.float32(0.25), "width": np.int64(3), "tied": np.bool_(True), "note": "x"}
    line(0.1).fit(X, Y, verbose=0, callbacks=[TensorBoard(tmp_path, hyperparameters=given)])
    summaries = events(tmp_path / "train").summary_metadata
    content = summaries["_hparams_/session_start_info"].plugin_data.content
    found = metadata.parse_session_start_info_plugin_data(content).hparams
    assert (found["rate"].number_value, found["width"].number_value, found["tied"].bool_value) == (0.25, 3, True)
    assert found["note"].string_value == "x"
