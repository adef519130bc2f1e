"""TorchLayer: a module of PyTorch as a layer, forward and backward through Python."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from graftax import ops
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentTypeError
from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape
from graftax.layers.foreign_weights import as_weights, values_of
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.transforms.gradients.custom_gradient import custom_gradient
from graftax.transforms.py_function import ArraySpec, py_function
from graftax.variables import random
from graftax.variables.random import SeedGenerator


class TorchLayer(Layer):
    """A `torch.nn.Module` of one tensor as a layer: its parameters are Variables, which optimizers and checkpoints see.

    Each call leaves the program: arrays go to the host, PyTorch computes on its CPU, and the result comes back; for a
    gradient it computes the output once more. That costs some tenths of a millisecond a call, and copies of all
    parameters, so it is for modules that are frozen, small or about to be ported. It runs in eager code, in `fit`,
    ``evaluate`` and ``predict``, and in ``graftax.jit(step, allow_callback=True)``.

    Parameters are taken from the module when the layer is made, and changed here alone; a later
    ``module.load_state_dict`` has no effect. Those with ``requires_grad=False`` are not trainable. Buffers, such as
    the statistics of a BatchNorm, are Variables of the role ``state``. Draws in training follow from the seed of
    the layer. Parts put in ``eval()`` within a module that is not, such as a frozen BatchNorm, stay so in training.

    Args:
        module: The module.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; it should be that of the module's parameters.

    Shape:
        as the module takes and gives it

    Raises:
        ArgumentTypeError: it is no module, or gives something else than one tensor.

    Example:
        >>> import numpy as np
        >>> class Tensor:  # stands for a torch.Tensor
        ...     detach = lambda self: self
        ...     numpy = lambda self: np.ones((2, 3), "float32")
        >>> class Linear:  # stands for a torch.nn.Linear(3, 2, bias=False)
        ...     named_parameters = lambda self: [("weight", Tensor())]
        ...     named_buffers = lambda self: []
        ...     train = __call__ = lambda self, *given: self
        >>> layer = TorchLayer(Linear())
        >>> [(v.path, v.shape) for v in layer.trainable_variables]
        [('parameters/weight', (2, 3))]
    """

    calls_python = True

    def __init__(
        self,
        module: Any,
        seed: int | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        needed = ("named_parameters", "named_buffers", "train", "__call__")
        if isinstance(module, type) or not all(callable(getattr(module, part, None)) for part in needed):
            raise ArgumentTypeError(
                f"module={module!r:.60}", "it is a torch.nn.Module", "TorchLayer(torch.nn.Linear(3, 2))"
            )
        self.module = module
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)
        self.parameters = as_weights(self, _nest_by_dots(module.named_parameters()), "parameters", trainable=True)
        parameters = zip(tree.flatten(self.parameters), module.named_parameters(), strict=True)
        for variable, (_, parameter) in parameters:
            if not getattr(parameter, "requires_grad", True):
                variable.trainable = False
        self.buffers = as_weights(self, _nest_by_dots(module.named_buffers()), "buffers", trainable=False)

    def call(self, x: Array, training: bool | None = None) -> Array:
        array_shape(x)
        training = bool(training)
        parameters, buffers = tree.flatten(values_of(self.parameters)), tree.flatten(values_of(self.buffers))
        seed = random.randint((), 0, 2**31 - 1, seed=self.seed_generator) if training else ops.asarray(0, "int32")
        arrays = [x, *parameters, *buffers]
        run = _Run(self.module, len(parameters), training)
        specs = [ArraySpec(tuple(part.shape), part.dtype.name) for part in run.forward(*_zeros(arrays), np.int32(0))]

        @custom_gradient
        def compute(*arrays: Array) -> Any:
            def pull(*slopes: Array) -> list[Array | None]:
                wanted = [i for i, array in enumerate(arrays[:-1]) if is_floating(array.dtype.name)]
                shapes = [ArraySpec(tuple(arrays[i].shape), arrays[i].dtype.name) for i in wanted]
                found = py_function(lambda *all: run.backward(wanted, *all), [*arrays, slopes[0]], shapes)
                told = dict(zip(wanted, found, strict=True))
                return [told.get(i) for i in range(len(arrays))]

            return py_function(lambda *all: run.forward(*all), list(arrays), specs), pull

        out, *after = compute(*arrays, seed)
        for variable, value in zip(tree.flatten(self.buffers), after, strict=False):
            variable.assign(ops.stop_gradient(ops.cast(value, variable.dtype)))
        return out  # type: ignore[no-any-return]


class _Run:
    """The module on the host, with the parameters and buffers that it is given."""

    def __init__(self, module: Any, count: int, training: bool) -> None:
        self.module, self.count, self.training = module, count, training
        self.names = [name for name, _ in module.named_parameters()]
        self.buffers = [name for name, _ in module.named_buffers()]

    def forward(self, *arrays: Any) -> list[np.ndarray[Any, Any]]:
        """Return the output, and the buffers after it where this is training; the last array is the seed."""
        torch = sys.modules["torch"]
        with torch.no_grad():
            out, buffers = self._compute([torch.tensor(np.asarray(a)) for a in arrays[:-1]], int(arrays[-1]))
        return [part.numpy() for part in (out, *(buffers if self.training else ()))]

    def backward(self, indices: list[int], *arrays: Any) -> list[np.ndarray[Any, Any]]:
        """Return the gradients of some of the arrays; the last two are the seed, and the gradient of the output."""
        torch = sys.modules["torch"]
        tensors = [torch.tensor(np.asarray(a)) for a in arrays[:-2]]
        sources = [tensors[i].requires_grad_() for i in indices]
        with torch.enable_grad():
            out, _ = self._compute(tensors, int(arrays[-2]))
            slopes = torch.autograd.grad(out, sources, torch.tensor(np.asarray(arrays[-1])), allow_unused=True)
        return [
            np.zeros_like(np.asarray(arrays[i])) if slope is None else slope.numpy()
            for i, slope in zip(indices, slopes, strict=True)
        ]

    def _compute(self, tensors: list[Any], seed: int) -> tuple[Any, list[Any]]:
        torch = sys.modules["torch"]
        x, *rest = tensors
        buffers = [buffer.detach().clone() for buffer in rest[self.count :]]
        given = dict(zip([*self.names, *self.buffers], [*rest[: self.count], *buffers], strict=True))
        before = [(part, part.training) for part in self.module.modules()]
        resting = [part for part, mode in before if self.module.training and not mode]
        try:
            self.module.train(self.training)
            for part in resting:
                part.training = False
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                out = torch.func.functional_call(self.module, given, (x,))
        finally:
            for part, mode in before:
                part.training = mode
        if not isinstance(out, torch.Tensor):
            raise ArgumentTypeError(
                f"{type(self.module).__name__} gave a {type(out).__name__}",
                "a TorchLayer is a function of one tensor that gives one",
                "a torch.nn.Module around it, whose forward returns one tensor",
            )
        return out, [given[name].detach() for name in self.buffers]  # those assigned anew are written back there


def _nest_by_dots(pairs: Any) -> dict[str, Any]:
    """Return tensors by dotted names as dicts in dicts of arrays."""
    found: dict[str, Any] = {}
    for name, tensor in pairs:
        *owners, last = name.split(".")
        place = found
        for owner in owners:
            place = place.setdefault(owner, {})
        place[last] = tensor.detach().numpy()
    return found


def _zeros(arrays: list[Any]) -> list[np.ndarray[Any, Any]]:
    return [np.zeros(tuple(array.shape), array.dtype.name) for array in arrays]
