"""Serving an artefact over HTTP, for demos and colleagues, with only the standard library."""

from __future__ import annotations

import io
import json
import math
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from graftax.backend.host import in_dtype_of_numpy
from graftax.core.errors import ExportError, GraftaxError, StateError
from graftax.export import run
from graftax.export.batching import Batcher, power_of_two
from graftax.export.loading import convert_errors, load
from graftax.export.manifest import ArtefactError, size_of
from graftax.export.output import build
from graftax.export.page import PAGE

MOST_BYTES = 64 << 20
SECONDS = 60.0
_LOCAL = ("127.0.0.1", "localhost", "::1", "[::1]")
_JSON, _NPY, _HTML = "application/json", "application/x-npy", "text/html; charset=utf-8"


class Server(ThreadingHTTPServer):
    """An HTTP server: answers ``POST /<program>`` and shows a page at ``/``; ``serve_forever`` runs until ``close``.

    Args:
        path: The artefact.
        host: The address to listen on. Defaults to ``"127.0.0.1"``: only this machine.
        port: The port; 0 for any free one. Defaults to 8000.
        most: The largest number of rows that run together. Defaults to 64.
        warm: Numbers of rows whose programs are compiled before the first request. Defaults to none.

    Raises:
        ExportError: no program of the artefact can be served, since all assign.
        OSError: the port is taken.
    """

    daemon_threads = True
    request_queue_size = 256  # otherwise connections are reset when many arrive at the same time
    allow_reuse_address = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        host: str = "127.0.0.1",
        port: int = 8000,
        most: int = 64,
        warm: Sequence[int] = (),
    ) -> None:
        artefact = load(path)
        served = {name: one for name, one in artefact.signatures.items() if not one.about["assigns"]}
        if not served:
            raise ExportError(
                f"the artefact {artefact.path!r} with {', '.join(artefact.signatures)}",
                "a program that assigns is not served: requests of one would change the answers to others",
                "an artefact with a program that only computes",
            )
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler)
        self.local = host in _LOCAL
        self.manifest = {**artefact.manifest, "signatures": {name: one.about for name, one in served.items()}}
        self.batchers = {name: Batcher(one, artefact.values, most) for name, one in served.items()}
        for name in served:
            self._warm(self.batchers[name], warm)

    def _warm(self, batcher: Batcher, sizes: Sequence[int]) -> None:
        """Compile for some numbers of rows; other free sizes have their values from the trials of the export."""
        about = batcher.function.about
        tried = dict(next(iter(about.get("checked", {}).get("sizes", [])), {}))
        for rows in sorted({power_of_two(rows) for rows in sizes}) if batcher.joins and tried else ():
            values = {**tried, about["inputs"][0]["shape"][0]: rows}
            shapes = [[size_of(size, values) for size in one["shape"]] for one in about["inputs"]]
            zeros = [np.zeros(shape, one["dtype"]) for shape, one in zip(shapes, about["inputs"], strict=True)]
            with convert_errors():
                batcher.function.run_flat(batcher._values, zeros)

    def close(self) -> None:
        """Stop accepting requests, answer the running ones, and close the server."""
        self.shutdown()
        for one in self.batchers.values():
            one.stop()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that have disconnected."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise an answer waits 40 ms for an acknowledgment
    wbufsize = -1  # head and body in one packet
    timeout = 30  # seconds until a client that sends nothing is disconnected
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]  # no other one makes it

    def do_GET(self) -> None:
        """Show the page, or the manifest."""
        if not self._is_allowed():
            return
        path = self.path.partition("?")[0]
        wants_page = "text/html" in self.headers.get("Accept", "")
        if path == "/" and wants_page:
            self._answer(HTTPStatus.OK, PAGE.encode(), _HTML)
        elif path in ("/", "/manifest.json"):
            self._answer(HTTPStatus.OK, _encode(self.server.manifest), _JSON)
        else:
            self._refuse(HTTPStatus.NOT_FOUND, f"nothing is at {path}; programs are called by POST")

    def do_POST(self) -> None:
        """Run a program."""
        if not self._is_allowed():
            return
        body = self._body()
        if body is None:
            return
        name = self.path.partition("?")[0].strip("/")
        batcher = self.server.batchers.get(name)
        if batcher is None:
            self._refuse(HTTPStatus.NOT_FOUND, f"no program is called {name!r}; there are {list(self.server.batchers)}")
            return
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        try:
            leaves = _leaves(batcher.function, _inputs(kind, body, batcher.function.about))
            results = batcher.call(leaves, SECONDS)
            about = batcher.function.about
            if _NPY in self.headers.get("Accept", "") and len(results) == 1:
                file = io.BytesIO()
                np.save(file, in_dtype_of_numpy(results[0]), allow_pickle=False)
                self._answer(HTTPStatus.OK, file.getvalue(), _NPY)
            else:
                self._answer(HTTPStatus.OK, _encode(build(about["output"], [_to_json(one) for one in results])), _JSON)
        except (ArtefactError, GraftaxError, ValueError, TypeError) as error:
            busy = isinstance(error, StateError)
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE if busy else HTTPStatus.BAD_REQUEST, str(error))
        except TimeoutError as error:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except OSError:
            raise  # the client has disconnected
        except Exception as error:  # noqa: BLE001 - of the run, such as too little memory: who asked is told
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"{name} has failed: {type(error).__name__}: {error}")

    def _is_allowed(self) -> bool:
        """Refuse a Host header of another machine, by which a foreign page could reach this one (DNS rebinding)."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if self.server.local and (host not in _LOCAL or len(self.headers.get_all("Host", [])) > 1):
            self._refuse(HTTPStatus.FORBIDDEN, f"the host {host!r} is not this machine")
            return False
        return True

    def _body(self) -> bytes | None:
        text = self.headers.get("Content-Length", "")
        if len(self.headers.get_all("Content-Length", [])) > 1 or "Transfer-Encoding" in self.headers:
            self._refuse(HTTPStatus.BAD_REQUEST, "a request says once how long it is, by a Content-Length alone")
            return None
        if not (text.isascii() and text.isdecimal()):
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "a request has a Content-Length")
            return None
        if int(text) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{text} bytes, at most {MOST_BYTES}")
            return None
        body = self.rfile.read(int(text))
        if len(body) < int(text):
            self._refuse(HTTPStatus.BAD_REQUEST, f"{len(body)} bytes came, and the Content-Length is {text}")
            return None
        return body

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is not valid HTTP, or has a method other than GET and POST, with an error."""
        self._refuse(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # the rest of an unread body may follow, so the connection cannot be reused
        self._answer(status, _encode({"error": why}), _JSON)

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Do not log requests."""


def _inputs(kind: str, body: bytes, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in a request by name.

    Raises:
        ValueError: they cannot be read.
    """
    names = [one["name"] for one in about["inputs"]]
    if kind == _NPY:
        if len(names) != 1:
            raise ValueError(f"an .npy has one array, and the inputs are {names}: send JSON")
        return {names[0]: _npy(body)}
    if kind != _JSON:
        raise ValueError(f"a body of type {kind!r}: it is {_JSON} or {_NPY}")
    try:
        given = json.loads(body, parse_constant=_no_number, object_pairs_hook=_unique_dict)
    except RecursionError as error:
        raise ValueError("the body is no JSON of inputs: it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"the body is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise ValueError(f"the body is a JSON object of inputs by name: {names}")
    return given


def _unique_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name is there twice among {[name for name, _ in pairs]}")
    return found


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON; an .npy may hold it")


def _npy(body: bytes) -> np.ndarray[Any, Any]:
    """Return the array in an ``.npy``; nothing is allocated before its header fits its bytes."""
    file = io.BytesIO(body)
    try:
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, is_fortran, dtype = readers[np.lib.format.read_magic(file)](file)
    except Exception as error:
        raise ValueError("the body is no .npy: its header cannot be read; numpy.save writes one") from error
    if dtype.hasobject:
        raise ValueError("the .npy holds Python objects; it is an array of numbers")
    size = len(body) - file.tell()
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"the header of the .npy says {dtype}{list(shape)}, and {size} bytes follow it")
    return np.ndarray(shape, dtype, body, file.tell(), order="F" if is_fortran else "C")


def _leaves(function: run.Function, inputs: dict[str, Any]) -> list[Any]:
    """Return the inputs as a program takes them.

    Raises:
        ArtefactError: the inputs do not fit the program.
        ValueError: the lists are not rectangular arrays.
    """
    try:
        leaves = function.leaves(**inputs)
    except ValueError as error:
        raise ValueError("the rows of an input differ in length or in depth: each input is one array") from error
    for one, leaf in zip(function.about["inputs"], leaves, strict=True):
        part = _part(inputs, one["name"])
        if not isinstance(part, np.ndarray) and leaf.dtype.kind not in "biu" and not np.isfinite(leaf).all():
            raise ValueError(f"the input {one['name']!r} has numbers too large for {leaf.dtype}; an .npy may hold inf")
        if leaf.dtype != bool and bool in _types(part):
            raise ValueError(f"the input {one['name']!r} has true or false among numbers: 1 and 0 are numbers")
    return leaves


def _part(inputs: Any, path: str) -> Any:
    """Return the value at a path, as in ``{"pair": {"a": 1}}`` or ``{"pair/a": 1}``."""
    if path in inputs:
        return inputs[path]
    for key in path.split("/"):
        inputs = inputs[int(key) if isinstance(inputs, list) else key]
    return inputs


def _types(value: object) -> set[type]:
    if not isinstance(value, list):
        return {type(value)}
    here = set(map(type, value))
    return here.union(*map(_types, value)) if list in here else here


def _encode(value: object) -> bytes:
    return json.dumps(value).encode()


def _to_json(array: np.ndarray[Any, Any]) -> Any:
    """Return numbers for JSON, with nan and infinity as texts."""
    if array.dtype.kind == "c":
        raise ValueError("complex results: ask for them as .npy, with Accept: application/x-npy")
    if array.dtype.kind not in "biu":
        wide = array.astype("float32") if array.dtype.itemsize <= 4 else array
        if not np.isfinite(wide).all():
            return _with_texts(wide.tolist())
        return wide.tolist()
    return array.tolist()


def _with_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_texts(one) for one in value]
    return value if np.isfinite(value) else repr(value)


def serve(server: Server) -> None:
    """Answer requests until interrupted, then end cleanly."""
    thread = threading.Thread(target=server.serve_forever, name="graftax serve", daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
