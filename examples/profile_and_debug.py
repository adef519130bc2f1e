"""Profile and debug a model with what Python brings: cProfile, logging, pdb, print and tracemalloc.

Eager code is Python code: a call of a layer is a call of a function, its values are numbers, and the tools see both.
The model below has a bug in each of its own layers, and the program around it a third one; each is found by another
tool. What looks at numbers in Python stands beside the layers, or behind a switch, so that the model can be compiled
and exported all the same.
"""

import cProfile
import io
import linecache
import logging
import pdb  # noqa: T100 - it is what this file shows
import pstats
import sys
import tracemalloc

import numpy as np

import graftax as gx
from graftax import layers, ops

logging.basicConfig(format="%(message)s", stream=sys.stdout)
log = logging.getLogger("layers")
log.setLevel(logging.INFO)


class MovingMean(gx.Layer):
    """The mean of all steps so far."""

    def call(self, x):
        steps = range(1, x.shape[1] + 1)
        return ops.stack([ops.mean(x[:, :step], axis=1) for step in steps], axis=1)


class Normalise(gx.Layer):
    """Mean 0 and deviation 1 for each feature."""

    def call(self, x):
        centred = x - ops.mean(x, axis=(0, 1))
        deviation = ops.sqrt(ops.mean(centred**2, axis=(0, 1)))
        if self.debug:
            print("smallest deviation:", float(ops.min(deviation)))
            breakpoint()  # noqa: T100
        return centred / deviation

    debug = False


class Monitor:
    """Looks on while a model is used, and knows the mean of what it was given."""

    def __init__(self, model):
        self.model = model
        self.inputs = []

    def __call__(self, x):
        self.inputs.append(np.array(x))
        return self.model(x)

    def mean(self):
        return np.mean(self.inputs)


def logged(layer, x):
    """A call of any layer, with a line in the log."""
    y = layer(x)
    share = float(ops.mean(ops.cast(ops.isfinite(y), "float32")))
    level = logging.INFO if share == 1 else logging.WARNING
    log.log(level, "%-10s %s -> %s, finite: %.0f%%", type(layer).__name__, x.shape, y.shape, 100 * share)
    return y


class Typist(pdb.Pdb):
    """The debugger, driven by a script, so that this file runs alone. At a terminal `breakpoint()` is all it takes."""

    def __init__(self, *commands):
        super().__init__(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=sys.stdout, nosigint=True, readrc=False)

    def precmd(self, line):
        if not line.startswith("_"):  # the debugger's own
            print(line)
        return super().precmd(line)


gx.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(64, 40, 16)).astype("float32")
x[..., 3] = 1.0  # a sensor that is stuck
moving_mean, normalise = own = MovingMean(), Normalise()
model = gx.Sequential([*own, layers.Dense(1)])
model(x)  # builds


print("\n--- cProfile: where does the time go?")
profiler = cProfile.Profile()
with profiler:
    for _ in range(5):
        model(x)
stats = pstats.Stats(profiler).strip_dirs().sort_stats("cumulative")
stats.print_stats(r"profile_and_debug.*\(call\)")
calls = {type(layer): (type(layer).call.__code__.co_firstlineno, "call") for layer in own}
times = {kind: sum(row[3] for key, row in stats.stats.items() if key[1:] == place) for kind, place in calls.items()}
slowest = max(times, key=times.get)
print(f"{slowest.__name__} takes {times[slowest] / stats.total_tt:.0%}: it adds up the same steps again and again")
assert slowest is MovingMean


def running(self, x):
    return ops.cumsum(x, axis=1) / ops.reshape(ops.arange(1, x.shape[1] + 1, dtype="float32"), (-1, 1))


before = moving_mean(x)
MovingMean.call = running
np.testing.assert_allclose(moving_mean(x), before, rtol=1e-4, atol=1e-5)


print("\n--- logging: which layer makes the nan?")
records = []
log.addFilter(lambda record: records.append(record) or True)
y = x
for layer in model.layers:  # what the model does, one layer after another
    y = logged(layer, y)
culprit = next(record.args[0] for record in records if record.levelno == logging.WARNING)
print("the first is", culprit)
assert culprit == "Normalise"


print("\n--- print and pdb: why?")
sys.breakpointhook = Typist("p x.shape", "p int(deviation.argmin())", "p centred[:2, 0, 3]", "continue").set_trace
normalise.debug = True
normalise(x)
normalise.debug = False
sys.breakpointhook = sys.__breakpointhook__


def normalised(self, x):
    centred = x - ops.mean(x, axis=(0, 1))
    return centred / ops.sqrt(ops.mean(centred**2, axis=(0, 1)) + 1e-3)


Normalise.call = normalised
print("sensor 3 never changes: 0 / 0. With a small number under the root all is finite:", end=" ")
print(finite := bool(np.all(np.isfinite(model(x)))))
assert finite


print("\n--- tracemalloc: who keeps the memory?")
monitor = Monitor(model)
tracemalloc.start()
first = tracemalloc.take_snapshot()
for _ in range(10):
    monitor(x)
growth = tracemalloc.take_snapshot().compare_to(first, "lineno")[0]
tracemalloc.stop()
line = linecache.getline(growth.traceback[0].filename, growth.traceback[0].lineno).strip()
print(f"{growth.size_diff / 1e6:.1f} MB in 10 calls from line {growth.traceback[0].lineno}: {line}")
assert "self.inputs.append" in line


class RunningMean(gx.Layer):
    """Knows the mean of what it saw in training: two numbers, which are Variables since they change."""

    def build(self, input_shape):
        self.total = self.add_weight((), "zeros", "total", trainable=False, role="state")
        self.count = self.add_weight((), "zeros", "count", trainable=False, role="state")

    def call(self, x, training=False):
        if training:
            self.total.assign_add(ops.mean(x))
            self.count.assign_add(1.0)
        return x


print("\n--- and compiled, with a mean that takes two numbers")
repaired = gx.Sequential([moving_mean, normalise, RunningMean(), model.layers[-1]])
expected = repaired(x, training=True)
compiled = gx.jit(lambda x: repaired(x, training=True))
np.testing.assert_allclose(compiled(x), expected, rtol=1e-4, atol=1e-5)
print("the same source under gx.jit gives the same numbers; calls seen:", int(repaired.layers[2].count))
assert int(repaired.layers[2].count) == 2
