"""Module: an object whose attributes form the object graph. Children are found by walking attributes and containers.

Paths come from the edges of that graph, never from names: an object hangs where its first owner keeps it. Definition
order is the order everywhere: attributes as first assigned, containers in their order, depth first, shared objects
once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

from graftax.core import user_line
from graftax.core.descriptors import Absent, Fallback
from graftax.core.enum_members import unwrap_member
from graftax.core.errors import ArgumentError, AssignmentError, MissingAttributeError
from graftax.core.keywords import Constructed, ConstructorSignature
from graftax.core.later import import_later
from graftax.core.short_traceback import door
from graftax.core.typedefs import Holder, VariableLike
from graftax.variables import creation
from graftax.variables.graph.adoption import Adopting, adopt
from graftax.variables.graph.class_attributes import given_by_class
from graftax.variables.graph.copies import Pending as Pending
from graftax.variables.graph.made_with import MadeWith
from graftax.variables.graph.node import Edge as Edge
from graftax.variables.graph.node import Leaf as Leaf
from graftax.variables.graph.node import Node as Node
from graftax.variables.graph.node import holds_node, ignored_attributes, names_by_class, nodes_on_weights
from graftax.variables.graph.node import items_of as items_of
from graftax.variables.graph.plain_objects import look_for_lost
from graftax.variables.graph.prints import Print, Same
from graftax.variables.graph.reserved import OF_MODULES, Words, check_reserved
from graftax.variables.graph.structure import listings
from graftax.variables.graph.structure import structure as structure
from graftax.variables.graph.unheld import look_for_unheld
from graftax.variables.graph.walking import walk as walk
from graftax.variables.graph.walking import walk_with_edges as walk_with_edges
from graftax.variables.state import storage
from graftax.variables.variable import Variable

if TYPE_CHECKING:
    from graftax.core import attributes, misspelt_attributes
    from graftax.variables.graph import tree_repr
else:
    attributes = import_later("graftax.core.attributes")
    misspelt_attributes = import_later("graftax.core.misspelt_attributes")
    tree_repr = import_later("graftax.variables.graph.tree_repr")

Child: TypeAlias = "Node | list[Any] | tuple[Any, ...] | dict[Any, Any]"


@dataclass(frozen=True)
class SlotRecord:
    """A Variable that an optimizer keeps for another Variable."""

    name: str
    variable: Variable
    slot: Variable


class Module(Adopting, Holder, Constructed):
    """The base of everything that holds Variables: layers, optimizers, metrics, models, expressions.

    Attributes are its children if they are Modules or Variables, or lists, tuples or dicts of these, however nested.
    ``super().__init__()`` may be called or not.

    Example:
        >>> import graftax as gx
        >>> class Pair(Module):
        ...     def __init__(self):
        ...         self.first = gx.Variable([1.0, 2.0])
        ...         self.rest = [gx.Variable(3.0, trainable=False)]
        >>> pair = Pair()
        >>> [v.path for v in pair.variables]
        ['first', 'rest/0']
        >>> len(pair.trainable_variables)
        1
    """

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_made_with", "_gx_creators"})
    """Names of attributes whose content is not part of the object graph; those of base classes count too."""

    checkpoint_aliases: ClassVar[Mapping[str, str]] = {}
    """What attributes were called in older checkpoints, and the class itself: names of before, and names of now."""

    _gx_name: str | None = None
    _gx_made_with: MadeWith = MadeWith(is_known=False)
    """What the constructor was given, for whoever makes another one."""
    _gx_creators: tuple[Any, ...] = ()
    """The creators that put this in the place of a plain Variable, one over the other."""
    _gx_built_later: ClassVar[bool] = False
    """Whether Variables are made after the construction: until then, the creators around it wait for this object."""
    _gx_words: ClassVar[Words] = OF_MODULES

    # --- what Python does with Modules is intercepted here, and nowhere else; kinds of Modules have the methods of
    # --- their own that are called: _gx_prepare_class, _gx_explain_missing, _gx_given

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        names_by_class[cls]  # raises for names that are taken
        bases: Any = super(cls, cls)  # as for __init_subclass__ itself: a class prepares those below it, not itself
        bases._gx_prepare_class()

    @classmethod
    def _gx_prepare_class(cls) -> None:
        """Adapt what a class has just defined, such as its ``build``; called once for each class."""

    if not TYPE_CHECKING:  # a checker should see the class, its attributes, and the arguments of __init__
        from_config = Absent()
        get_config = Absent()

        def __new__(cls, /, *args: Any, **kwargs: Any) -> Self:
            """Make a Module that remembers the creators of now, whatever its ``__init__`` does."""
            self = super().__new__(cls)
            object.__setattr__(self, "_gx_made_with", MadeWith(args, kwargs))
            # here rather than in __init__, which subclasses need not call
            active = creation.scopes.items
            if active:  # built later, it will still remember these
                object.__setattr__(self, "_gx_captured", active)
                if cls._gx_built_later:
                    for scope in active:
                        scope.waiting.add(self)
            if (frame := storage.frames.top) is not None:
                frame.note_created(self)
            return self

        __signature__ = ConstructorSignature()

        def __getattr__(self, name: str) -> Any:
            try:
                return object.__getattribute__(self, name)
            except AttributeError as error:
                if name.startswith("_") or hasattr(type(self), name):  # the latter is a property that failed inside
                    raise
                said = str(error)
            raise self._gx_explain_missing(name, said)

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_.][\w.\-]*", name)):
            raise ArgumentError(
                f"name={name!r} for {type(self).__name__}",
                "a name starts with a letter and has letters, digits, '_', '-' and '.'",
                'name="encoder"',
            )
        self._gx_name = unwrap_member(name)

    # --- attributes -------------------------------------------------------------------------------------------------

    def _gx_explain_missing(self, name: str, message: str) -> MissingAttributeError:
        """Return the error for an attribute that is not there, ``message`` being what Python says of it."""
        return attributes.missing_attribute_error(self, name, "module", attributes.OF_MODULES)

    def _gx_given(self, name: str, value: object) -> Any:
        """Return what is to be kept of a value that is assigned to an attribute; raise if nothing is."""
        return value

    def __setattr__(self, name: str, value: object) -> None:
        value = self._gx_given(name, value)
        names = names_by_class[type(self)]
        if name in names.words:
            if attributes.is_set_elsewhere(name) and _has_no_setter(type(self), name):
                raise attributes.not_to_set(self, name)
            value = check_reserved(self, name, value, names.words[name])
        before = self.__dict__.get(name, _ABSENT)
        if isinstance(before, Leaf) and hasattr(value, "dtype") and not isinstance(value, VariableLike):
            raise AssignmentError(
                f"{type(self).__name__}.{name} is a Variable, and got an array of shape {getattr(value, 'shape', ())}",
                "the Variable would be gone, and the array neither trained nor saved",
                f"self.{name}.assign(value); or del self.{name} first, if that is meant",
            )
        changes = before is not value and name not in names.ignored
        if before is _ABSENT and changes and not user_line.is_ours(frame := sys._getframe(1)):
            misspelt_attributes.warn_of_slip(self, name, frame)
        if changes:
            # what is made at the first call and kept is there at the later ones: that changes nothing for them
            new = (before is None or before is _ABSENT) and isinstance(value, Node) and value._gx_owner is None
            storage.touch(self) if new else storage.changing(self, name)
        try:  # of the base class, since `setattr` would come back here
            object.__setattr__(self, name, value)
        except AttributeError as error:
            if not _has_no_setter(type(self), name):
                raise
            raise attributes.not_to_set(self, name) from error
        if name == "__class__" and self._gx_watched:
            structure.bump()
        # a property or descriptor may keep the value elsewhere, and then nothing hangs here
        if changes and name in self.__dict__:
            if name not in self._gx_on_weight:
                adopt(self, (name,), value)
            elif (owner := self._gx_owner) is not None:
                owner._gx_note_hanging(self)
            if self._gx_watched:
                structure.bump()

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__ and name not in ignored_attributes(type(self)):
            storage.changing(self, name)
        object.__delattr__(self, name)
        if self._gx_watched:
            structure.bump()

    # --- the graph --------------------------------------------------------------------------------------------------

    def _gx_walk(self) -> Iterator[tuple[tuple[Edge, ...], Node]]:
        return walk_with_edges(self)

    def _gx_children(self) -> list[tuple[Edge, Child]]:
        """Return edges and children in definition order; a container is a child if it holds a Node somewhere."""
        self._gx_ensure_state()
        return self._gx_held()

    def _gx_held(self) -> list[tuple[Edge, Child]]:
        """Return the same, as they are now: nothing is made."""
        skip = ignored_attributes(type(self))
        held = [(name, value) for name, value in list(self.__dict__.items()) if name not in skip and holds_node(value)]
        return [*held, *nodes_on_weights(self)]

    @Fallback
    def owner(self) -> Module | None:
        """Return the Module that holds this one, the first that did; None if there is none (any more)."""
        return cast("Module | None", self._gx_owner)

    @Fallback
    def path(self) -> str:
        """Return where it hangs: the edges from its outermost owner, such as ``layers/0``; the owner adds none."""
        return self._gx_seen_path

    @property
    def name(self) -> str:
        """Return the given name, else the class name in snake case."""
        return self._gx_name or snake_case(type(self).__name__)

    @property
    def submodules(self) -> list[Module]:
        """Return all Modules below this one, each once, depth first."""
        self._gx_note_walk()
        return [node for node in walk(self) if isinstance(node, Module) and node is not self]

    def _gx_parts_by_depth(self) -> list[Module]:
        """Return the layers of a graph, the farthest from its outputs first; none where there is no graph."""
        return []

    def _gx_makes_list(self) -> bool:
        """Return whether the list ``layers`` was made for it, and not by the class of a user, who named it so."""
        return False

    @property
    def variables(self) -> list[Variable]:
        """Return all Variables below this Module, each once, in definition order."""
        self._gx_note_walk()
        nodes = list(walk(self))
        look_for_lost(nodes)
        look_for_unheld(nodes)
        return [node for node in nodes if isinstance(node, Variable)]

    @property
    def trainable_variables(self) -> list[Variable]:
        """Return the Variables that optimizers may move."""
        found = [v for v in self.variables if v.trainable]
        listings.note(self, found)
        return found

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """Return the rest."""
        return [v for v in self.variables if not v.trainable]

    @door
    def named_variables(self) -> dict[str, Variable]:
        """Return Variables by their path from this Module."""
        self._gx_note_walk()
        result: dict[str, Variable] = {}
        for edges, node in walk_with_edges(self):
            if isinstance(node, Variable):
                path = "/".join(map(str, edges))
                if path in result:
                    raise ArgumentError(
                        f"two Variables of {type(self).__name__} hang at the path {path!r}",
                        "the key of a dict contains a slash, or is an integer beside the same number as a string",
                        "other keys",
                    )
                result[path] = node
        return result

    def _gx_note_walk(self) -> None:
        """Tell the function being compiled, if any, that it asks what there is below."""
        if (frame := storage.frames.top) is not None:
            frame.note_structure(list(walk(self)))

    def __repr__(self) -> str:
        return tree_repr.draw_tree(self)

    # --- hooks ------------------------------------------------------------------------------------------------------

    def _gx_replace_child(self, edges: tuple[Edge, ...], old: Child, new: Child) -> None:
        """Put another Module or Variable in the place of one that this Module holds itself.

        Args:
            edges: From this Module to the place: an attribute, then keys and indices of containers.
            old: What is there.
            new: What is to be there.

        Raises:
            ArgumentError: a tuple holds it.
        """
        if len(edges) == 1:
            setattr(self, str(edges[0]), new)
            return
        container: Any = self.__dict__[str(edges[0])]
        for edge in edges[1:-1]:
            container = container[edge]
        if isinstance(container, tuple):
            raise ArgumentError(
                f"{type(self).__name__}.{edges[0]} holds {getattr(old, '_gx_path', old)!r} in a tuple",
                "tuples cannot be changed",
                "keep it in a list or a dict",
            )
        container[edges[-1]] = new
        adopt(self, edges, new)

    def _gx_slot_records(self) -> Sequence[SlotRecord]:
        """Return Variables kept for other Variables; optimizers have some."""
        return ()

    def _gx_forget_slots(self, but: Collection[int]) -> None:
        """Forget the slots whose ids are not among these, which were made in vain."""

    def _gx_slot_class(self, name: str) -> str:
        """Return the class that gives slots of that name their meaning: those of another never take their values."""
        return type(self).__name__

    def _gx_slot_names(self, variable: Variable) -> tuple[str, ...]:
        """Return the names of the slots that it would make for a Variable."""
        return ()

    def _gx_beside(self) -> Mapping[str, Module]:
        """Return what it is trained with and does not hold, by the names of attributes."""
        return {}

    def _gx_facts(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it besides its contents, as plain values; it may lack them."""
        return {}

    def _gx_take_facts(self, facts: Mapping[str, Any]) -> None:
        """Take back what `_gx_facts` gave; there may be anything in it, since it comes from a file."""

    def _gx_point_of_return(self) -> Callable[[], None]:
        """Return a function that takes back what `_gx_take_facts` changes."""
        return lambda: None

    def get_state(self) -> Any:
        """Return plain Python state for the checkpoint (numbers, strings, lists, dicts), or None."""
        return None

    def set_state(self, state: Any) -> None:
        """Take back what `get_state` gave: plain Python values. `graftax.assign_state` assigns values of Variables.

        Raises:
            ArgumentError: the class defines no `set_state`, and would ignore what it gets.
        """
        if state is None or type(self).set_state is not Module.set_state:
            return
        kind, owner = type(self).__name__, self._gx_path or "module"
        raise ArgumentError(
            f"{kind}.set_state({state!r:.60})",
            f"it takes back the Python values of get_state(), and {kind} defines no set_state: they would be lost",
            f"graftax.assign_state({owner.rpartition('/')[2]}, state) for values of Variables, such as those of "
            f"graftax.state and pure_state; for Python values, def set_state(self, state): ... in {kind}",
        )

    def _gx_traced_attributes(self) -> dict[str, Any]:
        """Return what a trace may depend on: plain attributes, its class's too, and which objects the children are."""
        skip = ignored_attributes(type(self))
        found = {**given_by_class(type(self)), **self.__dict__}
        return {name: value for name, value in found.items() if name not in skip}

    def _gx_fingerprint(self) -> dict[str, Print]:
        """Return how that is now, and of which class this is."""
        return {**super()._gx_fingerprint(), "__class__": Same(type(self))}


_ABSENT = object()


def _has_no_setter(kind: type[Any], name: str) -> bool:
    found = getattr_static(kind, name, None)
    return isinstance(found, property) and found.fset is None


def snake_case(name: str) -> str:
    """Return ``CamelCaseThing`` as ``camel_case_thing``, ``Conv2DTranspose`` as ``conv2d_transpose``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower()
