"""What XLA is told before it starts; it reads the environment once, and takes none of these for a single program."""

from __future__ import annotations

import os

from graftax.backend.jax import tracing
from graftax.core.errors import BackendError

_VARIABLE = "XLA_FLAGS"
_FLAG = "--xla_backend_extra_options="
_NAMES = {"multi_output_fusion": "xla_cpu_use_multi_output_fusion"}


def options() -> dict[str, bool]:
    """Return each option as the environment has it, the last word of several."""
    _, extra = _split(os.environ.get(_VARIABLE, ""))
    given: dict[str, str] = {}
    for one in extra:
        key, _, value = one.partition("=")
        given[key] = value
    return {name: given.get(theirs, "false") in ("true", "1", "") for name, theirs in _NAMES.items()}


def set_option(name: str, value: bool) -> None:
    """Put an option into the environment.

    Raises:
        BackendError: XLA has started, and has it otherwise.
    """
    if options()[name] == value:
        return
    theirs = _NAMES[name]
    if tracing.is_initialized():
        raise BackendError(
            f"options({name}={value}) after JAX has started",
            "XLA reads its options once, when the first array is made",
            f"graftax.backend.options({name}={value}) above the first array, "
            f"or {_VARIABLE}={_FLAG}{theirs}={str(value).lower()} in the environment",
        )
    others, extra = _split(os.environ.get(_VARIABLE, ""))
    extra = [one for one in extra if one.partition("=")[0] != theirs]
    if value:
        extra.append(f"{theirs}=true")
    os.environ[_VARIABLE] = " ".join([*others, *([_FLAG + ",".join(extra)] if extra else [])])


def _split(flags: str) -> tuple[list[str], list[str]]:
    """Return the flags of other kinds, and the extra options, which are one flag with commas; the last one counts."""
    words = flags.split()
    extra = [word.removeprefix(_FLAG) for word in words if word.startswith(_FLAG)]
    return [word for word in words if not word.startswith(_FLAG)], extra[-1].split(",") if extra else []
