"""Control flow of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from graftax.backend.jax import forwards, tracing
from graftax.backend.jax.callbacks import call_for_effect, call_python, settle
from graftax.backend.jax.profiling import profile
from graftax.core.free_sizes import is_free

_POLICIES: dict[str | None, Any] = {
    None: None,
    "dots": jax.checkpoint_policies.checkpoint_dots,
    "dots_without_batch": jax.checkpoint_policies.checkpoint_dots_with_no_batch_dims,
}


class JaxControl:
    """Loops, branches, rematerialisation, calls of Python."""

    def at(self, level: object) -> AbstractContextManager[Any]:
        """Send operations within the block to that level."""
        return tracing.at(level)

    def cond(self, pred: object, true_fn: Callable[[Any], Any], false_fn: Callable[[Any], Any], operand: object) -> Any:
        """Call one of two functions."""
        return lax.cond(pred, true_fn, false_fn, operand)

    def switch(self, index: object, branches: Sequence[Callable[[Any], Any]], operand: object) -> Any:
        """Call one of several functions."""
        return lax.switch(index, branches, operand)

    def while_loop(
        self,
        cond_fn: Callable[[Any], Any],
        body_fn: Callable[[Any], Any],
        init: object,
        backwards: Callable[[], Exception],
    ) -> Any:
        """Run the body as long as the condition holds."""
        return forwards.forward_only(lax.while_loop(cond_fn, body_fn, init), backwards)

    def scan(
        self, function: Callable[[Any, Any], tuple[Any, Any]], init: object, xs: object, length: int, reverse: bool
    ) -> tuple[Any, Any]:
        """Run the steps; return the last carry and the stacked results."""
        counted = None if jax.tree.leaves(xs) else length  # rows tell their number, which may be a free size
        if is_free(counted):
            counting: Any = jnp.arange(counted)
            ran: tuple[Any, Any] = lax.scan(lambda carry, _: function(carry, xs), init, counting, reverse=reverse)
            return ran
        result: tuple[Any, Any] = lax.scan(function, init, xs, length=counted, reverse=reverse)
        return result

    def remat(self, function: Callable[[Any], Any], policy: str | None) -> Callable[[Any], Any]:
        """Return a function that is computed again for its gradient."""
        again: Callable[[Any], Any] = jax.checkpoint(function, policy=_POLICIES[policy])
        return again

    def callback(
        self,
        function: Callable[..., Sequence[Any]],
        differentiate: Callable[[Callable[..., Sequence[Any]], int], Callable[..., Sequence[Any]]],
        shapes: Callable[[], Sequence[Any]],
        args: Sequence[Any],
    ) -> list[Any]:
        """Call ``function(*args)`` in Python with concrete arrays, even from inside a program."""
        return call_python(function, differentiate, shapes, args)

    def effect(self, function: Callable[..., Any], args: Sequence[Any]) -> None:
        """Call Python for its effect alone."""
        call_for_effect(function, args)

    def profile(self, directory: str) -> AbstractContextManager[None]:
        """Write a trace of what runs inside into a directory."""
        return profile(directory)

    def settle(self) -> None:
        """Wait until the effects of all programs that were started have happened."""
        settle()
