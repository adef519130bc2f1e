"""Training: `Model`, callbacks, data, and `session` for your own training loops; imported when first used.

Example:
    >>> import graftax as gx
    >>> dir(gx.training)
    ['Session', 'session']
"""

from importlib import import_module

from graftax.core.namespaces import make_getattr as _answering

TYPE_CHECKING = False  # type checkers go by the name

if TYPE_CHECKING:
    from graftax.training.sessions import Session as Session
    from graftax.training.sessions import session as session

__all__ = ["Session", "session"]
_answer = _answering("training")


def __getattr__(name: str) -> object:
    if name not in __all__:
        return _answer(name)
    found = globals()[name] = getattr(import_module("graftax.training.sessions"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
