"""Rows of functions over windows, and of attention."""

WINDOWS = """
conv(x, kernel: SameDType, strides: Sizes = 1, padding: Padding = 'valid', dilation: Sizes = 1, groups: Size = 1):
    Convolution, channels last.
conv_transpose(x, kernel: SameDType, strides: Sizes = 1, padding: Padding = 'valid', dilation: Sizes = 1):
    The transpose of conv, channels last.
max_pool(x, window: Sizes, strides: Sizes | None = None, padding: Padding = 'valid'): Maximum over windows.
dot_product_attention(query, key: SameDType, value: SameDType, mask: Array | None = None,
    bias: Array | None = None, scale: Real | None = None, is_causal: Flag = False):
    Attention over values.
sum_pool(x, window: Sizes, strides: Sizes | None = None, padding: Padding = 'valid'): Sum over windows.
"""
