"""Serving: answers over HTTP are those of the program, requests that wait run together, what does not fit is told."""

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ExportError
from graftax.export import Signature, Spec
from graftax.export.serving import MOST_BYTES, Server
from tests.export.artefacts import net, numbers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "net"
    model, total = net(), gx.Variable(0.0, trainable=False)

    def centred(x: Any, scale: Any) -> dict[str, Any]:
        return {"centred": (x - ops.mean(x, axis=0)) * scale, "log": ops.log(x - x)}

    signatures = {
        "predict": Signature(model, Spec("batch 3", bounds=(-50, 50))),
        "centred": Signature(centred, Spec("n 2"), Spec("", "int32")),
        "half": Signature(lambda x: ops.cast(x, "bfloat16"), Spec("n")),
        "count": Signature(lambda x: total.assign_add(ops.sum(x)), Spec("n"), assigns=True),
    }
    gx.export.save(path, signatures, roots=model)
    return path


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with_port = Server(folder, port=0, most=16, warm=(1, 8))
    thread = threading.Thread(target=with_port.serve_forever)
    thread.start()
    yield with_port
    with_port.close()
    thread.join()


class Client:
    """One connection that is kept."""

    def __init__(self, server: Server) -> None:
        host, port = server.server_address[:2]
        self.connection = http.client.HTTPConnection(str(host), int(port), timeout=60)

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, body, {"Content-Type": "application/json", **named})
        answer = self.connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def call(self, program: str, **inputs: Any) -> tuple[int, Any]:
        status, _, body = self.ask("POST", f"/{program}", json.dumps(inputs).encode())
        return status, json.loads(body)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    made = Client(server)
    yield made
    made.connection.close()


@pytest.mark.broad
def test_answers_are_those_of_the_program(client: Client, folder: Path) -> None:
    x = numbers(5, 3)
    status, found = client.call("predict", x=x.tolist())
    assert status == 200
    np.testing.assert_allclose(found, gx.export.load(folder).predict(x), rtol=1e-5, atol=1e-6)
    file = io.BytesIO()
    np.save(file, x)
    npy = {"Content_Type": "application/x-npy", "Accept": "application/x-npy"}
    status, headers, body = client.ask("POST", "/predict", file.getvalue(), **npy)
    assert (status, headers["Content-Type"]) == (200, "application/x-npy")
    np.testing.assert_allclose(np.load(io.BytesIO(body)), found, rtol=1e-6)


