"""What every test runs under: one platform, reproducible examples, and no state left over from the test before.

Also the lanes. The quick run has each kind of check, and of expensive tables some rows of each check. What is marked
``broad``, and the rows that are not the turn of the quick run (``in_turn``), follow in ``make test-broad``, which
``.ci/run`` runs, too; ``slow`` ones, and rows beyond the number that ``in_turn`` leaves to it, only in ``make
test-all``. Tests that compare with torch, Keras or optax are
recognised by what they import, directly or by way of a fixture or helper. The quick run leaves them out;
``--references`` runs them alone, and there a skip is a failure.
The quick run has XLA compile plainly. Tests of what its optimizations make of numbers are marked ``optimized`` and run
in the lane of comparisons, too, where it compiles as it does for users. ``--devices`` runs the tests of
``tests/distribution/eight``, and only these, on eight devices that the CPU is divided into.
"""

import ast
import dis
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

# Before anything imports JAX: one platform, and what is compiled is kept for the other workers and for the next run.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")  # nobody profiles these programs line by line
os.environ.setdefault("KERAS_BACKEND", "jax")
# Most of what tests compile runs once, on a few numbers: XLA compiles it plainly, in a third of the time. Whoever sets
# XLA_FLAGS, be it to nothing, is obeyed: the slow lane and the comparisons are compiled as users' programs are. Only
# JAX 0.10 has fusion emitters that can be switched off: later ones end the process at a flag that they do not know.
os.environ.setdefault(
    "XLA_FLAGS",
    ""
    if "--references" in sys.argv
    else "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
    + " --xla_cpu_use_fusion_emitters=false" * version("jaxlib").startswith("0.10."),
)
if "--devices" in sys.argv:
    os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=8"
    # Devices wait for one another in threads, of which XLA makes one for each: on a busy machine, threads that do other
    # work were missing, and XLA ended the process after 40 seconds.
    os.environ.setdefault("NPROC", "32")

import pytest
from hypothesis import settings

from graftax.backend import registry
from graftax.core import masked_arrays
from graftax.variables import random

# Examples are the same in every run, and a slow machine is no failure. `make test-all` asks for the thorough profile.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("suite")


# --- the lanes --------------------------------------------------------------------------------------------------------

PEERS = {
    "datasets", "grain", "h5py", "keras", "mlflow", "onnxruntime",
    "optax", "orbax", "pandas", "polars", "tensorboard", "tensorboardX", "tensorflow", "torch", "torchdata", "wandb",
    "zarr",
}  # fmt: skip
"""What tests compare with, or feed from, that is not among the requirements of the quick tests."""

ASKING = {"importorskip", "import_module", "find_spec", "__import__"}
"""Functions that import, or look for, the module that they are given by name."""

TESTS = str(Path(__file__).parent)


def is_peer(name: object) -> bool:
    """Whether it is the name of a peer, or of a module in one."""
    return isinstance(name, str) and name.partition(".")[0] in PEERS


