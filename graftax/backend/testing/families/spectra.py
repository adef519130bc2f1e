"""Fourier transforms and signals in parts: sample inputs, and loops of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import IMAGE, Case, X, case

WAVE = np.sin(np.arange(2 * 20, dtype="float32") ** 1.3).reshape(2, 20)
SPECTRA = np.fft.rfft(np.stack([WAVE[:, i : i + 8] for i in range(0, 13, 2)], 1)).astype("complex64")

CASES: dict[str, list[Case]] = {
    "fft2": [case(X), case(IMAGE, axes=(1, 2))],
    "ifft2": [case(X.astype("complex64"))],
    "fftshift": [case(X), case(X, axes=1)],
    "ifftshift": [case(X), case(X, axes=1)],
    "fftfreq": [case(5), case(4, d=0.5)],
    "rfftfreq": [case(5), case(4, d=0.5)],
    **{name: [case(6), case(0)] for name in ("hanning", "hamming", "blackman")},
    "frame": [case(WAVE, 5, 3), case(WAVE, 4, 4)],
    "extract_sequences": [case(WAVE, 5, 3)],
    "overlap_add": [case(WAVE.reshape(2, 5, 4), 2), case(WAVE.reshape(4, 10), 12)],
    "stft": [case(WAVE, 8, 3), case(WAVE, 6, 2, 8, window=None, center=False), case(WAVE, 8, 4, window="hamming")],
    "istft": [
        case(SPECTRA, 8, 2),
        case(SPECTRA, 8, 2, window="hamming", center=False),
        case(SPECTRA, 8, 2, n=5),
    ],
}
_WINDOWS = {"hann": np.hanning, "hamming": np.hamming}


def _weights(length: int, size: int, window: str | None) -> Any:
    values = np.zeros(size)
    left = (size - length) // 2
    values[left : left + length] = 1 if window is None else _WINDOWS[window](length + 1)[:length]
    return values


def _stft(x: Any, length: int, step: int, size: Any = None, window: Any = "hann", center: bool = True) -> Any:
    size = size or length
    if center:
        x = np.pad(x, [(0, 0), (size // 2, size // 2)], mode="reflect")
    parts = [x[:, i : i + size] * _weights(length, size, window) for i in range(0, x.shape[1] - size + 1, step)]
    return np.fft.rfft(np.stack(parts, 1)).astype("complex64")


def _istft(x: Any, length: int, step: int, window: Any = "hann", center: bool = True, n: Any = None) -> Any:
    parts, weights = np.fft.irfft(x, length), _weights(length, length, window)
    total, power = np.zeros((x.shape[0], (x.shape[1] - 1) * step + length)), np.zeros((x.shape[1] - 1) * step + length)
    for i in range(x.shape[1]):
        total[:, i * step : i * step + length] += parts[:, i] * weights
        power[i * step : i * step + length] += weights**2
    whole = np.divide(total, power, out=total, where=power > 1e-10)
    edge = length // 2 if center else 0
    return whole[:, edge : total.shape[1] - edge][:, :n].astype("float32")


def _overlap_add(x: np.ndarray[Any, Any], step: int) -> Any:
    parts, length = x.shape[-2:]
    total = np.zeros((*x.shape[:-2], (parts - 1) * step + length), x.dtype)
    for i in range(parts):
        total[..., i * step : i * step + length] += x[..., i, :]
    return total


REFERENCES: dict[str, Callable[..., Any]] = {
    "frame": lambda x, length, step: np.lib.stride_tricks.sliding_window_view(x, length, -1)[..., ::step, :],
    "extract_sequences": lambda x, length, step: np.stack(
        [x[..., i : i + length] for i in range(0, x.shape[-1] - length + 1, step)], -2
    ),
    "overlap_add": _overlap_add,
    "stft": _stft,
    "istft": _istft,
    "fft2": lambda x, axes=(-2, -1): np.fft.fft2(x, axes=axes).astype("complex64"),
    "ifft2": lambda x, axes=(-2, -1): np.fft.ifft2(x, axes=axes).astype("complex64"),
}
DIFFERENTIABLE = "extract_sequences frame overlap_add"
NOT_DIFFERENTIABLE = "fft2 ifft2 fftshift ifftshift fftfreq rfftfreq hanning hamming blackman stft istft"
KINDS = {
    "biuhc": (
        "fft2 ifft2 fftshift ifftshift fftfreq rfftfreq hanning hamming blackman frame overlap_add istft "
        "extract_sequences"
    ),
    "biuh": "stft",
}
