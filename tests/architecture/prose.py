"""How the package reads, in numbers: first words of docstrings, parameters of type Any, lengths, comments.

The docstrings of the ops are in the rows of their table, and are counted with those of the room ``ops``.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from graftax.ops.table import OPS
from tests.architecture.plan import PACKAGE

VERBS = frozenset(
    """
    Accept Accumulate Adapt Add Adjust Adopt Advance Allow Answer Append Apply Ask Assert Assign Attend Await
    Begin Bisect Block Bring Broadcast Build Call Carry Cast Catch Check Choose Clear Clip Close Collect Combine
    Commit Compare Compile Compute Concatenate Convert Convolve Copy Count Create Cut Declare Decode Decorate
    Define Delete Describe Differentiate Divide Do Donate Draw Drop Ensure Enter Estimate Evaluate Execute
    Expand Explain Export Extend Extract Fail Fetch Fill Find Finish Fit Flatten Fold Follow Forget Format
    Freeze Gather Generate Get Give Go Group Guard Handle Hang Have Hear Hide Hold Ignore Import Inform Insert
    Invert Join Judge Keep Lay Leave Let Limit List Load Log Look Lower Make Map Mark Mask Match Measure Merge
    Move Multiply Name Normalize Note Observe Open Pack Pad Pair Parse Pass Permute Pick Place Plan Pool Predict
    Prepare Print Project Prove Prune Publish Pull Push Put Quote Raise Read Rearrange Rebuild Recognise Record
    Recover Reduce Refuse Register Release Remember Remove Rename Render Repeat Replace Replay Report Reserve
    Reset Reshape Restore Resume Return Reverse Round Run Save Say Scale Scatter Search See Select Send Set
    Share Shift Shorten Show Shuffle Sort Split Spread Stage Stamp Start Stop Store Subtract Sum Swap Switch
    Take Tell Test Thaw Trace Track Train Translate Transpose Trim Try Turn Undo Unpack Unwrap Update Upload Use
    Connect Continue Flush Install Prefix Propagate Rewrite
    Attach Average Become Capture Delay Disable Discard Enable End Exchange Restrict Sample Serve Skip
    Factor Flip Integrate Minimise Resize Rotate Solve Weigh
    Change Verify Visit Wait Walk Warn Watch Weight Widen Wrap Write Yield
    """.split()
)
"""First words that are imperatives: verbs that the docstrings of the package begin with."""

HARD_ROOMS = (
    "backend/jax/tracing.py",
    "backend/jax/recording.py",
    "transforms/compile/guard.py",
    "variables/state/pack.py",
    "checkpoint/matching.py",
)
"""Files in which a stranger gets lost without a word on why a line is as it is."""


@dataclass
class Room:
    """What was counted in one folder of the package, or in all of it."""

    docstrings: int = 0
    nouns: int = 0
    functions: int = 0
    unverbed: list[str] = field(default_factory=list)
    parameters: int = 0
    anything: int = 0
    code: int = 0
    comments: int = 0
    longest: int = 0

    def __add__(self, other: Room) -> Room:
        sums = {name: getattr(self, name) + getattr(other, name) for name in vars(self) if name != "longest"}
        return Room(**sums, longest=max(self.longest, other.longest))

    @property
    def noun_share(self) -> float:
        """Return the percentage of docstrings of functions that do not begin with a verb."""
        return 100 * self.nouns / max(self.docstrings, 1)

    @property
    def function_share(self) -> float:
        """Return the percentage of docstrings of functions, properties apart, that do not begin with a verb."""
        return 100 * len(self.unverbed) / max(self.functions, 1)

    @property
    def any_share(self) -> float:
        """Return the percentage of parameters whose annotation is exactly ``Any``."""
        return 100 * self.anything / max(self.parameters, 1)

    @property
    def comment_share(self) -> float:
        """Return comments for each hundred lines of code."""
        return 100 * self.comments / max(self.code, 1)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions and methods of a module."""
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def begins_with_a_verb(docstring: str) -> bool:
    """Tell whether the first word is an imperative."""
    return docstring.split(maxsplit=1)[0].rstrip(".,:;") in VERBS


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is read as an attribute, whose docstring may be a noun phrase, as those of NumPy are."""
    return any(ast.unparse(one).rpartition(".")[2].endswith("property") for one in function.decorator_list)


def measured(text: str) -> Room:
    """Count in the source of one module."""
    room = Room()
    tree = ast.parse(text)
    for function in functions(tree):
        if docstring := ast.get_docstring(function):
            room.docstrings += 1
            room.nouns += not begins_with_a_verb(docstring)
            if not is_property(function):
                room.functions += 1
                room.unverbed += (
                    [] if begins_with_a_verb(docstring) else [f"{function.name}: {docstring.splitlines()[0]}"]
                )
        given = function.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        if parameters and parameters[0].arg in ("self", "cls"):
            parameters = parameters[1:]
        room.parameters += len(parameters)
        room.anything += sum(isinstance(one.annotation, ast.Name) and one.annotation.id == "Any" for one in parameters)
        room.longest = max(room.longest, (function.end_lineno or 0) - function.lineno + 1)
    room.code, room.comments = _lines(text, tree)
    return room


@cache
def by_room(package: Path = PACKAGE) -> dict[str, Room]:
    """Count in each folder of the package."""
    found: dict[str, Room] = {}
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).parts
        name = place[0] if len(place) > 1 else "."
        found[name] = found.get(name, Room()) + measured(path.read_text())
    found["ops"] += measured_rows({name: op.doc for name, op in OPS.items()})
    return found


def measured_rows(sentences: dict[str, str]) -> Room:
    """Count the docstrings of functions that are made from the rows of a table."""
    wrong = [f"{name}: {said}" for name, said in sentences.items() if not begins_with_a_verb(said)]
    return Room(docstrings=len(sentences), nouns=len(wrong), functions=len(sentences), unverbed=wrong)


def table(rooms: dict[str, Room]) -> str:
    """Return a table that shows where numbers can become lower."""
    rows = [f"{'room':14} {'no verb %':>10} {'Any %':>7} {'comments %':>11} {'longest':>8}"]
    for name, room in [*rooms.items(), ("all", sum(rooms.values(), Room()))]:
        shares = f"{room.noun_share:10.1f} {room.any_share:7.1f} {room.comment_share:11.1f} {room.longest:8}"
        rows.append(f"{name:14} {shares}")
    return "\n".join(rows)


def _lines(text: str, tree: ast.AST) -> tuple[int, int]:
    """Return how many lines have code, docstrings and blank lines apart, and how many have a comment on why."""
    strings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    comments: set[int] = set()
    skipped = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}
    lines = iter(text.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.COMMENT:
            if not token.string.startswith(("# type:", "# pyright:", "# noqa", "# ---")):
                comments.add(token.start[0])
        elif token.type not in skipped:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - strings), len(comments)
