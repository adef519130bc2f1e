"""template: a function that makes its Variables at the first call and uses the same ones from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door, not_taken
from graftax.core.typedefs import VariableLike
from graftax.variables.creation import NextCreator, variable_creator_scope
from graftax.variables.graph.module import Module
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import frames


class Template(Module):
    """What `template` returns: call it like the function; a Module that holds what the function makes."""

    def __init__(self, fn: Callable[..., Any], name: str | None = None) -> None:
        super().__init__(name)
        if not callable(fn):
            raise ArgumentTypeError(
                f"template got {fn!r} of type {type(fn).__name__}",
                "a template is made of a function, which makes Variables when it is called",
                "graftax.template(lambda x: graftax.layers.Dense(4)(x))",
            )
        self._fn = fn
        self._made: list[tuple[str | None, tuple[int, ...], str]] = []
        self.created: list[VariableLike] = []
        """What the function made, in order."""
        self._complete = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function with its own Variables."""
        count = 0

        def creator(next_creator: NextCreator, spec: VariableSpec) -> VariableLike:
            nonlocal count
            here, count = count, count + 1
            what = spec.name, spec.shape, spec.dtype
            if not self._complete:
                made = next_creator(spec)
                with self._note_build():
                    self._made.append(what)
                    self.created = [*self.created, made]
                return made
            if here >= len(self._made) or self._made[here] != what:
                raise self._difference_error(here, what)
            return self.created[here]

        try:
            with variable_creator_scope(creator, roles=None):
                out = self._fn(*args, **kwargs)
        except BaseException as error:
            if not self._complete:  # a first call that failed is none
                self._made, self.created = [], []
            if isinstance(error, Exception) and (wrong := not_taken(error, self._fn, args, kwargs)) is not None:
                raise wrong from None
            raise
        if not self._complete:
            with self._note_build():
                self._complete = True
        return out

    @contextmanager
    def _note_build(self) -> Iterator[None]:
        """Let the function being traced, if any, take what changes inside for a build, which every first call is."""
        frame = frames.top
        if frame is not None:
            frame.build(self, done=False)
        yield
        if frame is not None:
            frame.build(self, done=True)

    def _difference_error(self, index: int, record: tuple[str | None, tuple[int, ...], str]) -> ArgumentError:
        def show(record: tuple[str | None, tuple[int, ...], str]) -> str:
            return f"{record[2]}{list(record[1])}" + (f" named {record[0]!r}" if record[0] else "")

        before = show(self._made[index]) if index < len(self._made) else "nothing"
        return ArgumentError(
            f"a call of the template {getattr(self._fn, '__qualname__', self._fn)!r} makes {show(record)} as its "
            f"Variable {index}, where the first call made {before}",
            "every call uses the Variables of the first, told by order, name, shape and dtype",
            "make the same Variables in the same order, or another template",
        )


@door
def template(fn: Callable[..., Any], name: str | None = None) -> Template:
    """Return a function whose Variables, however deep inside they are made, are made once and shared by all calls.

    Arguments to bind at once go through ``functools.partial``; those of a call win.

    Args:
        fn: The function; it may make Variables and layers at each call.
        name: Its name as a Module. Defaults to None, for no name of its own.

    Returns:
        A Module; two templates share nothing, whatever their names.

    Raises:
        ArgumentError: at a later call: it makes other Variables than the first.

    Example:
        >>> import numpy as np, graftax as gx
        >>> net = template(lambda x: gx.layers.Dense(1, use_bias=False)(x))
        >>> x = np.ones((1, 2), "float32")
        >>> first = net(x)
        >>> net.variables[0].assign([[1.0], [2.0]]).shape, net(x).tolist()
        ((2, 1), [[3.0]])
    """
    return Template(fn, name)
