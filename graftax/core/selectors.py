"""Which variables: globs, regexes, roles, classes, predicates, combined with ``|``, ``&`` and ``~``; each must match.

A glob is matched against the whole path, component by component: ``*`` stands for any characters within one component,
``**`` for any number of components (none included). ``"**/kernel"`` is every kernel, ``"layers/0/**"`` all of layer 0.
A plain string is a glob whatever it says, so that weights called ``state`` or ``weight`` can be named; a role is
written ``"role:state"``. The class of a layer selects what hangs below such layers. By path, the parts of a weight that
is an expression are selected with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from graftax.core.errors import SelectorError
from graftax.core.globs import Glob
from graftax.core.roles import named_role
from graftax.core.short_traceback import door
from graftax.core.spellings import owners_along, seen_at, spellings, wholes
from graftax.core.typedefs import Holder, VariableLike
from graftax.core.user_functions import misfit

T = TypeVar("T")


@runtime_checkable
class Selectable(Protocol):
    """What a selector looks at: Variables and their specs."""

    @property
    def path(self) -> str:
        """Return where it hangs in the object graph."""
        ...

    @property
    def role(self) -> str:
        """Return what it is for, such as ``"weight"``."""
        ...


SelectorLike: TypeAlias = (
    "str | re.Pattern[str] | type[Holder] | Callable[[Any], bool] | Sequence[SelectorLike] | Selector"
)


class Selector:
    """A test of variables; made by `select`, combined with ``|``, ``&`` and ``~``.

    Args:
        kind: ``"glob"``, ``"regex"``, ``"role"``, ``"class"`` or ``"predicate"``; ``"any"``, ``"all"`` or ``"not"`` of
            its parts.
        text: How it is shown in messages.
        test: The glob, the compiled regex, the role, the class, or the function. Defaults to None, for what combines
            selectors.
        parts: The selectors that it combines. Defaults to none.
    """

    def __init__(self, kind: str, text: str, test: Any = None, parts: tuple[Selector, ...] = ()) -> None:
        self.kind = kind
        self.text = text
        self.test = test
        self.parts = parts
        # of many, those that are paths are looked up, and not tried one after another
        self._by_path: dict[str, list[Selector]] = {}
        self._tried: list[Selector] = []
        for part in parts:
            is_path = kind == "any" and part.kind == "glob" and part.test.is_literal
            (self._by_path.setdefault(part.test.text, []) if is_path else self._tried).append(part)

    def matches(self, item: Selectable) -> bool:
        """Return True if the variable (or spec) is selected."""
        return self.sees((item.path, *wholes(item)), item.role, item)

    __call__ = matches

    def matches_path(self, path: str) -> bool:
        """Return True if the path alone is selected; roles, classes and predicates never match a bare path."""
        return self.sees((path,), None, None)

    def sees(self, paths: Sequence[str], role: str | None, item: object) -> bool:
        """Return True if something with these paths is selected: its own, and those of the weights it is a part of."""
        if self.parts:
            if next(self.looked_up(paths, item), None) is not None:
                return True
            return self._combine(part.sees(paths, role, item) for part in self._tried)
        return self._hits(paths, role, item)

    def looked_up(self, paths: Sequence[str], item: object) -> Iterator[Selector]:
        """Yield the parts that are one of these paths, if any of its parts selects."""
        if self._by_path:
            for path in (*paths, *spellings(paths, item)):
                yield from self._by_path.get(path, ())

    def _combine(self, results: Iterable[bool]) -> bool:
        return any(results) if self.kind == "any" else all(results) if self.kind == "all" else not any(results)

    def _hits(self, paths: Sequence[str], role: str | None, item: object) -> bool:
        if self.by_path:
            test = self.test.matches if self.kind == "glob" else self.test.search
            return any(test(path) for path in paths) or any(test(path) for path in spellings(paths, item))
        if self.kind == "role":
            return bool(role == self.test)
        if self.kind == "class":
            return any(isinstance(one, self.test) for one in (item, *owners_along(paths, item)))
        if item is None:
            return False
        with seen_at.entered((item, paths[0])):  # the function may ask for it
            return _answer(self, paths[0], self.test(item))

    @property
    def kinds(self) -> frozenset[str]:
        """Return its kind, and those of its parts."""
        return frozenset({self.kind}).union(*(part.kinds for part in self.parts))

    @property
    def by_path(self) -> bool:
        """Return True for what names places, which a typing error can miss."""
        return self.kind in ("glob", "regex")

    def __or__(self, other: SelectorLike) -> Selector:
        """Return what one of both selects."""
        return _join("any", self, compile_selector(other))

    def __ror__(self, other: SelectorLike) -> Selector:
        return _join("any", compile_selector(other), self)

    def __and__(self, other: SelectorLike) -> Selector:
        """Return what both select."""
        return _join("all", self, compile_selector(other))

    def __rand__(self, other: SelectorLike) -> Selector:
        return _join("all", compile_selector(other), self)

    def __invert__(self) -> Selector:
        """Return what this does not select."""
        return Selector("not", f"~{_text_inside(self, 'not')}", parts=(self,))

    def __repr__(self) -> str:
        return f"Selector({self.text})"


def _answer(selector: Selector, path: str, answer: object) -> bool:
    """Return what a predicate has said, if it is True or False; NumPy's own are that, too."""
    if isinstance(answer, bool):
        return answer
    if str(getattr(answer, "dtype", None)) == "bool" and getattr(answer, "shape", None) == ():
        return bool(answer)
    raise SelectorError(
        f"the predicate {selector.text} returned {answer!r:.60}, of type {type(answer).__name__}, for {path!r}",
        "a predicate says True of what it selects, and False of the rest",
        "for example lambda variable: variable.ndim > 1",
    )


