"""Layers and optimizers for research: graft your own expression behind any weight of a layer you did not write.

Every public name is found here, and none is imported before it is used: ``import graftax`` starts no backend.

Example:
    >>> import graftax as gx
    >>> gx.__version__
    '0.1.0'
"""

from importlib import import_module
from importlib.machinery import PathFinder as _PathFinder

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers go by the name; importing typing would take most of the time of importing this

_MODULES = {
    "activations": "graftax.layers.activations",
    "adapters": "graftax.reparam.adapters",
    "backend": "graftax.backend",
    "callbacks": "graftax.training.callbacks",
    "checkpoint": "graftax.checkpoint",
    "constraints": "graftax.variables.constraints",
    "data": "graftax.training.data",
    "distribution": "graftax.distribution",
    "errors": "graftax.core.errors",
    "export": "graftax.export",
    "generation": "graftax.generation",
    "initializers": "graftax.variables.initializers",
    "layers": "graftax.layers",
    "losses": "graftax.losses",
    "metrics": "graftax.metrics",
    "ops": "graftax.ops",
    "optimizers": "graftax.optimizers",
    "random": "graftax.variables.random",
    "regularizers": "graftax.variables.regularizers",
    "reparam": "graftax.reparam",
    "summary": "graftax.training.summary",
    "training": "graftax.training",
}
"""Namespaces of graftax, and where they live."""

_NAMES = {
    "Array": "graftax.core.typedefs",
    "ArraySpec": "graftax.transforms.py_function",
    "Callback": "graftax.training.hooks.callback",
    "Checkpoint": "graftax.checkpoint.checkpoint",
    "CheckpointManager": "graftax.checkpoint.manager",
    "Culprit": "graftax.core.culprit",
    "DTypePolicy": "graftax.layers.policy",
    "ForwardAccumulator": "graftax.transforms.tape.forward_accumulator",
    "GradientTape": "graftax.transforms.tape.gradient_tape",
    "IndexedRows": "graftax.optimizers.engine.sparse_rows",
    "Input": "graftax.layers.input_layer",
    "Layer": "graftax.layers.layer",
    "Model": "graftax.training.model",
    "Module": "graftax.variables.graph.module",
    "Optimizer": "graftax.optimizers.optimizer",
    "Reparam": "graftax.reparam.base",
    "SeedGenerator": "graftax.variables.streams",
    "Sequential": "graftax.training.sequential",
    "Slot": "graftax.optimizers.engine.slot",
    "Variable": "graftax.variables.variable",
    "VariableSpec": "graftax.variables.spec",
    "assign_state": "graftax.transforms.functional",
    "associative_scan": "graftax.transforms.flow.associative_scan",
    "batch_jacobian": "graftax.transforms.gradients.jacobian",
    "build_abstract": "graftax.layers.build_abstract",
    "check": "graftax.transforms.numerics",
    "check_numerics": "graftax.transforms.numerics",
    "cond": "graftax.transforms.flow.branches",
    "custom_gradient": "graftax.transforms.gradients.custom_gradient",
    "device": "graftax.transforms.device",
    "explain": "graftax.variables.graph.explain",
    "find_nan": "graftax.transforms.numerics",
    "functional_call": "graftax.transforms.functional",
    "grad": "graftax.transforms.gradients.grad",
    "grad_pass_through": "graftax.transforms.gradients.custom_gradient",
    "gradcheck": "graftax.transforms.gradients.gradcheck",
    "gradients_function": "graftax.transforms.gradients.gradients_function",
    "graft": "graftax.reparam.graft",
    "hessian": "graftax.transforms.gradients.jacobian",
    "implicit_gradients": "graftax.transforms.gradients.gradients_function",
    "implicit_value_and_gradients": "graftax.transforms.gradients.gradients_function",
    "is_adapter": "graftax.reparam.adapted",
    "jacobian": "graftax.transforms.gradients.jacobian",
    "jit": "graftax.transforms.compile.jit",
    "jvp": "graftax.transforms.gradients.jvp",
    "load_model": "graftax.training.whole.loading",
    "map_fn": "graftax.transforms.flow.scan",
    "memory_report": "graftax.training.display.memory_report",
    "offload": "graftax.transforms.offload",
    "plot_history": "graftax.training.display.history_plot",
    "plot_model": "graftax.training.display.model_drawing",
    "py_function": "graftax.transforms.py_function",
    "recompute_grad": "graftax.transforms.gradients.custom_gradient",
    "remat": "graftax.transforms.flow.remat",
    "run_eagerly": "graftax.transforms.compile.run_eagerly",
    "scan": "graftax.transforms.flow.scan",
    "select": "graftax.core.selectors",
    "set_dtype_policy": "graftax.layers.set_dtype_policy",
    "set_random_seed": "graftax.variables.streams",
    "set_remat_policy": "graftax.layers.set_remat_policy",
    "shard_map": "graftax.distribution.shard_map",
    "stack": "graftax.layers.stacking",
    "state": "graftax.transforms.functional",
    "stop_gradient": "graftax.transforms.gradients.custom_gradient",
    "switch": "graftax.transforms.flow.branches",
    "template": "graftax.transforms.template",
    "ungraft": "graftax.reparam.graft",
    "value_and_grad": "graftax.transforms.gradients.grad",
    "value_and_gradients_function": "graftax.transforms.gradients.gradients_function",
    "variable_creator_scope": "graftax.variables.creation",
    "vectorized_map": "graftax.transforms.flow.vectorized_map",
    "while_loop": "graftax.transforms.flow.while_loop",
}
"""Classes and functions of graftax, and the module that defines each."""