@pytest.mark.broad
def test_an_npy_of_bfloat16_is_one_of_float32(client: Client) -> None:
    body = json.dumps({"x": [1.0, 0.1]}).encode()
    _, _, found = client.ask("POST", "/half", body, Accept="application/x-npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(found)), np.array([1.0, 0.10009765625], "float32"))
    assert client.call("half", x=[1.0, 0.1]) == (200, [1.0, 0.10009765625])


def test_structures_and_numbers_that_json_lacks(client: Client) -> None:
    status, found = client.call("centred", x=[[1, 2], [3, 4]], scale=2)
    assert status == 200
    assert found == {"centred": [[-2.0, -2.0], [2.0, 2.0]], "log": [["-inf", "-inf"], ["-inf", "-inf"]]}


@pytest.mark.parametrize(
    ("program", "inputs", "told"),
    [
        ("predict", {"x": [[1, 2]]}, "axis 1 is 2, and 3 is 3"),
        ("predict", {"x": [[1, 2, 300]]}, "from -50 to 50"),
        ("predict", {"x": [[1, 2], [3]]}, "differ in length"),
        ("predict", {"x": json.loads("[" * 80 + "]" * 80)}, "differ in length or in depth"),
        ("centred", {"x": [[1e300, 0]], "scale": 1}, "numbers beyond float32"),
        ("predict", {"x": [[True, 0.5, 1]]}, "true or false among numbers"),
        ("predict", {"x": True}, "it takes floats"),
        ("predict", {"y": [[1, 2, 3]]}, "without ['x']"),
        ("predict", {"x": "abc"}, "it takes floats"),
        ("predict", {"x": None}, "it takes floats"),
        ("predict", {"x": [[0, 0, 0]] * 17}, "at most 16 run together"),
        ("centred", {"x": [[1, 2]], "scale": 1.5}, "it takes integers"),
    ],
)
def test_what_does_not_fit_is_told(client: Client, program: str, inputs: Any, told: str) -> None:
    status, found = client.call(program, **inputs)
    assert status == 400
    assert told in found["error"]


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_requests_that_cannot_be_understood(client: Client) -> None:
    for body, kind, told in (
        (b"{", "application/json", "no JSON"),
        (b"[1]", "application/json", "JSON object"),
        (b"[" * 100_000, "application/json", "nested too deeply"),
        (b'{"x": [[NaN, 0, 0]]}', "application/json", "NaN is no number of JSON"),
        (b'{"x": [[0, -Infinity, 0]]}', "application/json", "-Infinity is no number of JSON"),
        (b'{"x": [[0, 0, 1e999]]}', "application/json", "from -50 to 50"),
        (b'{"x": [[1, 2, 3]], "x": [[1, 2, 4]]}', "application/json", "there twice"),
        (b'{"x": [[1, 2, 3]], "self": 1}', "application/json", "with ['self']"),
        (b"x=1", "text/plain", "a body of type"),
        (b"no", "application/x-npy", "no .npy"),
        (b"PK" + b"\0" * 100, "application/x-npy", "no .npy"),
        (npy(np.zeros((2, 3), "float32")).replace(b"(2, 3)", b"(9, 3)"), "application/x-npy", "and 24 bytes follow"),
        (npy(np.zeros((2, 3), "float32")).replace(b"(2, 3)", b"(-2,3)"), "application/x-npy", "says float32[-2, 3]"),
        (npy(np.array([None])), "application/x-npy", "Python objects"),
    ):
        status, _, answer = client.ask("POST", "/predict", body, Content_Type=kind)
        assert status == 400
        assert told in json.loads(answer)["error"]
    status, _, answer = client.ask("POST", "/centred", b'{"x": [[1, 1e999]], "scale": 1}')
    assert (status, "numbers too large" in json.loads(answer)["error"]) == (400, True)
    assert client.ask("POST", "/count", b"{}")[0] == 404  # it assigns
    assert client.ask("POST", "/other", b"{}")[0] == 404
    assert client.ask("GET", "/predict")[0] == 404
    assert client.ask("POST", "/predict", Content_Length=str(MOST_BYTES + 1))[0] == 413
    assert client.ask("GET", "/", Host="evil.example:80")[0] == 403


@pytest.mark.parametrize(
    ("head", "status", "told"),
    [
        ("POST /predict HTTP/1.1|Content-Length: 22|Content-Length: 3", 400, "once how long it is"),
        ("POST /predict HTTP/1.1|Content-Length: 22|Transfer-Encoding: chunked", 400, "once how long it is"),
        ("POST /predict HTTP/1.1|Content-Length: 900", 400, "22 bytes came"),
        ("POST /predict HTTP/1.1|Host: evil.example|Content-Length: 22", 403, "is not this machine"),
        ("POST /predict HTTP/1.1|Content-Length: ٣", 411, "has a Content-Length"),
        ("BREW /predict HTTP/1.1", 501, "Unsupported method"),
        (f"GET /{'a' * 70_000} HTTP/1.1", 414, "Too Long"),
    ],
)
def test_requests_of_other_programs_than_browsers(server: Server, head: str, status: int, told: str) -> None:
    lines = [*head.split("|"), "Host: localhost", "Content-Type: application/json"]
    with socket.create_connection(server.server_address[:2], timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", '{"x": [[1.0, 2.0, 3]]}']).encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert told in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def test_the_manifest_and_the_page(client: Client) -> None:
    status, headers, body = client.ask("GET", "/")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert list(json.loads(body)["signatures"]) == ["predict", "centred", "half"]
    status, headers, body = client.ask("GET", "/", Accept="text/html,*/*")
    assert headers["Content-Type"].startswith("text/html")
    assert b"<title>graftax</title>" in body
    assert b"innerHTML" not in body  # names in a manifest are text, never markup


@pytest.mark.broad
def test_requests_that_wait_together_run_together_and_each_gets_its_rows(server: Server, folder: Path) -> None:
    batcher, program = server.batchers["predict"], gx.export.load(folder).predict
    before = batcher.runs
    inputs = [numbers(1 + i % 3, 3, seed=i) for i in range(48)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda x: batcher.call([x], 60.0), inputs))
    assert batcher.runs - before < len(inputs)
    for x, results in zip(inputs, found, strict=True):
        np.testing.assert_allclose(results[0], program(x), rtol=1e-5, atol=1e-6)


def test_an_error_of_one_run_reaches_those_that_wait(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    batcher = server.batchers["predict"]
    monkeypatch.setattr(batcher, "_run", lambda batch: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        batcher.call([numbers(1, 3)], 10.0)
    monkeypatch.undo()
    assert batcher.call([numbers(1, 3)], 60.0)[0].shape == (1, 2)


def test_a_run_that_fails_is_told(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(batch: Any) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr(server.batchers["predict"], "_run", fails)
    status, found = client.call("predict", x=[[1, 2, 3]])
    assert (status, found["error"]) == (500, "predict has failed: MemoryError: none left")


def test_what_takes_too_long_is_told_and_does_not_run_later(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    batcher, release = server.batchers["predict"], threading.Event()
    monkeypatch.setattr(batcher, "_run", lambda batch: release.wait(30))
    first = threading.Thread(target=lambda: batcher.call([numbers(1, 3)], 30.0))
    first.start()
    with pytest.raises(TimeoutError, match="more than 0 s"):
        batcher.call([numbers(1, 3)], 0.01)
    release.set()
    first.join()
    assert batcher._waiting == []


def test_an_artefact_of_steps_alone_is_not_served(tmp_path: Path) -> None:
    total = gx.Variable(0.0, trainable=False)
    step = Signature(lambda x: total.assign_add(ops.sum(x)), Spec("n"), assigns=True)
    gx.export.save(tmp_path / "step", {"step": step}, check=False)
    with pytest.raises(ExportError, match="a program that assigns is not served"):
        Server(tmp_path / "step", port=0)


@pytest.mark.slow
def test_many_clients_at_once(server: Server, folder: Path) -> None:
    wanted = np.asarray(gx.export.load(folder).predict(numbers(4, 3)))

    def client(number: int) -> int:
        made = Client(server)
        for i in range(20):
            row = (number + i) % 4
            status, found = made.call("predict", x=numbers(4, 3)[row : row + 1].tolist())
            assert status == 200
            np.testing.assert_allclose(found, wanted[row : row + 1], rtol=1e-5, atol=1e-6)
        made.connection.close()
        return number

    before = server.batchers["predict"].runs
    with ThreadPoolExecutor(32) as pool:
        assert sorted(pool.map(client, range(32))) == list(range(32))
    assert server.batchers["predict"].runs - before <= 640


@pytest.mark.slow
def test_the_command_serves_until_it_is_told_to_end(folder: Path) -> None:
    command = [sys.executable, "-m", "graftax", "export", "serve", str(folder), "--port", "0", "--warm", "1", "--json"]
    root = str(Path(gx.__file__).parents[1])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root}
    ) as process:
        assert process.stdout is not None
        lines = []
        while not lines or lines[-1].strip() != "}":
            lines.append(process.stdout.readline())
        about = json.loads("".join(lines))
        assert about["programs"] == ["predict", "centred", "half"]
        address = about["url"].removeprefix("http://").rstrip("/")
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", "/predict", b'{"x": [[1, 2, 3]]}', {"Content-Type": "application/json"})
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
