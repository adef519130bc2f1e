"""variable_creator_scope: every creation of a Variable folds through a stack of creators.

The innermost scope, the one entered last, runs first; its ``next_creator`` is the one around it, and the outermost
one's ``next_creator`` makes the plain Variable. (Haiku runs them in the opposite order.)
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from graftax.core.errors import CreatorError, CreatorRecursionError, SelectorError
from graftax.core.roles import check_roles
from graftax.core.scopes import ScopeStack
from graftax.core.selectors import Selector, SelectorLike, compile_selector
from graftax.core.short_traceback import door
from graftax.core.tally import Tally
from graftax.core.typedefs import VariableLike
from graftax.core.user_functions import misfit
from graftax.variables.calls import contexts
from graftax.variables.graph.node import Branch
from graftax.variables.spec import VariableSpec

NextCreator: TypeAlias = Callable[[VariableSpec], VariableLike]
Creator: TypeAlias = Callable[[NextCreator, VariableSpec], VariableLike]

_DEEPEST = 100
_DEEPEST_LAYERS = 5  # each may be larger than the one around it


class CreatorScope:
    """One entered creator, with what it has seen so far."""

    distributes = False
    """Whether it places Variables over a mesh."""

    def __init__(self, creator: Creator, where: Selector | None, roles: tuple[str, ...] | None) -> None:
        self.creator = creator
        self.where = None if where is None else Tally(where)
        self.roles = roles
        self.closed = False
        self.created = False  # whether there was a creation in its block, seen or not
        self.checks = True  # whether a part of the selector that never matched is an error
        self.waiting: weakref.WeakSet[Branch] = weakref.WeakSet()  # constructed under it, not built yet

    def __reduce__(self) -> tuple[Any, ...]:
        """Return it as layers keep it that are pickled before they are built.

        Raises:
            CreatorError: the creator, or a selector, cannot be pickled.
        """
        where = None if self.where is None else self.where.selector
        try:
            pickle.dumps((self.creator, where))
        except Exception as error:
            raise CreatorError(
                f"pickling a layer without weights that was made in variable_creator_scope({self.name})",
                f"its weights would be made without that creator later, which cannot be pickled: {error}",
                "build it first: call the model on an example; or a creator and a where= that a module has by name",
            ) from error
        has_seen = self.where is not None and bool(self.where.paths)
        return _ended, (type(self), self.creator, where, self.roles, self.checks and not has_seen)

    @property
    def name(self) -> str:
        """Return how the creator is called in messages."""
        return getattr(self.creator, "__qualname__", None) or repr(self.creator)

    def applies(self, spec: VariableSpec, whole: VariableSpec) -> bool:
        """Return True if the creator is to see this creation; ``spec`` may be that of a part of ``whole``."""
        self.created = True
        if self.roles is not None and spec.role not in self.roles:
            return False
        return self.where is None or self.where.see((spec.path, whole.path), spec.role, spec)

    def check(self) -> None:
        """Raise if the scope is over, everything made under it is built, and a part of its selector never matched."""
        if self.checks and self.closed and not self.waiting and self.where is not None:
            if self.created:
                self.where.check(f"variable_creator_scope({self.name}): where")
            elif contexts.top is None:  # else a layer opens it in each of its calls, and only the first one creates
                where = self.where.selector.text
                raise SelectorError(
                    f"variable_creator_scope({self.name}): where {where} matches none of 0 variables",
                    "nothing was created in the block: layers that are built keep their weights",
                    "the block around the construction of the layers; graftax.graft(model, creator, where=...) for "
                    "weights that exist",
                )


def _ended(
    kind: type[CreatorScope],
    creator: Creator,
    where: Selector | None,
    roles: tuple[str, ...] | None,
    checks: bool,
) -> CreatorScope:
    """Return a scope whose block has ended, which unpickled layers remember."""
    scope = kind(creator, where, roles)
    scope.closed, scope.checks = True, checks
    return scope


scopes: ScopeStack[CreatorScope] = ScopeStack("variable_creator_scope")
_depth: ScopeStack[VariableSpec] = ScopeStack("creation")


@door
@contextmanager
def variable_creator_scope(
    creator: Creator, where: SelectorLike | None = None, roles: Sequence[str] | None = ("weight",)
) -> Iterator[None]:
    """Let ``creator`` make, change or replace every Variable that is created in the block.

    The scope that is active when a layer is *built* counts. A layer constructed in the block and built after it
    remembers the scope, outside those that are active then.

    Args:
        creator: ``creator(next_creator, spec) -> Variable or VariableLike``. It changes a creation with
            ``next_creator(spec.replace(...))`` and replaces it by returning any `VariableLike` of the same shape.
        where: Which creations it sees, the parts of one by its path or their own; must match at least one. Defaults to
            None, all.
        roles: The roles it sees; None for every role. Defaults to ``("weight",)``.

    Raises:
        SelectorError: at the end of the block, or once all that was made under it is built: ``where`` matched nothing.
        CreatorError: at a creation: the creator returned nothing, or something of another shape.

    Example:
        >>> import graftax as gx
        >>> def frozen(next_creator, spec):
        ...     return next_creator(spec.replace(trainable=False))
        >>> with variable_creator_scope(frozen):
        ...     v = gx.Variable([1.0, 2.0])
        >>> v.trainable
        False
    """
    check_creator(creator)
    seen = None if roles is None else check_roles(roles)
    scope = CreatorScope(creator, None if where is None else compile_selector(where), seen)
    try:
        with scopes.entered(scope):
            yield
    finally:
        scope.closed = True
    scope.check()


def check_creator(creator: Creator) -> None:
    """Raise unless it can be called as creators are; a class of expressions can.

    Raises:
        CreatorError: it cannot.
    """
    if isinstance(creator, type) and not issubclass(creator, VariableLike):
        raise CreatorError(
            f"creator {creator.__name__}, the class", "one is made first, with its settings", f"{creator.__name__}(...)"
        )
    if not callable(creator):
        raise CreatorError(
            f"creator {creator!r:.60}, of type {type(creator).__name__}",
            "a creator is called with (next_creator, spec)",
            "graftax.reparam.LoRA(rank=8), or a function",
        )
    if (found := misfit(creator, 2)) is not None:
        raise CreatorError(
            f"creator {found.shown}",
            f"a creator is called with (next_creator, spec): {found.reason}",
            "def creator(next_creator, spec): return next_creator(spec.replace(...))",
        )


@contextmanager
def reenter_scopes(captured: tuple[CreatorScope, ...]) -> Iterator[None]:
    """Put the scopes under which a layer was constructed outside those active now; none applies twice."""
    active = scopes.items
    missing = tuple(scope for scope in captured if scope not in active)
    if not missing:
        yield
        return
    with scopes.replaced((*missing, *active)):
        yield


class _Next:
    """The next creator in line; refuses what it cannot use."""

    def __init__(self, inner: NextCreator, scope: CreatorScope, spec: VariableSpec) -> None:
        self._inner = inner
        self._scope = scope
        self._spec = spec

    def __call__(self, *args: Any, **unknown: Any) -> VariableLike:
        if unknown or len(args) != 1 or not isinstance(args[0], VariableSpec):
            got = ", ".join([*(type(a).__name__ for a in args), *(f"{name}=" for name in unknown)]) or "nothing"
            raise CreatorError(
                f"creator {self._scope.name} called next_creator with {got} for the variable {self._spec.path!r}",
                "next_creator takes exactly one VariableSpec",
                "next_creator(spec.replace(trainable=False))",
            )
        return self._inner(args[0])


def create(spec: VariableSpec, factory: NextCreator) -> VariableLike:
    """Fold one creation through the scopes; ``factory`` makes the plain Variable in the end."""
    active = scopes.items
    if not active:
        return factory(spec)
    if len(_depth.items) >= _DEEPEST:
        raise CreatorRecursionError(
            f"creator {active[-1].name} made {_DEEPEST} Variables inside one another, the last one {spec.path!r}",
            "a Variable made inside a creator goes through all creators again, this one included",
            "use next_creator(spec), not Variable(...), inside a creator",
        )
    make = factory
    for scope in active:  # outermost first, so that the innermost ends up in front
        make = _step(scope, make, spec)
    with _depth.entered(spec):
        return make(spec)


def _step(scope: CreatorScope, inner: NextCreator, whole: VariableSpec) -> NextCreator:
    def step(spec: VariableSpec) -> VariableLike:
        if not scope.applies(spec, whole):
            return inner(spec)
        _check_layers_end(scope, spec)
        made = scope.creator(_Next(inner, scope, spec), spec)
        if not isinstance(made, VariableLike):
            raise CreatorError(
                f"creator {scope.name} returned {made!r} for the variable {spec.path!r}",
                "a creator must return a Variable or a VariableLike",
                "return next_creator(spec)",
            )
        shape = getattr(made, "shape", spec.shape)
        if tuple(shape) != spec.shape:
            raise CreatorError(
                f"creator {scope.name} returned shape {tuple(shape)} for the variable {spec.path!r}",
                f"whoever asked for it computes with shape {spec.shape}",
                f"a VariableLike whose value has shape {spec.shape}",
            )
        note_creator(made, getattr(made, getattr(made, "base_name", "base"), None), scope.creator)
        return made

    return step


def _check_layers_end(scope: CreatorScope, spec: VariableSpec) -> None:
    """Raise where a creator makes layers whose weights it sees, which have such layers again, without end."""
    around = sum(one.owner is not None for one in _depth.items[:-1])  # while each of these weights is made
    node = spec.owner
    while node is not None:  # or after that, where the weight is computed for the first time
        around += any(one is scope.creator for one in getattr(node, "_gx_creators", ()))
        node = node._gx_owner
    if around >= _DEEPEST_LAYERS:
        raise CreatorRecursionError(
            f"creator {scope.name} made layers inside of weights {around} times inside one another, the last one for "
            f"the weight {spec.path!r}",
            "weights of a layer made inside a creator go through all creators again, this one included",
            'where= without what the creator makes, such as where="layers/*/kernel" in place of "**/kernel"; layers '
            "that are built before the scope; or graftax.reparam.HyperNetwork(module) for what a module computes",
        )


def note_creator(expression: object, base: object, creator: Creator) -> None:
    """Keep with an expression which creators have made it: those of its base, and this one."""
    if isinstance(expression, Branch) and "_gx_creators" not in vars(expression):
        object.__setattr__(expression, "_gx_creators", (*getattr(base, "_gx_creators", ()), creator))
