"""Programs of JAX as files: `jax.export`, with free sizes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export as jax_export

from graftax.backend.exporting import ExportedArray, ExportedProgram, Size
from graftax.backend.jax import free_equality
from graftax.backend.jax.equations import JaxEquations
from graftax.backend.jax.program import JaxProgram
from graftax.backend.jax.transforms import JaxTransforms
from graftax.core import foreign_errors
from graftax.core.errors import ExportError, MissingLibraryError
from graftax.core.typedefs import Shape

_config: Any = jax.config
_lock = threading.Lock()


class JaxExporting(JaxTransforms):
    """Exporting by `jax.export`."""

    @property
    def equations(self) -> JaxEquations:
        """Return what tells of equations."""
        return JaxEquations()

    def free_inputs(self, inputs: Sequence[tuple[Sequence[Size], str]], constraints: Sequence[str]) -> list[Any]:
        """Return stand-ins for arrays of these shapes and dtypes; names are sizes of one scope."""
        try:
            scope = free_equality.watch_comparisons(jax_export.SymbolicScope(list(constraints)))
            return [jax.ShapeDtypeStruct(_shape(shape, scope), dtype) for shape, dtype in inputs]
        except ValueError as error:
            raise ExportError(
                f"constraints={list(constraints)!r} of {[' '.join(map(str, shape)) for shape, _ in inputs]}",
                str(error).partition("\n")[0],
                "constraints that sizes of at least 1 can fulfil",
            ) from error

    def outline(self, shape: Shape, dtype: str) -> Any:
        """Return a stand-in for an array."""
        return jax.ShapeDtypeStruct(shape, dtype)

    def sizes_of(self, leaf: Any) -> tuple[Size, ...]:
        """Return the shape of a stand-in, its free sizes as text."""
        return tuple(_to_size(size) for size in leaf.shape)

    def export(
        self,
        program: Any,
        leaves: Sequence[Any],
        results: int,
        platforms: Sequence[str],
        vjp_order: int = 0,
        inside: bool = False,
    ) -> ExportedProgram:
        """Write a program down that was traced for stand-ins."""
        assert isinstance(program, JaxProgram)

        # gathered where several devices share them: the program is for one
        constants = [jnp.asarray(np.asarray(cell.buffer)) for cell in program.read_only] if inside else []

        def pure(donated: list[Any], read_only: list[Any], leaves: list[Any]) -> tuple[list[Any], list[Any]]:
            out = program.whole(donated, [*constants, *read_only], leaves)
            return out[:results], out[results:]

        donated = [_outline(cell.buffer) for cell in program.donated]
        read_only = [] if inside else [_outline(cell.buffer) for cell in program.read_only]
        with _without_source_lines():
            try:
                # what is not used stays an argument, so that values are found by their numbers
                exported = jax_export.export(jax.jit(pure, keep_unused=True), platforms=tuple(platforms))(
                    donated, read_only, list(leaves)
                )
                written = exported.serialize(vjp_order=vjp_order)
            except ImportError as error:
                raise MissingLibraryError(
                    "an export without flatbuffers",
                    "programs are written and read with it, and JAX does not bring it",
                    "pip install flatbuffers, or graftax[export]",
                ) from error
            except NotImplementedError as error:
                raise foreign_errors.translate(error) or error from error
        outputs = exported.out_avals[:results]
        arrays = tuple(ExportedArray(self.sizes_of(one), str(one.dtype)) for one in outputs)
        portable = exported.mlir_module_serialized
        return ExportedProgram(bytes(written), portable, arrays, exported.calling_convention_version)

    def versions(self) -> Mapping[str, str]:
        """Return the version of JAX."""
        return {"jax": jax.__version__}


def _shape(shape: Sequence[Size], scope: Any) -> tuple[Any, ...]:
    if all(isinstance(size, int) for size in shape):
        return tuple(shape)
    return tuple(jax_export.symbolic_shape(",".join(map(str, shape)), scope=scope))


def _to_size(size: Any) -> Size:
    return str(size).replace(" ", "") if jax_export.is_symbolic_dim(size) else int(size)


def _outline(buffer: Any) -> Any:
    return jax.ShapeDtypeStruct(buffer.shape, buffer.dtype)


@contextmanager
def _without_source_lines() -> Iterator[None]:
    """Leave out of programs on which lines, in which files of this machine, they were written."""
    name = "jax_traceback_in_locations_limit"
    with _lock:
        before = getattr(_config, name)
        _config.update(name, 0)
        try:
            yield
        finally:
            _config.update(name, before)
