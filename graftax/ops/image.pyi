# Generated from graftax/ops/rows by tools/make_ops_stub.py; change the rows, not this file.
"""Functions of images; every one accepts Variables."""

from collections.abc import Sequence

from graftax.core.typedefs import Array, ArrayLike

def resize(x: ArrayLike, size: int | Sequence[int], interpolation: str = "bilinear", antialias: bool = False) -> Array:
    """Resize to (height, width), centres of pixels on centres: (..., h, w, c) -> (..., height, width, c)."""

def scale_and_translate(
    x: ArrayLike,
    output_shape: int | Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    spatial_dims: int | Sequence[int],
    interpolation: str = "bilinear",
    antialias: bool = True,
) -> Array:
    """Move what is at p along some axes to p * scale + translation; the first pixel is centred at 0.5."""

def crop(x: ArrayLike, top: int, left: int, height: int, width: int) -> Array:
    """Cut out the block of a height and width whose first pixel is at (top, left)."""

def pad(x: ArrayLike, top: int = 0, bottom: int = 0, left: int = 0, right: int = 0, value: float = 0.0) -> Array:
    """Add borders of one value."""

def extract_patches(
    x: ArrayLike,
    size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "valid",
    dilation: int | Sequence[int] = 1,
) -> Array:
    """Lay the pixels of each window in a row: (n, h, w, c) -> (n, h', w', size of the window times c)."""

def affine_transform(
    x: ArrayLike,
    transform: ArrayLike,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0.0,
) -> Array:
    """Take the pixel (x, y) from ((a x + b y + c) / k, (d x + e y + f) / k) with k = g x + h y + 1; those are 8."""

def map_coordinates(
    x: ArrayLike,
    coordinates: ArrayLike,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0.0,
) -> Array:
    """Sample images at (row, column): (n, h, w, c), (n, ..., 2) -> (n, ..., c)."""

def gaussian_blur(x: ArrayLike, size: int | Sequence[int] = 3, sigma: float | Sequence[float] = 1.0) -> Array:
    """Average (height, width) neighbours of each pixel by a normal distribution; the edge is reflected."""

def rgb_to_grayscale(x: ArrayLike) -> Array:
    """Weigh red, green and blue as eyes do: (..., 3) -> (..., 1)."""

def rgb_to_hsv(x: ArrayLike) -> Array:
    """Convert red, green and blue in [0, 1] to hue, saturation and value in [0, 1]."""

def hsv_to_rgb(x: ArrayLike) -> Array:
    """Convert hue, saturation and value in [0, 1] to red, green and blue in [0, 1]."""

def psnr(x: ArrayLike, y: ArrayLike, max_val: float) -> Array:
    """Compute the ratio of the largest possible value to the mean error of each image, in decibels; inf where equal."""

def ssim(
    x: ArrayLike, y: ArrayLike, max_val: float, size: int = 11, sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03
) -> Array:
    """Compute the mean structural similarity of two batches of images, 1 where they are equal."""
