"""What commands cost on a checkpoint of 20,000 arrays, and on one of 10 GB, in seconds of the processor."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import graftax as gx
from graftax.checkpoint.commit import Draft, commit
from graftax.checkpoint.decode import decode
from graftax.checkpoint.envelope import open_envelope, seal
from graftax.checkpoint.index import Kind, NodeRecord, encode
from graftax.checkpoint.layout import Item

COUNT = 20_000
PACKAGE = Path(gx.__file__).parents[1]


def save(path: Path, step: int, count: int = COUNT) -> None:
    """Write a checkpoint with layers of two weights each; every tenth bias is another in each step."""
    items, nodes, layers = [], [], []
    for i in range(count // 2):
        bias = bytes(64) if i % 10 else bytes([step]) * 64
        items += [
            Item("float32", (16, 16), f"net/layers/{i}/kernel", memoryview(bytes(1024))),
            Item("float32", (16,), f"net/layers/{i}/bias", memoryview(bias)),
        ]
        nodes += [NodeRecord(Kind.VARIABLE, "Variable", (), (2 * i + j, True, "weight", {})) for j in range(2)]
        nodes.append(NodeRecord(Kind.OBJECT, "net.Layer", (("kernel", 3 * i), ("bias", 3 * i + 1)), None))
        layers.append((i, 3 * i + 2))
    nodes += [
        NodeRecord(Kind.LIST, "list", tuple(layers)),
        NodeRecord(Kind.OBJECT, "net.Net", (("layers", len(nodes)),), None),
    ]
    commit(path, Draft(items, nodes, {"net": len(nodes) - 1}, step=step))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("many")
    save(found / "a", 1)
    save(found / "b", 2)
    return found


def seconds(*command: object) -> tuple[float, str]:
    """Return the seconds of the processor of a command, the least of three runs, and what it printed."""
    spent, out = [], ""
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "graftax", "ckpt", *map(str, command)],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in (0, 1), done.stderr
        out = done.stdout
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent), out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "limit", "told"),
    [
        (("ls", "."), 0.3, "20,000"),
        (("ls", ".", "--latest"), 0.3, "b"),
        (("show", "a"), 1.5, "net/layers/9999/bias"),
        (("verify", "a"), 1.5, "20,000"),
        (("diff", "a", "b"), 3.0, "1,000 changed, 0 removed, 0 added, 19,000 the same"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_20_000_arrays(folder, monkeypatch, command, limit, told):
    monkeypatch.chdir(folder)
    spent, out = seconds(*command)
    assert told in out
    assert spent < limit


def test_ls_of_10_gb_takes_no_longer(tmp_path):
    """Data files are not opened, however large they are."""
    save(tmp_path / "large", 1, count=20)
    graph = tmp_path / "large" / "graph.msgpack"
    index = decode(open_envelope(graph.read_bytes()))
    file = index.files[0]._replace(size=10_000_000_000)
    graph.write_bytes(seal(encode(index._replace(files=(file,)))))
    os.truncate(tmp_path / "large" / file.name, file.size)
    spent, out = seconds("ls", tmp_path)
    assert "10.0 GB" in out
    assert spent < 1
