"""History: the numbers of every epoch; the result of fit."""

from __future__ import annotations

from typing import Any

from graftax.training.hooks.callback import Callback, Logs


class History(Callback):
    """Records the logs of every epoch.

    ``history`` has a list for each name, ``epoch`` the numbers of the epochs, counted from 0, and ``epochs`` those in
    which a name was among the logs: with ``validation_freq=5`` one of five has numbers of a validation.

    Example:
        >>> history = History()
        >>> history.on_epoch_end(0, Logs({"loss": 0.5}))
        >>> history.history, history.epoch
        ({'loss': [0.5]}, [0])
        >>> history
        <History of 1 epoch: loss 0.5>
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []
        self.epochs: dict[str, list[int]] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Set ``self.params`` without the run: the model keeps its history, and shall not keep data and callbacks."""
        super().set_params({name: value for name, value in params.items() if name != "run"})

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Add the logs of the epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
            self.epochs.setdefault(name, []).append(epoch)

    def get_state(self) -> dict[str, Any]:
        """Return all numbers so far."""
        return {
            "history": {name: [float(v) for v in values] for name, values in self.history.items()},
            "epoch": self.epoch,
            "epochs": self.epochs,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the numbers of earlier epochs."""
        self.history, self.epoch = state["history"], list(state["epoch"])
        known = state.get("epochs", {})  # not in checkpoints of earlier versions
        self.epochs = {name: list(known.get(name, self.epoch[: len(values)])) for name, values in self.history.items()}

    def __repr__(self) -> str:
        count = len(self.epoch)
        last = ", ".join(f"{name} {float(values[-1]):.4g}" for name, values in self.history.items() if values)
        return f"<History of {count} epoch{'' if count == 1 else 's'}{': ' if last else ''}{last}>"
