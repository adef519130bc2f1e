"""What started this process, as the environment tells it: how many there are, which one this is, where process 0 is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from graftax.backend.processes import Joining, Started

_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
_COUNTS = {
    "torchrun": ("RANK", "WORLD_SIZE"),
    "Slurm": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # which srun sets, and a script without it has not
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "MPI": ("PMI_RANK", "PMI_SIZE"),
}
_OWN = "jax.local_devices()"
KUBERNETES = "an indexed Job of Kubernetes"
_OF_A_JOB = "JOB_COMPLETION_INDEX"
"""What Kubernetes tells the pods of an indexed Job, and nobody else."""


def detect_launcher(environment: Mapping[str, str] = os.environ) -> Started | None:
    """Return who started this process as one of several, and which one; None where nothing says so."""
    for launcher, (number, count) in _COUNTS.items():
        if environment.get(number, "").isdecimal() and environment.get(count, "").isdecimal():
            if int(environment[count]) > 1:
                found = f"{count}={environment[count]}"
                return Started(launcher, int(environment[number]), int(environment[count]), found, _OWN)
            return None
    if environment.get(_OF_A_JOB, "").isdecimal():
        found = f"{_OF_A_JOB}={environment[_OF_A_JOB]}"
        return Started(KUBERNETES, int(environment[_OF_A_JOB]), None, found, _OWN)
    return None


def with_torchrun_settings(how: Joining, environment: Mapping[str, str] = os.environ) -> Joining:
    """Return how to join, with what torchrun says where nothing else was told."""
    if how[:3] != (None, None, None) or not all(name in environment for name in _TORCHRUN):
        return how
    host, port, rank, size = (environment[name] for name in _TORCHRUN)
    devices = how.local_devices
    if devices is None and "LOCAL_RANK" in environment and int(environment.get("LOCAL_WORLD_SIZE", "1")) > 1:
        devices = (int(environment["LOCAL_RANK"]),)
    return how._replace(
        coordinator=_next_port(host, port), processes=int(size), number=int(rank), local_devices=devices
    )


def with_partial_settings(how: Joining, environment: Mapping[str, str] = os.environ) -> Joining:
    """Return it with where process 0 is from two of torchrun's variables, and the rest from who started this one."""
    found = detect_launcher(environment)
    if found is None or found.processes is None or not all(name in environment for name in _TORCHRUN[:2]):
        return how
    place = _next_port(environment["MASTER_ADDR"], environment["MASTER_PORT"])
    devices = how.local_devices
    if devices is None and environment.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1") != "1":
        devices = (int(environment["OMPI_COMM_WORLD_LOCAL_RANK"]),)
    return how._replace(coordinator=place, processes=found.processes, number=found.number, local_devices=devices)


def is_of_no_job(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this is a pod that belongs to no indexed Job, such as that of a notebook: then it is alone."""
    return "KUBERNETES_SERVICE_HOST" in environment and _OF_A_JOB not in environment


def _next_port(host: str, port: str) -> str:
    """Return an address; torchrun's own store listens at that port."""
    return f"{host}:{int(port) + 1}"
