"""The package reads as it should: ceilings on what makes it hard to read, which are only ever lowered.

Whoever comes below one by a point or more writes the new number here. The table that a failure shows says which room
has how much of it.
"""

from graftax.ops.table import OPS
from tests.architecture import prose
from tests.architecture.plan import PACKAGE

NOUN_PHRASES = 0.5  # percent of docstrings of functions and properties whose first word is no verb
NOUN_PHRASES_OF_A_ROOM = 3.0  # the same in each room, properties apart
ANYTHING = 8.0  # percent of parameters of type Any, where another one would do for most
LONGEST = 80  # lines of a function, its docstring included
COMMENTS = 5.0  # comments for a hundred lines of code in each of the hard rooms, at least


def measured():
    rooms = prose.by_room()
    return sum(rooms.values(), prose.Room()), prose.table(rooms)


def test_docstrings_of_functions_begin_with_a_verb():
    whole, table = measured()
    assert whole.noun_share <= NOUN_PHRASES, table


def test_docstrings_of_functions_begin_with_a_verb_in_each_room():
    """A verb that `prose.VERBS` lacks goes there."""
    wrong = {
        name: room.unverbed for name, room in prose.by_room().items() if room.function_share > NOUN_PHRASES_OF_A_ROOM
    }
    assert not wrong


def test_docstrings_of_ops_begin_with_a_verb():
    """They are written in `graftax.ops.rows`, and read in the stub, in ``help`` and in docs/api.md."""
    assert not prose.measured_rows({name: op.doc for name, op in OPS.items()}).unverbed


def test_parameters_have_types_that_say_something():
    whole, table = measured()
    assert whole.any_share <= ANYTHING, table


def test_no_function_is_long():
    whole, table = measured()
    assert whole.longest <= LONGEST, table


def test_hard_rooms_have_comments_on_why():
    rooms = {name: prose.measured((PACKAGE / name).read_text()) for name in prose.HARD_ROOMS}
    assert min(room.comment_share for room in rooms.values()) >= COMMENTS, prose.table(rooms)


# --- the measure itself ---

SAMPLE = '''
"""What a module is."""


class Thing:
    """A thing."""

    def size(self, unit: Any, of: list[Any]) -> int:
        """The size."""  # a comment beside the docstring
        return 1  # why it is 1

    def move(self, by: int):
        """Move it."""
        # why nothing
        # happens
        return None  # type: ignore[return-value]

    def speed(self):
        """Its speed, per hour.

        In a car.
        """

    @property
    def shape(self):
        """The shape."""
'''


def test_the_measure_counts_what_it_says():
    room = prose.measured(SAMPLE)
    assert (room.docstrings, room.nouns) == (4, 3)
    assert (room.functions, room.unverbed) == (3, ["size: The size.", "speed: Its speed, per hour."])
    assert round(room.function_share) == 67
    assert (room.parameters, room.anything) == (3, 1)
    assert (room.code, room.comments, room.longest) == (8, 4, 5)


def test_rows_of_a_table_are_counted_as_docstrings():
    room = prose.measured_rows({"sum": "Compute the sum.", "mean": "The mean."})
    assert (room.docstrings, room.nouns, room.functions, room.unverbed) == (2, 1, 2, ["mean: The mean."])


def test_a_verb_is_an_imperative_and_nothing_else():
    said = {first: prose.begins_with_a_verb(first) for first in ("Return it.", "Returns it.", "The size.", "``x``.")}
    assert said == {"Return it.": True, "Returns it.": False, "The size.": False, "``x``.": False}


def test_who_must_define_a_method_is_told_in_the_same_words():
    """``undefined(self, "call(x)")`` in every place, so that nobody meets a bare NotImplementedError."""
    found = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "core/typedefs.py"  # imports nothing of the package, errors neither
        for line in path.read_text().splitlines()
        if "raise NotImplementedError" in line or ("raise " in line and "} must define " in line)
    ]
    assert found == []
