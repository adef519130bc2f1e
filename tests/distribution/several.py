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
    program: Path,
    count: int,
    devices: int,
    *arguments: object,
    timeout: float = 300,
    warnings: str = "error",
    folder: Path | None = None,
    launcher: str = "torchrun",
) -> list[Ended]:
    """Run a file as it stands in so many processes, in a folder, with the variables that a launcher sets."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    shared = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "NPROC": "32"}  # threads: see tests/conftest.py
    command = [sys.executable, "-W", warnings, str(program), *map(str, arguments)]
    own = [_variables(launcher, count, number) for number in range(count)] if count > 1 else [{}]
    if launcher == "torchrun" and count > 1:
        shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port() - 1), "WORLD_SIZE": str(count)}
    return _ended([(command, shared | one) for one in own], timeout, folder)


def _variables(launcher: str, count: int, number: int) -> dict[str, str]:
    """Return what a launcher tells one process of a step on one machine."""
    if launcher == "torchrun":
        return {"RANK": str(number)}
    job = str(os.getpid())  # JAX makes the port of process 0 from it
    return {
        "SLURM_JOB_ID": job, "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": str(count),
        "SLURM_STEP_NUM_TASKS": str(count), "SLURM_PROCID": str(number), "SLURM_LOCALID": str(number),
    }  # fmt: skip


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _ended(commands: list[tuple[list[str], dict[str, str]]], timeout: float, folder: Path | None = None) -> list[Ended]:
    """Run commands at once, each in the environment of this process and its own."""
    shared = {**os.environ, "PYTHONPATH": str(ROOT)}
    shared.pop("XLA_FLAGS", None)
    started = [
        subprocess.Popen(
            command,
            env=shared | own,
            cwd=folder,
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
