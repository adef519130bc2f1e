"""Every error that graftax raises on purpose; each says what came, why it is wrong, and what to write.

A message says what came (names, shapes, layer path), why it cannot be, and the line to write instead; and, after what
came, the user's own line from which it came, however deep in libraries it was noticed. Each class is also the builtin
exception that a Python programmer would expect, so that ``except IndexError`` catches an index out of range.
``docs/errors.md`` shows common mistakes with their messages.
"""

from graftax.core.graftax_error import GraftaxError

__all__ = [
    "AmbiguousSharing",
    "ArgumentError",
    "ArgumentTypeError",
    "AssignmentError",
    "AsyncSaveFailed",
    "BackendCapabilityError",
    "BackendError",
    "CheckError",
    "CheckpointError",
    "CheckpointInUse",
    "CompileError",
    "CorruptCheckpoint",
    "CorruptData",
    "CorruptMetadata",
    "CreatorError",
    "CreatorRecursionError",
    "DTypeError",
    "DTypeMismatch",
    "DataError",
    "DestinationExists",
    "ExportError",
    "ExportMismatch",
    "ForeignFile",
    "FormatTooNew",
    "FormatTooOld",
    "GradientError",
    "GraftError",
    "GraftaxError",
    "IncompleteCheckpoint",
    "IndexRangeError",
    "KindMismatch",
    "LimitExceeded",
    "LogError",
    "MatchError",
    "MissingArray",
    "MissingAttributeError",
    "MissingInCheckpoint",
    "MissingLibraryError",
    "NotACheckpoint",
    "NotBuiltError",
    "NumericsError",
    "PathViolation",
    "ProcessError",
    "RenameConflict",
    "RetraceError",
    "SaveError",
    "ScopeError",
    "SelectorError",
    "SettingsMismatch",
    "ShapeError",
    "ShapeMismatch",
    "StaleReadError",
    "StateError",
    "StorageFailure",
    "StorageFull",
    "TapeError",
    "TracerLeakError",
    "TruncatedFile",
    "UndefinedMethodError",
    "UnsafeCheckpoint",
    "UnsupportedValue",
    "UnusedInCheckpoint",
]

# --- arrays and ops -------------------------------------------------------------------------------------------------


class ShapeError(GraftaxError, ValueError):
    """Shapes that do not fit."""


class DTypeError(GraftaxError, TypeError, ValueError):
    """Dtypes that do not fit; graftax never promotes between two arrays silently."""


class IndexRangeError(GraftaxError, IndexError, ValueError):
    """An index, label or class outside its range."""


class NumericsError(GraftaxError, ArithmeticError, ValueError):
    """A result that is not a number, or a division by zero of integers."""


class CheckError(GraftaxError, AssertionError, ValueError):
    """A `graftax.check` that failed."""


class ArgumentError(GraftaxError, ValueError):
    """An argument whose value cannot be used."""


class ArgumentTypeError(GraftaxError, TypeError):
    """An argument of a type that cannot be used."""


# --- backends -------------------------------------------------------------------------------------------------------


class BackendError(GraftaxError, RuntimeError):
    """A backend that is unknown or cannot start."""


class BackendCapabilityError(GraftaxError, NotImplementedError):
    """Something that the current backend cannot do; names the backend, the capability and who has it."""


# --- variables, modules, selectors ----------------------------------------------------------------------------------


class ProcessError(GraftaxError, RuntimeError):
    """Processes of one program that miss one another, or do not do the same."""


class CreatorError(GraftaxError, TypeError):
    """A creator that returned nothing, or passed a field that does not exist."""


class CreatorRecursionError(GraftaxError, RecursionError):
    """A creator that calls `Variable(...)`, and so is called again without end."""


class ScopeError(GraftaxError, RuntimeError):
    """Scopes that were left in another order than they were entered."""


class SelectorError(GraftaxError, LookupError, ValueError):
    """A selector that matches nothing, or cannot be read."""


class GraftError(GraftaxError, ValueError):
    """A weight cannot be replaced by an expression."""


class AssignmentError(GraftaxError, ValueError):
    """An assignment whose shape or dtype does not fit, or to a computed value without an inverse."""


class StateError(GraftaxError, RuntimeError):
    """An object used before, or in another way than, its state allows."""


class MissingAttributeError(GraftaxError, AttributeError):
    """An attribute or a slot that nobody has made."""


class UndefinedMethodError(GraftaxError, NotImplementedError):
    """A method that a subclass must define, and does not."""


class NotBuiltError(GraftaxError, ValueError):
    """Weights asked for before the layer was built."""


# --- transforms -----------------------------------------------------------------------------------------------------