if TYPE_CHECKING:  # the same two tables, for type checkers and editors; a test compares them
    from graftax import backend as backend
    from graftax import checkpoint as checkpoint
    from graftax import distribution as distribution
    from graftax import export as export
    from graftax import generation as generation
    from graftax import layers as layers
    from graftax import losses as losses
    from graftax import metrics as metrics
    from graftax import ops as ops
    from graftax import optimizers as optimizers
    from graftax import reparam as reparam
    from graftax import training as training
    from graftax.checkpoint.checkpoint import Checkpoint as Checkpoint
    from graftax.checkpoint.manager import CheckpointManager as CheckpointManager
    from graftax.core import errors as errors
    from graftax.core.culprit import Culprit as Culprit
    from graftax.core.selectors import select as select
    from graftax.core.typedefs import Array as Array
    from graftax.distribution.shard_map import shard_map as shard_map
    from graftax.layers import activations as activations
    from graftax.layers.build_abstract import build_abstract as build_abstract
    from graftax.layers.input_layer import Input as Input
    from graftax.layers.layer import Layer as Layer
    from graftax.layers.policy import DTypePolicy as DTypePolicy
    from graftax.layers.set_dtype_policy import set_dtype_policy as set_dtype_policy
    from graftax.layers.set_remat_policy import set_remat_policy as set_remat_policy
    from graftax.layers.stacking import stack as stack
    from graftax.optimizers.engine.slot import Slot as Slot
    from graftax.optimizers.engine.sparse_rows import IndexedRows as IndexedRows
    from graftax.optimizers.optimizer import Optimizer as Optimizer
    from graftax.reparam import adapters as adapters
    from graftax.reparam.adapted import is_adapter as is_adapter
    from graftax.reparam.base import Reparam as Reparam
    from graftax.reparam.graft import graft as graft
    from graftax.reparam.graft import ungraft as ungraft
    from graftax.training import callbacks as callbacks
    from graftax.training import data as data
    from graftax.training import summary as summary
    from graftax.training.display.history_plot import plot_history as plot_history
    from graftax.training.display.memory_report import memory_report as memory_report
    from graftax.training.display.model_drawing import plot_model as plot_model
    from graftax.training.hooks.callback import Callback as Callback
    from graftax.training.model import Model as Model
    from graftax.training.sequential import Sequential as Sequential
    from graftax.training.whole.loading import load_model as load_model
    from graftax.transforms.compile.jit import jit as jit
    from graftax.transforms.compile.run_eagerly import run_eagerly as run_eagerly
    from graftax.transforms.device import device as device
    from graftax.transforms.flow.associative_scan import associative_scan as associative_scan
    from graftax.transforms.flow.branches import cond as cond
    from graftax.transforms.flow.branches import switch as switch
    from graftax.transforms.flow.remat import remat as remat
    from graftax.transforms.flow.scan import map_fn as map_fn
    from graftax.transforms.flow.scan import scan as scan
    from graftax.transforms.flow.vectorized_map import vectorized_map as vectorized_map
    from graftax.transforms.flow.while_loop import while_loop as while_loop
    from graftax.transforms.functional import assign_state as assign_state
    from graftax.transforms.functional import functional_call as functional_call
    from graftax.transforms.functional import state as state
    from graftax.transforms.gradients.custom_gradient import custom_gradient as custom_gradient
    from graftax.transforms.gradients.custom_gradient import grad_pass_through as grad_pass_through
    from graftax.transforms.gradients.custom_gradient import recompute_grad as recompute_grad
    from graftax.transforms.gradients.custom_gradient import stop_gradient as stop_gradient
    from graftax.transforms.gradients.grad import grad as grad
    from graftax.transforms.gradients.grad import value_and_grad as value_and_grad
    from graftax.transforms.gradients.gradcheck import gradcheck as gradcheck
    from graftax.transforms.gradients.gradients_function import gradients_function as gradients_function
    from graftax.transforms.gradients.gradients_function import implicit_gradients as implicit_gradients
    from graftax.transforms.gradients.gradients_function import (
        implicit_value_and_gradients as implicit_value_and_gradients,
    )
    from graftax.transforms.gradients.gradients_function import (
        value_and_gradients_function as value_and_gradients_function,
    )
    from graftax.transforms.gradients.jacobian import batch_jacobian as batch_jacobian
    from graftax.transforms.gradients.jacobian import hessian as hessian
    from graftax.transforms.gradients.jacobian import jacobian as jacobian
    from graftax.transforms.gradients.jvp import jvp as jvp
    from graftax.transforms.numerics import check as check
    from graftax.transforms.numerics import check_numerics as check_numerics
    from graftax.transforms.numerics import find_nan as find_nan
    from graftax.transforms.offload import offload as offload
    from graftax.transforms.py_function import ArraySpec as ArraySpec
    from graftax.transforms.py_function import py_function as py_function
    from graftax.transforms.tape.forward_accumulator import ForwardAccumulator as ForwardAccumulator
    from graftax.transforms.tape.gradient_tape import GradientTape as GradientTape
    from graftax.transforms.template import template as template
    from graftax.variables import constraints as constraints
    from graftax.variables import initializers as initializers
    from graftax.variables import random as random
    from graftax.variables import regularizers as regularizers
    from graftax.variables.creation import variable_creator_scope as variable_creator_scope
    from graftax.variables.graph.explain import explain as explain
    from graftax.variables.graph.module import Module as Module
    from graftax.variables.spec import VariableSpec as VariableSpec
    from graftax.variables.streams import SeedGenerator as SeedGenerator
    from graftax.variables.streams import set_random_seed as set_random_seed
    from graftax.variables.variable import Variable as Variable
else:
    __all__ = ["__version__", *sorted((*_MODULES, *_NAMES))]

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            found = import_module(_MODULES[name])
        elif name in _NAMES:
            found = getattr(import_module(_NAMES[name]), name)
        elif name.startswith("_") or _PathFinder.find_spec(f"graftax.{name}", __path__):  # asked for by an import
            raise AttributeError(f"module 'graftax' has no attribute {name!r}", name=name)
        else:
            found = import_module("graftax.core.namespaces").make_getattr("")(name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted(__all__)
