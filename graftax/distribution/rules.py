"""Rules: selectors of weights, each with the axes for these weights. The first rule that selects a weight is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from graftax.backend.meshes import Axes, Mesh
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.selectors import Selector, SelectorLike, compile_selector
from graftax.core.spellings import wholes
from graftax.core.tally import Tally
from graftax.distribution.axes import check_axes, misfit
from graftax.variables.state.home import Described


class OptionalRule(NamedTuple):
    """A rule that need not select anything, such as one for biases that a model may not have.

    Example:
        >>> OptionalRule("**/up/bias", ("model",))
        OptionalRule(where='**/up/bias', axes=('model',))
    """

    where: SelectorLike
    axes: Axes


Rule: TypeAlias = "tuple[SelectorLike, Axes] | OptionalRule"


class CheckedRule(NamedTuple):
    """A checked rule."""

    where: Selector
    axes: Axes
    needed: bool

    @property
    def text(self) -> str:
        """Return the text of the rule for messages."""
        return f"the rule ({self.where.text}, {self.axes})"


def check_rules(rules: Sequence[Rule], mesh: Mesh) -> tuple[CheckedRule, ...]:
    """Return the rules after checks.

    Raises:
        ArgumentTypeError: a rule is not a pair of a selector and axes.
        ArgumentError: the mesh has no axis of a name, or a rule has an axis twice.
        SelectorError: a selector is invalid.
    """
    if isinstance(rules, dict):
        raise ArgumentTypeError(
            "rules= is a dict", "the first rule that selects a weight counts, so they are a list", "list(rules.items())"
        )
    found = []
    for rule in rules:
        if not isinstance(rule, tuple) or len(rule) != 2:
            raise ArgumentTypeError(
                f"a rule {rule!r:.80}", "a rule is a pair of a selector and axes", '("**/kernel", (None, "model"))'
            )
        where = compile_selector(rule[0])
        axes = check_axes(rule[1], mesh, f"the rule ({where.text}, {rule[1]!r})")
        found.append(CheckedRule(where, axes, not isinstance(rule, OptionalRule)))
    return tuple(found)


class RuleTallies:
    """The application of rules to Variables, which also counts what each rule selects."""

    def __init__(self, rules: Iterable[CheckedRule]) -> None:
        self._rules = [(rule, Tally(rule.where)) for rule in rules]

    def axes(self, spec: Described, mesh: Mesh) -> tuple[Axes, str]:
        """Return the axes of a Variable by the rules, with their reason.

        Raises:
            ArgumentError: they do not fit its shape.
        """
        own, above = spec.path, _wholes(spec)
        nothing: Axes = (None,) * len(spec.shape)
        found, why = nothing, "no rule selects it" if self._rules else ""
        settled = False
        for rule, tally in self._rules:
            if not tally.see((own, *above), spec.role, spec) or settled:  # each counts what it selects
                continue
            problem = misfit(rule.axes, spec.shape, mesh)
            if problem is None:
                found, why, settled = rule.axes, rule.text, True
            elif above and not rule.where.sees((own,), spec.role, spec):
                why = f"{rule.text} is about {above[0]}, of which this is a part: {problem[0]}"
            else:
                raise ArgumentError(f"{rule.text} for {own!r} of shape {spec.shape}", *problem)
        return found, why

    def check(self) -> None:
        """Raise if a rule has selected nothing.

        Raises:
            SelectorError: the message names the rule, and the nearest candidates.
        """
        for rule, tally in self._rules:
            if rule.needed and tally.paths:
                tally.check("a rule of the distribution:")


def _wholes(spec: Any) -> tuple[str, ...]:
    """Return the paths of the expressions that contain a Variable, the innermost first."""
    found = dict.fromkeys(wholes(spec))
    owner = getattr(spec, "owner", None)
    # the expression is still being created: below a layer, a weight has a single name
    if owner is not None and not found:
        prefix = owner._gx_path
        below = spec.path.removeprefix(f"{prefix}/" if prefix else "").split("/")
        for count in range(len(below) - 1, 0, -1):
            found["/".join((*((prefix,) if prefix else ()), *below[:count]))] = None
    return tuple(found)
