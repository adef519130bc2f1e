"""Rows of functions over windows, and of attention."""

WINDOWS = """
conv(x, kernel: SameDType, strides: Sizes = 1, padding: Padding = 'valid', dilation: Sizes = 1, groups: Size = 1):
    Compute a convolution, channels last.
conv_transpose(x, kernel: SameDType, strides: Sizes = 1, padding: Padding = 'valid', dilation: Sizes = 1):
    Compute the transpose of conv, channels last.
max_pool(x, window: Sizes, strides: Sizes | None = None, padding: Padding = 'valid'): Return the maximum over windows.
average_pool(x, window: Sizes, strides: Sizes | None = None, padding: Padding = 'valid'):
    Compute the mean over windows; padding is not counted.
adaptive_average_pool(x, size: Sizes):
    Compute the mean over windows; their sizes and strides are chosen so that the result has the given size.
adaptive_max_pool(x, size: Sizes):
    Return the maximum over windows; their sizes and strides are chosen so that the result has the given size.
depthwise_conv(x, kernel: SameDType, strides: Sizes = 1, padding: Padding = 'valid', dilation: Sizes = 1):
    Convolve each channel with its own filters, (*window, channels, filters) in all; channels last.
separable_conv(x, depthwise_kernel: SameDType, pointwise_kernel: SameDType, strides: Sizes = 1,
    padding: Padding = 'valid', dilation: Sizes = 1):
    Convolve each channel with its own filters, and mix the channels of each place; channels last.
space_to_depth(x, block: Size): Move blocks of space into the channels: (n, h, w, c) -> (n, h / b, w / b, b b c).
depth_to_space(x, block: Size): Move channels into blocks of space: (n, h, w, b b c) -> (n, h b, w b, c).
sum_pool(x, window: Sizes, strides: Sizes | None = None, padding: Padding = 'valid'): Sum over windows.
"""

ATTENTION = """
dot_product_attention(query, key: SameDType, value: SameDType, mask: Array | None = None,
    bias: Array | None = None, scale: Real | None = None, is_causal: Flag = False,
    implementation: AttentionKernel | None = None):
    Compute attention over values; implementation chooses the kernel of the library, such as 'cudnn' on a GPU.
"""

FOLDING = """
unfold(x, kernel_size: Sizes, dilation: Sizes = 1, padding: Counts = 0, stride: Sizes = 1):
    Lay each window of images, channels first, in a column: (n, c, h, w) -> (n, c times size of the window, windows).
fold(x, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Counts = 0, stride: Sizes = 1):
    Add columns up where unfold took them from: (n, c times size of the window, windows) -> (n, c, height, width).
"""

NORMALIZATIONS = """
normalize(x, axis: Axes | None = -1, ord: Real = 2, epsilon: NotNegative = 1e-12):
    Divide by the norm over axes, or by epsilon where that is smaller.
layer_normalization(x: Operand, gamma: SameDType | None = None, beta: SameDType | None = None, axis: Axes | None = -1,
    epsilon: NotNegative = 0.001): Compute gamma * (x - mean) / sqrt(variance + epsilon) + beta over axes.
rms_normalization(x: Operand, scale: SameDType | None = None, axis: Axes | None = -1, epsilon: NotNegative = 1e-6):
    Compute scale * x / sqrt(mean(x**2) + epsilon) over axes.
batch_normalization(x, mean: SameDType, variance: SameDType, axis: Axis = -1, offset: SameDType | None = None,
    scale: SameDType | None = None, epsilon: NotNegative = 0.001):
    Compute scale * (x - mean) / sqrt(variance + epsilon) + offset, with one number of each for a place on the axis.
"""

LOSSES = """
ctc_loss(labels: Array, logits: Ordered, label_lengths: Array | None = None, logit_lengths: Array | None = None,
    blank: Count = 0):
    Compute minus the logarithm of the probability of the labels, over all ways to align them with steps; inf if there
    is none. Without lengths or a mask, labels end where only the blank, or -1, follows.
ctc_decode(logits: Ordered, logit_lengths: Array | None = None, blank: Count = 0, beam_width: Size | None = None,
    top_paths: Size = 1):
    Find the most likely labels of sequences: those of the best alignment, or by beam search; -1 after their end.
"""
