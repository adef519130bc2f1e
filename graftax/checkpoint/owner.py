"""Who is at work on a staging directory: a record that tells the living from the dead, also after a reboot."""

import json
import os
import socket
import time
from typing import Any

_WRITING = 60  # seconds after which a record that cannot be read will never be finished
_FOREIGN = 24 * 3600  # seconds after which a process that cannot be asked about counts as dead


def own_record() -> bytes:
    """Return the record of this process."""
    record = {**_place(), "pid": os.getpid(), "start": _start(os.getpid()), "time": time.time()}
    return json.dumps(record).encode()


def is_alive(record: bytes | None, age: float) -> bool:
    """Return True if the process of a record may still be at work.

    Args:
        record: What was found; None if there is none.
        age: Seconds since the staging directory last changed; decides where the process cannot be asked about.
    """
    found = _decoded(record)
    if record is not None and found is None:  # killed while it wrote this, or just writing
        return age < _WRITING
    here = _place()
    if found is None or any(found.get(key) != here[key] for key in ("host", "pids")):
        return age < _FOREIGN
    if found.get("boot") != here["boot"]:
        return False
    pid = found.get("pid")
    if type(pid) is not int or pid <= 0:
        return age < _FOREIGN
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user, but there
        pass
    return found.get("start") == _start(pid)


def _decoded(record: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(record or b"")
    except ValueError:
        return None
    return found if type(found) is dict else None


def _place() -> dict[str, str]:
    """Return what must agree for a process number to mean the same process: host, boot, namespace of numbers."""
    try:
        pids = os.readlink("/proc/self/ns/pid")
    except OSError:
        pids = ""
    return {"host": socket.gethostname(), "boot": _text("/proc/sys/kernel/random/boot_id").strip(), "pids": pids}


def _start(pid: int) -> str:
    """Return when a process began, as its system counts; empty where that is not told."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
