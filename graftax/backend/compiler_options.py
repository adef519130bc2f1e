"""How the backend in charge compiles, chosen once, before it starts."""

from __future__ import annotations

from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError
from graftax.core.short_traceback import door


@door
def options(*, multi_output_fusion: bool | None = None) -> dict[str, bool]:
    """Set how the backend in charge compiles, before its first array, and return all options as they are.

    A compiler reads such options once, when it starts: set them at the top of the program. They hold for all that the
    process compiles, hand-written functions of the library included. ``python -m benchmarks.options`` measures what
    each does to a dozen kinds of work: measure yours before you leave one on.

    Args:
        multi_output_fusion: Whether loops over the same arrays that give several results are compiled as one, on CPUs.
            Memory is then read once for all of them: an Adam step of large matrices, the gradient of a long formula and
            a transformer gain; a long formula without its gradient may lose. Defaults to None, to leave it as it is,
            which is off unless the environment says otherwise.

    Raises:
        ArgumentTypeError: an option is no truth value.
        BackendError: the backend has started, and the option is not as asked.
        BackendCapabilityError: the backend has no such option.

    Example:
        >>> options()
        {'multi_output_fusion': False}
    """
    backend = registry.current()
    if multi_output_fusion is not None:
        if not isinstance(multi_output_fusion, bool):
            raise ArgumentTypeError(
                f"multi_output_fusion={multi_output_fusion!r}",
                "an option is switched on or off",
                "graftax.backend.options(multi_output_fusion=True)",
            )
        backend.set_option("multi_output_fusion", multi_output_fusion)
    return backend.options()
