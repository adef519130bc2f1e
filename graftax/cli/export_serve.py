"""``graftax export serve ART``."""

import signal
from argparse import Namespace
from types import FrameType

from graftax.cli.output import print_json
from graftax.core.errors import ArgumentError
from graftax.export.serving import Server, serve


def run(options: Namespace) -> int:
    """Serve the programs of an artefact until interrupted."""
    warm = [_rows(word) for word in options.warm.split(",") if word]
    if options.most < 1 or not 0 <= options.port < 65536:
        raise ArgumentError(
            f"--most {options.most} --port {options.port}", "one row, and a port", "--most 64 --port 8000"
        )
    server = Server(options.artefact, options.host, options.port, options.most, warm)
    host, port = server.server_address[:2]
    shown = f"[{host!s}]" if ":" in str(host) else str(host)
    if options.json:
        print_json({"url": f"http://{shown}:{port}/", "programs": list(server.batchers)})
    else:
        print(f"{', '.join(server.batchers)} at http://{shown}:{port}/")
    _flush()
    signal.signal(signal.SIGTERM, _interrupt)
    serve(server)
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _flush() -> None:
    print(end="", flush=True)


def _rows(word: str) -> int:
    if not word.isdecimal() or not int(word):
        raise ArgumentError(f"--warm with {word!r}", "numbers of rows, with commas", "--warm 1,8,64")
    return int(word)
