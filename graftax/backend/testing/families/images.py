"""Images: sample inputs, and loops of NumPy over pixels."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import IMAGE, Case, case

RGB = (np.sin(np.arange(2 * 4 * 5 * 3, dtype="float32") * 1.3).reshape(2, 4, 5, 3) + 1) / 2
OTHER = RGB[:, ::-1] * np.float32(0.9) + np.float32(0.05)
TURN = np.array([0.9, 0.2, 0.3, -0.3, 1.1, 0.4, 0.01, -0.02], "float32")
MOVE = np.array([1, 0, 1, 0, 1, -1, 0, 0], "float32")
PLACES = np.array([[[0.3, 1.2], [2.6, 3.9]], [[-0.4, 0.2], [3.3, 4.6]]], "float32")

PLANES = np.sin(np.arange(2 * 3 * 5 * 4, dtype="float32")).reshape(2, 3, 5, 4)
COLUMNS = np.cos(np.arange(2 * 12 * 12, dtype="float32")).reshape(2, 12, 12)

CASES: dict[str, list[Case]] = {
    "unfold": [case(PLANES, 2), case(PLANES, (3, 2), (2, 1), (1, 2), 2)],
    "fold": [case(COLUMNS, (5, 4), 2), case(COLUMNS[:, :, :6], (4, 7), (2, 3), padding=(0, 1), stride=(2, 3))],
    "image.resize": [
        case(IMAGE, (4, 7)),
        case(IMAGE, (3, 2), antialias=True),
        case(IMAGE, (9, 4), "nearest"),
        case(IMAGE, (8, 3), "bicubic"),
        case(IMAGE, 12, "lanczos3", antialias=True),
        case(IMAGE, 5, "lanczos5"),
        case(IMAGE[0], (6, 5)),
    ],
    "image.scale_and_translate": [
        case(IMAGE[0], (9, 4, 3), np.array([1.7, 0.6], "float32"), np.array([0.4, 1.3], "float32"), (0, 1)),
        case(IMAGE, (2, 5, 5, 3), [0.7], [-0.4], (1,), "bicubic", antialias=False),
        case(IMAGE, (2, 6, 8, 3), [1.5], [0.2], (2,), "lanczos3"),
    ],
    "image.crop": [case(IMAGE, 1, 2, 3, 2)],
    "image.pad": [case(IMAGE, 1, 0, 2, 3), case(IMAGE, top=1, value=0.5)],
    "image.extract_patches": [
        case(IMAGE, 2),
        case(IMAGE, (3, 2), 1),
        case(IMAGE, 2, 3, "same"),
        case(IMAGE, 2, 1, dilation=2),
    ],
    "image.affine_transform": [
        case(RGB, TURN),
        case(RGB, MOVE, "nearest"),
        *(case(RGB, TURN * 2, fill_mode=mode) for mode in ("nearest", "reflect", "wrap")),
        case(RGB, np.stack([TURN, MOVE]), fill_value=0.25),
    ],
    "image.map_coordinates": [case(RGB, PLACES), case(RGB, PLACES, "nearest", "nearest")],
    "image.gaussian_blur": [case(RGB), case(RGB, (5, 3), [1.5, 0.5])],
    "image.rgb_to_grayscale": [case(RGB)],
    "image.rgb_to_hsv": [case(RGB)],
    "image.hsv_to_rgb": [case(RGB)],
    "image.psnr": [case(RGB, OTHER, 1.0), case(RGB, OTHER, 255.0)],
    "image.ssim": [case(RGB, OTHER, 1.0, size=3), case(RGB, RGB, 2.0, size=4, sigma=1.0, k1=0.02)],
}


def _kernel(name: str, x: float) -> float:
    x = abs(x)
    if name == "bilinear":
        return max(0.0, 1 - x)
    if name in ("lanczos3", "lanczos5"):
        radius = int(name[-1])
        return 0.0 if x >= radius else float(np.sinc(x) * np.sinc(x / radius))
    return 1.5 * x**3 - 2.5 * x**2 + 1 if x < 1 else -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def _resize(x: np.ndarray[Any, Any], size: Any, interpolation: str = "bilinear", antialias: bool = False) -> Any:
    """Go along the last axis but one, and with the axes exchanged along the other."""
    for axis, want in zip((-3, -2), (size, size) if isinstance(size, int) else size, strict=True):
        lines = np.moveaxis(x, axis, 0)
        scale = lines.shape[0] / want
        rows = []
        for i in range(want):
            centre = (i + 0.5) * scale - 0.5
            if interpolation == "nearest":
                rows.append(lines[math.floor((i + 0.5) * scale)])
                continue
            width = max(scale, 1) if antialias else 1
            weights = [_kernel(interpolation, (centre - k) / width) for k in range(lines.shape[0])]
            rows.append(sum(w * line for w, line in zip(weights, lines, strict=True)) / sum(weights))
        x = np.moveaxis(np.stack(rows), 0, axis)
    return x


def _patches(x: Any, size: Any, strides: Any = None, padding: str = "valid", dilation: int = 1) -> Any:
    height, width = (size, size) if isinstance(size, int) else size
    steps = (height, width) if strides is None else (strides, strides)
    spans = ((height - 1) * dilation + 1, (width - 1) * dilation + 1)
    if padding == "same":
        totals = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(x.shape[1:3], spans, steps, strict=True)]
        x = np.pad(x, [(0, 0), *((t // 2, t - t // 2) for t in totals), (0, 0)])
    return np.stack(
        [
            np.stack(
                [
                    x[:, i : i + spans[0] : dilation, j : j + spans[1] : dilation].reshape(x.shape[0], -1)
                    for j in range(0, x.shape[2] - spans[1] + 1, steps[1])
                ],
                1,
            )
            for i in range(0, x.shape[1] - spans[0] + 1, steps[0])
        ],
        1,
    )


def _pixel(image: np.ndarray[Any, Any], row: int, column: int, mode: str, value: float) -> Any:
    modes = {"nearest": "edge", "reflect": "symmetric", "wrap": "wrap"}
    far = 20
    if mode == "constant":
        inside = 0 <= row < image.shape[0] and 0 <= column < image.shape[1]
        return image[row, column] if inside else np.full(image.shape[-1], value, image.dtype)
    return np.pad(image, [(far, far), (far, far), (0, 0)], modes[mode])[row + far, column + far]  # type: ignore[call-overload]


def _sample(image: np.ndarray[Any, Any], row: float, column: float, how: str, mode: str, value: float) -> Any:
    if how == "nearest":
        return _pixel(image, math.floor(row + 0.5), math.floor(column + 0.5), mode, value)
    top, left = math.floor(row), math.floor(column)
    down, right = row - top, column - left
    corners = [
        (0, 0, (1 - down) * (1 - right)),
        (0, 1, (1 - down) * right),
        (1, 0, down * (1 - right)),
        (1, 1, down * right),
    ]
    return sum(share * _pixel(image, top + i, left + j, mode, value) for i, j, share in corners)


def _map_coordinates(
    x: np.ndarray[Any, Any],
    places: np.ndarray[Any, Any],
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0.0,
) -> Any:
    rows = [
        [_sample(image, place[0], place[1], interpolation, fill_mode, fill_value) for place in own]
        for image, own in zip(x, places.reshape(len(x), -1, 2), strict=True)
    ]
    return np.array(rows, x.dtype).reshape((*places.shape[:-1], x.shape[-1]))


def _affine(x: np.ndarray[Any, Any], transform: np.ndarray[Any, Any], *args: Any, **options: Any) -> Any:
    places = np.zeros((*x.shape[:3], 2), x.dtype)
    for n, row, column in np.ndindex(*x.shape[:3]):
        a, b, c, d, e, f, g, h = transform if transform.ndim == 1 else transform[n]
        k = g * column + h * row + 1
        places[n, row, column] = (d * column + e * row + f) / k, (a * column + b * row + c) / k
    return _map_coordinates(x, places, *args, **options)


def _bell(size: int, sigma: float) -> Any:
    weights = np.array([math.exp(-(((i - (size - 1) / 2) / sigma) ** 2) / 2) for i in range(size)])
    return weights / weights.sum()


def _local_sum(x: np.ndarray[Any, Any], height: np.ndarray[Any, Any], width: np.ndarray[Any, Any]) -> Any:
    out = np.zeros((x.shape[0], x.shape[1] - len(height) + 1, x.shape[2] - len(width) + 1, x.shape[3]))
    for (i, up), (j, across) in ((u, v) for u in enumerate(height) for v in enumerate(width)):
        out += up * across * x[:, i : i + out.shape[1], j : j + out.shape[2]]
    return out


def _blur(x: Any, size: Any = 3, sigma: Any = 1.0) -> Any:
    sizes = (size, size) if isinstance(size, int) else size
    sigmas = (sigma, sigma) if isinstance(sigma, float) else sigma
    padded = np.pad(x, [(0, 0), *((n // 2, n // 2) for n in sizes), (0, 0)], mode="reflect")
    return _local_sum(padded, _bell(sizes[0], sigmas[0]), _bell(sizes[1], sigmas[1])).astype(x.dtype)


def _ssim(
    x: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
    max_val: float,
    size: int = 11,
    sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    x, y, bell = x.astype("float64"), y.astype("float64"), _bell(size, sigma)

    def local(values: np.ndarray[Any, Any]) -> Any:
        return _local_sum(values, bell, bell)

    mean_x, mean_y = local(x), local(y)
    var_x, var_y, both = local(x * x) - mean_x**2, local(y * y) - mean_y**2, local(x * y) - mean_x * mean_y
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    top = (2 * mean_x * mean_y + c1) * (2 * both + c2)
    return (top / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))).mean((1, 2, 3)).astype("float32")


def _colours(convert: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: np.array([convert(*map(float, one)) for one in x.reshape(-1, 3)]).reshape(x.shape).astype(x.dtype)


def _windows(size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Go over windows from left to right and down: the pixels of each, of which some are in the padding."""
    settings = [(one, one) if isinstance(one, int) else one for one in (kernel_size, dilation, padding, stride)]
    (height, width), (down, right), (top, left), (rows, columns) = settings
    for i in range(-top, size[0] + top - (height - 1) * down, rows):
        for j in range(-left, size[1] + left - (width - 1) * right, columns):
            yield [(i + k * down, j + m * right) for k in range(height) for m in range(width)]


