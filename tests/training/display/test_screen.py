"""What fit, evaluate and predict write on a terminal of some width, into a file, and beside prints of callbacks."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from types import SimpleNamespace

import pytest

import graftax as gx
from graftax.training.display.screen import Screen
from tests.training.lines import X, Y, line


class Terminal:
    """A pseudo-terminal in place of the standard output; what is on its screen, as lines."""

    def __init__(self, columns, encoding="utf-8"):
        self.above, below = pty.openpty()
        fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.columns, self.got = columns, b""
        self.file = os.fdopen(below, "w", encoding=encoding)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            while piece := os.read(self.above, 65536):
                self.got += piece
        except OSError:  # the other end is closed
            pass

    def close(self):
        self.file.close()
        self.reader.join(10)
        os.close(self.above)

    def lines(self):
        """The lines as a reader sees them in the end; a line that is too long would be two."""
        shown = []
        for text in self.got.decode().split("\n"):
            cells: list[str] = []
            for part in text.split("\r"):
                cells[: len(part)] = part
            content = "".join(cells).rstrip()
            shown += [content[i : i + self.columns] for i in range(0, max(len(content), 1), self.columns)]
        return [one for one in shown if one]


@pytest.fixture
def terminal(monkeypatch):
    """Makes a terminal of so many columns, and puts it in place."""
    made: list[Terminal] = []

    def make(columns):
        made.append(Terminal(columns))
        monkeypatch.setattr(sys, "stdout", made[0].file)
        monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((columns, 50)))
        return made[0]

    yield make
    for one in made:
        if not one.file.closed:
            one.close()


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("columns", [80, 120, 40])
@pytest.mark.parametrize("verbose", ["auto", 1])
def test_t9_one_line_an_epoch(terminal, columns, verbose):
    screen, model = terminal(columns), line(metrics=["mae", "mse"])
    model.fit(X, Y, batch_size=1, epochs=3, validation_data=(X, Y), verbose=verbose)
    screen.close()
    lines = screen.lines()
    assert [text.partition("  ")[0] for text in lines] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert all("loss 6" in text for text in lines)
    assert "━" in screen.got.decode() or columns == 40


@pytest.mark.broad
def test_t9_a_validation_is_told_in_the_line_of_its_epoch(terminal, monkeypatch):
    clock = iter(range(100_000))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    screen = terminal(80)
    line().fit(X, Y, batch_size=1, validation_data=(X, Y))
    screen.close()
    assert "epoch 1/1, validation 1/5" in screen.got.decode()


def test_t9_evaluate_and_predict_end_full(terminal):
    screen, model = terminal(80), line()
    model.evaluate(X, Y, batch_size=1)
    model.predict(X, batch_size=2)
    screen.close()
    evaluated, predicted = screen.lines()
    assert evaluated.startswith("evaluate  5/5  ")
    assert evaluated.endswith("loss 6")
    assert predicted.startswith("predict  3/3  ")


@pytest.mark.broad
def test_t9_prints_of_callbacks_at_the_end_of_an_epoch_have_lines_of_their_own(terminal):
    screen, said = terminal(80), gx.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print("said"))
    line().fit(X, Y, batch_size=1, epochs=2, callbacks=[said])
    screen.close()
    assert [text.partition("  ")[0] for text in screen.lines()] == ["said", "epoch 1/2", "said", "epoch 2/2"]


def test_t9_an_error_begins_a_new_line(terminal):
    def batches():
        yield X, Y
        raise ValueError("no more")

    screen = terminal(80)
    with pytest.raises(ValueError, match="no more"):
        line().fit(batches())
    screen.file.write("next")
    screen.close()
    assert screen.lines()[-1] == "next"


@pytest.mark.broad
def test_t9_a_file_gets_a_line_when_its_epoch_ends(tmp_path):
    program = (
        "import os\n"
        "import graftax as gx\n"
        "from tests.training.lines import X, Y, line\n"
        "kill = gx.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: os._exit(9) if epoch == 2 else None)\n"
        "line().fit(X, Y, epochs=5, verbose=1, callbacks=[kill])\n"
    )
    path = tmp_path / "out.txt"
    with path.open("w") as file:
        done = subprocess.run([sys.executable, "-c", program], stdout=file, check=False)
    assert done.returncode == 9
    lines = path.read_text().splitlines()
    assert [text.partition("  ")[0] for text in lines] == ["epoch 1/5", "epoch 2/5"]
    assert "\r" not in path.read_text()
    assert "learning_rate 0" in lines[0]


@pytest.mark.broad
def test_t9_a_long_epoch_in_a_file_tells_once_a_minute(capsys, monkeypatch):
    seconds = []
    monkeypatch.setattr(time, "perf_counter", lambda: sum(seconds))
    each = gx.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seconds.append(40))
    line().fit(X, Y, batch_size=1, verbose=1, callbacks=[each])
    lines = capsys.readouterr().out.splitlines()
    assert [text.split("  ")[1] for text in lines] == ["2/5", "4/5", "5/5"]
    assert all("40.0s/step" in text for text in lines)


@pytest.mark.broad
def test_t9_a_notebook_keeps_one_line_an_epoch(capsys, monkeypatch):
    """What is shown is changed in place, and beside it callbacks may print."""
    shell = SimpleNamespace(kernel=object())
    displays = []

    class Handle:
        def __init__(self, first):
            self.states = [repr(first)]
            displays.append(self)

        def update(self, line):
            self.states.append(repr(line))

    def display(line, display_id):
        assert display_id is True
        return Handle(line)

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    model = line()
    says = gx.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print("says"))
    model.fit(X, Y, batch_size=1, epochs=2, validation_data=(X, Y), callbacks=[says])
    model.predict(X)
    assert capsys.readouterr().out == "says\nsays\n"
    assert [one.states[-1].partition("  ")[0] for one in displays] == ["epoch 1/2", "epoch 2/2", "predict"]
    assert "val" in displays[0].states[-1]
    assert len(displays[0].states) > 1


def test_t9_in_a_notebook_the_line_moves(capsys, monkeypatch):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert Screen("auto").is_moving
    line().fit(X, Y, epochs=2)
    assert "\repoch 2/2" in capsys.readouterr().out


def test_t9_plain_characters_where_there_are_no_others(monkeypatch):
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(encoding="ascii", isatty=lambda: True))
    assert Screen("auto").is_plain
    assert Screen("auto").width


@pytest.mark.broad
def test_t9_a_reader_that_goes_away_does_not_stop_training(monkeypatch):
    def gone(text):
        raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", SimpleNamespace(write=gone, flush=lambda: None, isatty=lambda: False))
    assert len(line().fit(X, Y, epochs=2, verbose=2).epoch) == 2
