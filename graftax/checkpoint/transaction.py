"""The class Transaction: the changes of a restore are applied completely or not at all."""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any

from graftax.checkpoint.adapters_in_use import set_use
from graftax.checkpoint.children import keeps_slots
from graftax.checkpoint.expressions import take, undo
from graftax.checkpoint.graph import Graph
from graftax.checkpoint.state import with_live_classes
from graftax.checkpoint.trained_as_saved import set_frozen, set_trainability, trainability_as_saved
from graftax.reparam.adapted import Adapted
from graftax.reparam.base import Reparam
from graftax.variables.graph.following import Follower, follow, followers
from graftax.variables.graph.module import Module
from graftax.variables.random_state import RandomState
from graftax.variables.state.storage import Storage
from graftax.variables.variable import Variable


class Transaction:
    """Undoes its changes, and the creation of slots, when its block ends with an exception."""

    def __init__(self, graph: Graph) -> None:
        modules = [place.thing for place in graph.places if isinstance(place.thing, Module)]
        self._slots = [(m, {id(record.slot) for record in m._gx_slot_records()}) for m in modules if keeps_slots(m)]
        self._undo: list[Callable[[], None]] = []
        self._written: list[tuple[Storage, Any]] = []

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is not None:
            with uninterrupted():
                self._take_back(error)

    def _take_back(self, error: BaseException) -> None:
        for place, value in reversed(self._written):
            place.write(value)
        for step in reversed(self._undo):
            try:
                step()
            except Exception as other:  # noqa: BLE001 - the rest is taken back all the same
                error.add_note(f"taking back what was restored, {type(other).__name__}: {other}")
        for keeper, known in self._slots:
            keeper._gx_forget_slots(known)

    # --- changes ------------------------------------------------------------------------------------------------------

    def take(self, expression: Any, value: Any, path: str) -> str:
        """Assign a value to an expression, and return the note for the report."""
        note, before = take(expression, value, path)
        self._undo.append(lambda: undo(before))
        return note

    def follow(self, changed: Iterable[object]) -> list[Follower]:
        """Let expressions follow whose bases took values, and return them."""
        found = followers(weight for weight in changed if isinstance(weight, Variable | Reparam))
        for expression in found:
            before = [(variable, variable.value) for variable in expression._gx_state_about_base()]
            self._undo.append(partial(undo, before))
            follow(expression)
        return found

    def set_state(self, module: Module, state: Any) -> None:
        """Set the Python state of a Module. None for a Module without state changes nothing."""
        before = module.get_state()
        if before is None and state is None:
            return
        before = copy.deepcopy(before)  # a copy, since the Module may go on to change the dict that it returned
        if type(module).set_state is not Module.set_state:  # which only raises, and changes nothing
            self._undo.append(lambda: module.set_state(before))
        module.set_state(with_live_classes(state, before))

    def set_random(self, random: RandomState, state: object) -> None:
        """Restore the state of the global seed and its stream."""
        self._undo.append(random.point_of_return())
        random.set_state(state)

    def write(self, place: Storage, value: Any) -> None:
        """Assign a value, which has the backend, shape and dtype of the Variable."""
        self._written.append((place, place.buffer))
        place.write(value)

    def set_trainable(self, target: Variable | Module, trainable: bool) -> None:
        """Freeze or unfreeze a Variable, or the Variables that are created below a Module later."""
        if isinstance(target, Variable):
            before = target.trainability
            self._undo.append(lambda: set_trainability(target, before))
            set_trainability(target, trainability_as_saved(before, trainable))
        else:
            frozen = target._gx_frozen
            self._undo.append(lambda: set_frozen(target, frozen))
            set_frozen(target, not trainable)

    def take_facts(self, module: Module, facts: Mapping[str, Any]) -> None:
        """Let a Module take what the checkpoint keeps of it besides its contents."""
        self._undo.append(module._gx_point_of_return())
        module._gx_take_facts(facts)

    def set_setting(self, expression: Module, name: str, value: Any) -> None:
        """Assign a saved setting to the attribute of an expression or metric."""
        before = vars(expression)[name]
        self._undo.append(lambda: setattr(expression, name, before))
        setattr(expression, name, value)

    def set_use(self, weight: Adapted, names: tuple[str, ...]) -> None:
        """Use these adapters of a weight, in this order."""
        before = tuple(weight.active)
        self._undo.append(lambda: set_use(weight, before))
        set_use(weight, names)

    def hang(self, module: Module, pending: object) -> None:
        """Attach waiting values to a Module."""
        before = module._gx_pending
        self._undo.append(lambda: object.__setattr__(module, "_gx_pending", before))
        object.__setattr__(module, "_gx_pending", pending)


@contextmanager
def uninterrupted() -> Iterator[Callable[[], None]]:
    """Delay Ctrl-C until the end of the block. The block gets a function that raises it earlier, at a safe point."""
    came: list[Any] = []
    usual = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(usual):  # the signal is ignored, or its handler is not a Python function
        yield lambda: None
        return

    def raise_now() -> None:
        if came:
            usual(*came.pop())

    signal.signal(signal.SIGINT, lambda *about: came.append(about))
    try:
        yield raise_now
    finally:
        signal.signal(signal.SIGINT, usual)
    raise_now()