@cache
def file_needs_peer(source: str) -> bool:
    """Whether importing a file with this source imports a peer, or looks for one."""
    if not any(peer in source for peer in PEERS):
        return False
    waiting: list[ast.AST] = list(ast.parse(source).body)
    for node in waiting:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += getattr(node, "decorator_list", [])
            continue
        if isinstance(node, ast.Import) and any(is_peer(alias.name) for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and is_peer(node.module):
            return True
        asks = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ASKING
        if asks and any(isinstance(given, ast.Constant) and is_peer(given.value) for given in node.args):
            return True
        waiting += ast.iter_child_nodes(node)
    return False


@cache
def what_it_says(code: CodeType) -> tuple[bool, bool, frozenset[str]]:
    """Whether code imports a peer, whether it asks for a module by name at all, and the names that it uses."""
    codes = [code]
    for one in codes:  # of functions in it, too
        codes += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
    names = frozenset(name for one in codes for name in one.co_names)
    asks = not ASKING.isdisjoint(names)
    peers = (is_peer(constant) for one in codes for constant in one.co_consts)
    named = [one for one in codes if any(map(is_peer, one.co_names))]  # the others import none
    modules = (i.argval for one in named for i in dis.get_instructions(one) if i.opname == "IMPORT_NAME")
    return (asks and any(peers)) or any(map(is_peer, modules)), asks, names


def needs_peer(found: Any, given: tuple[Any, ...] = (), seen: set[int] | None = None) -> bool:
    """Whether a function of the tests imports a peer, or calls one that does; ``given`` are its arguments, if known."""
    if not isinstance(found, FunctionType | MethodType):  # others answer to any name, and take their time
        return False
    seen = set() if seen is None else seen
    inner = getattr(getattr(found, "hypothesis", None), "inner_test", None) or getattr(found, "__wrapped__", None)
    if inner is not None and needs_peer(inner, given, seen):
        return True
    found = getattr(found, "__func__", found)
    code = getattr(found, "__code__", None)
    if code is None or id(code) in seen or not code.co_filename.startswith(TESTS):
        return False
    seen.add(id(code))
    imports, asks, names = what_it_says(code)
    if imports or (asks and any(is_peer(name) for name in given)):
        return True
    called = [found.__globals__.get(name) for name in names]
    called += [cell.cell_contents for cell in found.__closure__ or ()]
    return any(needs_peer(one, given, seen) for one in called)


def is_comparison(item: pytest.Item) -> bool:
    """Whether a test compares with a peer."""
    if item.get_closest_marker("references") or not isinstance(item, pytest.Function):
        return item.get_closest_marker("references") is not None
    given = tuple(item.callspec.params.values()) if hasattr(item, "callspec") else ()
    function = item.module, item.cls, item.originalname, tuple(filter(is_peer, given))
    if function not in compares:  # once for all rows of a table
        fixtures = [one.func for chain in item._fixtureinfo.name2fixturedefs.values() for one in chain]
        compares[function] = any(needs_peer(one, given) for one in (item.function, *fixtures))
    return compares[function]


compares: dict[Any, bool] = {}
"""Whether a test compares with a peer, by what tells tests apart in that."""


def mark_turns(items: list[pytest.Item]) -> None:
    """Mark the rows of a table that are not the turn of their lane: of each ``n``, all but one.

    Of a quick table, the others are broad. Where ``in_turn`` has a number ``broad``, so many of each ``n`` are not
    slow, the quick one among them. Of a table that is broad, the others are slow.
    """
    rows = dict[Any, list[pytest.Item]]()
    for item in items:
        if item.get_closest_marker("in_turn") is None or item.get_closest_marker("slow") is not None:
            continue
        if item.get_closest_marker("broad") is None or is_broad_table(item):  # a row that is broad alone takes no turn
            rows.setdefault((item.parent, item.name.partition("[")[0]), []).append(item)
    for found in rows.values():
        if len(found) > 1:  # one that is named on the command line is wanted
            given = found[0].get_closest_marker("in_turn")
            n, start = (*given.args, 0)[:2]
            n = min(n, len(found))
            kept = 1 if is_broad_table(found[0]) else given.kwargs.get("broad", n)
            for i, item in enumerate(found):
                turn = (i + i // n - start) % n  # another place among each n: rows may alternate in something
                if turn:
                    item.add_marker("broad" if turn * kept % n < kept else "slow")  # evenly among each n


def is_broad_table(item: pytest.Item) -> bool:
    """Whether all rows of the table of a test are marked broad."""
    return any(mark.name == "broad" for mark in getattr(getattr(item, "function", None), "pytestmark", ()))


def pytest_addoption(parser: pytest.Parser) -> None:
    """The lane of comparisons."""
    text = f"run the tests that compare with {', '.join(sorted(PEERS))}, and only these; a skip is a failure"
    parser.addoption("--references", action="store_true", help=text)
    parser.addoption("--devices", action="store_true", help="run the tests of eight devices, and only these")


def pytest_configure(config: pytest.Config) -> None:
    """Have workers report calls and what went wrong: that a test was set up well is no news, and costs time."""
    for hook in config.hook.pytest_runtest_logreport.get_hookimpls():
        if type(hook.plugin).__name__ == "WorkerInteractor":
            hook.function = partial(report_news, hook.function)


def report_news(send: Callable[..., None], report: pytest.TestReport) -> None:
    """Send a report, unless it says that nothing happened."""
    if report.when == "call" or not report.passed:
        send(report)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The quick run does not even import a file that needs a peer, or eight devices."""
    if collection_path.match("test_*.py") and config.getoption("devices") != (collection_path.parent.name == "eight"):
        return True
    if config.getoption("references") or not collection_path.match("test_*.py"):
        return None
    return True if file_needs_peer(collection_path.read_text()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each lane keeps its own tests."""
    whole = {path: file_needs_peer(path.read_text()) for path in {item.path for item in items} if path.suffix == ".py"}
    chosen: dict[bool, list[pytest.Item]] = {True: [], False: []}
    wanted = config.getoption("references")
    for item in items:
        comparison = whole.get(item.path, False) or is_comparison(item)
        if comparison:
            item.add_marker("references")
        chosen[comparison or (wanted and item.get_closest_marker("optimized") is not None)].append(item)
    mark_turns(chosen[False])
    config.hook.pytest_deselected(items=chosen[not wanted])
    items[:] = chosen[wanted]


def pytest_collection_finish() -> None:
    """The tests stay to the end: no collection of garbage needs to look through them."""
    gc.collect()
    gc.freeze()


def fail_if_skipped(report: Any, config: pytest.Config) -> None:
    """Make a failure of a skip where a comparison was to be made, or could not be recognised as one."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if config.getoption("references"):
        report.longrepr = f"{reason}\nA comparison that was not made; in this lane that is a failure."
    elif any(f"could not import {quote}{peer}" in reason for peer in PEERS for quote in "'\""):
        report.longrepr = (
            f"{reason}\nIt compares with a peer in a way that tests/conftest.py does not see: mark it references."
        )
    else:
        return
    report.outcome = "failed"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Of a test."""
    report = yield
    fail_if_skipped(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Of a whole file."""
    report = yield
    named = report.skipped and isinstance(collector, pytest.Module)  # on the command line: then it is not ignored
    if named and not collector.config.getoption("references") and file_needs_peer(collector.path.read_text()):
        report.outcome, report.longrepr, report.result = "passed", None, []
    fail_if_skipped(report, collector.config)
    return report


# --- fixtures ---------------------------------------------------------------------------------------------------------


gc.set_threshold(20_000, 10, 10)  # traces make many objects that live on for a while: looking often finds little
contexts = threading.local()


def share_contexts() -> None:
    """Write programs down in one context for each thread, as later versions of JAX do; 0.10 makes one for each."""
    mlir: Any = import_module("jax._src.interpreters.mlir")
    make = mlir.make_ir_context

    def shared() -> Any:
        if not hasattr(contexts, "kept"):
            contexts.kept = make()
        return contexts.kept

    mlir.make_ir_context = shared


if version("jaxlib").startswith("0.10."):
    share_contexts()


@pytest.fixture(scope="module", autouse=True)
def small_heap() -> Iterator[None]:
    """What libraries keep in their caches is no longer looked through by every collection of garbage after it."""
    yield
    contexts.__dict__.clear()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def without_masks() -> Iterator[None]:
    """No array has a mask, whatever tests before it left to the collection of garbage: calls take another way then."""
    kept = dict(masked_arrays.entries)
    masked_arrays.entries.clear()
    yield
    kept = {key: entry for key, entry in kept.items() if entry.owner() is not None}
    masked_arrays.entries.update({**kept, **masked_arrays.entries})


@pytest.fixture(autouse=True)
def fresh_state() -> Iterator[None]:
    """The same random numbers for every test, whatever ran before it, and the backend put back."""
    chosen = list(registry._default)
    random.set_random_seed(0)
    yield
    registry._default[:] = chosen
    processes = sys.modules.get("graftax.distribution.processes")
    if processes is not None and processes._signal._listens:  # for the whole process, once somebody has asked
        if signal.getsignal(signal.SIGTERM) == processes._signal._note:
            signal.signal(signal.SIGTERM, processes._signal._before)
        processes._signal = processes._Signal()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where a shell started the tests as a background job, which ignores it."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, outside)


@pytest.fixture(scope="session")
def keras(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Keras on JAX, as an independent source of numbers."""
    os.environ["KERAS_HOME"] = str(tmp_path_factory.mktemp("keras"))
    return pytest.importorskip("keras")


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """PyTorch, as an independent source of numbers."""
    return pytest.importorskip("torch")
