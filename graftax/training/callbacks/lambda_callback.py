"""LambdaCallback: functions as hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.user_functions import check_takes
from graftax.training.callbacks.idle import warn_of_idle
from graftax.training.hooks.callback import Callback, Logs


class LambdaCallback(Callback):
    """Calls functions as hooks.

    Args:
        on_train_begin: ``f(logs)``, called before the first epoch.
        on_train_end: ``f(logs)``, called after the last epoch.
        on_epoch_begin: ``f(epoch, logs)``, called before each epoch.
        on_epoch_end: ``f(epoch, logs)``, called after each epoch.
        on_train_batch_begin: ``f(batch, logs)``, called before each step.
        on_train_batch_end: ``f(batch, logs)``, called after each step.
        on_test_begin: ``f(logs)``, called before each evaluation.
        on_test_end: ``f(logs)``, called after each evaluation.
        on_predict_begin: ``f(logs)``, called before each prediction.
        on_predict_end: ``f(logs)``, called after each prediction.

    Raises:
        ArgumentError: no function is given.
        ArgumentTypeError: an argument is not a function, or takes other arguments.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.1), "mse")
        >>> seen = []
        >>> keep = LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
        >>> x = np.ones((4, 2), "float32")
        >>> _ = model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[keep])
        >>> seen
        [0, 1]
    """

    def __init__(
        self,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_train_batch_begin: Callable[..., Any] | None = None,
        on_train_batch_end: Callable[..., Any] | None = None,
        on_test_begin: Callable[..., Any] | None = None,
        on_test_end: Callable[..., Any] | None = None,
        on_predict_begin: Callable[..., Any] | None = None,
        on_predict_end: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__()
        given = {
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
            "on_test_begin": on_test_begin,
            "on_test_end": on_test_end,
            "on_predict_begin": on_predict_begin,
            "on_predict_end": on_predict_end,
        }
        self.functions = {hook: function for hook, function in given.items() if function is not None}
        if not self.functions:
            raise ArgumentError(
                "LambdaCallback()", "it has nothing to call", "LambdaCallback(on_epoch_end=lambda epoch, logs: ...)"
            )
        for hook, function in self.functions.items():
            names = [*(kind for kind in ("epoch", "batch") if kind in hook), "logs"]
            instead = f"{hook}=lambda {', '.join(names)}: ..."
            if not callable(function):
                raise ArgumentTypeError(f"LambdaCallback got {hook}={function!r:.60}", "it takes functions", instead)
            check_takes("LambdaCallback", hook, function, names, instead)

    def _call(self, hook: str, *args: Any) -> None:
        if hook in self.functions:
            self.functions[hook](*args)

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Call the function of this hook; warn if none of the functions is called in this run."""
        validates, is_alone = self.params.get("validates", True), type(self) is LambdaCallback
        if is_alone and not any(validates if "test" in hook else "predict" not in hook for hook in self.functions):
            shown = ", ".join(f"{hook}=..." for hook in self.functions)
            warn_of_idle(
                f"LambdaCallback({shown})",
                "fit calls those of evaluations only with validation_data=, and those of predictions never",
                "evaluate(..., callbacks=[...]) or predict(..., callbacks=[...])",
            )
        self._call("on_train_begin", logs)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_train_end", logs)

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_epoch_end", epoch, logs)

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_train_batch_end", batch, logs)

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_test_begin", logs)

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_test_end", logs)

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_predict_begin", logs)

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Call the function of this hook."""
        self._call("on_predict_end", logs)
