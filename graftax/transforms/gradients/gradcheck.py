"""gradcheck: the gradient of a function against differences of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_floating, is_inexact
from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError
from graftax.core.short_traceback import door
from graftax.core.typedefs import unwrap
from graftax.core.user_functions import check_functions, check_takes
from graftax.transforms.gradients.grad import value_and_grad
from graftax.transforms.gradients.sources import expand, moved_value
from graftax.transforms.lifting.carried import hand_on
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.state.storage import frames

_SMALL = 32  # elements that are tried one by one


class GradientCheck(NamedTuple):
    """What `gradcheck` measured.

    Example:
        >>> GradientCheck("x", (0,), 2.0, 2.0, 0.0, 1).error
        0.0
    """

    name: str
    """The argument or Variable with the largest error."""
    element: tuple[int, ...]
    """Which element of it; ``()`` where all of a large array agreed."""
    gradient: float
    """Its gradient; for a large array that of a random direction."""
    difference: float
    """What differences of values say."""
    error: float
    """How far apart they are, in units of what is allowed."""
    evaluations: int
    """How often the function was called."""


@door
def gradcheck(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    variables: Any = None,
    step: float | None = None,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    seed: int = 0,
) -> GradientCheck:
    r"""Compare the gradient of ``fn(*args)`` with central differences; raise where they disagree.

    $$ \frac{f(x + h d) - f(x - h d)}{2 h} \approx \langle \nabla f(x), d \rangle $$

    Results that are no single number are multiplied by random numbers and summed, complex ones as two real ones each.
    Arrays of up to 32 elements are tried element by element, others along random directions, and where such a direction
    fails, the worst element is searched for by halving. Random streams give the same draws each time, and no Variable
    changes. At a kink (relu at 0) the two do disagree.

    Args:
        fn: Returns floating arrays; it may read Variables, and have gradients of its own.
        args: Its arguments; floating arrays among them are checked.
        variables: Variables, a Module or a structure of these, to be checked as well. Defaults to None.
        step: ``h``. Defaults to the cube root of the precision of the dtype, times the size of the array's elements.
        rtol: How much of the larger one they may differ. Defaults to 0.01.
        atol: How much they may differ besides; what rounding makes of the values is added. Defaults to 0.001.
        seed: Of the random numbers. Defaults to 0.

    Returns:
        The worst disagreement.

    Raises:
        GradientError: they disagree; names the element.
        ArgumentError: there is nothing to check; an argument is complex; ``step`` or a tolerance is no such number.

    Example:
        >>> import graftax as gx
        >>> gradcheck(lambda x: gx.ops.sin(x) * x, [gx.ops.asarray([0.5, 2.0])]).error < 1
        True
    """
    check_functions("gradcheck", "graftax.gradcheck(fn, [x])", fn)
    if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
        raise ArgumentTypeError(f"gradcheck got {type(args).__name__} as args", "it takes a list", "gradcheck(fn, [x])")
    check_takes("gradcheck", "fn", fn, ["argument"] * len(args), "graftax.gradcheck(fn, [x, y]): fn gets the list")
    for name, number in (("step", step), ("rtol", rtol), ("atol", atol)):
        if number is not None and not _is_size(number, zero=name != "step"):
            raise ArgumentError(
                f"gradcheck got {name}={number!r}",
                f"it is a finite number{', greater than 0' if name == 'step' else ', not below 0'}",
                f"no {name}=, for what fits the dtype",
            )
    return _Checking(fn, list(args), variables, np.random.default_rng(seed)).run(step, rtol, atol)


def _is_size(value: object, zero: bool) -> bool:
    """Return True for a finite number above zero, or zero where that is one, too."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return bool(np.isfinite(value)) and bool(value >= 0 if zero else value > 0)


