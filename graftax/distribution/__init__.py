"""Programs over several devices and processes: the same model code, the same numbers.

A `Distribution` says how Variables are sharded over a `mesh` of devices. Variables created in its ``scope()`` keep
their placement. ``fit`` shards batches automatically; your own loops call ``distribution.shard(batch)``. `initialize`
connects the processes of one program.

Example:
    >>> import graftax as gx
    >>> gx.distribution.is_main()
    True
"""

import typing as _typing

from graftax.core.namespaces import make_getattr as _answering
from graftax.distribution.comparison import compare as compare
from graftax.distribution.constrain import constrain as constrain
from graftax.distribution.data_parallel import DataParallel as DataParallel
from graftax.distribution.distribution import Distribution as Distribution
from graftax.distribution.fully_sharded import FullyShardedDataParallel as FullyShardedDataParallel
from graftax.distribution.mesh import mesh as mesh
from graftax.distribution.model_parallel import ModelParallel as ModelParallel
from graftax.distribution.processes import barrier as barrier
from graftax.distribution.processes import initialize as initialize
from graftax.distribution.processes import is_main as is_main
from graftax.distribution.processes import preempted as preempted
from graftax.distribution.processes import process_count as process_count
from graftax.distribution.processes import process_index as process_index
from graftax.distribution.report import PlacementReport as PlacementReport
from graftax.distribution.report import PlacementRow as PlacementRow
from graftax.distribution.rows import GlobalRows as GlobalRows
from graftax.distribution.rows import LocalRows as LocalRows
from graftax.distribution.rules import OptionalRule as OptionalRule
from graftax.distribution.tensor_parallel import tensor_parallel as tensor_parallel

if not _typing.TYPE_CHECKING:  # so that type checkers see the names
    __getattr__ = _answering("distribution")
__all__ = [
    "DataParallel",
    "Distribution",
    "FullyShardedDataParallel",
    "GlobalRows",
    "LocalRows",
    "ModelParallel",
    "OptionalRule",
    "PlacementReport",
    "PlacementRow",
    "barrier",
    "compare",
    "constrain",
    "initialize",
    "is_main",
    "mesh",
    "preempted",
    "process_count",
    "process_index",
    "tensor_parallel",
]


def __dir__() -> list[str]:
    return sorted(__all__)
