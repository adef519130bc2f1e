"""The record of the process that uses a staging directory, to tell whether it still runs, also after a reboot."""

import json
import os
import socket
import time
from typing import Any

_WRITING = 60  # seconds after which an unreadable record counts as abandoned
_FOREIGN = 24 * 3600  # seconds after which a process on another machine counts as dead


def own_record() -> bytes:
    """Return the record of this process."""
    record = {**_place(), "pid": os.getpid(), "start": _start(os.getpid()), "time": time.time()}
    return json.dumps(record).encode()


def is_alive(record: bytes | None, age: float) -> bool:
    """Return True if the process of a record may still run.

    Args:
        record: The content of the record; None if there is none.
        age: Seconds since the staging directory last changed; decides if the process is on another machine.
    """
    found = _decode(record)
    if record is not None and found is None:  # the process was killed while it wrote the record, or is just writing it
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
    except OSError:  # a process of another user, which exists
        pass
    return found.get("start") == _start(pid)


def _decode(record: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(record or b"")
    except ValueError:
        return None
    return found if type(found) is dict else None


def _place() -> dict[str, str]:
    """Return host, boot id and PID namespace: only if these are equal, a PID means the same process."""
    try:
        pids = os.readlink("/proc/self/ns/pid")
    except OSError:
        pids = ""
    return {"host": socket.gethostname(), "boot": _text("/proc/sys/kernel/random/boot_id").strip(), "pids": pids}


def _start(pid: int) -> str:
    """Return the start time of a process in the units of its system; empty if it is not known."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