@door
def select(*selectors: SelectorLike) -> Selector:
    r"""Make a selector of variables, to be combined with ``|``, ``&`` and ``~``; several select what any of them does.

    Wherever variables are selected (``where=``, ``only=``, ``skip=``, ``rules=``, `Module.freeze`), each part must
    select something, or the call fails. ``~`` takes away what its operand selects; a place that it names must be there,
    a role or a predicate need not. `graftax.explain` shows what a selector hits in a model.

    Args:
        selectors: Globs of paths, roles written ``"role:slot"``, compiled regexes (searched in the path), classes of
            layers and other Modules, predicates of a variable that return a bool, or sequences of these. As a
            decorator, it makes a selector of a predicate.

    Raises:
        SelectorError: there is none, or it is none of these; later, where a predicate returns something else.

    Example:
        >>> import re, graftax as gx
        >>> chosen = (select("**/kernel") & ~select("head/**")) | re.compile(r"norm_\d+/gamma")
        >>> [chosen.matches_path(path) for path in ("body/kernel", "head/kernel", "body/norm_2/gamma")]
        [True, False, True]
        >>> @select
        ... def large(variable):
        ...     return variable.size > 1000
        >>> large & "**/kernel" & ~select(gx.layers.Embedding)
        Selector(large & '**/kernel' & ~Embedding)
    """
    if not selectors:
        raise SelectorError("select() without a selector", "it would select nothing", 'select("**/kernel")')
    return compile_selector(selectors[0] if len(selectors) == 1 else selectors)


def compile_selector(selector: SelectorLike) -> Selector:
    """Turn anything that selects into a `Selector`.

    Args:
        selector: A glob, a role such as ``"role:slot"``, a compiled regex (searched in the path), the class of a layer
            or another Module, a predicate of the variable, or a sequence of these, of which one must match.

    Raises:
        SelectorError: it is none of these, or empty.

    Example:
        >>> kernels = compile_selector("**/kernel")
        >>> (
        ...     kernels.matches_path("layers/0/kernel"),
        ...     kernels.matches_path("kernel"),
        ...     kernels.matches_path("layers/0/bias"),
        ... )
        (True, True, False)
    """
    if isinstance(selector, Selector):
        return selector
    if isinstance(selector, str):
        return _of_text(selector)
    if isinstance(selector, re.Pattern):
        if not isinstance(selector.pattern, str):
            raise _refusal(selector, "paths are text", f"re.compile({selector.pattern.decode(errors='replace')!r})")
        return Selector("regex", repr(selector.pattern), selector)
    if isinstance(selector, type):
        if not issubclass(selector, Holder):
            raise _refusal(selector, "only layers and other Modules hold variables", "the class of a layer, or a glob")
        return Selector("class", selector.__name__, selector)
    if isinstance(selector, Holder):
        path = getattr(selector, "_gx_path", "")
        place = f'its path, "{path}/**", or ' if path else ""
        raise _refusal(
            selector,
            "a selector says which variables of a model; an object is no selector, and would be called with each",
            f"{place}its class, {type(selector).__name__}; for this one alone, its own methods: layer.freeze()",
        )
    if callable(selector):
        return _of_predicate(selector)
    if isinstance(selector, Sequence) and selector:
        parts = [compile_selector(part) for part in selector]
        return parts[0] if len(parts) == 1 else _join("any", *parts)
    if isinstance(selector, VariableLike):
        raise _refusal(selector, "it is one variable itself", "lambda variable: variable is layer.kernel")
    raise _refusal(
        selector,
        "a selector is a glob, a role, a compiled regex, the class of a layer, a predicate, or a non-empty sequence of "
        "these",
        'for example "**/kernel"',
    )


def _of_text(text: str) -> Selector:
    if not text:
        raise SelectorError("an empty selector", "it can match nothing", 'a glob such as "**/kernel"')
    role = named_role(text)
    return Selector("glob", repr(text), Glob(text)) if role is None else Selector("role", repr(text), role)


def _of_predicate(function: Callable[[Any], bool]) -> Selector:
    name = getattr(function, "__name__", repr(function))
    if (found := misfit(function, 1)) is not None:
        raise SelectorError(
            f"{found.shown} as a selector",
            f"a predicate is called with a variable, and nothing else: {found.reason}",
            "for example lambda variable: variable.ndim > 1",
        )
    made = Selector("predicate", name, function)
    for name in ("__module__", "__doc__", "__name__"):
        if hasattr(function, name):
            setattr(made, name, getattr(function, name))
    return made


def _refusal(selector: object, reason: str, instead: str) -> SelectorError:
    kind = "the class" if isinstance(selector, type) else f"of type {type(selector).__name__}"
    shown = selector.__name__ if isinstance(selector, type) else f"{selector!r:.80}"
    return SelectorError(f"{shown}, {kind}, as a selector", reason, instead)


def _join(kind: str, *selectors: Selector) -> Selector:
    parts = tuple(part for one in selectors for part in (one.parts if one.kind == kind else (one,)))
    sign = " | " if kind == "any" else " & "
    return Selector(kind, sign.join(_text_inside(part, kind) for part in parts), parts=parts)


def _text_inside(selector: Selector, kind: str) -> str:
    return f"({selector.text})" if selector.kind in ("any", "all") and selector.kind != kind else selector.text
