"""The record of the program that wrote a checkpoint: versions, machine, process. It is for display only."""

import os
import platform
import socket
import sys
import time

from graftax.backend import registry


def writer_record(processes: int = 1) -> dict[str, str]:
    """Return the record of this process."""
    package = sys.modules["graftax"]
    record = {
        "graftax": str(package.__version__),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_STARTED)),
        "processes": str(processes),
    }
    backend = registry.current()
    record["backend"] = backend.name
    for name in backend.libraries:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            record[name] = version
    return record


_STARTED = time.time()
