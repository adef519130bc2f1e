"""Programs drawn at random, the same for the same numbers: what is shared, tied, unbuilt, named, stateful, a circle."""

import random
from types import MappingProxyType

import numpy as np

import graftax as gx
from graftax.variables.graph.module import Module, SlotRecord

NAMES = "abcde"


class Box(Module):
    """Anything under attributes."""


class Kept(Box):
    """With Python state."""

    def __init__(self, name=None):
        super().__init__(name)
        self.position = 0

    def get_state(self):
        return self.position

    def set_state(self, state):
        self.position = state


class Renamed(Box):
    """Whose ``a`` was called ``e`` before."""

    checkpoint_aliases = MappingProxyType({"e": "a"})


class Keeper(Module):
    """An optimizer: slots by (name, variable), out of the object graph."""

    untracked = frozenset({"made"})

    def __init__(self):
        self.made = {}
        self.iterations = gx.Variable(0, trainable=False, role="counter")

    def _gx_slot_records(self):
        return [SlotRecord(name, variable, slot) for (name, _), (variable, slot) in self.made.items()]

    def _gx_forget_slots(self, but):
        self.made = {key: pair for key, pair in self.made.items() if id(pair[1]) in but}

    def _gx_ensure_slot(self, name, variable):
        key = (name, id(variable))
        if key not in self.made:
            zeros = gx.Variable(np.zeros(variable.shape, "float32"), trainable=False, role="slot")
            self.made[key] = (variable, zeros)
        return self.made[key][1]


class RandomProgram:
    """Roots of a program.

    Args:
        seed: Draws the structure.
        changes: Draws what differs from another program of that structure; None for nothing.
        first: The value of the first Variable; they count up.
    """

    kinds = (Box, Kept, Renamed)
    chance_of_name = 0.25

    def __init__(self, seed, changes=None, first=1.0):
        self._draw = random.Random(seed)
        self._change = random.Random(changes) if changes is not None else None
        self._value = first
        self._variables, self._boxes, self.late = [], [], []
        gx.set_random_seed(0)
        self.roots = {}
        for name in ("net", "other")[: self._draw.choice((1, 1, 2))]:
            self.roots[name] = self._box(0)
            self.roots[name].base = self._variable()
        for list_ in [v for box in self._boxes for v in vars(box).values() if type(v) is list]:
            if self._happens(0.05):  # nobody's, until somebody looks
                list_.append(self._variable(()))
        if self._draw.random() < 0.3:
            keeper = Keeper()
            for variable in self._variables:
                if self._draw.random() < 0.5:
                    keeper._gx_ensure_slot("momentum", variable).assign(np.full(variable.shape, self._next()))
            self.roots["opt"] = keeper
            if self._happens(0.2):  # no optimizer any more
                self.roots["opt"] = Box()
                self.roots["opt"].iterations = keeper.iterations

    def _happens(self, chance):
        return self._change is not None and self._change.random() < chance

    def _next(self):
        self._value += 1
        return np.float32(self._value)

    def _variable(self, shape=None):
        shape = self._draw.choice(((), (2,), (2, 3))) if shape is None else shape
        shape = (4,) if self._happens(0.01) else shape
        made = gx.Variable(np.full(shape, self._next()), trainable=self._draw.random() < 0.8)
        self._variables.append(made)
        return made

    def _box(self, depth):
        kind = self._draw.choices(self.kinds, (5, 1, 1))[0]
        name = self._draw.choice(NAMES) if self._draw.random() < self.chance_of_name else None
        box = kind(name)
        self._boxes.append(box)
        if kind is Kept:
            box.position = int(self._next())
        for name in self._draw.sample(NAMES, self._draw.randint(1, 4)):
            thing = self._thing(depth + 1, box)
            if self._happens(0.04):
                thing = None
            setattr(box, name, thing)
        if self._happens(0.04):
            box.extra = self._variable(())
        return box

    def _thing(self, depth, box):
        draw = self._draw
        kinds = ["variable"] * 4 + ["box", "list", "dict", "numbers", "tuple"] * (depth < 4)
        kinds += ["shared", "shared box", "dense", "late", "stream", "tied"]
        kind = "circle" if draw.random() < 0.02 else draw.choice(kinds)
        if kind == "circle":
            return box
        if kind == "box":
            return self._box(depth)
        if kind in ("list", "tuple"):
            held = [self._thing(depth + 1, box) for _ in range(draw.randint(1, 3))]
            return held if kind == "list" else tuple(held)
        if kind == "dict":
            return {name: self._thing(depth + 1, box) for name in draw.sample(NAMES, 2)}
        if kind == "numbers":
            return {i: self._thing(depth + 1, box) for i in (3, 7)}
        if kind == "shared" and self._variables:
            found = draw.choice(self._variables)
            return self._variable(tuple(found.shape)) if self._happens(0.1) else found
        if kind == "shared box" and self._boxes:
            return draw.choice(self._boxes)
        if kind == "stream":
            return gx.random.SeedGenerator()
        if kind in ("dense", "late", "tied"):
            layer = gx.layers.Dense(2, name=draw.choice(NAMES) if draw.random() < 0.3 else None)
            is_late = (kind == "late") != self._happens(0.3)
            if not is_late:
                layer(np.ones((1, 3), "float32"))
                for variable in layer.variables:
                    variable.assign(np.full(variable.shape, self._next()))
                self._variables += layer.variables
                if kind == "tied":
                    gx.graft(layer, gx.reparam.LoRA(rank=1, name="poet"), where="**/kernel")
            self.late.append(layer)
            return layer
        return self._variable()

    def outcome(self):
        """All there is, and what becomes of layers that are built now."""
        found = self._values()
        for layer in self.late:
            try:
                layer(np.ones((1, 3), "float32"))
            except gx.errors.GraftaxError as error:
                found.append(f"{type(error).__name__}: {error.received}")
        return found, self._values()

    def _values(self):
        found = []
        for name, root in self.roots.items():
            found += [(name, v.path, v.role, v.trainable, v.numpy().tolist()) for v in root.variables]
            found += [(r.name, r.variable.path, r.slot.numpy().tolist()) for r in root._gx_slot_records()]
        return found + [box.position for box in self._boxes if isinstance(box, Kept)]
