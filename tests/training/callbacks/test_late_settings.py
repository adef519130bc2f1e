"""What is assigned to a callback after its constructor is kept where something reads it, or is refused."""

import inspect

import pytest

from graftax import callbacks
from graftax.core.errors import AssignmentError

MADE = {
    "CSVLogger": lambda to: callbacks.CSVLogger(to / "log.csv"),
    "LambdaCallback": lambda to: callbacks.LambdaCallback(on_train_end=print),
    "LearningRateScheduler": lambda to: callbacks.LearningRateScheduler(lambda epoch, rate: rate),
    "ModelCheckpoint": lambda to: callbacks.ModelCheckpoint(to / "run"),
    "Profiler": lambda to: callbacks.Profiler(to / "trace"),
    "StopAtStep": lambda to: callbacks.StopAtStep(last_step=3),
    "TensorBoard": lambda to: callbacks.TensorBoard(to / "events"),
}
OTHERS = {"Callback", "Logs"}
PUBLIC = [name for name in dir(callbacks) if inspect.isclass(getattr(callbacks, name)) and name not in OTHERS]


@pytest.mark.parametrize("name", PUBLIC)
def test_an_argument_is_an_attribute_or_is_refused(name, tmp_path):
    kind = getattr(callbacks, name)
    made = MADE[name](tmp_path) if name in MADE else kind()
    for argument in inspect.signature(kind).parameters:
        if not hasattr(made, argument):
            with pytest.raises(AssignmentError, match="nothing would read it now") as caught:
                setattr(made, argument, "max")
            assert "a new callback" in caught.value.instead


def test_a_class_of_ones_own_may_have_such_a_name():
    class Mine(callbacks.EarlyStopping):
        def __init__(self):
            super().__init__()
            self.mode = "mine"

    assert Mine().mode == "mine"