class CompileError(GraftaxError, TypeError):
    """A function that cannot be compiled; names the line."""


class RetraceError(GraftaxError, RuntimeError):
    """More retraces than ``max_retraces`` allows."""


class StaleReadError(GraftaxError, RuntimeError):
    """A Variable that is read where its value would become a constant."""


class TracerLeakError(GraftaxError, TypeError, RuntimeError):
    """A traced value assigned where it would outlive its trace."""


class GradientError(GraftaxError, ValueError):
    """A gradient that cannot be taken."""


class TapeError(GraftaxError, RuntimeError, ValueError):
    """A GradientTape used at the wrong time: twice, nested in itself, outside its block or its compiled function."""


class ExportError(GraftaxError, ValueError):
    """A function that cannot be exported, or an artefact that cannot be used."""


class ExportMismatch(ExportError):
    """What was exported computes something else than the function; nothing is left of it."""


# --- training -------------------------------------------------------------------------------------------------------


class DataError(GraftaxError, ValueError):
    """Training data that does not fit together."""


class LogError(GraftaxError, OSError):
    """A log of training that could not be written; Variables are as the last step left them."""


class MissingLibraryError(GraftaxError, ImportError):
    """A library that an optional part of graftax needs is not installed."""


# --- checkpoints (notes: section 6 of the format) -------------------------------------------------------------------


class CheckpointError(GraftaxError):
    """Base of everything that goes wrong with a checkpoint."""

    longest = None  # a report of all that does not fit


class NotACheckpoint(CheckpointError, FileNotFoundError):
    """There is no checkpoint at the path: nothing, or something else."""


class IncompleteCheckpoint(CheckpointError):
    """A staging directory, or a directory without its ``graph.msgpack``."""


class FormatTooNew(CheckpointError):
    """Written by a later version, or with a feature this one does not know."""


class FormatTooOld(CheckpointError):
    """Written by a version whose format was a draft."""


class CorruptCheckpoint(CheckpointError, ValueError):
    """Bytes that are not what was written."""


class CorruptMetadata(CorruptCheckpoint):
    """``graph.msgpack`` or a header is damaged."""


class CorruptData(CorruptCheckpoint):
    """A block of array data fails its checksum."""


class TruncatedFile(CorruptCheckpoint):
    """A data file is shorter or longer than the index says."""


class ForeignFile(CorruptCheckpoint):
    """A data file that belongs to another save."""


class UnsafeCheckpoint(CheckpointError):
    """Content that a reader must not follow."""


class LimitExceeded(UnsafeCheckpoint):
    """A size or depth above what a reader accepts."""


class PathViolation(UnsafeCheckpoint):
    """A name that would leave the checkpoint directory."""


class MatchError(CheckpointError, ValueError):
    """A restore that does not fit the program; carries the full report as ``.report``."""

    report: object = None


class MissingInCheckpoint(MatchError):
    """Variables of the program for which the checkpoint has no value."""


class UnusedInCheckpoint(MatchError):
    """Values of the checkpoint for which the program has no place."""


class ShapeMismatch(MatchError):
    """A saved shape that differs from the program's."""


class DTypeMismatch(MatchError):
    """A saved dtype that differs from the program's."""


class KindMismatch(MatchError):
    """A leaf on one side and a node with children on the other."""


class SettingsMismatch(MatchError):
    """A saved expression or metric with other settings than the program's: the same values would mean another thing."""


class AmbiguousSharing(MatchError):
    """One Variable in the program, two different values in the checkpoint."""


class RenameConflict(MatchError):
    """Two renames that land on one target."""


class MissingArray(CheckpointError, KeyError):
    """A path under which a checkpoint holds no array."""


class SaveError(CheckpointError):
    """A save that could not be finished; nothing was published."""


class UnsupportedValue(SaveError, TypeError):
    """A Python value that the format does not hold."""


class DestinationExists(SaveError, FileExistsError):
    """Something exists at the target path already."""


class CheckpointInUse(SaveError):
    """A checkpoint whose files others refer to, and which so must stay as it is."""


class AsyncSaveFailed(SaveError):
    """A save that went on beside the program failed; the cause says how."""


class StorageFull(SaveError, OSError):
    """No space, quota or file size left."""


class StorageFailure(SaveError, OSError):
    """The device failed to keep what was written."""


def __dir__() -> list[str]:
    return sorted(__all__)


for _kind in [one for one in globals().values() if isinstance(one, type) and issubclass(one, Exception)]:
    if _kind.__module__ == __name__:
        _kind.__module__ = "graftax.errors"  # what tracebacks show can be written in an import