class _Checking:
    def __init__(self, fn: Callable[..., Any], args: list[Any], variables: Any, draws: np.random.Generator) -> None:
        self._fn = fn
        self._args = args
        self._draws = draws
        self.evaluations = 0
        arrays = registry.current().arrays
        self._names: list[str] = []
        self._values: list[Any] = []
        for path, leaf in tree.flatten_with_paths(args):
            value = arrays.asarray(leaf) if isinstance(leaf, float | complex) or hasattr(leaf, "dtype") else None
            if value is not None and is_inexact(value.dtype) and not is_floating(value.dtype):
                raise ArgumentError(
                    f"gradcheck got the complex args/{path}, {value.dtype}{list(value.shape)}",
                    "what is checked are derivatives along real numbers",
                    "gradcheck(lambda re, im: fn(re + 1j * im), [re, im]); a complex constant in a closure",
                )
            if value is not None and is_floating(value.dtype):
                self._names.append(f"args/{path}")
                self._values.append(value)
        self._arguments = len(self._values)
        sources = [] if variables is None else list(dict.fromkeys(tree.flatten(expand(variables))))
        self._storages = [source._storage for source in sources]
        self._names += [source.path or source.name or "a Variable" for source in sources]
        self._values += [moved_value(source) for source in sources]
        if not self._values:
            raise ArgumentError(
                "gradcheck got no floating argument and no variables", "there is nothing to check", "gradcheck(fn, [x])"
            )
        self._weights: list[Any] | None = None

    def _results(self, values: list[Any]) -> list[Any]:
        """Return the floating results; Variables have these values, and nothing is assigned."""
        backend = registry.current()
        own = iter(values[: self._arguments])
        known = tree.flatten(self._args)
        leaves = []
        for leaf in known:
            floats = isinstance(leaf, float) or (hasattr(leaf, "dtype") and is_floating(leaf.dtype))
            leaves.append(next(own) if floats else leaf)
        hand_on(known, leaves)
        given = zip(self._storages, values[self._arguments :], strict=True)
        with frames.entered(Substitution(frames.top, given, backend.gradients.level())):
            out = self._fn(*tree.rebuild(self._args, iter(leaves)))
        found = [backend.arrays.asarray(unwrap(one)) for one in tree.flatten(out) if one is not None]
        numpy = backend.arrays.numpy
        found = [one for one in found if is_inexact(one.dtype)]
        halves = [(one,) if is_floating(one.dtype) else (numpy.real(one), numpy.imag(one)) for one in found]
        found = [half for pair in halves for half in pair]
        if not found:
            raise ArgumentError(
                "the function of a gradcheck returns no floating value",
                "only floating values have gradients",
                'return ops.cast(y, "float32"), if y is computed from floating values',
            )
        return found

    def _loss(self, values: list[Any]) -> Any:
        numpy = registry.current().arrays.numpy
        results = self._results(values)
        if self._weights is None:
            drawn = [
                self._draws.uniform(0.5, 1.5, one.shape) * self._draws.choice([-1, 1], one.shape) for one in results
            ]
            self._weights = [np.ones(())] if len(results) == 1 and not results[0].shape else drawn
        weights = [numpy.asarray(w, one.dtype) for w, one in zip(self._weights, results, strict=True)]
        return sum(numpy.sum(one * w) for one, w in zip(results, weights, strict=True))

    def _value(self, values: list[Any]) -> tuple[float, float]:
        """Return the value, summed up in double precision, and the size of its terms."""
        self.evaluations += 1
        to_numpy = registry.current().arrays.to_numpy
        results = [np.asarray(to_numpy(one), "float64") for one in self._results(values)]
        terms = [one * w for one, w in zip(results, self._weights or [], strict=True)]
        return float(sum(t.sum() for t in terms)), float(np.sqrt(sum((t**2).sum() for t in terms)))

    def run(self, step: float | None, rtol: float, atol: float) -> GradientCheck:
        to_numpy = registry.current().arrays.to_numpy
        _, gradients = value_and_grad(self._loss)(self._values)
        worst: GradientCheck | None = None
        for i, (name, gradient) in enumerate(zip(self._names, gradients, strict=True)):
            base = np.asarray(to_numpy(self._values[i]), "float64")
            slope = np.asarray(to_numpy(gradient), "float64")
            if not base.size:
                continue
            dtype = str(self._values[i].dtype)
            precision = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7}.get(dtype, 2.0**-10)
            h = step or float(precision ** (1 / 3) * max(1.0, float(np.sqrt(np.mean(base**2)))))

            def measure(
                direction: np.ndarray[Any, Any],
                i: int = i,
                base: np.ndarray[Any, Any] = base,
                slope: np.ndarray[Any, Any] = slope,
                h: float = h,
                eps: float = precision,
            ) -> tuple[float, float, float]:
                asarray = registry.current().arrays.asarray
                sides = [asarray(base + sign * h * direction, str(self._values[i].dtype)) for sign in (1, -1)]
                taken = np.asarray(to_numpy(sides[0]), "float64") - np.asarray(to_numpy(sides[1]), "float64")
                (up, size), (down, _) = (self._value([*self._values[:i], x, *self._values[i + 1 :]]) for x in sides)
                difference, analytic = (up - down) / (2 * h), float((slope * taken).sum()) / (2 * h)
                allowed = atol + rtol * max(abs(difference), abs(analytic)) + 8 * eps * size / h
                error = abs(difference - analytic) / allowed
                return analytic, difference, error if np.isfinite(error) else np.inf

            index, (analytic, difference, error) = self._largest_error(measure, base)
            if worst is None or error > worst.error:
                worst = GradientCheck(name, index, analytic, difference, error, self.evaluations)
        if worst is None:
            raise ArgumentError("gradcheck got empty arrays only", "there is nothing to check", "gradcheck(fn, [x])")
        if worst.error > 1:
            place = f"{worst.name}[{', '.join(map(str, worst.element))}]" if worst.element else worst.name
            raise GradientError(
                f"{place}: its gradient is {worst.gradient:.6g}, differences of values say {worst.difference:.6g}",
                f"they are {worst.error:.3g} times as far apart as rtol={rtol:g} and atol={atol:g} allow",
                "correct the gradient (of a custom_gradient?), look for kinks and steps there, or give step=",
            )
        return worst._replace(evaluations=self.evaluations)

    def _largest_error(
        self, measured: Callable[[Any], tuple[float, float, float]], base: np.ndarray[Any, Any]
    ) -> tuple[Any, Any]:
        """Return the element with the largest error, and gradient, difference and error there."""

        def measure_along(flat: list[int], values: np.ndarray[Any, Any] | float) -> tuple[float, float, float]:
            direction = np.zeros(base.size)
            direction[flat] = values
            return measured(direction.reshape(base.shape))

        if base.size <= _SMALL:
            found = [(one, measure_along([one], 1.0)) for one in range(base.size)]
            element, numbers = max(found, key=lambda pair: pair[1][2])
            return _place(element, base), numbers
        tried = []
        for _ in range(4):
            signs = self._draws.choice([-1.0, 1.0], base.size) / np.sqrt(base.size)
            numbers = measure_along(list(range(base.size)), signs)
            tried.append((numbers, signs))
        numbers, signs = max(tried, key=lambda pair: pair[0][2])
        elements = list(range(base.size))
        if numbers[2] <= 1:
            return (), numbers
        while len(elements) > 1:
            halves = [elements[: len(elements) // 2], elements[len(elements) // 2 :]]
            elements = max(halves, key=lambda half: abs(np.subtract(*measure_along(half, np.sign(signs[half]))[:2])))
        return _place(elements[0], base), measure_along(elements, 1.0)


def _place(element: int, base: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(element, base.shape)) if base.shape else ()
