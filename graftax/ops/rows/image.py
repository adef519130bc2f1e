"""Rows of functions of images, ``(..., height, width, channels)``, in the namespace ``ops.image``."""

SAMPLING = """
image.resize(x: Ordered, size: Sizes, interpolation: Interpolation = 'bilinear', antialias: Flag = False):
    Resize to (height, width), centres of pixels on centres: (..., h, w, c) -> (..., height, width, c).
image.scale_and_translate(x: Ordered, output_shape: Sizes, scale: Array, translation: Array, spatial_dims: Axes,
    interpolation: Resampling = 'bilinear', antialias: Flag = True):
    Move what is at p along some axes to p * scale + translation; the first pixel is centred at 0.5.
image.crop(x, top: Count, left: Count, height: Size, width: Size):
    Cut out the block of a height and width whose first pixel is at (top, left).
image.pad(x, top: Count = 0, bottom: Count = 0, left: Count = 0, right: Count = 0, value: Constant = 0.0):
    Add borders of one value.
image.extract_patches(x, size: Sizes, strides: Sizes | None = None, padding: Padding = 'valid', dilation: Sizes = 1):
    Lay the pixels of each window in a row: (n, h, w, c) -> (n, h', w', size of the window times c).
image.affine_transform(x: Ordered, transform: Array, interpolation: Sampling = 'bilinear',
    fill_mode: FillMode = 'constant', fill_value: Real = 0.0):
    Take the pixel (x, y) from ((a x + b y + c) / k, (d x + e y + f) / k) with k = g x + h y + 1; those are 8.
image.map_coordinates(x: Ordered, coordinates: Array, interpolation: Sampling = 'bilinear',
    fill_mode: FillMode = 'constant', fill_value: Real = 0.0):
    Sample images at (row, column): (n, h, w, c), (n, ..., 2) -> (n, ..., c).
"""

COLORS = """
image.gaussian_blur(x: Ordered, size: Sizes = 3, sigma: Reals = 1.0):
    Average (height, width) neighbours of each pixel by a normal distribution; the edge is reflected.
image.rgb_to_grayscale(x: Ordered): Weigh red, green and blue as eyes do: (..., 3) -> (..., 1).
image.rgb_to_hsv(x: Ordered): Convert red, green and blue in [0, 1] to hue, saturation and value in [0, 1].
image.hsv_to_rgb(x: Ordered): Convert hue, saturation and value in [0, 1] to red, green and blue in [0, 1].
image.psnr(x: Ordered, y: Ordered, max_val: Real):
    Compute the ratio of the largest possible value to the mean error of each image, in decibels; inf where equal.
image.ssim(x: Ordered, y: Ordered, max_val: Real, size: Size = 11, sigma: Real = 1.5, k1: NotNegative = 0.01,
    k2: NotNegative = 0.03): Compute the mean structural similarity of two batches of images, 1 where they are equal.
"""