def _unfold(x: np.ndarray[Any, Any], *args: Any, **options: Any) -> Any:
    def pixel(i: int, j: int) -> Any:
        return x[:, :, i, j] if 0 <= i < x.shape[2] and 0 <= j < x.shape[3] else np.zeros(x.shape[:2], x.dtype)

    columns = [np.stack([pixel(*place) for place in one], 2) for one in _windows(x.shape[2:], *args, **options)]
    return np.stack([one.reshape(len(x), -1) for one in columns], 2)


def _fold(x: np.ndarray[Any, Any], size: Any, kernel_size: Any, *args: Any, **options: Any) -> Any:
    window = kernel_size**2 if isinstance(kernel_size, int) else math.prod(kernel_size)
    values, found = x.reshape(len(x), -1, window, x.shape[2]), np.zeros((len(x), x.shape[1] // window, *size), x.dtype)
    for column, one in enumerate(_windows(size, kernel_size, *args, **options)):
        for k, (i, j) in enumerate(one):
            if 0 <= i < size[0] and 0 <= j < size[1]:
                found[:, :, i, j] += values[:, :, k, column]
    return found


def _scale_and_translate(
    x: Any, shape: Any, scale: Any, translation: Any, axes: Any, interpolation: str = "bilinear", antialias: bool = True
) -> Any:
    """Go along one axis after another: the old place of each new pixel, and its neighbours."""
    for axis, factor, shift in zip(axes, scale, translation, strict=True):
        lines, rows = np.moveaxis(x, axis, 0), []
        width = max(1 / factor, 1) if antialias else 1
        for i in range(shape[axis]):
            centre = (i + 0.5 - shift) / factor - 0.5
            weights = [_kernel(interpolation, (centre - k) / width) for k in range(len(lines))]
            inside = -0.5 <= centre <= len(lines) - 0.5
            rows.append(
                sum(w * line for w, line in zip(weights, lines, strict=True)) / sum(weights) if inside else 0 * lines[0]
            )
        x = np.moveaxis(np.stack(rows), 0, axis)
    return x.astype("float32")


REFERENCES: dict[str, Callable[..., Any]] = {
    "unfold": _unfold,
    "fold": _fold,
    "image.scale_and_translate": _scale_and_translate,
    "image.resize": _resize,
    "image.crop": lambda x, top, left, height, width: x[:, top : top + height, left : left + width],
    "image.pad": lambda x, top=0, bottom=0, left=0, right=0, value=0: np.pad(
        x, [(0, 0), (top, bottom), (left, right), (0, 0)], constant_values=value
    ),
    "image.extract_patches": _patches,
    "image.affine_transform": _affine,
    "image.map_coordinates": _map_coordinates,
    "image.gaussian_blur": _blur,
    "image.rgb_to_grayscale": lambda x: (x @ np.array([[0.2989], [0.587], [0.114]])).astype(x.dtype),
    "image.rgb_to_hsv": _colours(colorsys.rgb_to_hsv),
    "image.hsv_to_rgb": _colours(colorsys.hsv_to_rgb),
    "image.psnr": lambda x, y, m: (10 * np.log10(m * m / ((x - y) ** 2).mean((1, 2, 3)))).astype(x.dtype),
    "image.ssim": _ssim,
}
DIFFERENTIABLE = (
    "unfold fold image.scale_and_translate "
    "image.resize image.crop image.pad image.extract_patches image.affine_transform image.map_coordinates "
    "image.gaussian_blur image.rgb_to_grayscale image.rgb_to_hsv image.hsv_to_rgb image.psnr image.ssim"
)
NOT_DIFFERENTIABLE = ""
KINDS = {
    "biuhc": "unfold fold image.crop image.pad image.extract_patches",
    "biuh": (
        "image.resize image.affine_transform image.map_coordinates image.gaussian_blur image.rgb_to_grayscale "
        "image.rgb_to_hsv image.hsv_to_rgb image.psnr image.ssim image.scale_and_translate"
    ),
}
