"""Several real processes on loopback, each with devices of its own, that run one program; for tests."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]

PRELUDE = """
import json, os, signal, sys, time
process, count, devices, port = (int(os.environ["GX_" + name]) for name in ("PROCESS", "COUNT", "DEVICES", "PORT"))
import jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", devices)
import numpy as np
import graftax as gx
from graftax import distribution as gd
arguments = sys.argv[1:]
def tell(**things):
    print("TOLD " + json.dumps(things), flush=True)
def join(**options):
    options = {"heartbeat": 5, "timeout": 60, **options}
    if count > 1:
        gd.initialize(f"127.0.0.1:{port}", count, process, **options)
"""


class Ended(NamedTuple):
    """How a process ended: its exit status, what it told, all that it printed."""

    status: int
    told: dict[str, Any]
    text: str


def run(
    program: str, count: int, devices: int, *arguments: object, timeout: float = 60, environment: Any = None
) -> list[Ended]:
    """Run the program in so many processes; raises where they do not all end in time. Kills only what it started."""
    shared = {"GX_COUNT": str(count), "GX_DEVICES": str(devices), "GX_PORT": str(_free_port()), **(environment or {})}
    command = [sys.executable, "-W", "error", "-c", PRELUDE + program, *map(str, arguments)]
    return _ended([(command, shared | {"GX_PROCESS": str(process)}) for process in range(count)], timeout)


def launched(
    program: Path, count: int, devices: int, *arguments: object, timeout: float = 300, warnings: str = "error"
) -> list[Ended]:
    """Run a file as it stands in so many processes, with the variables that torchrun sets where there are several."""
    shared = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    if count > 1:
        shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port() - 1), "WORLD_SIZE": str(count)}
    command = [sys.executable, "-W", warnings, str(program), *map(str, arguments)]
    ranks = [{"RANK": str(number)} if count > 1 else {} for number in range(count)]
    return _ended([(command, shared | rank) for rank in ranks], timeout)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _ended(commands: list[tuple[list[str], dict[str, str]]], timeout: float) -> list[Ended]:
    """Run commands at once, each in the environment of this process and its own."""
    shared = {**os.environ, "PYTHONPATH": str(ROOT)}
    shared.pop("XLA_FLAGS", None)
    started = [
        subprocess.Popen(
            command,
            env=shared | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for command, own in commands
    ]
    ended = []
    try:
        for one in started:
            text, _ = one.communicate(timeout=timeout)
            told: dict[str, Any] = {}
            for line in text.splitlines():
                if line.startswith("TOLD "):
                    told |= json.loads(line[5:])
            ended.append(Ended(one.returncode, told, text))
    finally:
        for one in started:
            with contextlib.suppress(ProcessLookupError):
                one.kill()
            one.communicate()
    return ended


def told(ended: list[Ended]) -> list[dict[str, Any]]:
    """Return what all told, if all ended well."""
    for number, one in enumerate(ended):
        assert one.status == 0, f"process {number} ended with {one.status}:\n{one.text[-4000:]}"
    return [one.told for one in ended]
